// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.List;
import java.util.Objects;

/**
 * One step of a subgraph. Immutable.
 *
 * @param type what is computed
 * @param inputs indexes of the operands that are read, in the order of the operation's signature
 * @param outputs indexes of the operands that are written
 */
public record Operation(OperationType type, List<Integer> inputs, List<Integer> outputs) {
  public Operation {
    Objects.requireNonNull(type, "type");
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }
}
