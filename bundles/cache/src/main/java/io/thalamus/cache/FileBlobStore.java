// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import io.thalamus.memory.files.AtomicFiles;
import io.thalamus.memory.files.Digests;
import io.thalamus.memory.files.IoMessages;
import io.thalamus.memory.files.LogOnce;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * Blobs in a directory, one file each, that all versions and all processes share. Thread-safe. A
 * file's name is the SHA-256 of version, zero byte and key, in hexadecimal digits; its time of
 * modification is when it was last used. Numbers are little-endian.
 *
 * <pre>
 * offset  0   magic "TBLB"
 *         4   version, 1
 *         8   bytes of the key
 *        12   bytes of the value
 *        16   MAC of the name space, a zero byte, the file's name, the 16 bytes above, key, value
 *        48   key, value
 * </pre>
 */
final class FileBlobStore implements BlobStore {
  private static final int MAGIC = 'T' | 'B' << 8 | 'L' << 16 | 'B' << 24;
  private static final int VERSION = 1;
  private static final int HEAD = 16;
  private static final int HEADER = HEAD + KeyFile.MAC_SIZE;

  private final FileCacheEngine engine;
  private final Path directory;
  private final KeyFile secret;
  private final String nameSpace;
  private final byte[] version;
  private final BlobLimits limits;
  private final LogOnce once = new LogOnce();
  private final SplittableRandom random = new SplittableRandom();
  private Instant lastUse = Instant.EPOCH;

  FileBlobStore(
      FileCacheEngine engine,
      Path directory,
      KeyFile secret,
      String nameSpace,
      String version,
      BlobLimits limits) {
    this.engine = engine;
    this.directory = directory;
    this.secret = secret;
    this.nameSpace = nameSpace;
    this.version = version.getBytes(StandardCharsets.UTF_8);
    this.limits = limits;
  }

  /** A blob's file, with the bytes of its key and value. */
  private record Entry(Path file, long bytes, FileTime used) {}

  @Override
  public void set(byte[] key, byte[] value) {
    if (engine.isClosed() || !limits.admits(key.length, value.length)) {
      return;
    }
    try (CacheEngine.Hold _ = engine.hold()) {
      AtomicFiles.createDirectoriesPrivately(directory);
      Path file = file(key);
      if (makeRoom(file, (long) key.length + value.length)) {
        write(file, key, value);
        once.over();
      }
    } catch (IOException e) {
      FileCacheEngine.log().log(
          once.level(e),
          "a blob cannot be stored in {0}: {1}; expected a directory that this user can write",
          directory,
          IoMessages.reason(e));
    }
  }

  private void write(Path file, byte[] key, byte[] value) throws IOException {
    byte[] head =
        ByteBuffer.allocate(HEAD)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt(MAGIC)
            .putInt(VERSION)
            .putInt(key.length)
            .putInt(value.length)
            .array();
    AtomicFiles.replacePrivately(file, head, macOf(file, head, key, value), key, value);
    touch(file);
  }

  private byte[] macOf(Path file, byte[]... parts) throws IOException {
    return secret.macOrCreate(nameSpace, named(file, parts));
  }

  private static byte[][] named(Path file, byte[]... parts) {
    byte[][] all = new byte[parts.length + 1][];
    all[0] = file.getFileName().toString().getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(parts, 0, all, 1, parts.length);
    return all;
  }

  /** Lets blobs go where the new one has no room; false where it has none even then. */
  private boolean makeRoom(Path file, long size) throws IOException {
    List<Entry> entries = entries();
    long total = entries.stream().mapToLong(Entry::bytes).sum();
    long old =
        entries.stream()
            .filter(entry -> entry.file().equals(file))
            .mapToLong(Entry::bytes)
            .findFirst()
            .orElse(0);
    if (total - old + size <= limits.maxTotalBytes()) {
      return true;
    }
    if (!limits.isCleanable(total)) {
      return false;
    }
    // Let go in this order: the latest used in front, taken from the end.
    entries.sort(Comparator.comparing(Entry::used).reversed());
    boolean oldIsGone = false;
    while (!entries.isEmpty() && total > limits.keep(oldIsGone ? size : size - old)) {
      Entry gone =
          entries.remove(
              limits.select() == BlobLimits.Select.LRU
                  ? entries.size() - 1
                  : nextInt(entries.size()));
      Files.deleteIfExists(gone.file());
      total -= gone.bytes();
      oldIsGone |= gone.file().equals(file);
    }
    return total - (oldIsGone ? 0 : old) + size <= limits.maxTotalBytes();
  }

