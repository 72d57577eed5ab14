// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;

/**
 * A value of a graph under conversion: known, or held by an operand. Its shape is ONNX's; an
 * operand of a scalar has one dimension of size 1.
 */
final class Value {
  private static final int NONE = -1;

  private final DataType type;
  private final int[] shape;
  private final Tensor constant;
  private int operand;

  private Value(DataType type, int[] shape, Tensor constant, int operand) {
    this.type = type;
    this.shape = shape;
    this.constant = constant;
    this.operand = operand;
  }

  static Value of(Tensor constant) {
    return new Value(constant.type(), constant.shape(), constant, NONE);
  }

  static Value of(DataType type, int[] shape, int operand) {
    return new Value(type, shape, null, operand);
  }

  DataType type() {
    return type;
  }

  /** The dimensions; not to be changed. */
  int[] shape() {
    return shape;
  }

  int rank() {
    return shape.length;
  }

  int dim(int axis) {
    return shape[axis];
  }

  int count() {
    return Dims.count(shape);
  }

  boolean isConstant() {
    return constant != null;
  }

  /** The value of a constant. */
  Tensor constant() {
    return constant;
  }

  boolean hasOperand() {
    return operand != NONE;
  }

  int operand() {
    return operand;
  }

  /** Keeps the operand that was made for a constant. */
  void setOperand(int index) {
    operand = index;
  }

  /** For people: {@code FLOAT 1x3x8}. */
  String text() {
    return type + " " + Dims.text(shape);
  }
}
