// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.Shape;
import java.util.List;
import java.util.Objects;

/**
 * The arguments of one execution. Immutable; the pools are lent until the execution returns.
 *
 * @param inputs one for each input of the model
 * @param outputs one for each output of the model
 * @param pools the memories that the arguments stand in
 */
public record Request(List<Argument> inputs, List<Argument> outputs, List<MemoryPool> pools) {
  public Request {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    pools = List.copyOf(pools);
  }

  /** One input or output. */
  public sealed interface Argument {
    /** The operand has no value: an optional input that is left out. */
    Argument NO_VALUE = new NoValue();
  }

  /** See {@link Argument#NO_VALUE}. */
  public record NoValue() implements Argument {}

  /**
   * A value in a pool.
   *
   * @param pool index of the pool
   * @param offset in bytes; 0 for the buffer of a device
   * @param length in bytes; 0 for the buffer of a device
   * @param shape the dimensions, where they say more than the model; else {@link Shape#NONE}
   */
  public record Location(int pool, long offset, long length, Shape shape) implements Argument {
    public Location {
      Objects.requireNonNull(shape, "shape");
    }
  }
}
