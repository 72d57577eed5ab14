// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import io.thalamus.memory.HardwareBufferDesc.Usage;
import io.thalamus.memory.files.FileLocks;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileLock;
import java.time.Duration;
import java.util.Optional;

/**
 * An image or a block of bytes that processes and devices pass on without a copy: Android's
 * AHardwareBuffer, for inputs and outputs of executions and never for constants. Thread-safe. Its
 * maker or opener owns its mapping; the bytes live as long as one process has it open.
 *
 * <p>A buffer of format BLOB is memory of kind {@link MemoryKind#HARDWARE_BUFFER_BLOB}, which every
 * device of HAL 1.3 reads in place; other formats are of kind {@link MemoryKind#HARDWARE_BUFFER},
 * whose rows may have gaps.
 *
 * <p>The lock is one of the operating system: it ends with the process that holds it. A process
 * must not open a buffer a second time, as it would lose its locks with the first one that it
 * closes.
 */
public final class HardwareBuffer implements AutoCloseable {
  private static final long PAUSE_MILLIS = 1;

  private final HardwareBufferDesc desc;
  private final int stride;
  private final SharedMemory memory;

  /** Guards the three below. */
  private final Object state = new Object();

  private int readers;
  private boolean isWritten;
  private FileLock fileLock;

  private HardwareBuffer(HardwareBufferDesc desc, int stride, SharedMemory memory) {
    this.desc = desc;
    this.stride = stride;
    this.memory = memory;
  }

  /**
   * Allocates a buffer whose bytes are zero.
   *
   * @throws SharedMemoryException.Exhausted if there is no room for it
   */
  public static HardwareBuffer allocate(HardwareBufferDesc desc) {
    int stride = desc.stride();
    return new HardwareBuffer(desc, stride, SharedMemory.allocate(desc.kind(), desc.size(stride)));
  }

  /**
   * Opens a buffer of another process.
   *
   * @throws SharedMemoryException if its memory is gone or may not be opened
   */
  public static HardwareBuffer open(HardwareBufferHandle handle) {
    return new HardwareBuffer(handle.desc(), handle.stride(), SharedMemory.map(handle.memory()));
  }

  /** Returns the description that it was allocated with. */
  public HardwareBufferDesc desc() {
    return desc;
  }

  /** Returns the distance of two rows in pixels. */
  public int stride() {
    return stride;
  }

  /** Returns the memory, for requests and executions; it belongs to this buffer. */
  public SharedMemory memory() {
    return memory;
  }

  /** Returns how another process can open it while it is open here. */
  public HardwareBufferHandle describe() {
    return new HardwareBufferHandle(desc, stride, memory.describe());
  }

  /** The access of a processor. */
  public enum Access {
    /** Beside others that read. */
    READ,
    /** Alone. */
    WRITE
  }

  /** A time in which the processor may access the bytes. Belongs to its caller. */
  public final class Lock implements AutoCloseable {
    private final SharedMemory.Lease lease;
    private final Access access;
    private boolean isEnded;

    private Lock(SharedMemory.Lease lease, Access access) {
      this.lease = lease;
      this.access = access;
    }

    /** Returns the bytes; read-only under a lock for reading. */
    public MemorySegment segment() {
      return access == Access.READ ? memory.segment().asReadOnly() : memory.segment();
    }

    /** Ends the access. Calling it again does nothing. */
    @Override
    public void close() {
      synchronized (state) {
        if (isEnded) {
          return;
        }
        isEnded = true;
        unlock(access);
      }
      lease.close();
    }
  }

  /**
   * Waits until no process accesses the buffer in another way, and keeps others from doing so.
   *
   * @param patience how long to wait
   * @return the lock; empty if others did not give theirs up in time, or the thread was interrupted
   * @throws IllegalArgumentException if the buffer is not for this use, or was opened for reading
   * @throws IllegalStateException if it is closed
   * @throws SharedMemoryException if the file system has no locks
   */
  public Optional<Lock> lock(Access access, Duration patience) {
    Usage usage = access == Access.READ ? Usage.CPU_READ : Usage.CPU_WRITE;
    if (!desc.usage().contains(usage)) {
      throw new IllegalArgumentException("the buffer was not allocated for " + usage);
    }
    if (access == Access.WRITE && memory.isReadOnly()) {
      throw new IllegalArgumentException("the buffer was opened for reading only");
    }
    SharedMemory.Lease lease = memory.lend();
    boolean isLocked = false;
    try {
      long start = System.nanoTime();
      while (!tryLock(access)) {
        if (System.nanoTime() - start > patience.toNanos() || !sleep()) {
          return Optional.empty();
        }
      }
      isLocked = true;
      return Optional.of(new Lock(lease, access));
    } catch (IOException e) {
      throw new SharedMemoryException("a hardware buffer cannot be locked: " + e.getMessage(), e);
    } finally {
      if (!isLocked) {
        lease.close();
      }
    }
  }

  private static boolean sleep() {
    try {
      Thread.sleep(PAUSE_MILLIS);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private boolean tryLock(Access access) throws IOException {
    synchronized (state) {
      if (isWritten || access == Access.WRITE && readers > 0) {
        return false;
      }
      if (readers == 0) {
        // One lock for all readers of this process: the system knows processes, not threads.
        Optional<FileLock> taken =
            FileLocks.tryLock(memory.channel(), 0, Long.MAX_VALUE, access == Access.READ);
        if (taken.isEmpty()) {
          return false;
        }
        fileLock = taken.get();
      }
      if (access == Access.READ) {
        readers++;
      } else {
        isWritten = true;
      }
      return true;
    }
  }

  private void unlock(Access access) {
    if (access == Access.READ) {
      readers--;
    } else {
      isWritten = false;
    }
    if (readers == 0) {
      try {
        fileLock.release();
      } catch (IOException e) {
        throw new SharedMemoryException(
            "a hardware buffer cannot be unlocked: " + e.getMessage(), e);
      }
      fileLock = null;
    }
  }

  /** Frees the mapping, once locks and executions that use it are over. */
  @Override
  public void close() {
    memory.close();
  }
}
