// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import java.util.ArrayList;
import java.util.List;

/**
 * A buffer of a {@link FaultyDevice}: copies stand still or are refused as all of its calls, and
 * the contents are lost with those of the device. Thread-safe; owns the buffer within.
 */
final class FaultyBuffer implements DeviceBuffer {
  private final DeviceBuffer within;
  private final FaultyDevice device;
  private final FaultInjector injector;

  /** The losses of the device's memory until this buffer was last written. */
  private volatile long written;

  FaultyBuffer(DeviceBuffer within, FaultyDevice device, FaultInjector injector) {
    this.within = within;
    this.device = device;
    this.injector = injector;
    this.written = injector.losses();
  }

  /** The buffers of one execution. Used by one thread at a time. */
  static final class Uses {
    private final FaultInjector injector;
    private final Request request;
    private final List<FaultyBuffer> inputs = new ArrayList<>();
    private final List<FaultyBuffer> outputs = new ArrayList<>();
    private final long begin;

    /** Finds them in a request. */
    Uses(Request request, FaultInjector injector) {
      this.injector = injector;
      this.begin = injector.losses();
      collect(request, request.inputs(), inputs);
      collect(request, request.outputs(), outputs);
      this.request = isNone() ? request : unwrap(request);
    }

    private static void collect(
        Request request, List<Request.Argument> arguments, List<FaultyBuffer> found) {
      for (Request.Argument argument : arguments) {
        if (argument instanceof Request.Location place
            && place.pool() >= 0
            && place.pool() < request.pools().size()
            && request.pools().get(place.pool()) instanceof MemoryPool.Device own
            && own.buffer() instanceof FaultyBuffer faulty) {
          found.add(faulty);
        }
      }
    }

    private boolean isNone() {
      return inputs.isEmpty() && outputs.isEmpty();
    }

    private static Request unwrap(Request request) {
      List<MemoryPool> inner =
          request.pools().stream()
              .map(
                  pool ->
                      pool instanceof MemoryPool.Device own
                              && own.buffer() instanceof FaultyBuffer faulty
                          ? new MemoryPool.Device(faulty.within)
                          : pool)
              .toList();
      return new Request(request.inputs(), request.outputs(), inner);
    }

    /** Returns the request for the device within, which knows only the buffers that it returned. */
    Request request() {
      return request;
    }

    /** Returns why the execution cannot begin, or null: an input has lost what it held. */
    Failed beforeExecution() {
      return inputs.stream().allMatch(FaultyBuffer::holds) ? null : EMPTY;
    }

    /** Returns why an execution that succeeded has failed after all, or null. */
    Failed afterExecution() {
      if (!isNone() && injector.losses() != begin) {
        return new Failed(
            ErrorStatus.GENERAL_FAILURE,
            "injected: the device lost its memory under the execution");
      }
      outputs.forEach(output -> output.written = begin);
      return null;
    }
  }

  private static final Failed EMPTY =
      new Failed(ErrorStatus.GENERAL_FAILURE, "injected: the device has lost what the buffer held");

  private boolean holds() {
    return written == injector.losses();
  }

  @Override
  public int token() {
    return within.token();
  }

  @Override
  public void copyTo(SharedMemory destination) throws DeviceException {
    device.meet();
    if (holds()) {
      within.copyTo(destination);
    }
    if (!holds()) {
      throw new DeviceException(EMPTY.status(), EMPTY.message());
    }
  }

  @Override
  public void copyFrom(SharedMemory source, Shape shape) throws DeviceException {
    device.meet();
    long begin = injector.losses();
    within.copyFrom(source, shape);
    written = begin;
  }

  @Override
  public void close() {
    within.close();
  }

  @Override
  public String toString() {
    return within.toString();
  }
}
