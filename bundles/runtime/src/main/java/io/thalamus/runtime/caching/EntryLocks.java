// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.memory.files.FileLocks;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Locks on the entries of a directory, against this process and others. Thread-safe. Nobody waits:
 * an entry in use is a miss.
 *
 * <p>Each entry is a byte of one lock file, at a place that follows from its name; the system gives
 * the locks of a process back when it ends, however it does. Cache files themselves cannot carry
 * locks, because closing any handle of a file gives back all locks that the process has on it.
 */
final class EntryLocks {
  private final Path file;
  private final Map<Long, Held> held = new HashMap<>();

  /** Null while nothing is held. */
  private FileChannel channel;

  /** Creates locks in this file, which is created when it is first needed. */
  EntryLocks(Path file) {
    this.file = file;
  }

  /** The use of one entry by this process. Guarded by the locks' monitor. */
  private static final class Held {
    private FileLock lock;
    private boolean isExclusive;
    private int users = 1;
  }

  /** A use of an entry. Thread-safe; owned by the caller that began it. */
  final class Use implements AutoCloseable {
    private final long place;
    private final Held entry;
    private boolean closed;

    private Use(long place, Held entry) {
      this.place = place;
      this.entry = entry;
    }

    /** Lets others read from now on. */
    void share() throws IOException {
      synchronized (EntryLocks.this) {
        if (!closed && entry.isExclusive) {
          release(entry);
          entry.isExclusive = false;
          // Where another process was faster, this one's use is known here only.
          entry.lock = lock(place, true);
        }
      }
    }

    @Override
    public void close() throws IOException {
      synchronized (EntryLocks.this) {
        if (closed) {
          return;
        }
        closed = true;
        entry.users--;
        if (entry.users == 0) {
          held.remove(place);
          try {
            release(entry);
          } finally {
            closeIfIdle();
          }
        }
      }
    }
  }

  /**
   * Begins a use that excludes all others; empty when there is another one.
   *
   * @throws IOException where the file system has no locks
   */
  synchronized Optional<Use> exclusive(long place) throws IOException {
    return held.containsKey(place) ? Optional.empty() : begin(place, false);
  }

  /** Begins a use that others may share; empty when a use excludes them. */
  synchronized Optional<Use> shared(long place) throws IOException {
    Held entry = held.get(place);
    if (entry == null) {
      return begin(place, true);
    }
    if (entry.isExclusive) {
      return Optional.empty();
    }
    entry.users++;
    return Optional.of(new Use(place, entry));
  }

  private Optional<Use> begin(long place, boolean isShared) throws IOException {
    Held entry = new Held();
    entry.isExclusive = !isShared;
    try {
      entry.lock = lock(place, isShared);
    } finally {
      if (entry.lock == null) {
        closeIfIdle();
      }
    }
    if (entry.lock == null) {
      return Optional.empty();
    }
    held.put(place, entry);
    return Optional.of(new Use(place, entry));
  }

  /** Returns the lock of a place, or null where it is in use. */
  private FileLock lock(long place, boolean isShared) throws IOException {
    if (channel == null || !channel.isOpen()) {
      channel =
          FileChannel.open(
              file, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE);
    }
    return FileLocks.tryLock(channel, place, 1, isShared).orElse(null);
  }

  private static void release(Held entry) throws IOException {
    if (entry.lock != null && entry.lock.isValid()) {
      entry.lock.release();
    }
    entry.lock = null;
  }

  private void closeIfIdle() throws IOException {
    if (held.isEmpty() && channel != null) {
      channel.close();
      channel = null;
    }
  }
}
