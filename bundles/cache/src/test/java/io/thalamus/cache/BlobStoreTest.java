// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cache.BlobLimits.Capacity;
import io.thalamus.cache.BlobLimits.Select;
import io.thalamus.memory.files.AtomicFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** AOSP's cases of BlobCache, where they fit a store of files; its limits: 6, 8 and 13 bytes. */
class BlobStoreTest {
  private static final int MAX_KEY = 6;
  private static final int MAX_VALUE = 8;
  private static final int MAX_TOTAL = 13;
  private static final BlobLimits LIMITS = BlobLimits.of(MAX_KEY, MAX_VALUE, MAX_TOTAL);

  @TempDir Path directory;
  private FileCacheEngine engine;
  private BlobStore store;

  @BeforeEach
  void open() {
    engine = new FileCacheEngine(directory, "test");
    store = engine.blobs("1", LIMITS);
  }

  @AfterEach
  void close() {
    engine.close();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(US_ASCII);
  }

  private static byte[] bytes(int length, char value) {
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  private void assertHolds(String key, String value) {
    assertEquals(
        Optional.of(value), store.get(bytes(key)).map(found -> new String(found, US_ASCII)));
  }

  private void assertLacks(byte[] key) {
    assertTrue(store.get(key).isEmpty());
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(directory.resolve("test/blobs"))) {
      return files.toList();
    }
  }

  @Test
  void cacheSingleValueSucceeds() {
    store.set(bytes("abcd"), bytes("efgh"));
    assertHolds("abcd", "efgh");
    assertLacks(bytes("abc"));
    assertLacks(bytes("abcde"));
  }

  @Test
  void cacheTwoValuesSucceeds() {
    store.set(bytes("ab"), bytes("cd"));
    store.set(bytes("ef"), bytes("gh"));
    assertHolds("ab", "cd");
    assertHolds("ef", "gh");
  }

  @Test
  void multipleSetsCacheLatestValue() {
    store.set(bytes("abcd"), bytes("efgh"));
    store.set(bytes("abcd"), bytes("ijkl"));
    assertHolds("abcd", "ijkl");
  }

  @Test
  void secondSetKeepsFirstValueIfTooLarge() {
    store.set(bytes("abcd"), bytes("efgh"));
    store.set(bytes("abcd"), bytes(MAX_VALUE + 1, 'i'));
    assertHolds("abcd", "efgh");
  }

  @Test
  void doesntCacheIfKeyIsTooBig() throws IOException {
    store.set(bytes(MAX_KEY + 1, 'a'), bytes("bbbb"));
    assertLacks(bytes(MAX_KEY + 1, 'a'));
    // Nothing was evicted for it either.
    assertTrue(!Files.exists(directory.resolve("test")));
  }

  @Test
  void doesntCacheIfValueIsTooBig() {
    store.set(bytes("abcd"), bytes(MAX_VALUE + 1, 'b'));
    assertLacks(bytes("abcd"));
  }

  @Test
  void doesntCacheIfKeyValuePairIsTooBig() {
    store.set(bytes(MAX_KEY, 'a'), bytes(MAX_VALUE, 'b'));
    assertLacks(bytes(MAX_KEY, 'a'));
  }

  @Test
  void doesntCacheIfKeyOrValueIsEmpty() {
    store.set(new byte[0], bytes("b"));
    store.set(bytes("a"), new byte[0]);
    assertLacks(new byte[0]);
    assertLacks(bytes("a"));
  }

  @Test
  void cacheMaxKeySizeSucceeds() {
    store.set(bytes(MAX_KEY, 'a'), bytes("wxyz"));
    assertHolds("aaaaaa", "wxyz");
  }

  @Test
  void cacheMaxValueSizeSucceeds() {
    store.set(bytes("abcd"), bytes(MAX_VALUE, 'b'));
    assertHolds("abcd", "bbbbbbbb");
  }

  @Test
  void cacheMaxKeyValuePairSizeSucceeds() {
    byte[] key = bytes(MAX_KEY, 'a');
    byte[] value = bytes(MAX_TOTAL - MAX_KEY, 'b');
    store.set(key, value);
    assertArrayEquals(value, store.get(key).orElseThrow());
  }

  @Test
  void cacheMinKeyAndValueSizeSucceeds() {
    store.set(bytes("a"), bytes("b"));
    assertHolds("a", "b");
  }

  @Test
  void cacheSizeDoesntExceedTotalLimit() {
    for (int i = 0; i < 256; i++) {
      store.set(new byte[] {(byte) i}, bytes("x"));
    }
    long kept =
        IntStream.range(0, 256).filter(i -> store.get(new byte[] {(byte) i}).isPresent()).count();
    assertTrue(kept <= MAX_TOTAL / 2, kept + " blobs of 2 bytes");
    assertTrue(kept > 0);
  }

  @Test
  void exceedingTotalLimitHalvesCacheSize() throws IOException {
    int max = MAX_TOTAL / 2;
    for (int i = 0; i < max; i++) {
      store.set(new byte[] {(byte) i}, bytes("x"));
    }
    assertEquals(max, files().size());
    // Half of 13 bytes are three blobs of 2, and the new one.
    store.set(bytes("f"), bytes("x"));
    assertEquals(max / 2 + 1, files().size());
    assertHolds("f", "x");
  }

  /** As in BlobCache: half is free, and yet it finds no room. */
  @Test
  void halvingMayLeaveNoRoom() throws IOException {
    store.set(bytes("a"), bytes("12345"));
    store.set(bytes("b"), bytes("12345678"));
    assertHolds("a", "12345");
    assertLacks(bytes("b"));
    assertEquals(1, files().size());
  }

