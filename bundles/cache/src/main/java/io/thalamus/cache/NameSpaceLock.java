// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import io.thalamus.memory.files.AtomicFiles;
import io.thalamus.memory.files.FileLocks;
import io.thalamus.model.Deadline;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock on a name space, for one thread of one process. Thread-safe; re-entrant. The operating
 * system takes the lock from a process that ends.
 *
 * <p>The file stays open between two holds, and is closed under the lock only. On POSIX systems a
 * process loses its lock as soon as it closes any handle of the file, so that a second engine of
 * this process, which opened and closed the file, would take the lock from the first.
 */
final class NameSpaceLock implements AutoCloseable {
  private final Path file;
  private final Duration patience;
  private final ReentrantLock threads = new ReentrantLock();
  private FileChannel channel;
  private FileLock lock;
  private boolean closed;

  /**
   * A lock on a file, which is made when it is first needed.
   *
   * @param patience how long it is waited for
   */
  NameSpaceLock(Path file, Duration patience) {
    this.file = file;
    this.patience = patience;
  }

  /** Waits for the lock until a deadline, or until its patience is over. */
  CacheEngine.Hold take(Deadline deadline) throws IOException {
    Deadline end = deadline.earlier(Deadline.after(patience));
    try {
      if (!threads.tryLock(end.remaining().toNanos(), TimeUnit.NANOSECONDS)) {
        throw new IOException("another thread holds the lock on " + file);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for the lock on " + file);
    }
    boolean held = false;
    try {
      if (closed) {
        throw new IOException("the cache engine is closed");
      }
      if (threads.getHoldCount() == 1) {
        lock = lock(end.remaining());
      }
      held = true;
      return this::release;
    } finally {
      if (!held) {
        threads.unlock();
      }
    }
  }

  private FileLock lock(Duration time) throws IOException {
    // Each time: the user may have emptied the storage.
    AtomicFiles.createDirectoriesPrivately(file.getParent());
    if (channel == null || !channel.isOpen()) {
      channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }
    return FileLocks.lock(channel, file, time);
  }

  private void release() {
    try {
      if (threads.getHoldCount() == 1) {
        FileLock taken = lock;
        lock = null;
        taken.release();
      }
    } catch (IOException e) {
      // Without the file the lock is gone, too.
      FileCacheEngine.log().log(
          Level.DEBUG, "{0} was closed while it was held: {1}", file, e.toString());
    } finally {
      threads.unlock();
    }
  }

  /** Refuses from now on, after whoever holds it. */
  @Override
  public void close() throws IOException {
    threads.lock();
    try {
      if (!closed && channel != null) {
        lock = lock(patience);
      }
    } finally {
      closed = true;
      try {
        if (channel != null) {
          channel.close();
        }
      } finally {
        threads.unlock();
      }
    }
  }
}
