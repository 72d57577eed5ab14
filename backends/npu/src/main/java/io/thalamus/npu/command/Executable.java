// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import java.util.List;

/**
 * A compiled model: all that the device reads, besides inputs. Immutable; the weights are owned by
 * whoever made it and must not be written.
 *
 * @param memories what it takes of each memory
 * @param arrayColumns of the array that weights were ordered for
 * @param inputs by input of the model, where the host writes it
 * @param outputs by output of the model, where the host reads it
 * @param commands that END ends
 * @param weights the DRAM of weights and tables
 */
public record Executable(
    Memories memories,
    int arrayColumns,
    List<Place> inputs,
    List<Place> outputs,
    List<Command> commands,
    byte[] weights) {
  public Executable {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    commands = List.copyOf(commands);
  }

  /**
   * Sizes of the memories that commands can name.
   *
   * @param scratchpad bytes
   * @param accumulators of 32 bits
   * @param tensors bytes of DRAM, besides the weights
   */
  public record Memories(int scratchpad, int accumulators, int tensors) {}

  /**
   * The place of an input or an output.
   *
   * @param space {@link Command#TENSORS}, or {@link Command#WEIGHTS} for an output that is constant
   * @param address of its first byte
   * @param bytes of its value
   */
  public record Place(int space, int address, int bytes) {}
}
