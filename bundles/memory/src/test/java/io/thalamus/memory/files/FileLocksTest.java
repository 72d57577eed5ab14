// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks within this process, which meet as those of two frameworks do. */
class FileLocksTest {
  private static final Duration SHORT = Duration.ofMillis(30);

  @TempDir Path directory;

  private FileChannel open() throws IOException {
    return FileChannel.open(
        directory.resolve("lock"),
        StandardOpenOption.CREATE,
        StandardOpenOption.READ,
        StandardOpenOption.WRITE);
  }

  @Test
  void aLockExcludesOthersUntilItIsReleased() throws IOException {
    try (FileChannel one = open();
        FileChannel two = open()) {
      FileLock lock = FileLocks.lock(one, directory, SHORT);
      assertTrue(FileLocks.tryLock(two, 7, 1, false).isEmpty());
      assertThrows(IOException.class, () -> FileLocks.lock(two, directory, SHORT));
      lock.release();
      FileLocks.lock(two, directory, SHORT).release();
    }
  }

  @Test
  void bytesOfAFileAreLockedApart() throws IOException {
    try (FileChannel one = open();
        FileChannel two = open()) {
      assertTrue(FileLocks.tryLock(one, 1L << 40, 1, false).isPresent());
      assertTrue(FileLocks.tryLock(two, 1L << 41, 1, true).isPresent());
      assertTrue(FileLocks.tryLock(two, 1L << 40, 1, true).isEmpty());
    }
  }

  @Test
  void anInterruptEndsTheWaitAndClosesNothing() throws IOException {
    try (FileChannel one = open();
        FileChannel two = open()) {
      Thread.currentThread().interrupt();
      try (FileLock lock = FileLocks.lock(one, directory, SHORT)) {
        assertTrue(lock.isValid());
        assertThrows(
            InterruptedIOException.class,
            () -> FileLocks.lock(two, directory, Duration.ofMinutes(1)));
      } finally {
        assertTrue(Thread.interrupted(), "the interrupt is for the caller");
      }
      assertEquals(true, one.isOpen() && two.isOpen());
    }
  }
}
