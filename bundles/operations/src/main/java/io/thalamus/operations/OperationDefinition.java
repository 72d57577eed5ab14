// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import java.util.List;

/**
 * What one operation is. Stateless and thread-safe. The calls build on each other: {@link
 * #validate} accepts an operation of a model; when all input shapes and the {@linkplain #needsValue
 * needed values} are known, {@link #infer} gives the output shapes, and with those {@link #resolve}
 * gives everything that a kernel must know. Each of them may throw an {@link ArithmeticException}
 * where dimensions are beyond counting.
 */
public interface OperationDefinition {
  /** The operation that this defines. */
  OperationType type();

  /**
   * The element types that {@link #kernelType} can be, each with the feature level that has the
   * operation on it. Types of extensions are not among them.
   */
  default TypeLevels types() {
    return TypeLevels.NONE;
  }

  /**
   * Checks the operation as far as the model tells: counts, types, quantization, and ranks and
   * dimensions where they are known.
   *
   * @return the least feature level that has the operation in this form
   * @throws ValidationException with the rule that is broken
   */
  FeatureLevel validate(OperationView operation) throws ValidationException;

  /**
   * Whether an input at the end of the arguments has the value that it would have if it were not
   * given. True for a constant BOOL of false, which is what all later arguments of NNAPI mean by
   * it; operations that have others say so.
   */
  default boolean isDefault(OperationView operation, int input) {
    OperandView operand = operation.input(input);
    return operand.type() == OperandCode.BOOL && operand.value().isPresent() && !operand.bool();
  }

  /**
   * Whether shapes and parameters depend on the value of an input. True for scalars; operations
   * that take shapes, axes or paddings in a tensor say so.
   */
  default boolean needsValue(OperationView operation, int input) {
    return !operation.input(input).type().isTensor();
  }

  /**
   * Whether an input may be left out, by the model or by a request. What is computed, and the
   * parameters with it, may depend on whether it is there.
   */
  default boolean isOptional(int input) {
    return false;
  }

  /**
   * Whether only running the operation tells how large its outputs are, as where boxes are selected
   * by their scores. Then {@link #infer} gives 0 for the dimensions that are open.
   */
  default boolean areShapesMeasured() {
    return false;
  }

  /**
   * The shapes of the outputs. All input shapes and needed values are known.
   *
   * @throws ValidationException where the inputs do not fit together
   */
  List<Shape> infer(OperationView operation) throws ValidationException;

  /**
   * The type by which kernels for this operation are told apart: that of the first input, unless
   * that is not the data.
   */
  default OperandType kernelType(OperationView operation) {
    return operation.input(0).type();
  }

  /**
   * Everything that a kernel must know besides types and shapes. All shapes and needed values are
   * known.
   *
   * @throws ValidationException where a value is not allowed
   */
  default OperationParameters resolve(OperationView operation) throws ValidationException {
    return OperationParameters.NONE;
  }
}
