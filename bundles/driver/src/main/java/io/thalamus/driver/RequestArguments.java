// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.hal.Request.NoValue;
import io.thalamus.hal.Request.Pointer;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The arguments of a request, checked against the graph: bytes and shapes by input and output. Used
 * by one run at a time, or by several if the request names no buffers; only in their calling
 * threads, but for {@linkplain #isInputSteady what is steady}: what the caller passed by pointer
 * may be confined to it, and is valid only until the execution returns.
 */
public final class RequestArguments {
  /** Bytes of the longest vector. */
  private static final int ALIGNMENT = 64;

  private final MemorySegment[] inputs;
  private final Shape[] inputShapes;
  private final MemorySegment[] outputs;
  private final Shape[] outputShapes;
  private final RequestBuffers buffers;
  private List<OutputShape> results;
  private boolean isSufficient = true;

  /** The last completion without a timing, which the next one mostly equals. */
  private Completed completed;

  /** An argument for people; no text is made of it unless it is refused. */
  private record Place(String side, int index) {
    @Override
    public String toString() {
      return side + " " + index;
    }
  }

  private RequestArguments(int inputCount, int outputCount, RequestBuffers buffers) {
    this.buffers = buffers;
    inputs = new MemorySegment[inputCount];
    inputShapes = new Shape[inputCount];
    outputs = new MemorySegment[outputCount];
    outputShapes = new Shape[outputCount];
  }

  /** Returns whether this thread can access what the caller passed by pointer. */
  boolean areInReach() {
    return areInReach(inputs) && areInReach(outputs);
  }

  private static boolean areInReach(MemorySegment[] side) {
    for (MemorySegment segment : side) {
      if (segment != null && !Pointer.isInReach(segment)) {
        return false;
      }
    }
    return true;
  }

  /** Returns the bytes of each input; {@link MemorySegment#NULL} where it has no value. */
  public MemorySegment[] inputs() {
    return inputs;
  }

  /** Returns the dimensions of each input. */
  public Shape[] inputShapes() {
    return inputShapes;
  }

  /** Returns the room for each output; null where there is none. */
  public MemorySegment[] outputs() {
    return outputs;
  }

  /** Returns whether an input stands in a buffer that the device allocated. */
  public boolean isInputInBuffer(int index) {
    return buffers.input(index) != null;
  }

  /** Returns whether an output stands in a buffer that the device allocated. */
  public boolean isOutputInBuffer(int index) {
    return buffers.output(index) != null;
  }

  /**
   * Returns whether machine code may read an input where it is, until the run ends: it is aligned,
   * and nobody can take its memory away.
   */
  public boolean isInputSteady(int index) {
    return isSteady(inputs[index]);
  }

  /** Returns whether machine code may write an output where it is, until the run ends. */
  public boolean isOutputSteady(int index) {
    return outputs[index] != null && isSteady(outputs[index]);
  }

  private static boolean isSteady(MemorySegment segment) {
    return segment.address() % ALIGNMENT == 0 && Pointer.isSteady(segment);
  }

  /** Returns the results of a run, as far as they are known before it; null where they are not. */
  public List<OutputShape> results() {
    return results;
  }

  /** Returns whether no output is known to be too small. */
  boolean isSufficient() {
    return isSufficient;
  }

  /** Compares the room for outputs with shapes that a run gives; null where they are open. */
  RequestArguments withShapes(Subgraph graph, List<Shape> shapes) {
    if (shapes != null) {
      results = results(graph, shapes);
      for (OutputShape result : results) {
        isSufficient &= result.isSufficient();
      }
    }
    return this;
  }

  /** Returns the results of a run that gives these shapes. */
  List<OutputShape> results(Subgraph graph, List<Shape> shapes) {
    OutputShape[] computed = new OutputShape[outputs.length];
    for (int i = 0; i < computed.length; i++) {
      boolean fits =
          outputs[i] == null || outputs[i].byteSize() >= Frame.size(graph.output(i), shapes.get(i));
      computed[i] = new OutputShape(shapes.get(i), fits);
    }
    return List.of(computed);
  }

  /**
   * Returns a completion with the {@linkplain #results() known results}.
   *
   * @param bytesIn as in {@link Completed}
   * @param bytesOut as in {@link Completed}
   */
  public Completed completed(Timing timing, long bytesIn, long bytesOut) {
    if (timing != Timing.NONE) {
      return new Completed(results, timing, bytesIn, bytesOut);
    }
    if (completed == null || completed.bytesIn() != bytesIn || completed.bytesOut() != bytesOut) {
      completed = new Completed(results, timing, bytesIn, bytesOut);
    }
    return completed;
  }

  static RequestArguments of(
      Subgraph graph, Request request, DeviceInfo info, RequestBuffers buffers)
      throws DeviceException {
    checkCount("inputs", graph.inputIndexes().size(), request.inputs().size());
    checkCount("outputs", graph.outputIndexes().size(), request.outputs().size());
    for (MemoryPool pool : request.pools()) {
      if (pool instanceof MemoryPool.Shared shared
          && !info.memoryKinds().contains(shared.memory().kind())) {
        throw DeviceException.failure(
            info.name() + " cannot read " + shared.memory().kind().halName() + " memory");
      }
    }
    boolean hasPointers = info.pointerArguments();
    int inputs = request.inputs().size();
    int outputs = request.outputs().size();
    RequestArguments arguments = new RequestArguments(inputs, outputs, buffers);
    for (int i = 0; i < inputs; i++) {
      if (buffers.input(i) != null) {
        Location location = (Location) request.inputs().get(i);
        if (buffers.input(i).isOpen()) {
          buffers.beginOpen(i);
        }
        MemorySegment held = buffers.input(i).bytes();
        // A device with memory of its own kind must find its array.
        arguments.inputs[i] = held.isNative() ? held.asReadOnly() : held;
        arguments.inputShapes[i] =
            held(new Place("input", i), buffers.input(i).operand(), location);
      } else {
        arguments.bindInput(i, graph.input(i), request, hasPointers);
      }
    }
    for (int i = 0; i < outputs; i++) {
      if (buffers.output(i) != null) {
        Operand declared = buffers.output(i).declared();
        arguments.outputs[i] = buffers.output(i).isOpen() ? null : buffers.output(i).bytes();
        arguments.outputShapes[i] =
            held(new Place("output", i), declared, (Location) request.outputs().get(i));
      } else {
        arguments.bindOutput(i, graph.output(i), request, hasPointers);
      }
    }
    return arguments;
  }

  /** The dimensions in a buffer, which agree with the model's since it was allocated. */
  private static Shape held(Place place, Operand operand, Location location)
      throws DeviceException {
    Shape held = operand.shape();
    return held.combine(location.shape())
        .orElseThrow(
            () ->
                DeviceException.invalid(
                    place
                        + " is "
                        + held
                        + " in its buffer, but "
                        + location.shape()
                        + " in the request"));
  }

  /**
   * Gives outputs in buffers of unknown dimensions the room for results whose shapes are known.
   *
   * @throws DeviceException with RESOURCE_EXHAUSTED_* if there is no room, with GENERAL_FAILURE if
   *     a buffer does not take such a result
   */
  void resize(RequestBuffers buffers, List<OutputShape> known) throws DeviceException {
    for (int i = 0; i < outputs.length; i++) {
      ManagedBuffer buffer = buffers.output(i);
      if (buffer != null && buffer.isOpen()) {
        Shape shape = known.get(i).shape();
        if (outputShapes[i].rank() > 0 && outputShapes[i].combine(shape).isEmpty()) {
          throw DeviceException.failure(
              "output %d is %s, but its buffer holds %s".formatted(i, shape, outputShapes[i]));
        }
        outputs[i] = buffer.resize(shape);
      }
    }
  }

  private static void checkCount(String what, int wanted, int given) throws DeviceException {
    if (wanted != given) {
      throw DeviceException.invalid(
          "the model has " + wanted + " " + what + ", the request " + given);
    }
  }

  private void bindInput(int index, Operand operand, Request request, boolean hasPointers)
      throws DeviceException {
    Argument argument = request.inputs().get(index);
    Place place = new Place("input", index);
    MemorySegment bytes = bytes(place, operand, argument, request.pools(), hasPointers);
    if (bytes == null) {
      inputs[index] = MemorySegment.NULL;
      inputShapes[index] = operand.shape();
      return;
    }
    inputs[index] = bytes.isReadOnly() ? bytes : bytes.asReadOnly();
    inputShapes[index] = combine(place, operand, shape(argument));
    if (operand.type().isTensor()
        && (inputShapes[index].rank() == 0 || hasUnknown(inputShapes[index], operand))) {
      throw DeviceException.invalid(place + " needs dimensions in the request");
    }
    long size =
        operand.type().isTensor()
            ? inputShapes[index].elementCount() * operand.type().elementSize()
            : operand.type().elementSize();
    if (inputs[index].byteSize() != size) {
      throw DeviceException.invalid(
          place + " has " + inputs[index].byteSize() + " bytes, but its shape takes " + size);
    }
  }

  private static boolean hasUnknown(Shape shape, Operand operand) {
    return !shape.isFullySpecified() && shape.equals(operand.shape());
  }

  private void bindOutput(int index, Operand operand, Request request, boolean hasPointers)
      throws DeviceException {
    Argument argument = request.outputs().get(index);
    Place place = new Place("output", index);
    outputs[index] = bytes(place, operand, argument, request.pools(), hasPointers);
    if (outputs[index] == null) {
      outputShapes[index] = operand.shape();
      return;
    }
    if (outputs[index].isReadOnly()) {
      throw DeviceException.invalid(place + " is in read-only memory");
    }
    outputShapes[index] = combine(place, operand, shape(argument));
  }

  private static Shape shape(Argument argument) {
    return switch (argument) {
      case Location location -> location.shape();
      case Pointer pointer -> pointer.shape();
      case NoValue _ -> Shape.NONE;
    };
  }

  /** Returns the bytes of an argument; null where it has no value. */
  private static MemorySegment bytes(
      Place place, Operand operand, Argument argument, List<MemoryPool> pools, boolean hasPointers)
      throws DeviceException {
    return switch (argument) {
      case NoValue _ -> null;
      case Location location -> pooled(place, location, pools);
      case Pointer _ when !hasPointers ->
          throw DeviceException.invalid(
              place + " is passed by pointer, which this device does not take here");
      case Pointer pointer -> pointed(place, operand, pointer.segment());
    };
  }

  private static MemorySegment pointed(Place place, Operand operand, MemorySegment segment)
      throws DeviceException {
    if (!Pointer.suits(segment, operand.type())) {
      throw DeviceException.invalid(
          place
              + " is passed by pointer, but is on the heap or not aligned for "
              + operand.type().text());
    }
    if (!Pointer.isInReach(segment)) {
      throw DeviceException.invalid(
          place + " is passed by pointer to memory that is closed or another thread's");
    }
    return segment;
  }

  private static MemorySegment pooled(Place place, Location location, List<MemoryPool> pools)
      throws DeviceException {
    if (location.pool() < 0 || location.pool() >= pools.size()) {
      throw DeviceException.invalid(
          place + " names pool " + location.pool() + " of " + pools.size());
    }
    SharedMemory memory = ((MemoryPool.Shared) pools.get(location.pool())).memory();
    try {
      Objects.checkFromIndexSize(location.offset(), location.length(), memory.size());
    } catch (IndexOutOfBoundsException e) {
      throw new DeviceException(
          ErrorStatus.INVALID_ARGUMENT,
          "%s stands at %d+%d, outside its pool of %d bytes"
              .formatted(place, location.offset(), location.length(), memory.size()),
          e);
    }
    return memory.segment().asSlice(location.offset(), location.length());
  }

  /** Returns the dimensions of model and request together, which must not contradict. */
  private static Shape combine(Place place, Operand operand, Shape requested)
      throws DeviceException {
    Shape declared = operand.shape();
    if (requested.rank() == 0) {
      return declared;
    }
    Optional<Shape> combined =
        operand.type().isTensor() ? declared.combine(requested) : Optional.empty();
    return combined.orElseThrow(
        () ->
            DeviceException.invalid(
                place + " is " + declared + " in the model, but " + requested + " in the request"));
  }

  /** Refuses a request whose outputs have sizes that only the execution would tell. */
  void requireKnownOutputs(Subgraph graph) throws DeviceException {
    for (int i = 0; i < outputs.length; i++) {
      Operand operand = graph.output(i);
      boolean known =
          !operand.type().isTensor()
              || (outputShapes[i].rank() > 0 && outputShapes[i].isFullySpecified());
      long size =
          known && operand.type().isTensor()
              ? outputShapes[i].elementCount() * operand.type().elementSize()
              : operand.type().elementSize();
      if (!known || (outputs[i] != null && outputs[i].byteSize() < size)) {
        throw DeviceException.invalid(
            "output " + i + " of a fenced execution must be fully specified");
      }
    }
  }
}
