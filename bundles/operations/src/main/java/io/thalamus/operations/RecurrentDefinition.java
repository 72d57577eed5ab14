// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import java.util.OptionalLong;

/** The definition of a recurrent cell: every step multiplies with every weight matrix once. */
abstract class RecurrentDefinition extends NamedDefinition {
  RecurrentDefinition(OperationType type, Signature signature) {
    super(type, signature);
  }

  @Override
  public final OptionalLong macs(OperationView operation) {
    Shape input = Macs.input(operation, 0);
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
