// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.Set;

/** Operators on each element, where there is none: their results are known, but for their type. */
final class NoElements {
  /** Results of the type of the first input. */
  private static final Set<String> SAME =
      Set.of(
          "Abs Neg Exp Log Sqrt Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Floor Ceil"
              .concat(
                  " Round Sign Reciprocal Erf Relu Sigmoid Tanh Elu Celu Selu Gelu Mish Softplus")
              .concat(
                  " Softsign LeakyRelu PRelu ThresholdedRelu HardSigmoid HardSwish Shrink Swish")
              .concat(" Softmax LogSoftmax Hardmax CumSum Clip Add Sub Mul Div Mod Pow Max Min Sum")
              .concat(" Mean BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot")
              .split(" "));

  private static final Set<String> QUESTIONS =
      Set.of("Not And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual IsNaN IsInf".split(" "));

  /** Inputs that are settings of what is done with each element. */
  private static final Set<String> ALONE = Set.of("Clip", "CumSum");

  private NoElements() {}

  /** Returns whether an operator is one for here, and converts it then. */
  static boolean convert(Node node) {
    String name = node.onnx().type();
    boolean isQuestion = QUESTIONS.contains(name);
    if (!node.onnx().domain().isEmpty() || !isQuestion && !SAME.contains(name) || !node.has(0)) {
      return false;
    }
    int[] shape = node.openIn(0).isOpen() ? null : node.in(0).shape();
    for (int i = 1; i < node.inputs() && shape != null && !ALONE.contains(name); i++) {
      Value other = node.openIn(i);
      boolean isOld = node.hasSetting("axis") && node.opset() < 7;
      shape = other.isOpen() ? null : isOld ? shape : Dims.broadcast(shape, other.shape());
    }
    if (shape == null || Dims.count(shape) > 0) {
      return false;
    }
    DataType type = isQuestion ? DataType.BOOL : node.in(0).type();
    node.out(node.ops().fill(type, shape, 0));
    return true;
  }
}
