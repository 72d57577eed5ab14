// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.hal.CacheNeeds;
import io.thalamus.model.CacheToken;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files of one caching directory. Thread-safe; shared with other processes.
 *
 * <p>Names are AOSP's: 64 letters that spell the token, {@code 1} for a model cache file or {@code
 * 2} for a data cache file, and the number of the file. Beside them lie a note for people, {@code
 * 64 letters.note}, whose time is that of the entry's last use, and one file of locks. What has
 * another name is not touched.
 */
final class CacheDirectory {
  private static final System.Logger LOG = System.getLogger(CacheDirectory.class.getPackageName());

  private static final Pattern NAME = Pattern.compile("([A-P]{64})([12]\\d{1,2}|\\.note)");
  private static final String LOCKS = "locks";

  /** So many entries may be added before what others added is looked at. */
  private static final int UNCOUNTED = 100;

  /** Bytes that are written to see whether that can be done: most entries have more. */
  private static final int TRIED = 1 << 14;

  private static final int NIBBLE = 4;
  private static final int LOW_BITS = 0xF;

  private final Path directory;
  private final EntryLocks locks;
  private final Object roomLock = new Object();

  /** What may be added before anything must go, as far as is known here. */
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
   * @param files all of its files but the note
   * @param bytes of these
   */
  record Listed(String name, List<Path> files, long bytes, Instant lastUsed) {}

  /** What the names of an entry's files begin with. */
  static String name(CacheToken token) {
    StringBuilder letters = new StringBuilder();
    for (byte value : token.toArray()) {
      letters.append((char) ('A' + (value & LOW_BITS)));
      letters.append((char) ('A' + ((value >> NIBBLE) & LOW_BITS)));
    }
    return letters.toString();
  }

