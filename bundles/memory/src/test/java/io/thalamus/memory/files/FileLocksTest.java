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
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks within this process, which meet as those of two frameworks do. */
class FileLocksTest {
  private static final Duration SHORT = Duration.ofMillis(30);
  private static final Duration LONG = Duration.ofMinutes(1);

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
  void aWaiterIsServedBeforeTheLastHolder() throws Exception {
    List<String> order = Collections.synchronizedList(new ArrayList<>());
    try (FileChannel one = open();
        FileChannel two = open();
        FileChannel other = open()) {
      FileLock held = FileLocks.lock(one, directory, LONG);
      Thread waiting =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try (FileLock _ = FileLocks.lock(two, directory, LONG)) {
                      order.add("waiter");
                    } catch (IOException e) {
                      order.add(e.toString());
                    }
                  });
      while (waiting.getState() != Thread.State.TIMED_WAITING) {
        Thread.onSpinWait();
      }
      held.release();
      try (FileLock _ = FileLocks.lock(one, directory, LONG)) {
        order.add("last holder");
      }
      waiting.join();
      assertEquals(List.of("waiter", "last holder"), order);
      assertTrue(FileLocks.tryLock(other, 0, Long.MAX_VALUE, false).isPresent(), "all released");
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
