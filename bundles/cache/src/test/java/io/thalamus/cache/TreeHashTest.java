// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;

/** The hash beside its definition, written with whole numbers of any size. */
class TreeHashTest {
  private static final BigInteger WORD = BigInteger.ONE.shiftLeft(32);
  private static final BigInteger DOUBLE = BigInteger.ONE.shiftLeft(64);

  private final TreeHash hash = new TreeHash(new byte[] {1, 2, 3});

  private static BigInteger half(long word, int half) {
    return BigInteger.valueOf(word >>> 32 * half & 0xffff_ffffL);
  }

  /** NH of RFC 4418: the sum of products of sums. */
  private static long nh(long[] block, long[] key, int shift) {
    BigInteger sum = BigInteger.ZERO;
    for (int i = 0; i < block.length; i++) {
      BigInteger low = half(block[i], 0).add(half(key[i + shift], 0)).mod(WORD);
      BigInteger high = half(block[i], 1).add(half(key[i + shift], 1)).mod(WORD);
      sum = sum.add(low.multiply(high));
    }
    return sum.mod(DOUBLE).longValue();
  }

  private byte[] defined(byte[] file) {
    byte[] rest = file;
    for (int level = 0; rest.length > TreeHash.SHORT; level++) {
      long[] key = hash.words(level);
      int bytes = TreeHash.BLOCK * Long.BYTES;
      int blocks = (rest.length + bytes - 1) / bytes;
      ByteBuffer next = ByteBuffer.allocate(16 * blocks).order(ByteOrder.nativeOrder());
      for (int i = 0; i < blocks; i++) {
        long[] block = new long[TreeHash.BLOCK];
        ByteBuffer.wrap(Arrays.copyOfRange(rest, i * bytes, (i + 1) * bytes))
            .order(ByteOrder.nativeOrder())
            .asLongBuffer()
            .get(block);
        next.putLong(nh(block, key, 0)).putLong(nh(block, key, 1));
      }
      rest = next.array();
    }
    return rest;
  }

  @Test
  void itIsWhatItsDefinitionSays() {
    long seed = ThreadLocalRandom.current().nextLong();
    Random random = new Random(seed);
    int[] sizes = {0, 1, 2048, 2049, 3072, 65_535, 65_536, 65_537, 131_072, 140_001, 300_000};
    for (int size : sizes) {
      byte[] file = new byte[size];
      random.nextBytes(file);
      assertArrayEquals(
          defined(file), hash.of(MemorySegment.ofArray(file)), size + " bytes, seed " + seed);
      try (Arena arena = Arena.ofConfined()) {
        // From where no word begins.
        MemorySegment odd = arena.allocate(size + 1L).asSlice(1);
        MemorySegment.copy(file, 0, odd, ValueLayout.JAVA_BYTE, 0, size);
        assertArrayEquals(defined(file), hash.of(odd), size + " bytes, seed " + seed);
      }
    }
  }

  /** Two threads take a long file, unless its memory is one thread's alone. */
  @Test
  void itIsWhatItsDefinitionSaysWhoeverComputesIt() {
    long seed = ThreadLocalRandom.current().nextLong();
    byte[] file = new byte[(4 << 20) + 70_001];
    new Random(seed).nextBytes(file);
    byte[] defined = defined(file);
    Thread.currentThread().interrupt();
    assertArrayEquals(defined, hash.of(MemorySegment.ofArray(file)), "seed " + seed);
    assertTrue(Thread.interrupted());
    try (Arena own = Arena.ofConfined();
        Arena shared = Arena.ofShared()) {
      for (Arena arena : List.of(own, shared)) {
        MemorySegment bytes = arena.allocateFrom(ValueLayout.JAVA_BYTE, file);
        assertArrayEquals(defined, hash.of(bytes), "seed " + seed);
      }
    }
  }

  /** Words of all ones and zeros are where sums carry over. */
  @Test
  void itIsWhatItsDefinitionSaysForTheLargestWords() {
    byte[] file = new byte[150_000];
    Arrays.fill(file, 0, 70_000, (byte) -1);
    assertArrayEquals(defined(file), hash.of(MemorySegment.ofArray(file)));
  }

  @Test
  void eachChangedBitAndEachOtherKeyChangesIt() {
    byte[] file = new byte[5_000];
    new Random(1).nextBytes(file);
    byte[] good = hash.of(MemorySegment.ofArray(file));
    Set<ByteBuffer> seen = new HashSet<>();
    seen.add(ByteBuffer.wrap(good));
    int changes = 0;
    for (int bit = 0; bit < 8 * file.length; bit++) {
      file[bit / 8] ^= (byte) (1 << bit % 8);
      seen.add(ByteBuffer.wrap(hash.of(MemorySegment.ofArray(file))));
      changes++;
      file[bit / 8] ^= (byte) (1 << bit % 8);
    }
    assertEquals(changes + 1, seen.size());
    assertArrayEquals(good, hash.of(MemorySegment.ofArray(file)));
    TreeHash other = new TreeHash(new byte[] {1, 2, 4});
    assertFalse(Arrays.equals(good, other.of(MemorySegment.ofArray(file))));
  }

  @Test
  void wordsInAnotherOrderChangeIt() {
    long[] words = new Random(2).longs(4_096).toArray();
    byte[] good = hash.of(MemorySegment.ofArray(words));
    Random random = new Random(3);
    for (int i = 0; i < 500; i++) {
      int one = random.nextInt(words.length);
      int other = random.nextInt(words.length);
      long kept = words[one];
      words[one] = words[other];
      words[other] = kept;
      assertEquals(one == other, Arrays.equals(good, hash.of(MemorySegment.ofArray(words))));
      words[other] = words[one];
      words[one] = kept;
    }
  }

  @Test
  void noTwoLevelsHaveTheSameKey() {
    assertFalse(Arrays.equals(hash.words(0), hash.words(1)));
    assertEquals(TreeHash.BLOCK + 1, Arrays.stream(hash.words(0)).distinct().count());
  }
}
