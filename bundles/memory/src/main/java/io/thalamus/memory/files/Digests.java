// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory.files;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** SHA-256, the digest of NNAPI's tokens and of all that is stored here. Stateless. */
public final class Digests {
  private static final long CHUNK = 1 << 20;

  private Digests() {}

  /** Returns a new digest, which belongs to the caller. */
  public static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  /** Returns the digest of bytes in memory. */
  public static byte[] sha256(MemorySegment bytes) {
    MessageDigest digest = sha256();
    for (long at = 0; at < bytes.byteSize(); at += CHUNK) {
      digest.update(bytes.asSlice(at, Math.min(CHUNK, bytes.byteSize() - at)).asByteBuffer());
    }
    return digest.digest();
  }

  /** Returns the digest of a text in UTF-8. */
  public static byte[] sha256(String text) {
    return sha256().digest(text.getBytes(StandardCharsets.UTF_8));
  }
}
