// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/**
 * The definition of one operation. Stateless and thread-safe. The calls build on each other: {@link
 * #validate} accepts an operation of a model; when all input shapes and the {@linkplain #needsValue
 * needed values} are known, {@link #infer} gives the output shapes, and with those {@link #resolve}
 * gives everything that a kernel must know. Each of them may throw an {@link ArithmeticException}
 * where dimensions are beyond counting.
 */
public interface OperationDefinition {
  /** Returns the operation that this defines. */
  OperationType type();

  /** Returns the inputs and outputs of the operation. */
  Signature signature();

  /** Returns the properties that matter to callers who do not compute the operation. */
  default Set<Trait> traits() {
    return Set.of();
  }

  /**
   * Returns the multiply-accumulates of the operation by the dimensions that a model states: those
   * of convolutions, products of matrices and recurrent cells; 0 for all else, empty when
   * dimensions that they need are open. The operation need not be valid.
   */
  default OptionalLong macs(OperationView operation) {
    return OptionalLong.of(0);
  }

  /**
   * Returns the element types that {@link #kernelType} can be, each with the feature level that has
   * the operation on it. Types of extensions are not among them.
   */
  default TypeLevels types() {
    return signature().types();
  }

  /**
   * Checks the operation as far as it is known: counts, types, quantization, and ranks and
   * dimensions where they are known.
   *
   * @return the least feature level that has the operation in this form
   * @throws ValidationException with the rule that is broken
   */
  default FeatureLevel validate(OperationView operation) throws ValidationException {
    Check check = new Check(signature().since());
    signature().check(operation, check);
    check(operation, check);
    return check.level();
  }

  /**
   * Checks the rules that the signature cannot say. The signature holds.
   *
   * @throws ValidationException with the rule that is broken
   */
  default void check(OperationView operation, Check check) throws ValidationException {}

  /**
   * Returns whether an input at the end of the arguments has the value that it would have if it
   * were not given: its default, or a constant BOOL of false, which is what all later arguments of
   * NNAPI mean by it.
   */
  default boolean isDefault(OperationView operation, int input) {
    OperandView operand = operation.input(input);
    if (operand.value().isEmpty()) {
      return false;
    }
    if (operand.type() == OperandCode.BOOL) {
      return !operand.bool();
    }
    OptionalInt value = signature().inputs(operation).get(input).defaultValue();
    return value.isPresent() && operation.isInt32(input, value.getAsInt());
  }

  /** Returns whether shapes and parameters depend on the value of an input of a valid operation. */
  default boolean needsValue(OperationView operation, int input) {
    return signature().inputs(operation).get(input).needsValue(operation.input(input));
  }

  /**
   * Returns whether an input may be left out, by the model or by a request. The computation and its
   * parameters may depend on whether it is there.
   */
  default boolean isOptional(int input) {
    return signature().isOmittable(input);
  }

  /**
   * Returns whether the sizes of the outputs are known only after running the operation, as when
   * boxes are selected by their scores. Then {@link #infer} gives 0 for the dimensions that are
   * open.
   */
  default boolean areShapesMeasured() {
    return false;
  }

  /**
   * Returns the shapes of the outputs. All input shapes and needed values are known.
   *
   * @throws ValidationException where the inputs do not fit together
   */
  List<Shape> infer(OperationView operation) throws ValidationException;

  /** Returns the type by which kernels for this operation are chosen: that of its data. */
  default OperandType kernelType(OperationView operation) {
    return signature().data(operation).type();
  }

  /**
   * Returns everything that a kernel must know besides types and shapes. All shapes and needed
   * values are known.
   *
   * @throws ValidationException where a value is not allowed
   */
  default OperationParameters resolve(OperationView operation) throws ValidationException {
    return OperationParameters.NONE;
  }
}
