// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import io.thalamus.api.Compilation;
import io.thalamus.api.Execution;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * One state of a stream, which goes to and fro between two memories. Used by one thread at a time.
 * Owns its memories: on the device if there is room for them, or else in shared memory.
 */
final class StateTensor {
  private final StreamOptions.State state;
  private final Shape shape;
  private final long bytes;

  /** Null if they are in shared memory. */
  private Memory[] made;

  /** Holds both, one after the other; null if they are made for the device. */
  private SharedMemory shared;

  /** The one of them that the next execution reads. */
  private int current;

  /** A state with its first contents. */
  StateTensor(
      NeuralNetworks networks,
      Compilation compilation,
      StreamOptions.State state,
      StreamOptions options)
      throws NeuralNetworksException {
    this.state = state;
    this.shape = options.inputShapes().getOrDefault(state.input(), Shape.NONE);
    Operand operand = operand(compilation);
    this.bytes = operand.byteSize();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment initial = state.initial().orElseGet(() -> zeros(operand, arena));
      if (initial.byteSize() != bytes) {
        throw badData("begins with " + initial.byteSize() + " bytes, but the model's has " + bytes);
      }
      allocate(networks, compilation, initial);
    }
  }

  private Operand operand(Compilation compilation) throws NeuralNetworksException {
    Subgraph graph = compilation.model().main();
    if (state.input() < 0 || state.input() >= graph.inputIndexes().size()) {
      throw badData("has no input in the model");
    }
    if (state.output() < 0 || state.output() >= graph.outputIndexes().size()) {
      throw badData("has no output in the model");
    }
    Operand input = Frame.combined(graph.input(state.input()), shape, "input " + state.input());
    Operand output = graph.output(state.output());
    if (!input.isSizeKnown()) {
      throw badData("has open dimensions: name them with withInputShape");
    }
    if (!input.type().equals(output.type())
        || !input.quantization().equals(output.quantization())
        || input.shape().combine(output.shape()).isEmpty()) {
      throw badData("differs between input and output in type, quantization or dimensions");
    }
    return input;
  }

  private NeuralNetworksException badData(String what) {
    return NeuralNetworksException.badData(
        "the state from output " + state.output() + " to input " + state.input() + " " + what);
  }

  private static MemorySegment zeros(Operand operand, Arena arena) {
    long bytes = operand.byteSize();
    MemorySegment zeros = arena.allocate(bytes);
    int zeroPoint = operand.quantization().zeroPoint();
    if (zeroPoint != 0 && bytes == operand.shape().elementCount()) {
      zeros.fill((byte) zeroPoint);
    } else if (zeroPoint != 0) {
      for (long at = 0; at < bytes; at += Short.BYTES) {
        zeros.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, (short) zeroPoint);
      }
    }
    return zeros;
  }

  private void allocate(NeuralNetworks networks, Compilation compilation, MemorySegment initial)
      throws NeuralNetworksException {
    Memory[] both = new Memory[2];
    try {
      for (int i = 0; i < both.length; i++) {
        both[i] =
            networks.createMemory(
                MemoryDesc.builder("state " + i + " of input " + state.input())
                    .input(compilation, state.input())
                    .output(compilation, state.output())
                    .dimensions(shape)
                    .build());
      }
      both[0].copyFrom(initial, shape);
      made = both;
    } catch (NeuralNetworksException e) {
      if (e.code() != ResultCode.OP_FAILED) {
        throw e;
      }
      // A compilation that names its devices gets memory only on them.
      shared = SharedMemory.allocate(MemoryKind.ASHMEM, 2 * Frame.align(bytes));
      MemorySegment.copy(initial, 0, shared.segment(), 0, bytes);
    } finally {
      if (made == null) {
        close(both);
      }
    }
  }

  private static void close(Memory[] memories) {
    for (Memory memory : memories) {
      if (memory != null) {
        memory.close();
      }
    }
  }

  /** Sets the input to what the last execution wrote, and the output to the other memory. */
  void bind(Execution execution) {
    int next = 1 - current;
    if (made != null) {
      execution.setInput(state.input(), made[current]);
      execution.setOutput(state.output(), made[next]);
    } else {
      long room = Frame.align(bytes);
      execution.setInput(state.input(), shared, current * room, bytes, shape);
      execution.setOutput(state.output(), shared, next * room, bytes, shape);
    }
  }

  /** Goes on from what an execution wrote. */
  void advance() {
    current = 1 - current;
  }

  void close() {
    if (made != null) {
      close(made);
    } else {
      shared.close();
    }
  }
}
