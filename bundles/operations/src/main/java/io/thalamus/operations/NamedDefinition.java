// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationType;

/** The definition of an operation, with what most definitions need. Stateless. */
public abstract class NamedDefinition implements OperationDefinition {
  private final OperationType type;

  /** The definition of this operation. */
  protected NamedDefinition(OperationType type) {
    this.type = type;
  }

  @Override
  public final OperationType type() {
    return type;
  }

  /** A check of an operation with as many inputs and outputs. */
  protected static Check check(OperationView operation, FeatureLevel since, int inputs, int outputs)
      throws ValidationException {
    return new Check(operation, since).inputCount(inputs).outputCount(outputs);
  }

  /** For operations whose last argument is an axis: the last dimension is the default. */
  static boolean isLastAxis(OperationView operation, int input) {
    return operation.isInt32(input, -1);
  }

  /** Whether the elements are floating-point numbers. */
  protected static boolean isFloat(OperandView operand) {
    return operand.type() == OperandCode.TENSOR_FLOAT32
        || operand.type() == OperandCode.TENSOR_FLOAT16;
  }

  /** An axis with negative ones counted from behind. */
  protected static int axis(int axis, int rank) throws ValidationException {
    if (axis < -rank || axis >= rank) {
      throw new ValidationException("there is no axis " + axis + " in a tensor of rank " + rank);
    }
    return axis < 0 ? axis + rank : axis;
  }
}
