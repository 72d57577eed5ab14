// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.fault;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import java.util.ArrayList;
import java.util.List;

/**
 * A buffer of a {@link FaultyDevice}: copies stand still, or are refused, as all of its calls.
 * Thread-safe; owns the buffer within.
 */
final class FaultyBuffer implements DeviceBuffer {
  private final DeviceBuffer within;
  private final FaultyDevice device;

  FaultyBuffer(DeviceBuffer within, FaultyDevice device) {
    this.within = within;
    this.device = device;
  }

  /** The same request for the device within, which knows only the buffers that it returned. */
  static Request unwrap(Request request) {
    List<MemoryPool> pools = request.pools();
    int first = 0;
    while (first < pools.size() && !isFaulty(pools.get(first))) {
      first++;
    }
    if (first == pools.size()) {
      return request;
    }
    List<MemoryPool> inner = new ArrayList<>(pools.size());
    for (MemoryPool pool : pools) {
      inner.add(
          pool instanceof MemoryPool.Device own && own.buffer() instanceof FaultyBuffer faulty
              ? new MemoryPool.Device(faulty.within)
              : pool);
    }
    return new Request(request.inputs(), request.outputs(), inner);
  }

  private static boolean isFaulty(MemoryPool pool) {
    return pool instanceof MemoryPool.Device own && own.buffer() instanceof FaultyBuffer;
  }

  @Override
  public int token() {
    return within.token();
  }

  @Override
  public void copyTo(SharedMemory destination) throws DeviceException {
    device.meet();
    within.copyTo(destination);
  }

  @Override
  public void copyFrom(SharedMemory source, Shape shape) throws DeviceException {
    device.meet();
    within.copyFrom(source, shape);
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
