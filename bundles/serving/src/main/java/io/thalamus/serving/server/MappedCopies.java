// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.serving.ServingException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Copies of values that lie in files which other processes may shorten. A device that touched such
 * a page would fault in the middle of an execution; here only a copy does. Owned by one request,
 * and used by one thread at a time.
 */
final class MappedCopies implements AutoCloseable {
  private static final long ALIGNMENT = 64;

  /** Null until something was copied. */
  private Arena arena;

  /** Returns memory that belongs to nobody else. */
  MemorySegment allocate(long bytes) {
    if (arena == null) {
      arena = Arena.ofShared();
    }
    return arena.allocate(Math.max(1, bytes), ALIGNMENT).asSlice(0, bytes);
  }

  /** Returns a value as it is, or a copy of it if it is mapped. */
  MemorySegment in(String name, MemorySegment value) throws ServingException {
    if (!value.isMapped()) {
      return value;
    }
    MemorySegment own = allocate(value.byteSize());
    copy("input", name, value, own);
    return own;
  }

  /** Copies to a segment that may be mapped. */
  static void out(String name, MemorySegment from, MemorySegment to) throws ServingException {
    copy("output", name, from, to);
  }

  private static void copy(String kind, String name, MemorySegment from, MemorySegment to)
      throws ServingException {
    try {
      to.copyFrom(from);
    } catch (InternalError e) {
      throw ServingException.invalid(
          kind + " '" + name + "': the shared memory behind its region was shortened");
    }
  }

  @Override
  public void close() {
    if (arena != null) {
      arena.close();
      arena = null;
    }
  }
}
