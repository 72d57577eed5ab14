// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import io.thalamus.memory.files.IoMessages;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One piece of memory that devices, and other processes, can share.
 *
 * <p>Thread-safe. The caller that allocated or mapped it owns it and closes it once. Memory that is
 * lent to a device stays mapped until the last {@link Lease} is returned, even if the owner closes
 * it earlier: a kernel never runs into an unmapped page.
 */
public final class SharedMemory implements AutoCloseable {
  /**
   * The system property that names the directory in which memory is allocated; {@code /dev/shm} if
   * it is absent. Memory that finds no room there goes to the temporary directory.
   */
  public static final String DIRECTORY_PROPERTY = "thalamus.memory";

  private static final int PAGE = 4096;
  private static final long READ_CHUNK = 1 << 20;

  private final MemoryKind kind;
  private final Arena arena;
  private final MemorySegment segment;
  private final long offset;
  private final ReferenceCount leases = new ReferenceCount(this::unmap);
  private final Object lock = new Object();

  /** Guarded by the lock. They are held weakly, since memory may live longer than its users. */
  private List<WeakReference<CloseListener>> listeners = List.of();

  /** Null for memory of this process alone, until another process is to map it. */
  private BackingFile file;

  private SharedMemory(
      MemoryKind kind, Arena arena, MemorySegment segment, BackingFile file, long offset) {
    this.kind = kind;
    this.arena = arena;
    this.segment = segment;
    this.file = file;
    this.offset = offset;
  }

  /** Returns the directories in which memory is allocated, in the order of preference. */
  public static List<Path> directories() {
    return AnonymousFiles.SHARED.directories();
  }

  /**
   * Allocates zeroed memory, all of whose pages are there.
   *
   * @param kind any kind but {@link MemoryKind#MMAP_FD}, which needs a file
   * @param size in bytes; zero is rounded up to one, since an empty range cannot be mapped
   * @throws SharedMemoryException.Exhausted if no directory has room for it
   * @throws SharedMemoryException if the system refuses the memory
   */
  public static SharedMemory allocate(MemoryKind kind, long size) {
    if (kind == MemoryKind.MMAP_FD) {
      throw new IllegalArgumentException("mmap_fd memory is made from a file: use map(...)");
    }
    if (size < 0) {
      throw new IllegalArgumentException("negative size " + size);
    }
    long bytes = Math.max(1, size);
    return map(kind, AnonymousFiles.SHARED.create(bytes), 0, bytes, MapMode.READ_WRITE);
  }

  /**
   * Maps a whole existing file for reading, as {@link MemoryKind#MMAP_FD}. Changes of the file
   * change the memory; if the file gets shorter, the memory cannot be read any more.
   *
   * @throws SharedMemoryException if the file cannot be opened, is empty or cannot be mapped
   */
  public static SharedMemory map(Path path) {
    BackingFile file = BackingFile.open(path, false);
    return map(MemoryKind.MMAP_FD, file, 0, size(file, "map"), MapMode.READ_ONLY);
  }

  /**
   * Reads a whole file into read-only memory of kind {@link MemoryKind#ASHMEM}. Later changes of
   * the file change nothing.
   *
   * <p>The bytes are in this process alone, until {@link #describe()} first needs a copy that
   * another process can map. Only a file that is large for this JVM is copied to the disk instead.
   *
   * @throws SharedMemoryException.Exhausted if there is no room for the bytes
   * @throws SharedMemoryException if the file cannot be read, is empty, or changes its size
   *     meanwhile
   */
  public static SharedMemory read(Path path) {
    BackingFile source = BackingFile.open(path, false);
    try {
      return read(source, size(source, "read"));
    } finally {
      source.close();
    }
  }

  private static SharedMemory read(BackingFile source, long size) {
    try {
      return filled(size, segment -> read(source, segment));
    } catch (IOException e) {
      throw new SharedMemoryException(
          "cannot read " + source.path() + ": " + IoMessages.reason(e), e);
    }
  }

