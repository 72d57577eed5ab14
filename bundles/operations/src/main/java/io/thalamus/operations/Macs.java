// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.Shape;
import java.util.OptionalLong;

/**
 * Multiply-accumulates by the dimensions that a model states. A missing argument counts as open:
 * models are counted before they are validated. Stateless.
 */
final class Macs {
  private Macs() {}

  /** Returns the shape of the first output. */
  static Shape output(OperationView operation) {
    return operation.outputs().isEmpty() ? Shape.NONE : operation.output().shape();
  }

  /** Returns the shape of an input. */
  static Shape input(OperationView operation, int input) {
    return input < operation.inputs().size() ? operation.input(input).shape() : Shape.NONE;
  }

  /** Returns the product of an input's dimensions from one axis to another; 0 where it is open. */
  static long dimensions(OperationView operation, int input, int first, int last) {
    Shape shape = input(operation, input);
    if (shape.rank() <= last) {
      return 0;
    }
    long product = 1;
    for (int axis = first; axis <= last; axis++) {
      product *= shape.dimension(axis);
    }
    return product;
  }

  /** Returns the number of elements times what each of them takes; empty where one is open. */
  static OptionalLong product(Shape elements, long each) {
    return elements.rank() == 0 || !elements.isFullySpecified() || each == 0
        ? OptionalLong.empty()
        : OptionalLong.of(elements.elementCount() * each);
  }

  /** Returns those of a recurrent cell: every step multiplies with every weight matrix once. */
  static OptionalLong recurrent(OperationView operation) {
    Shape input = input(operation, 0);
    if (input.rank() == 0 || !input.isFullySpecified()) {
      return OptionalLong.empty();
    }
    long steps = input.elementCount() / input.dimension(input.rank() - 1);
    long weights = 0;
    for (OperandView operand : operation.inputs()) {
      if (operand.value().isPresent() && operand.type().isTensor() && operand.shape().rank() == 2) {
        weights += operand.shape().elementCount();
      }
    }
    return OptionalLong.of(steps * weights);
  }
}
