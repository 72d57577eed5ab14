// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import java.util.List;

/**
 * The buffers that the executions of a request read and write, one after the other. Used by one
 * thread. An execution keeps them from {@link #use} to {@link #close}. Outputs hold nothing from
 * {@link #begin} on, and hold the result only if the execution that {@link #end} ends completed.
 */
public final class RequestBuffers implements AutoCloseable {
  /** Those of a request without buffers; makes and keeps nothing. */
  static final RequestBuffers NONE = new RequestBuffers(new ManagedBuffer[0], new ManagedBuffer[0]);

  private final ManagedBuffer[] inputs;
  private final ManagedBuffer[] outputs;
  private final long[] inputVersions;
  private final long[] outputVersions;
  private boolean writes;

  /** The number of kept buffers, counted from the first input to the last output. */
  private int kept;

  private RequestBuffers(ManagedBuffer[] inputs, ManagedBuffer[] outputs) {
    this.inputs = inputs;
    this.outputs = outputs;
    this.inputVersions = new long[inputs.length];
    this.outputVersions = new long[outputs.length];
  }

  /**
   * Finds and checks the buffers of a request, and keeps none yet.
   *
   * @param model that is to be executed
   * @param tracker of the device
   * @throws DeviceException with INVALID_ARGUMENT for a buffer that is foreign, not declared for
   *     its use, or in two uses of which one writes
   */
  public static RequestBuffers find(PreparedModel model, Request request, BufferTracker tracker)
      throws DeviceException {
    if (!hasBuffers(request)) {
      return NONE;
    }
    for (MemoryPool pool : request.pools()) {
      if (pool instanceof MemoryPool.Device buffer && !isOf(buffer, tracker)) {
        throw DeviceException.invalid(
            tracker.info().name() + " did not allocate the buffer in the request");
      }
    }
    RequestBuffers found =
        new RequestBuffers(
            new ManagedBuffer[request.inputs().size()],
            new ManagedBuffer[request.outputs().size()]);
    found.find(model, Direction.INPUT, request);
    found.find(model, Direction.OUTPUT, request);
    return found;
  }

  /**
   * Keeps the buffers for one execution.
   *
   * @return this, to be closed when the execution is over
   * @throws DeviceException with INVALID_ARGUMENT for a buffer that is closed; then none is kept
   */
  public RequestBuffers use() throws DeviceException {
    if (this == NONE) {
      return this;
    }
    boolean isKept = false;
    try {
      while (kept < inputs.length + outputs.length) {
        ManagedBuffer buffer = place(kept);
        if (buffer != null) {
          buffer.use();
        }
        kept++;
      }
      isKept = true;
      return this;
    } finally {
      if (!isKept) {
        close();
      }
    }
  }

  private ManagedBuffer place(int index) {
    return index < inputs.length ? inputs[index] : outputs[index - inputs.length];
  }

  /** Returns true if an argument stands in a buffer of unknown dimensions. */
  boolean areOpen() {
    for (ManagedBuffer input : inputs) {
      if (input != null && input.isOpen()) {
        return true;
      }
    }
    return haveOpenOutputs();
  }

  private static boolean hasBuffers(Request request) {
    List<MemoryPool> pools = request.pools();
    for (int i = 0; i < pools.size(); i++) {
      if (pools.get(i) instanceof MemoryPool.Device) {
        return true;
      }
    }
    return false;
  }

  private static boolean isOf(MemoryPool.Device pool, BufferTracker tracker) {
    return pool.buffer() instanceof ManagedBuffer buffer && buffer.tracker() == tracker;
  }

  private void find(PreparedModel model, Direction direction, Request request)
      throws DeviceException {
    boolean isInput = direction == Direction.INPUT;
    List<Argument> arguments = isInput ? request.inputs() : request.outputs();
    for (int i = 0; i < arguments.size(); i++) {
      if (arguments.get(i) instanceof Location location
          && location.pool() >= 0
          && location.pool() < request.pools().size()
          && request.pools().get(location.pool()) instanceof MemoryPool.Device pool
          && pool.buffer() instanceof ManagedBuffer buffer) {
        String place = (isInput ? "input " : "output ") + i;
        if (location.offset() != 0 || location.length() != 0) {
          throw DeviceException.invalid(
              place + " is a part of " + buffer + ": offset and length must be 0");
        }
        if (!buffer.has(model, direction, i)) {
          throw DeviceException.invalid(
              buffer + " was not allocated for " + place + " of this model");
        }
        if (isAmong(buffer, outputs) || (!isInput && isAmong(buffer, inputs))) {
          throw DeviceException.invalid(
              place + " stands in " + buffer + ", as another argument does");
        }
        (isInput ? inputs : outputs)[i] = buffer;
      }
    }
  }

