// SPDX-License-Identifier: Apache-2.0
package io.thalamus.launcher;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * One folder for a framework's bundle cache, held by one process at a time: Felix refuses a cache
 * that another process has open, so each process takes the first that is free. Its contents are
 * derived from the distribution and can be deleted at any time. Not thread-safe; the lock is held
 * until the process ends, whichever way it ends.
 */
final class Slot {
  private static final int SLOTS = 64;

  /** Names the distribution whose slots lie beside it. */
  private static final String OWNER = "distribution";

  private final Path directory;
  private final boolean temporary;
  // Held to hold the lock: a collected channel would let go of it.
  private final FileChannel channel;

  private Slot(Path directory, FileChannel channel, boolean temporary) {
    this.directory = directory;
    this.channel = channel;
    this.temporary = temporary;
  }

  /**
   * The first free slot below a folder, or one in a temporary folder where that is no use.
   *
   * @param folder has the slots of one distribution; its neighbours have those of others
   * @param home of the distribution, written down so that the slots can go after it has gone
   */
  static Slot take(Path folder, Path home) throws IOException {
    try {
      Files.createDirectories(folder);
      Path owner = folder.resolve(OWNER);
      if (!Files.exists(owner)) {
        Files.writeString(owner, home.toAbsolutePath().toString());
      }
      for (int i = 0; i < SLOTS; i++) {
        FileChannel channel = lock(folder.resolve(i + ".lock"));
        if (channel != null) {
          Path directory = Files.createDirectories(folder.resolve(Integer.toString(i)));
          return new Slot(directory, channel, false);
        }
      }
    } catch (IOException unusable) {
      // A home that is read-only, full or missing costs the reuse of the cache, never the run.
      return temporary();
    }
    return temporary();
  }

  /** A slot in a temporary folder, which goes with {@link #discard}. */
  static Slot temporary() throws IOException {
    Path directory = Files.createTempDirectory("thalamus");
    return new Slot(directory, lock(directory.resolve("lock")), true);
  }

  private static FileChannel lock(Path file) throws IOException {
    FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    try {
      FileLock lock = channel.tryLock();
      if (lock != null) {
        return channel;
      }
    } catch (OverlappingFileLockException heldHere) {
      // Another container of this very process: the next slot, please.
    }
    channel.close();
    return null;
  }

  boolean isTemporary() {
    return temporary;
  }

  Path cache() {
    return directory.resolve("cache");
  }

  /** Returns true if the cache was filled, to the end, from the distribution of this id. */
  boolean isFilledFrom(String id) {
    try {
      return Files.readString(stamp()).equals(id);
    } catch (IOException missing) {
      return false;
    }
  }

  /** Empties the slot; to be called before it is filled. */
  void clear() throws IOException {
    Files.deleteIfExists(stamp());
    delete(cache());
  }

  void markFilledFrom(String id) throws IOException {
    if (!isFilledFrom(id)) {
      Files.writeString(stamp(), id);
    }
  }

  /** Makes the next process fill the cache anew. */
  void markChanged() {
    try {
      Files.deleteIfExists(stamp());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Removes what a temporary slot leaves; does nothing for one that stays. */
  void discard() throws IOException {
    if (temporary) {
      channel.close();
      delete(directory);
    }
  }

  /** Removes the slots of distributions that are no more; what cannot be removed stays. */
  void prune() {
    Path slots = directory.getParent();
    if (temporary || slots.getParent() == null) {
      return;
    }
    try (Stream<Path> neighbours = Files.list(slots.getParent())) {
      for (Path neighbour : neighbours.filter(path -> !path.equals(slots)).toList()) {
        if (Files.isRegularFile(neighbour.resolve(OWNER))
            && !Files.isDirectory(Path.of(Files.readString(neighbour.resolve(OWNER))))
            && isUnused(neighbour)) {
          delete(neighbour);
        }
      }
    } catch (IOException | InvalidPathException | UncheckedIOException leftForAnotherTime) {
      // It costs room on the disk and nothing else.
      return;
    }
  }

  private static boolean isUnused(Path slots) throws IOException {
    try (Stream<Path> files = Files.list(slots)) {
      for (Path file : files.filter(path -> path.toString().endsWith(".lock")).toList()) {
        FileChannel free = lock(file);
        if (free == null) {
          return false;
        }
        free.close();
      }
    }
    return true;
  }

  private Path stamp() {
    return directory.resolve("filled-from");
  }

  private static void delete(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    List<Path> paths;
    try (Stream<Path> walk = Files.walk(folder)) {
      paths = walk.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path path : paths) {
      Files.deleteIfExists(path);
    }
  }
}
