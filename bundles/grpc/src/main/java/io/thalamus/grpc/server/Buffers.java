// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.thalamus.serving.protocol.RequestMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Buffers of Netty as the memory of a request. Not thread-safe. */
final class Buffers implements RequestMemory.Source {
  private static final int ALIGNMENT = 64;

  private final ByteBufAllocator allocator;
  private final List<ByteBuf> buffers = new ArrayList<>();

  Buffers(ByteBufAllocator allocator) {
    this.allocator = allocator;
  }

  @Override
  public MemorySegment allocate(long bytes) {
    int capacity = (int) bytes + ALIGNMENT;
    ByteBuf buffer = allocator.directBuffer(capacity, capacity);
    buffers.add(buffer);
    MemorySegment all = MemorySegment.ofBuffer(buffer.nioBuffer(0, capacity));
    return all.asSlice(-all.address() & ALIGNMENT - 1, bytes);
  }

  @Override
  public void close() {
    buffers.forEach(ByteBuf::release);
    buffers.clear();
  }
}
