// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files of one caching directory. Thread-safe; shared with other processes.
 *
 * <p>Names are AOSP's: 64 letters that spell the token, {@code 1} for a model cache file or {@code
 * 2} for a data cache file, and the number of the file. Beside them lie a note for people, {@code
 * 64 letters.note}, whose time is that of the entry's last use, and one file of locks. Files with
 * other names are not touched.
 */
final class CacheDirectory {
  /** The file of locks. */
  static final String LOCKS = "locks";

  private static final Pattern NAME = Pattern.compile("([A-P]{64})([12]\\d{1,2}|\\.note)");

  /** Entries that may be added before those of other processes are counted. */
  private static final int UNCOUNTED = 100;

  /** Bytes that are written to see whether that can be done: most entries have more. */
  private static final int TRIED = 1 << 14;

  private final Path directory;
  private final EntryLocks locks;
  private final Object roomLock = new Object();

  /** Bytes that may be added before anything must go, as far as is known here. */
  private long room;

  private int additions;
  private long countedFor;

  /** A directory, which need not exist. */
  CacheDirectory(Path directory) {
    this.directory = directory;
    this.locks = new EntryLocks(directory.resolve(LOCKS));
  }

  /**
   * An entry as it lies there.
   *
   * @param entry with the files that were found
   * @param bytes of these
   */
  record Listed(CacheEntry entry, long bytes, Instant lastUsed) {
    /**
     * Returns what the directory gains by keeping the entry: the time that its compilation would
     * take, for each byte and each second since its last use.
     */
    private double worth(Instant now) {
      double idle = Math.max(1, Duration.between(lastUsed, now).toMillis());
      return entry.readNote().millis() / (idle * Math.max(1, bytes));
    }
  }

  Path directory() {
    return directory;
  }

  /** Returns the entry of a token, for a device that needs so many files. */
  CacheEntry entry(CacheToken token, CacheNeeds needs) {
    return new CacheEntry(directory, locks, token, CacheEntry.suffixes(needs));
  }

  /** Returns the entries, last used first; none when the directory does not exist. */
  List<Listed> list() throws IOException {
    Map<String, List<String>> suffixes = new HashMap<>();
    Map<String, Long> bytes = new HashMap<>();
    Map<String, Instant> used = new HashMap<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(directory)) {
      for (Path file : all) {
        Matcher matcher = NAME.matcher(file.getFileName().toString());
        if (!matcher.matches()) {
          continue;
        }
        BasicFileAttributes attributes;
        try {
          attributes = Files.readAttributes(file, BasicFileAttributes.class);
        } catch (NoSuchFileException removedMeanwhile) {
          continue;
        }
        String name = matcher.group(1);
        used.merge(
            name,
            attributes.lastModifiedTime().toInstant(),
            (one, other) -> one.isAfter(other) ? one : other);
        List<String> own = suffixes.computeIfAbsent(name, key -> new ArrayList<>());
        if (!matcher.group(2).startsWith(".")) {
          own.add(matcher.group(2));
          bytes.merge(name, attributes.size(), Long::sum);
        }
      }
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (NotDirectoryException e) {
      throw new IOException("it is a file, not a directory", e);
    }
    return used.entrySet().stream()
        .map(
            use -> {
              String name = use.getKey();
              List<String> own = suffixes.get(name).stream().sorted().toList();
              return new Listed(
                  new CacheEntry(directory, locks, CacheEntry.token(name), own),
                  bytes.getOrDefault(name, 0L),
                  use.getValue());
            })
        .sorted(
            Comparator.comparing(Listed::lastUsed)
                .reversed()
                .thenComparing(listed -> listed.entry().name()))
        .toList();
  }

  /**
   * Keeps the quota when an entry was added. Counts only now and then: a directory may hold
   * thousands of files, and other processes count as well.
   *
   * @return the bytes of the entry
   */
  long added(CacheEntry entry, long quota) throws IOException {
    long bytes = entry.bytes();
    synchronized (roomLock) {
      room -= bytes;
      if (room >= 0 && --additions > 0 && quota == countedFor) {
        return bytes;
      }
    }
    collect(quota, entry.name());
    long total = list().stream().mapToLong(Listed::bytes).sum();
    synchronized (roomLock) {
      room = quota - total;
      additions = UNCOUNTED;
      countedFor = quota;
    }
    return bytes;
  }

  /**
   * Tries to write a little.
   *
   * @throws IOException where the directory cannot be written, or could not be made
   */
  void tryToWrite() throws IOException {
    if (!Files.exists(directory)) {
      Path above = directory;
      while (above.getParent() != null && !Files.exists(above)) {
        above = above.getParent();
      }
      // Nothing is written beside what is the directory's own.
      if (!Files.isDirectory(above)) {
        throw new NotDirectoryException(above.toString());
      }
      if (!Files.isWritable(above)) {
        throw new AccessDeniedException(above.toString());
      }
      if (Files.getFileStore(above).getUsableSpace() < TRIED) {
        throw new FileSystemException(above.toString(), null, "there is no room");
      }
      return;
    }
    Path file = Files.createTempFile(directory, "try", ".tmp");
    try {
      Files.write(file, new byte[TRIED]);
    } finally {
      Files.deleteIfExists(file);
    }
  }

  /**
   * Removes what holds nothing, and what is {@linkplain Listed#worth worth} least until the rest
   * fits; among equals, what was not used for longest.
   *
   * @return what was removed
   */
  List<Listed> collect(long quota) throws IOException {
    return collect(quota, "");
  }

  /** Does the same when an entry was added, which goes last: it would be compiled in vain. */
  private List<Listed> collect(long quota, String added) throws IOException {
    List<Listed> entries = list();
    long total = entries.stream().mapToLong(Listed::bytes).sum();
    List<Listed> removed = new ArrayList<>();
    for (Listed listed : total > quota ? leastWorthFirst(entries, added) : entries.reversed()) {
      boolean isUseless = total > quota || listed.bytes() == 0;
      if (isUseless && listed.entry().remove()) {
        removed.add(listed);
        total -= listed.bytes();
      }
    }
    return removed;
  }

  /** Reads the note of each. */
  private static List<Listed> leastWorthFirst(List<Listed> entries, String added) {
    Instant now = Instant.now();
    Map<Listed, Double> worth = new HashMap<>();
    for (Listed listed : entries) {
      boolean isAdded = listed.entry().name().equals(added);
      worth.put(listed, isAdded ? Double.POSITIVE_INFINITY : listed.worth(now));
    }
    return entries.reversed().stream().sorted(Comparator.comparing(worth::get)).toList();
  }
}