  private static boolean isAmong(ManagedBuffer buffer, ManagedBuffer[] others) {
    for (ManagedBuffer other : others) {
      if (other == buffer) {
        return true;
      }
    }
    return false;
  }

  /** The buffer of an input; null where it has none. */
  public ManagedBuffer input(int index) {
    return this == NONE ? null : inputs[index];
  }

  /** The buffer of an output; null where it has none. */
  public ManagedBuffer output(int index) {
    return this == NONE ? null : outputs[index];
  }

  /**
   * Begins to read an input of unknown dimensions, which it has only while it holds a value.
   *
   * @throws DeviceException with GENERAL_FAILURE if it holds nothing
   */
  void beginOpen(int input) throws DeviceException {
    inputVersions[input] = inputs[input].beginRead();
  }

  /**
   * Begins to read and to write.
   *
   * @throws DeviceException with GENERAL_FAILURE where an input holds nothing; then no output has
   *     been touched
   */
  public void begin() throws DeviceException {
    if (this == NONE) {
      return;
    }
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] != null) {
        long version = inputs[i].beginRead();
        if (inputs[i].isOpen() && version != inputVersions[i]) {
          throw DeviceException.failure(inputs[i] + " was written while it was to be read");
        }
        inputVersions[i] = version;
      }
    }
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i] != null) {
        outputVersions[i] = outputs[i].beginWrite();
      }
    }
    writes = true;
  }

  /**
   * Ends what {@link #begin} began: outputs hold the result of a completed execution.
   *
   * @return what the execution ends with: a failure where a buffer cannot hold its result
   */
  public ExecutionResult end(ExecutionResult result) {
    if (this == NONE) {
      return result;
    }
    ExecutionResult checked = checked(result);
    if (endWrites(checked instanceof Completed, shapes(checked))) {
      return checked;
    }
    for (ManagedBuffer output : outputs) {
      if (output != null) {
        output.lose();
      }
    }
    return failed("another call wrote to the buffer of an output, or its contents were lost");
  }

  /** Returns true if an output stands in a buffer of unknown dimensions. */
  boolean haveOpenOutputs() {
    for (ManagedBuffer output : outputs) {
      if (output != null && output.isOpen()) {
        return true;
      }
    }
    return false;
  }

  private static List<OutputShape> shapes(ExecutionResult result) {
    return switch (result) {
      case Completed completed -> completed.outputs();
      case OutputInsufficientSize insufficient -> insufficient.outputs();
      case Failed _ -> List.of();
    };
  }

  /** Returns a failure if a buffer cannot take its result. */
  private ExecutionResult checked(ExecutionResult result) {
    List<OutputShape> shapes = shapes(result);
    for (int i = 0; i < shapes.size(); i++) {
      if (outputs[i] != null
          && !(shapes.get(i).isSufficient() && takes(outputs[i], shapes.get(i).shape()))) {
        return failed(
            "output %d is %s, but its buffer holds %s"
                .formatted(i, shapes.get(i).shape(), outputs[i].declared().shape()));
      }
    }
    for (int i = 0; i < inputs.length; i++) {
      if (result instanceof Completed
          && inputs[i] != null
          && !inputs[i].isUnchanged(inputVersions[i])) {
        return failed("the buffer of input " + i + " was written or lost while it was read");
      }
    }
    return result;
  }

  private static boolean takes(ManagedBuffer buffer, Shape shape) {
    Shape declared = buffer.declared().shape();
    return buffer.isOpen() ? declared.combine(shape).isPresent() : declared.equals(shape);
  }

  private static Failed failed(String message) {
    return new Failed(ErrorStatus.GENERAL_FAILURE, message);
  }

  /** Returns whether all outputs hold the result now, if there is one. */
  private boolean endWrites(boolean isWritten, List<OutputShape> shapes) {
    writes = false;
    boolean hold = true;
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i] != null) {
        Shape shape = isWritten ? shapes.get(i).shape() : Shape.NONE;
        hold &= outputs[i].endWrite(outputVersions[i], isWritten, shape) || !isWritten;
      }
    }
    return hold;
  }

  /** Ends the execution: what it was to write and did not, is written by nobody. */
  @Override
  public void close() {
    if (writes) {
      endWrites(false, List.of());
    }
    while (kept > 0) {
      ManagedBuffer buffer = place(--kept);
      if (buffer != null) {
        buffer.release();
      }
    }
  }
}
