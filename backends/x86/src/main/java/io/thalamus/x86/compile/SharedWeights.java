// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.x86.code.SystemCalls;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Packed weights that compilations of one device share: those of a model for other dimensions need
 * the same. Each part stands under a key that says all that decides on its bytes, and stays until
 * the last program that uses it is closed. Thread-safe: a part is packed by its first user, for
 * whom the others wait.
 */
public final class SharedWeights {
  private static final long LEAST = 1 << 16;
  private static final long MOST = 1 << 22;

  private final Map<Object, Part> parts = new HashMap<>();

  /** The chunk with room for more; null if there is none. */
  private Chunk last;

  private long mapped;

  /** No weights. */
  public SharedWeights() {}

  /**
   * The bytes of a part, and what its user must know of them.
   *
   * @param writer writes all of them
   */
  record Packed(long bytes, Consumer<MemorySegment> writer, Object note) {
    /** Bytes that are copied. */
    Packed(MemorySegment bytes, Object note) {
      this(bytes.byteSize(), to -> to.copyFrom(bytes), note);
    }
  }

  /**
   * Returns a part, which the caller gives back by {@link Part#release}.
   *
   * @param key equals those of the same bytes; it must hold the owners of memory, since at an
   *     address there is something else later
   */
  Part take(Object key, Supplier<Packed> packer) {
    Part part;
    synchronized (this) {
      part = parts.computeIfAbsent(key, Part::new);
      part.users++;
    }
    boolean isPacked = false;
    try {
      part.pack(packer);
      isPacked = true;
      return part;
    } finally {
      if (!isPacked) {
        part.release();
      }
    }
  }

  /** Returns the bytes of all parts, and of the room for more. */
  public synchronized long bytes() {
    return mapped;
  }

  private synchronized Chunk room(long bytes) {
    Chunk chunk = last;
    if (bytes > MOST / 2) {
      chunk = new Chunk(SystemCalls.pages(bytes));
    } else if (last == null || last.size - last.used < bytes) {
      long size = last == null ? LEAST : Math.min(2 * last.size, MOST);
      chunk = new Chunk(SystemCalls.pages(Math.max(size, bytes)));
      last = chunk;
    }
    chunk.used += bytes;
    chunk.users++;
    return chunk;
  }

  /** A part. */
  final class Part {
    private final Object key;
    private Chunk chunk;
    private long address;
    private long bytes;
    private Object note;
    private boolean isPacked;

    /** Guarded by all weights. */
    private int users;

    private Part(Object key) {
      this.key = key;
    }

    private synchronized void pack(Supplier<Packed> packer) {
      if (isPacked) {
        return;
      }
      Packed packed = packer.get();
      long length = Constants.room(packed.bytes() + Program.SLACK);
      if (chunk == null) {
        synchronized (SharedWeights.this) {
          chunk = room(length);
          address = chunk.address + chunk.used - length;
        }
      }
      bytes = length;
      note = packed.note();
      packed.writer().accept(Constants.memory(address, packed.bytes()));
      isPacked = true;
    }

    /** Returns what its packer said of it. */
    Object note() {
      return note;
    }

    long address() {
      return address;
    }

    /** Returns its bytes, and some behind them that mean nothing. */
    long bytes() {
      return bytes;
    }

    void release() {
      synchronized (SharedWeights.this) {
        users--;
        if (users == 0) {
          parts.remove(key);
          if (chunk != null) {
            chunk.release();
          }
        }
      }
    }
  }

  /** Memory of some parts, which goes with the last of them: large ones have large pages. */
  private final class Chunk {
    private final long address;
    private final long size;
    private long used;
    private int users;

    Chunk(long size) {
      this.size = size;
      address = SystemCalls.map(size);
      if (address == 0) {
        throw new OutOfMemoryError("the system refuses " + size + " bytes for weights");
      }
      mapped += size;
    }

    void release() {
      users--;
      if (users == 0) {
        SystemCalls.unmap(address, size);
        mapped -= size;
        last = last == this ? null : last;
      }
    }
  }
}
