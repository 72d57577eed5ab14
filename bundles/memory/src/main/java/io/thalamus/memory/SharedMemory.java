// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One mapped piece of memory that devices, and other processes, can share.
 *
 * <p>Thread-safe. Whoever allocated or mapped it owns it and closes it once. Memory that is lent to
 * a device stays mapped until the last {@link Lease} is returned, even where the owner closes it
 * earlier: a kernel never runs into an unmapped page.
 */
public final class SharedMemory implements AutoCloseable {
  private final MemoryKind kind;
  private final Arena arena;
  private final MemorySegment segment;
  private final BackingFile file;
  private final ReferenceCount leases = new ReferenceCount(this::unmap);

  private SharedMemory(MemoryKind kind, Arena arena, MemorySegment segment, BackingFile file) {
    this.kind = kind;
    this.arena = arena;
    this.segment = segment;
    this.file = file;
  }

  /**
   * Allocates zeroed memory. Pages are committed as they are first touched.
   *
   * @param kind any kind but {@link MemoryKind#MMAP_FD}, which needs a file
   * @param size in bytes; zero is rounded up to one, since an empty range cannot be mapped
   * @throws SharedMemoryException where the system refuses the memory
   */
  public static SharedMemory allocate(MemoryKind kind, long size) {
    if (kind == MemoryKind.MMAP_FD) {
      throw new IllegalArgumentException("mmap_fd memory is made from a file: use map(...)");
    }
    if (size < 0) {
      throw new IllegalArgumentException("negative size " + size);
    }
    BackingFile file = BackingFile.anonymous(Math.max(1, size));
    return map(kind, file, 0, Math.max(1, size), MapMode.READ_WRITE);
  }

  /**
   * Maps a whole existing file for reading, as {@link MemoryKind#MMAP_FD}.
   *
   * @throws SharedMemoryException where the file cannot be opened, is empty or cannot be mapped
   */
  public static SharedMemory map(Path path) {
    BackingFile file = BackingFile.open(path, false);
    try {
      long size = file.channel().size();
      if (size == 0) {
        file.close();
        throw new SharedMemoryException("cannot map " + path + ": the file is empty", null);
      }
      return map(MemoryKind.MMAP_FD, file, 0, size, MapMode.READ_ONLY);
    } catch (IOException e) {
      file.close();
      throw new SharedMemoryException("cannot map " + path + ": " + e.getMessage(), e);
    }
  }

  /**
   * Maps what a descriptor names, usually one made in another process by {@link #describe()}.
   *
   * @throws SharedMemoryException where the memory is gone or may not be opened
   */
  public static SharedMemory map(SharedMemoryHandle descriptor) {
    BackingFile file = BackingFile.open(descriptor.file(), descriptor.writable());
    try {
      if (file.channel().size() < descriptor.offset() + descriptor.size()) {
        file.close();
        throw new SharedMemoryException(
            "cannot map " + descriptor.file() + ": it is shorter than the range described", null);
      }
    } catch (IOException e) {
      file.close();
      throw new SharedMemoryException("cannot map " + descriptor.file() + ": " + e.getMessage(), e);
    }
    return map(
        descriptor.kind(),
        file,
        descriptor.offset(),
        descriptor.size(),
        descriptor.writable() ? MapMode.READ_WRITE : MapMode.READ_ONLY);
  }

  private static SharedMemory map(
      MemoryKind kind, BackingFile file, long offset, long size, MapMode mode) {
    Arena arena = Arena.ofShared();
    try {
      MemorySegment segment = file.channel().map(mode, offset, size, arena);
      return new SharedMemory(kind, arena, segment, file.withRange(offset, mode));
    } catch (IOException e) {
      arena.close();
      file.close();
      throw new SharedMemoryException(
          "cannot map " + size + " bytes as " + kind.halName() + ": " + e.getMessage(), e);
    }
  }

  /** The kind of pool. */
  public MemoryKind kind() {
    return kind;
  }

  /** Size in bytes. */
  public long size() {
    return segment.byteSize();
  }

  /** Whether the mapping refuses writes. */
  public boolean isReadOnly() {
    return segment.isReadOnly();
  }

  /** The mapped bytes. Valid until this memory is closed and the last lease is returned. */
  public MemorySegment segment() {
    return segment;
  }

  /** How another process can map the same bytes while this memory is open. */
  public SharedMemoryHandle describe() {
    return new SharedMemoryHandle(
        kind, file.shareablePath(), file.offset(), size(), !segment.isReadOnly());
  }

  /**
   * Keeps the memory mapped until the lease is closed. Closed memory that another lease keeps can
   * still be lent.
   *
   * @throws IllegalStateException where this memory is closed and unmapped
   */
  public Lease lend() {
    retain();
    return new Lease();
  }

  void retain() {
    if (!leases.retainUnlessFreed()) {
      throw new IllegalStateException("the memory is closed");
    }
  }

  void release() {
    leases.release();
  }

  /** Gives the memory back, at once or when the last lease ends. Calling it again does nothing. */
  @Override
  public void close() {
    leases.close();
  }

  private void unmap() {
    arena.close();
    file.close();
  }

  @Override
  public String toString() {
    return kind.halName() + "[" + size() + " bytes]";
  }

  /**
   * A promise that the memory stays mapped. Thread-safe; owned by the caller of {@link #lend()}.
   */
  public final class Lease implements AutoCloseable {
    private final AtomicBoolean returned = new AtomicBoolean();

    private Lease() {}

    /** The memory that is kept. */
    public SharedMemory memory() {
      return SharedMemory.this;
    }

    /** Ends the promise. Calling it again does nothing. */
    @Override
    public void close() {
      if (returned.compareAndSet(false, true)) {
        release();
      }
    }
  }

  /** An open file behind a mapping. */
  record BackingFile(FileChannel channel, Path path, long offset, boolean anonymous) {
    static BackingFile anonymous(long size) {
      return AnonymousFiles.create(size);
    }

    static BackingFile open(Path path, boolean writable) {
      Objects.requireNonNull(path, "path");
      try {
        FileChannel channel =
            writable
                ? FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)
                : FileChannel.open(path, StandardOpenOption.READ);
        return new BackingFile(channel, path, 0, false);
      } catch (IOException e) {
        throw new SharedMemoryException("cannot open " + path + ": " + IoMessages.reason(e), e);
      }
    }

    BackingFile withRange(long start, MapMode mode) {
      return new BackingFile(channel, path, start, anonymous);
    }

    Path shareablePath() {
      return anonymous ? AnonymousFiles.shareablePath(path) : path;
    }

    void close() {
      try {
        channel.close();
      } catch (IOException e) {
        throw new SharedMemoryException("cannot close " + path + ": " + e.getMessage(), e);
      }
    }
  }
}
