// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;

/**
 * The inputs and outputs of one execution of a stream, in memory that its device can map. A codec
 * writes the inputs and reads the outputs. Owned by the stream, which uses it for one element after
 * the other; a thread may use it, and the segments it gives, only while it writes or reads.
 *
 * <pre>
 *   | input 0 | pad to 64 | input 1 | pad to 64 | ... | output 0 | pad to 64 | ...
 * </pre>
 */
public final class Frame {
  private static final int ALIGNMENT = 64;

  private enum Phase {
    WRITE,
    EXECUTE,
    READ
  }

  private final Subgraph graph;
  private final Shape[] inputShapes;
  private final MemorySegment[] inputs;
  private final MemorySegment[] outputs;
  private final long[] inputOffsets;
  private final long[] outputOffsets;
  private final SharedMemory memory;
  private Phase phase = Phase.EXECUTE;
  private long number;
  private long writtenNanos;
  private ExecutionReport report;

  /** The reason why the stream ends with this frame; else null. */
  private Exception failure;

  /** A frame of a model that was checked to have room for everything. */
  Frame(Subgraph graph, StreamOptions options) throws NeuralNetworksException {
    this.graph = graph;
    int inputCount = graph.inputIndexes().size();
    int outputCount = graph.outputIndexes().size();
    inputShapes = new Shape[inputCount];
    inputs = new MemorySegment[inputCount];
    outputs = new MemorySegment[outputCount];
    inputOffsets = new long[inputCount];
    outputOffsets = new long[outputCount];
    long[] inputBytes = new long[inputCount];
    long[] outputBytes = new long[outputCount];
    long size = 0;
    for (int i = 0; i < inputCount; i++) {
      int index = i;
      inputShapes[i] = options.inputShapes().getOrDefault(i, Shape.NONE);
      if (options.states().stream().noneMatch(state -> state.input() == index)) {
        inputBytes[i] = inputBytes(i);
        inputOffsets[i] = size;
        size += align(inputBytes[i]);
      }
    }
    for (int i = 0; i < outputCount; i++) {
      int index = i;
      if (options.states().stream().noneMatch(state -> state.output() == index)) {
        outputBytes[i] = outputBytes(i, options);
        outputOffsets[i] = size;
        size += align(outputBytes[i]);
      }
    }
    memory = SharedMemory.allocate(MemoryKind.ASHMEM, Math.max(size, ALIGNMENT));
    MemorySegment all = memory.segment();
    for (int i = 0; i < inputCount; i++) {
      inputs[i] = inputBytes[i] == 0 ? null : all.asSlice(inputOffsets[i], inputBytes[i]);
    }
    for (int i = 0; i < outputCount; i++) {
      outputs[i] =
          outputBytes[i] == 0 ? null : all.asSlice(outputOffsets[i], outputBytes[i]).asReadOnly();
    }
  }

  /** Returns the room that this many bytes take, so that what follows is aligned. */
  static long align(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  private long inputBytes(int index) throws NeuralNetworksException {
    Operand operand = combined(graph.input(index), inputShapes[index], "input " + index);
    if (!operand.isSizeKnown()) {
      throw NeuralNetworksException.badData(
          "input " + index + " has open dimensions: name them with withInputShape");
    }
    return operand.byteSize();
  }

  /** Returns an operand with dimensions that its model leaves open. */
  static Operand combined(Operand operand, Shape shape, String place)
      throws NeuralNetworksException {
    if (shape.equals(Shape.NONE)) {
      return operand;
    }
    return operand.with(
        operand
            .shape()
            .combine(shape)
            .orElseThrow(
                () ->
                    NeuralNetworksException.badData(
                        place + " is " + operand.shape() + " in the model, not " + shape)));
  }

  private long outputBytes(int index, StreamOptions options) throws NeuralNetworksException {
    Operand operand = graph.output(index);
    Long room = options.outputBytes().get(index);
    if (room != null) {
      return room;
    }
    if (!operand.isSizeKnown()) {
      throw NeuralNetworksException.badData(
          "output " + index + " has open dimensions: give it room with withOutputBytes");
    }
    return operand.byteSize();
  }

  /** Returns the number of the element, from 0. */
  public long number() {
    return number;
  }

  /**
   * Returns the bytes of an input, little-endian and row-major, to be written.
   *
   * @throws IllegalArgumentException if there is no such input, or it is a state
   * @throws IllegalStateException if the frame is not being written
   */
  public MemorySegment input(int index) {
    requirePhase(Phase.WRITE, "inputs are there while a codec writes");
    return argument("input", index, inputs);
  }

  /**
   * Returns the bytes of an output, little-endian and row-major, read-only.
   *
   * @throws NeuralNetworksException if the execution failed, with its code
   * @throws IllegalArgumentException if there is no such output, or it is a state
   * @throws IllegalStateException if the frame is not being read
   */
  public MemorySegment output(int index) throws NeuralNetworksException {
    MemorySegment bytes = argument("output", index, outputs);
    if (!report().isSuccess()) {
      throw failed();
    }
    if (graph.output(index).isSizeKnown()) {
      return bytes;
    }
    Shape shape = report.outputs().get(index).shape();
    return bytes.asSlice(0, graph.output(index).with(shape).byteSize());
  }

  /** Returns the failure of the execution as an exception. */
  NeuralNetworksException failed() {
    return new NeuralNetworksException(report.code(), "frame " + number + ": " + report.message());
  }

  /**
   * Returns how the execution ended.
   *
   * @throws IllegalStateException if the frame is not being read
   */
  public ExecutionReport report() {
    requirePhase(Phase.READ, "outputs and reports are there while a codec reads");
    return report;
  }

  private void requirePhase(Phase wanted, String rule) {
    if (phase != wanted) {
      throw new IllegalStateException(rule + ": copy what is needed later");
    }
  }

  private static MemorySegment argument(String what, int index, MemorySegment[] all) {
    if (index < 0 || index >= all.length) {
      throw new IllegalArgumentException(
          "there is no " + what + " " + index + ": the model has " + all.length);
    }
    if (all[index] == null) {
      throw new IllegalArgumentException(
          what + " " + index + " is a state, which stays between the executions");
    }
    return all[index];
  }

  void beginWriting(long newNumber) {
    number = newNumber;
    phase = Phase.WRITE;
  }

  void endWriting() {
    phase = Phase.EXECUTE;
    writtenNanos = System.nanoTime();
  }

  /** Returns when it was written. */
  long writtenNanos() {
    return writtenNanos;
  }

  /** Sets the arguments that are no states. */
  void bind(Execution execution) {
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] != null) {
        execution.setInput(i, memory, inputOffsets[i], inputs[i].byteSize(), inputShapes[i]);
      }
    }
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i] != null) {
        execution.setOutput(i, memory, outputOffsets[i], outputs[i].byteSize(), Shape.NONE);
      }
    }
  }

  /**
   * Keeps how the execution ended.
   *
   * @param isLast whether a failure ends the stream, whatever its codec says
   */
  void executed(ExecutionReport newReport, boolean isLast) {
    report = newReport;
    failure = isLast ? failed() : null;
  }

  /** Keeps why there is no report. */
  void failed(Exception reason) {
    failure = reason;
  }

  /** Begins the reading, unless a failure ends the stream. */
  void beginReading() throws Exception {
    if (failure != null) {
      throw failure;
    }
    phase = Phase.READ;
  }

  void endReading() {
    phase = Phase.EXECUTE;
  }

  void close() {
    memory.close();
  }
}
