// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.util.List;
import java.util.Objects;

/**
 * An operation as it stands in a file. Immutable.
 *
 * @param type the name of an operation, a number in decimal, or {@code extension/NAME#CODE} for an
 *     operation that an extension defines
 * @param inputs operand indexes, in the order of the operation's signature
 * @param outputs operand indexes
 */
public record RawOperation(String type, List<Integer> inputs, List<Integer> outputs) {
  public RawOperation {
    Objects.requireNonNull(type, "type");
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  public RawOperation withType(String value) {
    return new RawOperation(value, inputs, outputs);
  }

  /** The same operation with the type of this number, which need not exist. */
  public RawOperation withType(int value) {
    return withType(Integer.toString(value));
  }

  public RawOperation withInputs(List<Integer> value) {
    return new RawOperation(type, value, outputs);
  }

  public RawOperation withOutputs(List<Integer> value) {
    return new RawOperation(type, inputs, value);
  }
}
