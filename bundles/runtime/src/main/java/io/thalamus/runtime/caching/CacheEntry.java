// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * One entry of a caching directory: the files of one compiled step, and a note for people.
 * Immutable and thread-safe; the files, which need not exist, are shared with other processes.
 */
final class CacheEntry {
  private static final int NIBBLE = 4;
  private static final int LOW_BITS = 0xF;

  private final Path directory;
  private final EntryLocks locks;
  private final CacheToken token;
  private final String name;
  private final List<String> suffixes;
  private final long place;

  /**
   * Creates an entry.
   *
   * @param locks of the directory
   * @param suffixes after the name, of each of its files
   */
  CacheEntry(Path directory, EntryLocks locks, CacheToken token, List<String> suffixes) {
    this.directory = directory;
    this.locks = locks;
    this.token = token;
    this.name = name(token);
    this.suffixes = List.copyOf(suffixes);
    this.place = ByteBuffer.wrap(token.toArray()).getLong() & (Long.MAX_VALUE >> 1);
  }

  /** Returns how a device's files are distinguished: model caches, then data caches. */
  static List<String> suffixes(CacheNeeds needs) {
    List<String> suffixes = new ArrayList<>();
    for (int i = 0; i < needs.modelCacheFiles(); i++) {
      suffixes.add("1" + i);
    }
    for (int i = 0; i < needs.dataCacheFiles(); i++) {
      suffixes.add("2" + i);
    }
    return suffixes;
  }

  /** Returns the 64 letters that the names of an entry's files begin with. */
  static String name(CacheToken token) {
    StringBuilder letters = new StringBuilder();
    for (byte value : token.toArray()) {
      letters.append((char) ('A' + (value & LOW_BITS)));
      letters.append((char) ('A' + ((value >> NIBBLE) & LOW_BITS)));
    }
    return letters.toString();
  }

  /** Returns the token that a name spells. */
  static CacheToken token(String name) {
    byte[] bytes = new byte[CacheToken.SIZE];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) ((name.charAt(2 * i) - 'A') | ((name.charAt(2 * i + 1) - 'A') << NIBBLE));
    }
    return CacheToken.of(bytes);
  }

  String name() {
    return name;
  }

  CacheToken token() {
    return token;
  }

  /** Returns its files but the note. */
  List<Path> files() {
    return suffixes.stream().map(suffix -> directory.resolve(name + suffix)).toList();
  }

  private Path note() {
    return directory.resolve(name + ".note");
  }

  /** Returns whether all of its files exist. */
  boolean exists() {
    return files().stream().allMatch(Files::isRegularFile);
  }

  /**
   * Opens the files for a device to read; empty when one is missing, or while they are written.
   *
   * @param keeper learns when they are closed
   */
  Optional<OpenEntry> open(OpenEntry.Keeper keeper) throws IOException {
    if (!exists()) {
      return Optional.empty();
    }
    Optional<EntryLocks.Use> use = locks.shared(place);
    if (use.isEmpty()) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          open(use.get(), keeper, StandardOpenOption.READ, StandardOpenOption.WRITE));
    } catch (NoSuchFileException removedMeanwhile) {
      return Optional.empty();
    }
  }

  /**
   * Opens the files for a device to write, and creates them; empty while they are in use.
   *
   * @param keeper learns when they are closed
   */
  Optional<OpenEntry> create(OpenEntry.Keeper keeper) throws IOException {
    Files.createDirectories(directory);
    Optional<EntryLocks.Use> use = locks.exclusive(place);
    if (use.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        open(
            use.get(),
            keeper,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            StandardOpenOption.CREATE));
  }

  private OpenEntry open(EntryLocks.Use use, OpenEntry.Keeper keeper, OpenOption... options)
      throws IOException {
    OpenEntry entry = new OpenEntry(token, use, keeper);
    boolean isComplete = false;
    try {
      for (String suffix : suffixes) {
        entry.add(directory.resolve(name + suffix), suffix.charAt(0) == '1', Set.of(options));
      }
      isComplete = true;
      return entry;
    } finally {
      if (!isComplete) {
        entry.close();
      }
    }
  }

  /** Returns whether its files are written now, here or in another process. */
  boolean isBeingWritten() throws IOException {
    // While the file of locks cannot be written, cache files cannot either.
    if (!Files.isWritable(directory.resolve(CacheDirectory.LOCKS))) {
      return false;
    }
    Optional<EntryLocks.Use> use = locks.shared(place);
    if (use.isPresent()) {
      use.get().close();
    }
    return use.isEmpty();
  }

  EntryNote readNote() {
    return EntryNote.read(note());
  }

  void writeNote(EntryNote note) throws IOException {
    note.write(note());
  }

  /** Marks the entry as used now, and writes its note when that is missing. */
  void touch(EntryNote note) throws IOException {
    try {
      Files.setLastModifiedTime(note(), FileTime.from(Instant.now()));
    } catch (NoSuchFileException e) {
      writeNote(note);
    }
  }

  /** Returns the bytes of its files. */
  long bytes() throws IOException {
    long bytes = 0;
    for (Path file : files()) {
      bytes += Files.size(file);
    }
    return bytes;
  }

  /**
   * Returns the sizes and times of its files, which differ when one was written meanwhile; empty
   * when a file is missing or empty.
   */
  String contents() {
    StringBuilder contents = new StringBuilder();
    try {
      for (Path file : files()) {
        BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
        if (attributes.size() == 0) {
          return "";
        }
        contents.append(attributes.size()).append(attributes.lastModifiedTime().toInstant());
      }
    } catch (IOException e) {
      return "";
    }
    return contents.toString();
  }

  /** Returns whether some of its files are there, and all of them are empty. */
  private boolean isEmpty() throws IOException {
    int found = 0;
    for (Path file : files()) {
      if (Files.exists(file)) {
        if (Files.size(file) > 0) {
          return false;
        }
        found++;
      }
    }
    return found > 0;
  }

  /** A reason to remove an entry, looked at before and under its lock. */
  @FunctionalInterface
  private interface Reason {
    boolean holds() throws IOException;
  }

  /** Removes its files; returns false when they are in use, or none are there. */
  boolean remove() throws IOException {
    return remove(() -> Files.exists(note()) || files().stream().anyMatch(Files::exists));
  }

  private boolean remove(Reason reason) throws IOException {
    if (!reason.holds()) {
      return false;
    }
    Optional<EntryLocks.Use> use = locks.exclusive(place);
    if (use.isEmpty()) {
      return false;
    }
    try (EntryLocks.Use _ = use.get()) {
      if (!reason.holds()) {
        return false;
      }
      for (Path file : files()) {
        Files.deleteIfExists(file);
      }
      Files.deleteIfExists(note());
      return true;
    }
  }

  /** Removes the files that a failed device has left, unless they are in use. */
  void discard() {
    try {
      remove();
    } catch (IOException e) {
      // The caller is to see the device's own failure; the files fail the next check.
      StepCache.log().log(Level.DEBUG, "files of a failed compilation stay: {0}", e.toString());
    }
  }

  /** Removes the files when nothing was stored in them, unless they are in use. */
  void discardIfEmpty() {
    try {
      remove(this::isEmpty);
    } catch (IOException e) {
      StepCache.log().log(Level.DEBUG, "empty cache files stay: {0}", e.toString());
    }
  }
}
