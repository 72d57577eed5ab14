// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import io.thalamus.memory.files.AtomicFiles;
import io.thalamus.memory.files.Digests;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The key that authenticates what the engine keeps: 32 random bytes in a file that only the user
 * can read. Thread-safe. Read anew for each use, so that all processes agree on it at any time, and
 * no copy stays in memory.
 */
final class KeyFile {
  /** Bytes that SHA-256 takes at a time. */
  private static final int BLOCK = 64;

  /** The values that each byte of the key is mixed with, before and after the text. */
  private static final byte INNER = 0x36;

  private static final byte OUTER = 0x5c;
  private static final int SIZE = 32;

  /** Bytes of a MAC. */
  static final int MAC_SIZE = 32;

  private static final Set<PosixFilePermission> OTHERS =
      EnumSet.complementOf(
          EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));

  private final Path file;

  KeyFile(Path file) {
    this.file = file;
  }

  /** The MAC of something of a name space, if there is a key. */
  Optional<byte[]> mac(String nameSpace, byte[]... parts) throws IOException {
    Optional<byte[]> key = read();
    return key.isEmpty() ? Optional.empty() : Optional.of(mac(key.get(), nameSpace, parts));
  }

  /** The MAC of something of a name space, under a new key if there is none. */
  byte[] macOrCreate(String nameSpace, byte[]... parts) throws IOException {
    return mac(readOrCreate(), nameSpace, parts);
  }

  /** The MAC of files of a name space, if there is a key. */
  Optional<byte[]> macOfFiles(String nameSpace, String purpose, List<MemorySegment> files)
      throws IOException {
    return read().map(key -> macOfFiles(key, nameSpace, purpose, files));
  }

  /** The MAC of files of a name space, under a new key if there is none. */
  byte[] macOfFilesOrCreate(String nameSpace, String purpose, List<MemorySegment> files)
      throws IOException {
    return macOfFiles(readOrCreate(), nameSpace, purpose, files);
  }

  private static byte[] macOfFiles(
      byte[] key, String nameSpace, String purpose, List<MemorySegment> files) {
    TreeHash hash = new TreeHash(mac(key, nameSpace, bytes("tree\0")));
    List<byte[]> parts = new ArrayList<>();
    parts.add(bytes("files\0" + purpose + '\0'));
    for (MemorySegment file : files) {
      parts.add(ByteBuffer.allocate(Long.BYTES).putLong(file.byteSize()).array());
      parts.add(hash.of(file));
    }
    return mac(key, nameSpace, parts.toArray(byte[][]::new));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private byte[] readOrCreate() throws IOException {
    Optional<byte[]> key = read();
    if (key.isEmpty()) {
      create();
      key = read();
    }
    return key.orElseThrow(() -> new IOException("the key " + file + " does not stay"));
  }

  /**
   * HMAC-SHA-256 (RFC 2104) of a name space, a zero byte and parts. From digests alone: in a new
   * process the JDK's providers of ciphers take longer to load than most caches to be read.
   *
   * @param key of at most {@link #BLOCK} bytes
   */
  static byte[] mac(byte[] key, String nameSpace, byte[]... parts) {
    MessageDigest inner = begin(key, INNER);
    inner.update(bytes(nameSpace));
    inner.update((byte) 0);
    for (byte[] part : parts) {
      inner.update(part);
    }
    return begin(key, OUTER).digest(inner.digest());
  }

  private static MessageDigest begin(byte[] key, byte pad) {
    byte[] block = Arrays.copyOf(key, BLOCK);
    for (int i = 0; i < BLOCK; i++) {
      block[i] ^= pad;
    }
    MessageDigest digest = Digests.sha256();
    digest.update(block);
    return digest;
  }

  /** The key; empty where there is none, or one that others could have read or cut short. */
  private Optional<byte[]> read() throws IOException {
    try {
      PosixFileAttributeView view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
      if (view != null) {
        for (PosixFilePermission permission : view.readAttributes().permissions()) {
          if (OTHERS.contains(permission)) {
            return Optional.empty();
          }
        }
      }
      byte[] key = Files.readAllBytes(file);
      return key.length == SIZE ? Optional.of(key) : Optional.empty();
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /** Makes a key, unless another process is first. One that is no good is replaced. */
  private void create() throws IOException {
    byte[] key = new byte[SIZE];
    new SecureRandom().nextBytes(key);
    Path fresh = AtomicFiles.temporary(file);
    try {
      AtomicFiles.createPrivately(fresh, key);
      try {
        // A link, other than a rename, never takes the place of a key that came first.
        Files.createLink(file, fresh);
      } catch (FileAlreadyExistsException e) {
        if (read().isEmpty()) {
          Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
        }
      } catch (UnsupportedOperationException e) {
        Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
      }
    } finally {
      Files.deleteIfExists(fresh);
    }
  }
}
