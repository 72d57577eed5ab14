// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
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
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The arguments of a request, checked against the graph: bytes and shapes by input and output. Used
 * by one run, only in its calling thread: what the caller passed by pointer may be confined to it,
 * and is valid only until the execution returns.
 *
 * @param inputs bytes of each input; empty where it has no value
 * @param inputShapes dimensions of each input
 * @param outputs the room for each output
 * @param outputShapes the dimensions that model and request together state
 */
public record RequestArguments(
    MemorySegment[] inputs, Shape[] inputShapes, MemorySegment[] outputs, Shape[] outputShapes) {

  static RequestArguments of(
      Subgraph graph, Request request, DeviceInfo info, RequestBuffers buffers)
      throws DeviceException {
    checkCount("inputs", graph.inputIndexes().size(), request.inputs().size());
    checkCount("outputs", graph.outputIndexes().size(), request.outputs().size());
    for (MemoryPool pool : request.pools()) {
      if (pool instanceof MemoryPool.Shared shared
          && !info.memoryKinds().contains(shared.memory().kind())) {
        throw new DeviceException(
            ErrorStatus.GENERAL_FAILURE,
            info.name() + " cannot read " + shared.memory().kind().halName() + " memory");
      }
    }
    boolean hasPointers = info.pointerArguments();
    int inputs = request.inputs().size();
    int outputs = request.outputs().size();
    RequestArguments arguments =
        new RequestArguments(
            new MemorySegment[inputs],
            new Shape[inputs],
            new MemorySegment[outputs],
            new Shape[outputs]);
    for (int i = 0; i < inputs; i++) {
      if (buffers.input(i) != null) {
        arguments.inputs[i] = buffers.input(i).bytes().asReadOnly();
        arguments.inputShapes[i] =
            held("input " + i, buffers.input(i), (Location) request.inputs().get(i));
      } else {
        arguments.bindInput(i, graph.input(i), request, hasPointers);
      }
    }
    for (int i = 0; i < outputs; i++) {
      if (buffers.output(i) != null) {
        arguments.outputs[i] = buffers.output(i).bytes();
        arguments.outputShapes[i] =
            held("output " + i, buffers.output(i), (Location) request.outputs().get(i));
      } else {
        arguments.bindOutput(i, graph.output(i), request, hasPointers);
      }
    }
    return arguments;
  }

  /** The dimensions in a buffer, which agree with the model's since it was allocated. */
  private static Shape held(String place, ManagedBuffer buffer, Location location)
      throws DeviceException {
    Shape held = buffer.operand().shape();
    if (held.combine(location.shape()).isEmpty()) {
      throw invalid(
          place + " is " + held + " in its buffer, but " + location.shape() + " in the request");
    }
    return held;
  }

  private static void checkCount(String what, int wanted, int given) throws DeviceException {
    if (wanted != given) {
      throw invalid("the model has " + wanted + " " + what + ", the request " + given);
    }
  }

  private void bindInput(int index, Operand operand, Request request, boolean hasPointers)
      throws DeviceException {
    Argument argument = request.inputs().get(index);
    String place = "input " + index;
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
      throw invalid(place + " needs dimensions in the request");
    }
    long size =
        operand.type().isTensor()
            ? inputShapes[index].elementCount() * operand.type().elementSize()
            : operand.type().elementSize();
    if (inputs[index].byteSize() != size) {
      throw invalid(
          place + " has " + inputs[index].byteSize() + " bytes, but its shape takes " + size);
    }
  }

  private static boolean hasUnknown(Shape shape, Operand operand) {
    return !shape.isFullySpecified() && shape.equals(operand.shape());
  }

  private void bindOutput(int index, Operand operand, Request request, boolean hasPointers)
      throws DeviceException {
    Argument argument = request.outputs().get(index);
    String place = "output " + index;
    outputs[index] = bytes(place, operand, argument, request.pools(), hasPointers);
    if (outputs[index] == null) {
      outputShapes[index] = operand.shape();
      return;
    }
    if (outputs[index].isReadOnly()) {
      throw invalid(place + " is in read-only memory");
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
      String place, Operand operand, Argument argument, List<MemoryPool> pools, boolean hasPointers)
      throws DeviceException {
    return switch (argument) {
      case NoValue _ -> null;
      case Location location -> pooled(place, location, pools);
      case Pointer _ when !hasPointers ->
          throw invalid(place + " is passed by pointer, which this device does not take here");
      case Pointer pointer -> pointed(place, operand, pointer.segment());
    };
  }

  private static MemorySegment pointed(String place, Operand operand, MemorySegment segment)
      throws DeviceException {
    if (!Pointer.suits(segment, operand.type())) {
      throw invalid(
          place
              + " is passed by pointer, but is on the heap or not aligned for "
              + operand.type().text());
    }
    if (!segment.scope().isAlive() || !segment.isAccessibleBy(Thread.currentThread())) {
      throw invalid(place + " is passed by pointer to memory that is closed or another thread's");
    }
    return segment;
  }

  private static MemorySegment pooled(String place, Location location, List<MemoryPool> pools)
      throws DeviceException {
    if (location.pool() < 0 || location.pool() >= pools.size()) {
      throw invalid(place + " names pool " + location.pool() + " of " + pools.size());
    }
    SharedMemory memory = ((MemoryPool.Shared) pools.get(location.pool())).memory();
    try {
      Objects.checkFromIndexSize(location.offset(), location.length(), memory.size());
    } catch (IndexOutOfBoundsException e) {
      throw new DeviceException(
          ErrorStatus.INVALID_ARGUMENT,
          place
              + " stands at "
              + location.offset()
              + "+"
              + location.length()
              + ", outside its pool of "
              + memory.size()
              + " bytes",
          e);
    }
    return memory.segment().asSlice(location.offset(), location.length());
  }

  /** Returns the dimensions of model and request together, which must not contradict. */
  private static Shape combine(String place, Operand operand, Shape requested)
      throws DeviceException {
    Shape declared = operand.shape();
    if (requested.rank() == 0) {
      return declared;
    }
    Optional<Shape> combined =
        operand.type().isTensor() ? declared.combine(requested) : Optional.empty();
    return combined.orElseThrow(
        () ->
            invalid(
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
        throw invalid("output " + i + " of a fenced execution must be fully specified");
      }
    }
  }

  private static DeviceException invalid(String message) {
    return new DeviceException(ErrorStatus.INVALID_ARGUMENT, message);
  }
}
