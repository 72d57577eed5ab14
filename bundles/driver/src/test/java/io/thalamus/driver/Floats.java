// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The arguments of an execution: memories full of floats, one for each argument. */
final class Floats implements AutoCloseable {
  private final List<SharedMemory> memories = new ArrayList<>();
  private final List<Request.Argument> inputs = new ArrayList<>();
  private final List<Request.Argument> outputs = new ArrayList<>();

  Floats input(Shape shape, float... values) {
    SharedMemory memory = room((long) values.length * Float.BYTES);
    MemorySegment.copy(
        values, 0, memory.segment(), ValueLayout.JAVA_FLOAT_UNALIGNED, 0, values.length);
    inputs.add(place(memory, (long) values.length * Float.BYTES, shape));
    return this;
  }

  /** Room for this many floats, filled with NaN. */
  Floats output(int count) {
    return output(count * Float.BYTES, Shape.NONE);
  }

  Floats output(int bytes, Shape shape) {
    SharedMemory memory = room(bytes);
    memory.segment().fill((byte) 0xFF);
    outputs.add(place(memory, bytes, shape));
    return this;
  }

  private SharedMemory room(long bytes) {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, bytes);
    memories.add(memory);
    return memory;
  }

  private Request.Argument place(SharedMemory memory, long bytes, Shape shape) {
    return new Request.Location(memories.indexOf(memory), 0, bytes, shape);
  }

  Request request() {
    return new Request(
        inputs, outputs, memories.stream().<MemoryPool>map(MemoryPool.Shared::new).toList());
  }

  float[] result(int output) {
    Request.Location place = (Request.Location) outputs.get(output);
    float[] values = new float[(int) (place.length() / Float.BYTES)];
    MemorySegment.copy(
        memories.get(place.pool()).segment(),
        ValueLayout.JAVA_FLOAT_UNALIGNED,
        0,
        values,
        0,
        values.length);
    return values;
  }

  /** Returns true if nothing was written into an output. */
  boolean isUntouched(int output) {
    Request.Location place = (Request.Location) outputs.get(output);
    byte[] bytes = memories.get(place.pool()).segment().toArray(ValueLayout.JAVA_BYTE);
    byte[] full = new byte[bytes.length];
    Arrays.fill(full, (byte) 0xFF);
    return Arrays.equals(full, bytes);
  }

  /** The memory of an argument: inputs and outputs in the order in which they were added. */
  SharedMemory memory(int index) {
    return memories.get(index);
  }

  @Override
  public void close() {
    memories.forEach(SharedMemory::close);
  }
}