  /**
   * Copies bytes into read-only memory of kind {@link MemoryKind#ASHMEM}, which is in this process
   * alone as that of {@link #read(Path)} is.
   *
   * @param bytes at least one
   * @throws SharedMemoryException.Exhausted if there is no room for the bytes
   * @throws SharedMemoryException if the system refuses the memory
   */
  public static SharedMemory copyOf(MemorySegment bytes) {
    try {
      return filled(
          bytes.byteSize(), segment -> BulkCopy.copy(bytes, 0, segment, 0, bytes.byteSize()));
    } catch (IOException e) {
      throw new SharedMemoryException(
          "cannot copy " + bytes.byteSize() + " bytes: " + IoMessages.reason(e), e);
    }
  }

  /** The bytes of new memory. */
  @FunctionalInterface
  private interface Filler {
    void fill(MemorySegment segment) throws IOException;
  }

  private static SharedMemory filled(long size, Filler filler) throws IOException {
    Arena arena = Arena.ofShared();
    BackingFile copy = null;
    boolean isFilled = false;
    try {
      MemorySegment segment = allocatePrivate(arena, size);
      if (segment == null) {
        copy = AnonymousFiles.ON_DISK.create(size);
        segment = copy.channel().map(MapMode.READ_WRITE, 0, size, arena);
      }
      filler.fill(segment);
      isFilled = true;
      return new SharedMemory(MemoryKind.ASHMEM, arena, segment.asReadOnly(), copy, 0);
    } finally {
      if (!isFilled) {
        arena.close();
        if (copy != null) {
          copy.close();
        }
      }
    }
  }

  /**
   * Returns memory outside the heap, or null if that would take too much of it: devices need it
   * too, and its limit is that of the heap unless another one is set.
   */
  private static MemorySegment allocatePrivate(Arena arena, long size) {
    if (size > Runtime.getRuntime().maxMemory() / 4) {
      return null;
    }
    try {
      return arena.allocate(size, PAGE);
    } catch (OutOfMemoryError e) {
      // There is still the disk.
      return null;
    }
  }

  private static void read(BackingFile source, MemorySegment destination) throws IOException {
    long size = destination.byteSize();
    for (long at = 0; at < size; ) {
      MemorySegment chunk = destination.asSlice(at, Math.min(READ_CHUNK, size - at));
      int count = source.channel().read(chunk.asByteBuffer());
      if (count < 0) {
        throw new IOException("it got shorter while it was read");
      }
      at += count;
    }
    if (source.channel().size() != size) {
      throw new IOException("its size changed while it was read");
    }
  }

  /** Returns the size of a file to be mapped or read; closes the file if that fails. */
  private static long size(BackingFile file, String purpose) {
    String failure;
    try {
      long size = file.channel().size();
      if (size > 0) {
        return size;
      }
      failure = "the file is empty";
    } catch (IOException e) {
      failure = IoMessages.reason(e);
    }
    file.close();
    throw new SharedMemoryException("cannot " + purpose + " " + file.path() + ": " + failure, null);
  }

  /**
   * Maps the memory of a handle, usually one made in another process by {@link #describe()}.
   *
   * @throws SharedMemoryException if the memory is gone or may not be opened
   */
  public static SharedMemory map(SharedMemoryHandle handle) {
    BackingFile file = BackingFile.open(handle.file(), handle.writable());
    if (size(file, "map") < handle.offset() + handle.size()) {
      file.close();
      throw new SharedMemoryException(
          "cannot map " + handle.file() + ": it is shorter than the range described", null);
    }
    return map(
        handle.kind(),
        file,
        handle.offset(),
        handle.size(),
        handle.writable() ? MapMode.READ_WRITE : MapMode.READ_ONLY);
  }

  private static SharedMemory map(
      MemoryKind kind, BackingFile file, long offset, long size, MapMode mode) {
    Arena arena = Arena.ofShared();
    try {
      MemorySegment segment = file.channel().map(mode, offset, size, arena);
      return new SharedMemory(kind, arena, segment, file, offset);
    } catch (IOException e) {
      arena.close();
      file.close();
      throw new SharedMemoryException(
          "cannot map " + size + " bytes as " + kind.halName() + ": " + e.getMessage(), e);
    }
  }

