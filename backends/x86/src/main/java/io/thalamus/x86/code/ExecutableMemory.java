// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/**
 * Pages of code: written, then made executable, and never both at once. Immutable and thread-safe
 * until it is closed by its owner, after the last call has returned.
 */
public final class ExecutableMemory implements AutoCloseable {
  private final MemorySegment pages;
  private boolean isClosed;

  private ExecutableMemory(MemorySegment pages) {
    this.pages = pages;
  }

  /** Copies code into pages of its own; empty where the system refuses such pages. */
  @SuppressWarnings("restricted")
  public static Optional<ExecutableMemory> of(byte[] code) {
    long bytes = SystemCalls.pages(code.length);
    long address = SystemCalls.map(bytes);
    if (address == 0) {
      return Optional.empty();
    }
    MemorySegment pages = MemorySegment.ofAddress(address).reinterpret(bytes);
    MemorySegment.copy(code, 0, pages, ValueLayout.JAVA_BYTE, 0, code.length);
    if (!SystemCalls.makeExecutable(address, bytes)) {
      SystemCalls.unmap(address, bytes);
      return Optional.empty();
    }
    return Optional.of(new ExecutableMemory(pages));
  }

  /** Returns where a function begins. */
  public MemorySegment at(long offset) {
    return pages.asSlice(offset, 0);
  }

  /** Unmaps the pages. Calling it again does nothing. */
  @Override
  public synchronized void close() {
    if (!isClosed) {
      isClosed = true;
      SystemCalls.unmap(pages.address(), pages.byteSize());
    }
  }
}
