// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import io.thalamus.memory.files.AtomicFiles;
import io.thalamus.memory.files.Digests;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The file of the map from compilations to codes of their files. Used under the lock of its name
 * space where it is written; read without. Numbers are little-endian. A compilation may have
 * several codes: two applications keep the same one, each in a directory of its own, or a better
 * program takes the place of a first one in one of them.
 *
 * <pre>
 * offset  0   magic "TTOK"
 *         4   version, 2
 *         8   entries
 *        12   0
 *        16   MAC of the name space, a zero byte, the 16 bytes above and all that follow
 *        48   entries, the one remembered first in front: 32 bytes of key, 32 of code
 * </pre>
 *
 * The key is the SHA-256 of the device's name, a zero byte and the token.
 *
 * @param capacity entries that are kept
 */
record TokenMap(Path file, KeyFile key, String nameSpace, int capacity) {
  private static final int MAGIC = 'T' | 'T' << 8 | 'O' << 16 | 'K' << 24;
  private static final int VERSION = 2;
  private static final int HEAD = 16;
  private static final int HEADER = HEAD + KeyFile.MAC_SIZE;
  private static final int DIGEST = 32;
  private static final int ENTRY = 2 * DIGEST;

  /** Codes of one compilation, so that one made again and again pushes no other out. */
  static final int MOST_CODES = 16;

  /** The file is not what was written there. */
  static final class DamagedException extends IOException {
    private static final long serialVersionUID = 1L;

    DamagedException(String message) {
      super(message);
    }
  }

  /** The key of a compilation. */
  static byte[] compilationKey(String device, byte[] token) {
    MessageDigest digest = Digests.sha256();
    digest.update(device.getBytes(StandardCharsets.UTF_8));
    digest.update((byte) 0);
    return digest.digest(token);
  }

  /**
   * Returns whether a compilation has a code.
   *
   * @throws DamagedException where the map is not what was written
   */
  boolean contains(byte[] compilation, byte[] code) throws IOException {
    return read().contains(entry(compilation, code));
  }

  /**
   * Looks whether the map is whole.
   *
   * @throws DamagedException where it is not what was written
   */
  void check() throws IOException {
    read();
  }

  /** Gives a compilation a code, which becomes the last entry. */
  void add(byte[] compilation, byte[] code) throws IOException {
    Set<ByteBuffer> entries;
    try {
      entries = read();
    } catch (DamagedException e) {
      // Told by whoever removed it.
      entries = new LinkedHashSet<>();
    }
    ByteBuffer entry = entry(compilation, code);
    entries.remove(entry);
    entries.add(entry);
    ByteBuffer key = entry.slice(0, DIGEST);
    List<ByteBuffer> alike =
        entries.stream().filter(other -> other.slice(0, DIGEST).equals(key)).toList();
    alike.stream().limit(Math.max(0, alike.size() - MOST_CODES)).forEach(entries::remove);
    Iterator<ByteBuffer> oldest = entries.iterator();
    for (int i = entries.size(); i > capacity; i--) {
      oldest.next();
      oldest.remove();
    }
    write(entries);
  }

  private static ByteBuffer entry(byte[] compilation, byte[] code) {
    return ByteBuffer.allocate(ENTRY).put(compilation).put(code).flip();
  }

  private void write(Set<ByteBuffer> entries) throws IOException {
    byte[] head =
        ByteBuffer.allocate(HEAD)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt(MAGIC)
            .putInt(VERSION)
            .putInt(entries.size())
            .array();
    ByteBuffer body = ByteBuffer.allocate(entries.size() * ENTRY);
    entries.forEach(entry -> body.put(entry.array()));
    byte[] mac = key.macOrCreate(nameSpace, head, body.array());
    AtomicFiles.replacePrivately(file, head, mac, body.array());
  }

  private Set<ByteBuffer> read() throws IOException {
    Set<ByteBuffer> entries = new LinkedHashSet<>();
    byte[] bytes;
    try {
      if (Files.size(file) > HEADER + (long) ENTRY * capacity) {
        throw new DamagedException("it is longer than any map is");
      }
      bytes = Files.readAllBytes(file);
    } catch (NoSuchFileException e) {
      return entries;
    }
    if (bytes.length < HEADER) {
      throw new DamagedException("it is cut short");
    }
    byte[] head = Arrays.copyOf(bytes, HEAD);
    byte[] body = Arrays.copyOfRange(bytes, HEADER, bytes.length);
    Optional<byte[]> mac = key.mac(nameSpace, head, body);
    if (mac.isEmpty()
        || !MessageDigest.isEqual(mac.get(), Arrays.copyOfRange(bytes, HEAD, HEADER))) {
      throw new DamagedException("it was not written under the key that is there");
    }
    ByteBuffer words = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
    if (words.getInt() != MAGIC
        || words.getInt() != VERSION
        || (long) words.getInt() * ENTRY != body.length) {
      throw new DamagedException("it is of another version");
    }
    for (int at = 0; at < body.length; at += ENTRY) {
      entries.add(ByteBuffer.wrap(Arrays.copyOfRange(body, at, at + ENTRY)));
    }
    return entries;
  }
}