  /** Returns the kind of pool. */
  public MemoryKind kind() {
    return kind;
  }

  /** Returns the size in bytes. */
  public long size() {
    return segment.byteSize();
  }

  /** Returns whether the memory refuses writes. */
  public boolean isReadOnly() {
    return segment.isReadOnly();
  }

  /** Returns the bytes. Valid until this memory is closed and the last lease is returned. */
  public MemorySegment segment() {
    return segment;
  }

  /**
   * Returns how another process can map the same bytes while this memory is open.
   *
   * @throws IllegalStateException if this memory is closed and unmapped
   * @throws SharedMemoryException.Exhausted if the bytes were in this process alone, and there is
   *     no room for a copy that can be shared
   */
  public SharedMemoryHandle describe() {
    retain();
    try {
      return new SharedMemoryHandle(
          kind, shareable().shareablePath(), offset, size(), !segment.isReadOnly());
    } finally {
      release();
    }
  }

  /** Returns the file behind the bytes, for locks. */
  FileChannel channel() {
    return shareable().channel();
  }

  private BackingFile shareable() {
    synchronized (lock) {
      if (file == null) {
        file = AnonymousFiles.SHARED.copy(segment);
      }
      return file;
    }
  }

  /**
   * Keeps the memory mapped until the lease is closed. Closed memory that another lease keeps can
   * still be lent.
   *
   * @throws IllegalStateException if this memory is closed and unmapped
   */
  public Lease lend() {
    retain();
    return new Lease();
  }

  /** Returns how often this memory was lent until now, modulo 2 to the power of 32. */
  public long timesLent() {
    return leases.begun();
  }

  void retain() {
    if (!leases.retainUnlessFreed()) {
      throw new IllegalStateException("the memory is closed");
    }
  }

  void release() {
    leases.release();
  }

  /**
   * Has a listener called when the owner closes the memory, so that it ends leases which it keeps
   * for later. It is held weakly. Adding it again does nothing.
   *
   * @return false where the memory is closed already; then the listener is not called
   */
  public boolean addCloseListener(CloseListener listener) {
    synchronized (lock) {
      if (leases.isClosed()) {
        return false;
      }
      List<WeakReference<CloseListener>> more = new ArrayList<>(listeners.size() + 1);
      for (WeakReference<CloseListener> old : listeners) {
        if (!old.refersTo(null) && !old.refersTo(listener)) {
          more.add(old);
        }
      }
      more.add(new WeakReference<>(listener));
      listeners = more;
      return true;
    }
  }

  /** Removes a listener; one that is unknown is ignored. */
  public void removeCloseListener(CloseListener listener) {
    synchronized (lock) {
      listeners = listeners.stream().filter(old -> !old.refersTo(listener)).toList();
    }
  }

  /**
   * Frees the memory, at once or when the last lease ends. Calls the listeners in this thread.
   * Calling it again does nothing.
   */
  @Override
  public void close() {
    if (leases.close()) {
      List<WeakReference<CloseListener>> last;
      synchronized (lock) {
        last = listeners;
        listeners = List.of();
      }
      for (WeakReference<CloseListener> reference : last) {
        CloseListener listener = reference.get();
        if (listener != null) {
          listener.closed(this);
        }
      }
    }
  }

  private void unmap() {
    arena.close();
    synchronized (lock) {
      if (file != null) {
        file.close();
      }
    }
  }

  @Override
  public String toString() {
    return kind.halName() + "[" + size() + " bytes]";
  }

  /** A user that keeps leases of memory between its uses. Thread-safe; it does not throw. */
  @FunctionalInterface
  public interface CloseListener {
    /** Called once, by the thread that closes the memory. */
    void closed(SharedMemory memory);
  }

  /** A promise that the memory stays mapped. Thread-safe; owned by the caller of {@link #lend}. */
  public final class Lease implements AutoCloseable {
    private final AtomicBoolean returned = new AtomicBoolean();

    private Lease() {}

    /** Returns the memory that stays mapped. */
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
}
