// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import io.thalamus.memory.files.Digests;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * Makes long files short enough for a MAC, under a key. Immutable. SHA-256 alone takes a fifth of a
 * second for 14 MB in a process that has just begun, since the JVM interprets it until it is
 * compiled; this takes a quarter of that, and a third of the time of SHA-256 later on.
 *
 * <p>It is a tree of NH, the hash of UMAC (RFC 4418, section 5.2.2; twice, with a shifted key, as
 * there). Each block of 1,024 bytes becomes 16, and these are hashed in the same way under another
 * key, until at most {@link #SHORT} bytes are left. Without the key, nobody finds two files of one
 * length that become the same with a higher probability than 2<sup>-64</sup> for each level; the
 * MAC takes the lengths too.
 *
 * <p>Numbers have the processor's byte order: what comes out is never compared elsewhere.
 */
final class TreeHash {
  /** Bytes that stay as they are. */
  static final int SHORT = 2_048;

  /** Words of a block. */
  static final int BLOCK = 128;

  /** Words that are copied out of a file at a time. */
  private static final int TAKEN = 64 * BLOCK;

  /** Bytes of a file that is worth a second thread. */
  private static final long LONG = 4L << 20;

  private static final long LOW = 0xffff_ffffL;

  private final byte[] key;

  /**
   * A hash.
   *
   * @param key 32 bytes that are used for nothing else
   */
  TreeHash(byte[] key) {
    this.key = key.clone();
  }

  /** Returns at most {@link #SHORT} bytes that stand for a file. */
  byte[] of(MemorySegment file) {
    MemorySegment rest = file;
    for (int level = 0; rest.byteSize() > SHORT; level++) {
      rest = MemorySegment.ofArray(hashes(rest, words(level)));
    }
    byte[] bytes = new byte[(int) rest.byteSize()];
    MemorySegment.ofArray(bytes).copyFrom(rest);
    return bytes;
  }

  /**
   * Returns the key of a level: one word more than a block has, for the shifted key. The SHA-256 of
   * the key and a number is as good as random as long as the key is secret.
   */
  long[] words(int level) {
    long[] words = new long[BLOCK + 1];
    MessageDigest digest = Digests.sha256();
    ByteBuffer counter = ByteBuffer.allocate(2 * Integer.BYTES);
    for (int i = 0; i < words.length; ) {
      digest.update(key);
      ByteBuffer random =
          ByteBuffer.wrap(digest.digest(counter.putInt(0, level).putInt(4, i).array()));
      for (; random.hasRemaining() && i < words.length; i++) {
        words[i] = random.getLong();
      }
    }
    return words;
  }

  /**
   * Returns two words for each block; the last one is filled up with zeros. A second thread takes
   * half of a long file where its memory lets it.
   */
  private static long[] hashes(MemorySegment bytes, long[] key) {
    long size = bytes.byteSize();
    long[] hashes = new long[Math.toIntExact(2 * Math.ceilDiv(size, BLOCK * Long.BYTES))];
    long half = size < LONG ? 0 : size / 2 / (TAKEN * Long.BYTES) * (TAKEN * Long.BYTES);
    if (half > 0) {
      FutureTask<Void> first = new FutureTask<>(() -> hash(bytes, 0, half, key, hashes), null);
      Thread thread = Thread.ofPlatform().name("thalamus-cache-hash").daemon().unstarted(first);
      if (bytes.isAccessibleBy(thread)) {
        thread.start();
        hash(bytes, half, size, key, hashes);
        await(first);
        return hashes;
      }
    }
    hash(bytes, 0, size, key, hashes);
    return hashes;
  }

  /** Waits for a task, which takes no longer than one's own half, and rethrows what it threw. */
  private static void await(FutureTask<Void> task) {
    boolean isInterrupted = false;
    try {
      while (true) {
        try {
          task.get();
          return;
        } catch (InterruptedException e) {
          isInterrupted = true;
        } catch (ExecutionException e) {
          throw new IllegalStateException("the memory of a file is closed", e.getCause());
        }
      }
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Writes the hashes of the blocks of a part, which begins at a multiple of TAKEN words. */
  private static void hash(MemorySegment bytes, long begin, long end, long[] key, long[] hashes) {
    long[] taken = new long[TAKEN];
    MemorySegment target = MemorySegment.ofArray(taken);
    int hash = Math.toIntExact(2 * (begin / (BLOCK * Long.BYTES)));
    for (long from = begin; from < end; from += target.byteSize()) {
      long count = Math.min(target.byteSize(), end - from);
      if (count < target.byteSize()) {
        Arrays.fill(taken, 0);
      }
      MemorySegment.copy(bytes, from, target, 0, count);
      for (int word = 0; word * (long) Long.BYTES < count; word += BLOCK, hash += 2) {
        hash(taken, word, key, hashes, hash);
      }
    }
  }

  private static void hash(long[] words, int from, long[] key, long[] hashes, int to) {
    long first = 0;
    long second = 0;
    long added = key[0];
    for (int i = 0; i < BLOCK; i++) {
      long word = words[from + i];
      first += (word + added & LOW) * ((word >>> 32) + (added >>> 32) & LOW);
      added = key[i + 1];
      second += (word + added & LOW) * ((word >>> 32) + (added >>> 32) & LOW);
    }
    hashes[to] = first;
    hashes[to + 1] = second;
  }
}
