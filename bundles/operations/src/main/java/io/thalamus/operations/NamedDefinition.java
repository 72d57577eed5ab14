// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationType;
import java.util.Set;

/** The definition of an operation by its type, signature and traits. Stateless. */
public abstract class NamedDefinition implements OperationDefinition {
  private final OperationType type;
  private final Signature signature;
  private final Set<Trait> traits;

  /** The definition of this operation. */
  protected NamedDefinition(OperationType type, Signature signature, Trait... traits) {
    this.type = type;
    this.signature = signature;
    this.traits = Set.of(traits);
  }

  @Override
  public final OperationType type() {
    return type;
  }

  @Override
  public final Signature signature() {
    return signature;
  }

  @Override
  public final Set<Trait> traits() {
    return traits;
  }

  /** Returns whether the elements are floating-point numbers. */
  public static boolean isFloat(OperandView operand) {
    return operand.type() == OperandCode.TENSOR_FLOAT32
        || operand.type() == OperandCode.TENSOR_FLOAT16;
  }

  /** Returns whether the shapes of all these inputs are known. */
  public static boolean areShapesKnown(OperationView operation, int... inputs) {
    for (int input : inputs) {
      if (!operation.input(input).isShapeKnown()) {
        return false;
      }
    }
    return true;
  }

  /** Returns an axis with negative ones counted from behind. */
  public static int axis(int axis, int rank) throws ValidationException {
    if (axis < -rank || axis >= rank) {
      throw new ValidationException("there is no axis " + axis + " in a tensor of rank " + rank);
    }
    return axis < 0 ? axis + rank : axis;
  }
}
