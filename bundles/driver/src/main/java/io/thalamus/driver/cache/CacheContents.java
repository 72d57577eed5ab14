// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.cache;

import io.thalamus.memory.files.Digests;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.List;

/**
 * The bytes of one cached compilation, by file. They are not copied and must not be written.
 *
 * @param modelCache code
 * @param dataCache tensor elements, which may be used where they are: what was read begins at a
 *     cache line outside the heap, and is freed when nobody can reach it any more
 */
public record CacheContents(List<byte[]> modelCache, List<MemorySegment> dataCache) {
  public CacheContents {
    modelCache = List.copyOf(modelCache);
    dataCache = List.copyOf(dataCache);
  }

  /** The SHA-256 of the bytes of each file, its length before it, and of how many there are. */
  byte[] hash() {
    MessageDigest digest = Digests.sha256();
    digest(modelCache.stream().map(MemorySegment::ofArray).toList(), digest);
    digest(dataCache, digest);
    return digest.digest();
  }

  private static void digest(List<MemorySegment> files, MessageDigest digest) {
    ByteBuffer number = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    digest.update(number.putLong(0, files.size()).array());
    for (MemorySegment file : files) {
      digest.update(number.putLong(0, file.byteSize()).array());
      digest.update(file.asByteBuffer());
    }
  }
}
