// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

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
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The file of the map from compilations to hashes. Used under the lock of its name space where it
 * is written; read without. Numbers are little-endian.
 *
 * <pre>
 * offset  0   magic "TTOK"
 *         4   version, 1
 *         8   entries
 *        12   0
 *        16   MAC of the name space, a zero byte, the 16 bytes above and all that follow
 *        48   entries, the one remembered first in front: 32 bytes of key, 32 of hash
 * </pre>
 *
 * The key of an entry is the SHA-256 of the device's name, a zero byte and the token.
 */
final class TokenMap {
  private static final int MAGIC = 'T' | 'T' << 8 | 'O' << 16 | 'K' << 24;
  private static final int VERSION = 1;
  private static final int HEAD = 16;
  private static final int HEADER = HEAD + KeyFile.MAC_SIZE;
  private static final int DIGEST = 32;
  private static final int ENTRY = 2 * DIGEST;

  private final Path file;
  private final KeyFile key;
  private final String nameSpace;
  private final int capacity;

  /**
   * A map in a file.
   *
   * @param capacity entries that are kept
   */
  TokenMap(Path file, KeyFile key, String nameSpace, int capacity) {
    this.file = file;
    this.key = key;
    this.nameSpace = nameSpace;
    this.capacity = capacity;
  }

  Path file() {
    return file;
  }

  /** The file is not what was written there. */
  static final class DamagedException extends IOException {
    private static final long serialVersionUID = 1L;

    DamagedException(String message) {
      super(message);
    }
  }

  /** The key of an entry. */
  static byte[] entryKey(String device, byte[] token) {
    MessageDigest digest = Hashes.sha256();
    digest.update(device.getBytes(StandardCharsets.UTF_8));
    digest.update((byte) 0);
    return digest.digest(token);
  }

  /**
   * The hash of an entry.
   *
   * @throws DamagedException where the map is not what was written
   */
  Optional<byte[]> find(byte[] entry) throws IOException {
    ByteBuffer found = read().get(ByteBuffer.wrap(entry));
    return found == null ? Optional.empty() : Optional.of(found.array());
  }

  /** Sets the hash of an entry, which becomes the last. */
  void put(byte[] entry, byte[] hash) throws IOException {
    Map<ByteBuffer, ByteBuffer> entries;
    try {
      entries = read();
    } catch (DamagedException e) {
      // Told by whoever removed it.
      entries = new LinkedHashMap<>();
    }
    ByteBuffer wrapped = ByteBuffer.wrap(entry.clone());
    entries.remove(wrapped);
    entries.put(wrapped, ByteBuffer.wrap(hash.clone()));
    Iterator<ByteBuffer> oldest = entries.keySet().iterator();
    for (int i = entries.size(); i > capacity; i--) {
      oldest.next();
      oldest.remove();
    }
    write(entries);
  }

  private void write(Map<ByteBuffer, ByteBuffer> entries) throws IOException {
    byte[] head =
        ByteBuffer.allocate(HEAD)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt(MAGIC)
            .putInt(VERSION)
            .putInt(entries.size())
            .array();
    ByteBuffer body = ByteBuffer.allocate(entries.size() * ENTRY);
    entries.forEach((name, hash) -> body.put(name.array()).put(hash.array()));
    byte[] mac = key.macOrCreate(nameSpace, head, body.array());
    AtomicFiles.replace(file, head, mac, body.array());
  }

  private Map<ByteBuffer, ByteBuffer> read() throws IOException {
    Map<ByteBuffer, ByteBuffer> entries = new LinkedHashMap<>();
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
      entries.put(
          ByteBuffer.wrap(Arrays.copyOfRange(body, at, at + DIGEST)),
          ByteBuffer.wrap(Arrays.copyOfRange(body, at + DIGEST, at + ENTRY)));
    }
    return entries;
  }
}