  /** The token that a name spells. */
  static CacheToken token(String name) {
    byte[] bytes = new byte[CacheToken.SIZE];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) ((name.charAt(2 * i) - 'A') | ((name.charAt(2 * i + 1) - 'A') << NIBBLE));
    }
    return CacheToken.of(bytes);
  }

  private static long place(String name) {
    return ByteBuffer.wrap(token(name).toArray()).getLong() & (Long.MAX_VALUE >> 1);
  }

  Path directory() {
    return directory;
  }

  private static List<String> suffixes(CacheNeeds needs) {
    List<String> suffixes = new ArrayList<>();
    for (int i = 0; i < needs.modelCacheFiles(); i++) {
      suffixes.add("1" + i);
    }
    for (int i = 0; i < needs.dataCacheFiles(); i++) {
      suffixes.add("2" + i);
    }
    return suffixes;
  }

  /** Whether all files of an entry exist. */
  boolean holds(String name, CacheNeeds needs) {
    return suffixes(needs).stream()
        .allMatch(suffix -> Files.isRegularFile(directory.resolve(name + suffix)));
  }

  /**
   * Opens an entry whose files all exist, for a device to read; empty where one is missing, or
   * somebody writes them.
   */
  Optional<OpenEntry> open(String name, CacheNeeds needs, OpenEntry.Keeper keeper)
      throws IOException {
    if (!holds(name, needs)) {
      return Optional.empty();
    }
    Optional<EntryLocks.Use> use = locks.shared(place(name));
    if (use.isEmpty()) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          open(name, needs, use.get(), keeper, StandardOpenOption.READ, StandardOpenOption.WRITE));
    } catch (NoSuchFileException removedMeanwhile) {
      return Optional.empty();
    }
  }

  /** Opens an entry for a device to write, and makes its files; empty where somebody uses them. */
  Optional<OpenEntry> create(String name, CacheNeeds needs, OpenEntry.Keeper keeper)
      throws IOException {
    Files.createDirectories(directory);
    Optional<EntryLocks.Use> use = locks.exclusive(place(name));
    if (use.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        open(
            name,
            needs,
            use.get(),
            keeper,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            StandardOpenOption.CREATE));
  }

  private OpenEntry open(
      String name,
      CacheNeeds needs,
      EntryLocks.Use use,
      OpenEntry.Keeper keeper,
      OpenOption... options)
      throws IOException {
    OpenEntry entry = new OpenEntry(token(name), use, keeper);
    boolean isComplete = false;
    try {
      for (String suffix : suffixes(needs)) {
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

  private Path note(String name) {
    return directory.resolve(name + ".note");
  }

  EntryNote readNote(String name) {
    return EntryNote.read(note(name));
  }

  void writeNote(String name, EntryNote note) throws IOException {
    note.write(note(name));
  }

  /** Notes that an entry was used now; false where it has no note. */
  boolean touch(String name) throws IOException {
    try {
      Files.setLastModifiedTime(note(name), FileTime.from(Instant.now()));
      return true;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  /** The entries, last used first; none where the directory does not exist. */
  List<Listed> list() throws IOException {
    Map<String, List<Path>> files = new HashMap<>();
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
        List<Path> own = files.computeIfAbsent(name, key -> new ArrayList<>());
        if (!matcher.group(2).startsWith(".")) {
          own.add(file);
          bytes.merge(name, attributes.size(), Long::sum);
        }
      }
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (NotDirectoryException e) {
      throw new IOException("it is a file, not a directory", e);
    }
    return files.entrySet().stream()
        .map(
            entry ->
                new Listed(
                    entry.getKey(),
                    entry.getValue().stream().sorted().toList(),
                    bytes.getOrDefault(entry.getKey(), 0L),
                    used.get(entry.getKey())))
        .sorted(Comparator.comparing(Listed::lastUsed).reversed().thenComparing(Listed::name))
        .toList();
  }

  /** Whether somebody writes an entry now, here or in another process. */
  boolean isBeingWritten(String name) throws IOException {
    // Where the file of locks cannot be written, cache files cannot either.
    if (!Files.isWritable(directory.resolve(LOCKS))) {
      return false;
    }
    Optional<EntryLocks.Use> use = locks.shared(place(name));
    if (use.isPresent()) {
      use.get().close();
    }
    return use.isEmpty();
  }

  /**
   * Returns the sizes and times of an entry's files, which differ when one was written meanwhile;
   * empty when a file is missing or empty.
   */
  String contents(String name, CacheNeeds needs) {
    StringBuilder contents = new StringBuilder();
    try {
      for (String suffix : suffixes(needs)) {
        Path file = directory.resolve(name + suffix);
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

  /** Removes what a device that failed has left of an entry, unless it is in use. */
  void discard(String name) {
    try {
      remove(name);
    } catch (IOException e) {
      // The device's own failure is what its caller is to see; the files fail the next check.
      LOG.log(Level.DEBUG, "files of a failed compilation stay: {0}", e.toString());
    }
  }

  /** Removes the files of an entry in which nothing was stored, unless somebody uses them. */
  void discardIfEmpty(String name, CacheNeeds needs) {
    try {
      if (holdsNothing(name, needs)) {
        Optional<EntryLocks.Use> use = locks.exclusive(place(name));
        if (use.isPresent()) {
          try (EntryLocks.Use _ = use.get()) {
            if (holdsNothing(name, needs)) {
              delete(suffixes(needs).stream().map(s -> directory.resolve(name + s)).toList(), name);
            }
          }
        }
      }
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "empty cache files stay: {0}", e.toString());
    }
  }

  /** Whether files of an entry are there, and all of them are empty. */
  private boolean holdsNothing(String name, CacheNeeds needs) throws IOException {
    int found = 0;
    for (String suffix : suffixes(needs)) {
      Path file = directory.resolve(name + suffix);
      if (Files.exists(file)) {
        if (Files.size(file) > 0) {
          return false;
        }
        found++;
      }
    }
    return found > 0;
  }

  private void delete(List<Path> files, String name) throws IOException {
    for (Path file : files) {
      Files.deleteIfExists(file);
    }
    Files.deleteIfExists(note(name));
  }

  /** Removes an entry, unless it is in use or there is none. */
  boolean remove(String name) throws IOException {
    for (Listed entry : list()) {
      if (entry.name().equals(name)) {
        return remove(entry);
      }
    }
    return false;
  }

  /** Removes an entry, unless it is in use. */
  boolean remove(Listed entry) throws IOException {
    Optional<EntryLocks.Use> use = locks.exclusive(place(entry.name()));
    if (use.isEmpty()) {
      return false;
    }
    try {
      delete(entry.files(), entry.name());
      return true;
    } finally {
      use.get().close();
    }
  }

  /**
   * Keeps the quota when an entry was added. Counts only now and then: a directory may hold
   * thousands of files, and other processes count as well.
   *
   * @return the bytes of the entry
   */
  long added(String name, CacheNeeds needs, long quota) throws IOException {
    long bytes = 0;
    for (String suffix : suffixes(needs)) {
      bytes += Files.size(directory.resolve(name + suffix));
    }
    synchronized (roomLock) {
      room -= bytes;
      if (room >= 0 && --additions > 0 && quota == countedFor) {
        return bytes;
      }
    }
    collect(quota);
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
   * Removes what holds nothing, and what was not used for longest until the rest fits.
   *
   * @return what was removed
   */
  List<Listed> collect(long quota) throws IOException {
    List<Listed> entries = list();
    long total = entries.stream().mapToLong(Listed::bytes).sum();
    List<Listed> removed = new ArrayList<>();
    for (int i = entries.size() - 1; i >= 0; i--) {
      boolean isUseless = total > quota || entries.get(i).bytes() == 0;
      if (isUseless && remove(entries.get(i))) {
        removed.add(entries.get(i));
        total -= entries.get(i).bytes();
      }
    }
    return removed;
  }
}
