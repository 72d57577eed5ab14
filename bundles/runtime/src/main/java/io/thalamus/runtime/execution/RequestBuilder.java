// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import io.thalamus.runtime.domain.MemoryBinding;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Builds the request of one step from the places of its operands. Used once, by one thread. */
final class RequestBuilder {
  private final Frame frame;
  private final boolean namesBuffers;
  private final boolean passesPointers;
  private List<MemoryPool> pools = List.of();

  private RequestBuilder(Frame frame, boolean namesBuffers, boolean passesPointers) {
    this.frame = frame;
    this.namesBuffers = namesBuffers;
    this.passesPointers = passesPointers;
  }

  /**
   * Returns the request for a step.
   *
   * @param namesBuffers whether buffers of the device are named where there are any; otherwise
   *     their copies in shared memory
   * @param passesPointers whether the device takes arguments by pointer; for one that does not,
   *     arguments in memory of the caller are staged
   * @throws NeuralNetworksException with BAD_DATA if the caller has closed the memory of one
   */
  static Request of(ExecutionStep step, Frame frame, boolean namesBuffers, boolean passesPointers)
      throws NeuralNetworksException {
    RequestBuilder builder = new RequestBuilder(frame, namesBuffers, passesPointers);
    List<Argument> inputs = builder.arguments(step.inputs(), true);
    List<Argument> outputs = builder.arguments(step.outputs(), false);
    return new Request(inputs, outputs, builder.pools);
  }

  /**
   * Returns whether a request says what one for this step and this frame would say, with buffers of
   * the device named and without pointers.
   */
  static boolean isSame(Request request, ExecutionStep step, Frame frame) {
    return isSame(request, request.inputs(), step.inputs(), frame)
        && isSame(request, request.outputs(), step.outputs(), frame);
  }

  private static boolean isSame(
      Request request, List<Argument> arguments, List<Integer> operands, Frame frame) {
    for (int i = 0; i < arguments.size(); i++) {
      int operand = operands.get(i);
      Value value = frame.get(operand);
      boolean isSame =
          switch (arguments.get(i)) {
            case Request.NoValue _ -> value.isOmitted();
            case Request.Pointer _ -> false;
            case Request.Location place ->
                !value.isOmitted()
                    && !(value.pool() instanceof CallerPool)
                    && isSame(request.pools().get(place.pool()), place, value)
                    && place.shape().equals(frame.givenShape(operand));
          };
      if (!isSame) {
        return false;
      }
    }
    return true;
  }

  private static boolean isSame(MemoryPool pool, Request.Location place, Value value) {
    MemoryBinding use = value.pool().use();
    if (use != null && use.buffer().isPresent()) {
      return use.pool().equals(pool);
    }
    return pool instanceof MemoryPool.Shared shared
        && shared.memory() == value.pool().memory()
        && place.offset() == value.pool().base() + value.offset()
        && place.length() == value.length();
  }

  private List<Argument> arguments(List<Integer> operands, boolean isRead)
      throws NeuralNetworksException {
    Argument[] arguments = new Argument[operands.size()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = argument(operands.get(i), isRead);
    }
    return List.of(arguments);
  }

  private Argument argument(int operand, boolean isRead) throws NeuralNetworksException {
    Value value = frame.get(operand);
    if (value.isOmitted()) {
      return Argument.NO_VALUE;
    }
    Shape shape = frame.givenShape(operand);
    if (value.pool() instanceof CallerPool caller) {
      if (passesPointers && !caller.isStaged()) {
        MemorySegment all = caller.segment();
        return new Request.Pointer(
            value.length() == all.byteSize() ? all : all.asSlice(0, value.length()), shape);
      }
      caller.stage(isRead, value.length());
    }
    MemoryBinding use = value.pool().use();
    if (namesBuffers && use != null && use.buffer().isPresent()) {
      return new Request.Location(indexOf(use.pool()), 0, 0, shape);
    }
    return new Request.Location(
        indexOf(value.pool().memory()),
        value.pool().base() + value.offset(),
        value.length(),
        shape);
  }

  private int indexOf(SharedMemory memory) {
    for (int i = 0; i < pools.size(); i++) {
      if (pools.get(i) instanceof MemoryPool.Shared shared && shared.memory() == memory) {
        return i;
      }
    }
    return add(new MemoryPool.Shared(memory));
  }

  private int indexOf(MemoryPool buffer) {
    int index = pools.indexOf(buffer);
    return index >= 0 ? index : add(buffer);
  }

  private int add(MemoryPool pool) {
    if (pools.isEmpty()) {
      pools = new ArrayList<>(4);
    }
    pools.add(pool);
    return pools.size() - 1;
  }
}