  @Test
  void aGrowingValueCountsWithItsGrowthOnly() {
    store.set(bytes("a"), bytes("1234"));
    store.set(bytes("b"), bytes("1234"));
    store.set(bytes("b"), bytes("1234567"));
    assertHolds("a", "1234");
    assertHolds("b", "1234567");
  }

  @Test
  void theLeastRecentlyUsedGoesFirst() {
    store = engine.blobs("1", LIMITS.with(Select.LRU, Capacity.FIT));
    store.set(bytes("a"), bytes("111"));
    store.set(bytes("b"), bytes("222"));
    store.set(bytes("c"), bytes("333"));
    assertHolds("a", "111");
    store.set(bytes("d"), bytes("444"));
    assertLacks(bytes("b"));
    assertHolds("a", "111");
    assertHolds("c", "333");
    assertHolds("d", "444");
    store.set(bytes("e"), bytes("55555"));
    assertLacks(bytes("a"));
    assertLacks(bytes("c"));
    assertHolds("d", "444");
    assertHolds("e", "55555");
  }

  @Test
  void fitHalveLeavesHalf() throws IOException {
    store = engine.blobs("1", LIMITS.with(Select.LRU, Capacity.FIT_HALVE));
    for (int i = 0; i < 6; i++) {
      store.set(new byte[] {(byte) i}, bytes("x"));
    }
    store.set(bytes("f"), bytes("x"));
    assertEquals(4, files().size());
    store.set(bytes("g"), bytes("12345678"));
    assertHolds("g", "12345678");
    assertEquals(3, files().size());
  }

  /** The contents of the store against a plain account of the rules, step by step. */
  @ParameterizedTest
  @EnumSource(Capacity.class)
  void theTotalIsNeverExceededAndWhatIsFoundIsTheLatest(Capacity capacity) throws IOException {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("seed " + seed);
    for (Select select : Select.values()) {
      BlobLimits limits = new BlobLimits(8, 60, 200, select, capacity);
      store = engine.blobs(capacity + " " + select, limits);
      Random random = new Random(seed);
      byte[][] latest = new byte[16][];
      for (int i = 0; i < 300; i++) {
        int key = random.nextInt(latest.length);
        byte[] value = new byte[1 + random.nextInt(60)];
        random.nextBytes(value);
        store.set(new byte[] {(byte) key}, value);
        latest[key] = value;
        int other = random.nextInt(latest.length);
        Optional<byte[]> found = store.get(new byte[] {(byte) other});
        if (found.isPresent() && other != key) {
          assertArrayEquals(latest[other], found.get());
        }
        long total = 0;
        for (Path file : files()) {
          total += Files.size(file) - 48;
        }
        assertTrue(total <= 200, total + " bytes");
        if (capacity != Capacity.HALVE) {
          assertArrayEquals(value, store.get(new byte[] {(byte) key}).orElseThrow());
        }
      }
    }
  }

  @Test
  void anotherStoreSeesWhatWasKept() {
    store.set(bytes("abcd"), bytes("efgh"));
    try (FileCacheEngine second = new FileCacheEngine(directory, "test")) {
      assertArrayEquals(bytes("efgh"), second.blobs("1", LIMITS).get(bytes("abcd")).orElseThrow());
    }
  }

  @Test
  void anotherVersionOrNameSpaceSeesNothing() {
    store.set(bytes("abcd"), bytes("efgh"));
    assertTrue(engine.blobs("2", LIMITS).get(bytes("abcd")).isEmpty());
    try (FileCacheEngine other = new FileCacheEngine(directory, "other")) {
      assertTrue(other.blobs("1", LIMITS).get(bytes("abcd")).isEmpty());
    }
    assertHolds("abcd", "efgh");
  }

  @Test
  void aDamagedBlobIsAMissAndGone() throws IOException {
    store.set(bytes("abcd"), bytes("efgh"));
    Path file = files().getFirst();
    byte[] good = Files.readAllBytes(file);
    for (int bit = 0; bit < 8 * good.length; bit += 29) {
      byte[] bad = good.clone();
      bad[bit / 8] ^= (byte) (1 << bit % 8);
      Files.write(file, bad);
      assertLacks(bytes("abcd"));
      assertTrue(!Files.exists(file));
    }
    for (int length = 0; length < good.length; length += 11) {
      Files.write(file, Arrays.copyOf(good, length));
      assertLacks(bytes("abcd"));
    }
    Files.write(file, Arrays.copyOf(good, good.length + 1));
    assertLacks(bytes("abcd"));
    // Another blob's file under this one's name.
    store.set(bytes("ijkl"), bytes("mnop"));
    Files.move(files().getFirst(), file);
    assertLacks(bytes("abcd"));
    Files.write(file, good);
    assertHolds("abcd", "efgh");
  }

  @Test
  void whatAKilledProcessLeftIsRemoved() throws IOException {
    store.set(bytes("abcd"), bytes("efgh"));
    Path left = AtomicFiles.temporary(files().getFirst());
    Files.write(left, new byte[100]);
    store.set(bytes("a"), bytes("b"));
    assertTrue(!Files.exists(left));
    assertEquals(2, files().size());
  }

  @Test
  void aClosedStoreIsEmpty() {
    store.set(bytes("abcd"), bytes("efgh"));
    engine.close();
    assertLacks(bytes("abcd"));
    store.set(bytes("x"), bytes("y"));
    assertLacks(bytes("x"));
  }
}
