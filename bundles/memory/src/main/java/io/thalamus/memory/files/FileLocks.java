// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory.files;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * Locks on files, against other processes and against other frameworks of this process. Stateless.
 *
 * <p>The system takes the locks from a process that ends, however it does. On POSIX systems a
 * process also loses its locks on a file as soon as it closes any handle of that file: a locked
 * file must not be opened twice, and one that a driver opens must not be locked itself.
 *
 * <p>No method uses {@link FileChannel#lock()}, as an interrupt there would close the channel, and
 * with it give back every lock on the file.
 */
public final class FileLocks {
  private static final long LONGEST_PAUSE_MILLIS = 20;

  /** The byte behind all that is locked, which no file has. */
  private static final long GATE = Long.MAX_VALUE - 1;

  private FileLocks() {}

  /**
   * Takes a lock if nobody holds another one there.
   *
   * @param position the first byte, which need not exist
   * @param size how many bytes
   * @param isShared whether others may hold shared locks at the same time
   * @return the lock, which its caller releases; empty where somebody holds one
   * @throws IOException where the file system has no locks
   */
  public static Optional<FileLock> tryLock(
      FileChannel channel, long position, long size, boolean isShared) throws IOException {
    boolean isInterrupted = Thread.interrupted();
    try {
      return Optional.ofNullable(channel.tryLock(position, size, isShared));
    } catch (OverlappingFileLockException anotherFrameworkOfThisProcess) {
      return Optional.empty();
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Waits for a lock on the whole of a file that excludes all others. A process that waits is
   * served before one that has just released the lock and asks again.
   *
   * @param file for messages
   * @return the lock, which its caller releases
   * @throws InterruptedIOException where the thread is interrupted, which then stays so
   * @throws IOException where somebody still holds one after this time
   */
  public static FileLock lock(FileChannel channel, Path file, Duration patience)
      throws IOException {
    long start = System.nanoTime();
    // Nobody overtakes the holder of the gate, which alone waits for the rest.
    try (FileLock _ = await(channel, GATE, 1, file, start, patience)) {
      return await(channel, 0, GATE, file, start, patience);
    }
  }

  private static FileLock await(
      FileChannel channel, long position, long size, Path file, long start, Duration patience)
      throws IOException {
    long pauseMillis = 1;
    while (true) {
      Optional<FileLock> lock = tryLock(channel, position, size, false);
      if (lock.isPresent()) {
        return lock.get();
      }
      if (System.nanoTime() - start > patience.toNanos()) {
        throw new IOException("another process or framework holds the lock on " + file);
      }
      try {
        Thread.sleep(pauseMillis);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted while waiting for the lock on " + file);
      }
      pauseMillis = Math.min(2 * pauseMillis, LONGEST_PAUSE_MILLIS);
    }
  }
}
