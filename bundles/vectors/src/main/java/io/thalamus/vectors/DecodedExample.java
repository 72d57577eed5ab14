// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * An example as typed objects, ready to be run. Thread-safe. Owned by its decoder: closing gives
 * back the pool in which the model's larger constants stand, so nothing may use the model any more.
 * The arrays of bytes must not be changed.
 */
public final class DecodedExample implements AutoCloseable {
  private final Example example;
  private final Model model;
  private final List<Input> inputs;
  private final List<Expected> outputs;
  private final Optional<SharedMemory> pool;

  DecodedExample(
      Example example,
      Model model,
      List<Input> inputs,
      List<Expected> outputs,
      Optional<SharedMemory> pool) {
    this.example = example;
    this.model = model;
    this.inputs = List.copyOf(inputs);
    this.outputs = List.copyOf(outputs);
    this.pool = pool;
  }

  /** The raw form that this was decoded from. */
  public Example example() {
    return example;
  }

  public Model model() {
    return model;
  }

  /** One for each input of the main graph, in its order. */
  public List<Input> inputs() {
    return inputs;
  }

  /** One for each output of the main graph, in its order. */
  public List<Expected> outputs() {
    return outputs;
  }

  /** The memory that larger constants stand in, where there are any. */
  public Optional<SharedMemory> pool() {
    return pool;
  }

  @Override
  public void close() {
    pool.ifPresent(SharedMemory::close);
  }

  /**
   * The value of an input.
   *
   * @param operand the input as the model declares it
   * @param bytes little-endian, row-major; none where it is left out
   */
  public record Input(Operand operand, byte[] bytes) {
    public Input {
      Objects.requireNonNull(operand, "operand");
      Objects.requireNonNull(bytes, "bytes");
    }

    /** Returns whether an optional input is left out. */
    public boolean isOmitted() {
      return bytes.length == 0;
    }
  }

  /**
   * The value expected of an output.
   *
   * @param operand the output with the shape that is expected
   * @param ignored whether any value will do
   * @param bytes little-endian, row-major; none where the result has no elements
   */
  public record Expected(Operand operand, boolean ignored, byte[] bytes) {
    public Expected {
      Objects.requireNonNull(operand, "operand");
      Objects.requireNonNull(bytes, "bytes");
    }

    /** The bytes of the expected result: 0 where it has no elements. */
    public long byteSize() {
      long elements = operand.type().isTensor() ? operand.shape().elementCount() : 1;
      return elements * operand.type().elementSize();
    }
  }
}
