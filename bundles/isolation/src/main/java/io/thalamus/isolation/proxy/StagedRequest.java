// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Pointer;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A request whose arguments by pointer stand in shared memory, where another process reads them:
 * inputs are copied there in the caller's thread, and outputs from there. Used by the thread of the
 * execution.
 */
final class StagedRequest {
  /** The alignment that suits any element. */
  private static final long ALIGNMENT = Long.BYTES;

  private final Request original;
  private final Optional<Model> model;
  private Request staged;

  private final Scratch scratch;

  /** Null where nothing is staged. */
  private SharedMemory memory;

  private long bytesIn;

  private StagedRequest(Request original, Optional<Model> model, Scratch scratch) {
    this.scratch = scratch;
    this.original = original;
    this.model = model;
    this.staged = original;
  }

  /**
   * Stages a request; one without pointers stays as it is.
   *
   * @param model empty where it is not known
   * @param scratch memory for what is staged, until the execution ends
   * @throws DeviceException with INVALID_ARGUMENT where the device takes no pointers, or not such
   */
  static StagedRequest of(Request request, DeviceInfo info, Optional<Model> model, Scratch scratch)
      throws DeviceException {
    StagedRequest staged = new StagedRequest(request, model, scratch);
    if (!hasPointer(request)) {
      return staged;
    }
    if (!info.pointerArguments()) {
      throw DeviceException.invalid(info.name() + " takes no arguments by pointer");
    }
    try {
      staged.check();
      staged.stage();
      return staged;
    } catch (SharedMemoryException.Exhausted e) {
      throw new DeviceException(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, e.getMessage(), e);
    }
  }

  static boolean hasPointer(Request request) {
    return request.inputs().stream().anyMatch(Pointer.class::isInstance)
        || request.outputs().stream().anyMatch(Pointer.class::isInstance);
  }

  private void check() throws DeviceException {
    for (int i = 0; i < original.inputs().size(); i++) {
      check("input " + i, original.inputs().get(i), inputType(i));
    }
    for (int i = 0; i < original.outputs().size(); i++) {
      Request.Argument output = original.outputs().get(i);
      check("output " + i, output, outputType(i));
      if (output instanceof Pointer pointer && pointer.segment().isReadOnly()) {
        throw DeviceException.invalid("output " + i + " is in a segment that cannot be written");
      }
    }
  }

  private Optional<OperandType> inputType(int index) {
    return model
        .map(Model::main)
        .filter(main -> index < main.inputIndexes().size())
        .map(main -> main.input(index).type());
  }

  private Optional<OperandType> outputType(int index) {
    return model
        .map(Model::main)
        .filter(main -> index < main.outputIndexes().size())
        .map(main -> main.output(index).type());
  }

  private static void check(String what, Request.Argument argument, Optional<OperandType> type)
      throws DeviceException {
    if (!(argument instanceof Pointer pointer)) {
      return;
    }
    if (!pointer.segment().isNative()) {
      throw DeviceException.invalid(what + " is in a segment on the heap");
    }
    if (!pointer.segment().scope().isAlive()
        || !pointer.segment().isAccessibleBy(Thread.currentThread())) {
      throw DeviceException.invalid(what + " is in a segment that is closed, or of another thread");
    }
    if (type.isPresent() && !Pointer.suits(pointer.segment(), type.get())) {
      throw DeviceException.invalid(
          what + " is in a segment that is not aligned for " + type.get().text());
    }
  }

  private void stage() {
    long size = size(original.inputs()) + size(original.outputs());
    memory = scratch.ofSize(size);
    List<MemoryPool> pools = new ArrayList<>(original.pools());
    pools.add(new MemoryPool.Shared(memory));
    List<Request.Argument> inputs = place(original.inputs(), 0);
    List<Request.Argument> outputs = place(original.outputs(), size(original.inputs()));
    staged = new Request(inputs, outputs, pools);
    for (int i = 0; i < inputs.size(); i++) {
      if (original.inputs().get(i) instanceof Pointer(MemorySegment segment, var _)
          && inputs.get(i) instanceof Request.Location location) {
        MemorySegment.copy(segment, 0, memory.segment(), location.offset(), segment.byteSize());
        bytesIn += segment.byteSize();
      }
    }
  }

  private static long size(List<Request.Argument> arguments) {
    long size = 0;
    for (Request.Argument argument : arguments) {
      if (argument instanceof Pointer pointer) {
        size += room(pointer);
      }
    }
    return size;
  }

  private static long room(Pointer pointer) {
    return (pointer.segment().byteSize() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  private List<Request.Argument> place(List<Request.Argument> arguments, long start) {
    List<Request.Argument> placed = new ArrayList<>();
    long offset = start;
    for (Request.Argument argument : arguments) {
      if (argument instanceof Pointer pointer) {
        placed.add(
            new Request.Location(
                original.pools().size(), offset, pointer.segment().byteSize(), pointer.shape()));
        offset += room(pointer);
      } else {
        placed.add(argument);
      }
    }
    return placed;
  }

  /** Returns the request without pointers. */
  Request request() {
    return staged;
  }

  /** Copies outputs to where their pointers lead, and counts what was copied. */
  Completed finish(Completed result) {
    long bytesOut = 0;
    for (int i = 0; i < original.outputs().size(); i++) {
      if (original.outputs().get(i) instanceof Pointer(MemorySegment segment, var _)
          && staged.outputs().get(i) instanceof Request.Location location) {
        long size = Math.min(segment.byteSize(), size(i, result));
        MemorySegment.copy(memory.segment(), location.offset(), segment, 0, size);
        bytesOut += size;
      }
    }
    return bytesIn + bytesOut == 0
        ? result
        : new Completed(
            result.outputs(),
            result.timing(),
            result.bytesIn() + bytesIn,
            result.bytesOut() + bytesOut);
  }

  /** Returns how many bytes an output has: those behind it stay as they are. */
  private long size(int index, Completed result) {
    return outputType(index)
        .filter(type -> index < result.outputs().size())
        .map(type -> result.outputs().get(index).shape().elementCount() * type.elementSize())
        .orElse(Long.MAX_VALUE);
  }
}