  private synchronized int nextInt(int bound) {
    return random.nextInt(bound);
  }

  /** Returns the stored blobs, under the lock; removes the temporary files of killed processes. */
  private List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
      for (Path file : files) {
        if (AtomicFiles.isTemporary(file)) {
          Files.deleteIfExists(file);
        } else {
          BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
          entries.add(
              new Entry(
                  file, Math.max(0, attributes.size() - HEADER), attributes.lastModifiedTime()));
        }
      }
    }
    return entries;
  }

  @Override
  public Optional<byte[]> get(byte[] key) {
    // A digest, which the name of a file is, is the first one of many a process.
    if (engine.isClosed() || key.length == 0 || !Files.isDirectory(directory)) {
      return Optional.empty();
    }
    Path file = file(key);
    try {
      // Any value of a larger store is still read whole, but no file that cannot be a blob.
      long size = Files.size(file);
      byte[] bytes = size > Integer.MAX_VALUE / 2 ? new byte[0] : Files.readAllBytes(file);
      Optional<byte[]> value = value(file, bytes, key);
      if (value.isPresent()) {
        use(file);
      } else {
        FileCacheEngine.log().log(Level.WARNING, "{0} is damaged, and is removed", file);
        Files.deleteIfExists(file);
      }
      return value;
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      FileCacheEngine.log().log(
          once.level(e), "{0} cannot be read: {1}", file, IoMessages.reason(e));
      return Optional.empty();
    }
  }

  private Optional<byte[]> value(Path file, byte[] bytes, byte[] key) throws IOException {
    if (bytes.length < HEADER) {
      return Optional.empty();
    }
    byte[] head = Arrays.copyOf(bytes, HEAD);
    byte[] body = Arrays.copyOfRange(bytes, HEADER, bytes.length);
    Optional<byte[]> mac = secret.mac(nameSpace, named(file, head, body));
    if (mac.isEmpty()
        || !MessageDigest.isEqual(mac.get(), Arrays.copyOfRange(bytes, HEAD, HEADER))) {
      return Optional.empty();
    }
    ByteBuffer words = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
    boolean isBlob = words.getInt() == MAGIC && words.getInt() == VERSION;
    int keyBytes = words.getInt();
    int valueBytes = words.getInt();
    return isBlob
            && keyBytes == key.length
            && (long) keyBytes + valueBytes == body.length
            && Arrays.equals(key, 0, keyBytes, body, 0, keyBytes)
        ? Optional.of(Arrays.copyOfRange(body, keyBytes, body.length))
        : Optional.empty();
  }

  private Path file(byte[] key) {
    MessageDigest digest = Digests.sha256();
    digest.update(version);
    digest.update((byte) 0);
    return directory.resolve(HexFormat.of().formatHex(digest.digest(key)));
  }

  private void use(Path file) {
    try {
      touch(file);
    } catch (IOException e) {
      // It was evicted meanwhile, or cannot be written: its value is good all the same.
      FileCacheEngine.log().log(Level.DEBUG, "{0} does not count as used: {1}", file, e.toString());
    }
  }

  private void touch(Path file) throws IOException {
    Files.setLastModifiedTime(file, FileTime.from(nextUse()));
  }

  /** The time now, but later than any that was given before. */
  private synchronized Instant nextUse() {
    Instant now = Instant.now().truncatedTo(ChronoUnit.MICROS);
    lastUse = now.isAfter(lastUse) ? now : lastUse.plus(1, ChronoUnit.MICROS);
    return lastUse;
  }
}
