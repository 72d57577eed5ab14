// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.CacheToken;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The map's memory, its owners, and its answers to damage. */
class FileCacheEngineTest {
  private static final String DEVICE = "test-device";

  @TempDir Path directory;

  private FileCacheEngine engine() {
    return new FileCacheEngine(directory, "test");
  }

  private static CacheToken token(int number) {
    return CacheToken.of(ByteBuffer.allocate(CacheToken.SIZE).putInt(number).array());
  }

  /** The contents of the files of a compilation. */
  private static List<MemorySegment> files(int number) {
    return List.of(MemorySegment.ofArray(code(number)), MemorySegment.ofArray(new byte[3000]));
  }

  private static byte[] code(int number) {
    return ByteBuffer.allocate(32).putInt(~number).array();
  }

  private static MemorySegment bytes(int number) {
    return MemorySegment.ofArray(code(number));
  }

  @Test
  void whatIsRememberedIsRememberedByTheNext() throws IOException {
    try (FileCacheEngine engine = engine()) {
      assertFalse(engine.isRemembered(DEVICE, token(1), files(1)));
      engine.remember(DEVICE, token(1), engine.code(files(1)));
      assertTrue(engine.isRemembered(DEVICE, token(1), files(1)));
    }
    try (FileCacheEngine engine = engine()) {
      assertTrue(engine.isRemembered(DEVICE, token(1), files(1)));
      assertFalse(engine.isRemembered(DEVICE, token(1), files(2)));
      assertFalse(engine.isRemembered(DEVICE, token(2), files(1)));
      assertFalse(engine.isRemembered("another-device", token(1), files(1)));
    }
  }

  /** The code says: this bundle, for this purpose, these bytes, this user. */
  @Test
  void aCodeVouchesForNothingElse() throws IOException {
    try (FileCacheEngine engine = engine();
        FileCacheEngine again = engine();
        FileCacheEngine other = new FileCacheEngine(directory, "other");
        FileCacheEngine stranger = new FileCacheEngine(directory.resolve("s"), "test")) {
      byte[] code = engine.authenticate("state", bytes(1));
      assertEquals(32, code.length);
      assertArrayEquals(code, again.authenticate("state", bytes(1)));
      for (byte[] another :
          List.of(
              engine.authenticate("state", bytes(2)),
              engine.authenticate("states", bytes(1)),
              other.authenticate("state", bytes(1)),
              stranger.authenticate("state", bytes(1)))) {
        assertFalse(Arrays.equals(code, another));
      }
    }
  }

  /** Long files too, of which a hash alone does not see zeros at the end. */
  @Test
  void filesOfOtherLengthsAreOthers() throws IOException {
    MemorySegment all = MemorySegment.ofArray(new byte[10_000]);
    try (FileCacheEngine engine = engine()) {
      engine.remember(
          DEVICE, token(1), engine.code(List.of(all.asSlice(0, 5_000), all.asSlice(5_000))));
      for (int first : new int[] {0, 1, 4_999, 5_000, 5_001, 9_000}) {
        List<MemorySegment> files = List.of(all.asSlice(0, first), all.asSlice(first));
        assertEquals(first == 5_000, engine.isRemembered(DEVICE, token(1), files), "" + first);
      }
      for (int bytes : new int[] {4_999, 5_000, 5_001}) {
        List<MemorySegment> files = List.of(all.asSlice(0, 5_000), all.asSlice(0, bytes));
        assertEquals(bytes == 5_000, engine.isRemembered(DEVICE, token(1), files), "" + bytes);
      }
      assertFalse(engine.isRemembered(DEVICE, token(1), List.of(all)));
    }
  }

  /** Two applications keep the same compilation, each in a directory of its own. */
  @Test
  void aCompilationMayBeKeptInSeveralPlaces() throws IOException {
    try (FileCacheEngine one = engine();
        FileCacheEngine other = engine()) {
      one.remember(DEVICE, token(1), one.code(files(1)));
      other.remember(DEVICE, token(1), other.code(files(2)));
      assertTrue(one.isRemembered(DEVICE, token(1), files(1)));
      assertTrue(one.isRemembered(DEVICE, token(1), files(2)));
      assertFalse(one.isRemembered(DEVICE, token(2), files(2)));
    }
  }

  @Test
  void aCompilationMadeAgainAndAgainPushesNoOtherOut() throws IOException {
    try (FileCacheEngine engine = engine()) {
      engine.remember(DEVICE, token(1), engine.code(files(0)));
      for (int i = 1; i <= 3 * TokenMap.MOST_CODES; i++) {
        engine.remember(DEVICE, token(2), engine.code(files(i)));
      }
      assertTrue(engine.isRemembered(DEVICE, token(1), files(0)));
      for (int i = 1; i <= 3 * TokenMap.MOST_CODES; i++) {
        assertEquals(
            i > 2 * TokenMap.MOST_CODES, engine.isRemembered(DEVICE, token(2), files(i)), "" + i);
      }
    }
    assertEquals(48 + 64 * (1 + TokenMap.MOST_CODES), Files.size(directory.resolve("test/tokens")));
  }

  @Test
  void aNameSpaceSeesNothingOfAnother() throws IOException {
    try (FileCacheEngine one = engine();
        FileCacheEngine other = new FileCacheEngine(directory, "other")) {
      one.remember(DEVICE, token(1), one.code(files(1)));
      assertFalse(other.isRemembered(DEVICE, token(1), files(1)));
      // Not even with its file.
      Files.createDirectories(directory.resolve("other"));
      Files.copy(directory.resolve("test/tokens"), directory.resolve("other/tokens"));
      assertFalse(other.isRemembered(DEVICE, token(1), files(1)));
    }
    assertThrows(
        IllegalArgumentException.class, () -> new FileCacheEngine(directory, "../elsewhere"));
    assertThrows(IllegalArgumentException.class, () -> new FileCacheEngine(directory, ""));
  }

  @Test
  void theOldestIsForgottenWhenItIsFull() throws IOException {
    TokenMap map =
        new TokenMap(directory.resolve("tokens"), new KeyFile(directory.resolve("key")), "test", 3);
    for (int i = 0; i < 5; i++) {
      map.add(code(i), code(100 + i));
      // Remembered anew, it is not the oldest any more.
      map.add(code(0), code(100));
    }
    for (int i = 0; i < 5; i++) {
      assertEquals(i == 0 || i >= 3, map.contains(code(i), code(100 + i)), "" + i);
    }
    assertEquals(48 + 3 * 64, Files.size(directory.resolve("tokens")));
  }

  @Test
  void noBitOfTheMapCanChangeUnseen() throws IOException {
    Path file = directory.resolve("test/tokens");
    try (FileCacheEngine engine = engine()) {
      engine.remember(DEVICE, token(1), engine.code(files(1)));
      engine.remember(DEVICE, token(2), engine.code(files(2)));
      byte[] good = Files.readAllBytes(file);
      for (int bit = 0; bit < 8 * good.length; bit += 29) {
        byte[] bad = good.clone();
        bad[bit / 8] ^= (byte) (1 << bit % 8);
        Files.write(file, bad);
        assertFalse(engine.isRemembered(DEVICE, token(1), files(1)), "bit " + bit);
        // It is reported once, and a new map begins.
        assertFalse(Files.exists(file));
      }
      for (int length = 0; length < good.length; length += 11) {
        Files.write(file, Arrays.copyOf(good, length));
        assertFalse(engine.isRemembered(DEVICE, token(1), files(1)), length + " bytes");
      }
      Files.write(file, Arrays.copyOf(good, good.length + 64));
      assertFalse(engine.isRemembered(DEVICE, token(1), files(1)));
      Files.write(file, new byte[1000]);
      engine.remember(DEVICE, token(3), engine.code(files(3)));
      assertTrue(engine.isRemembered(DEVICE, token(3), files(3)));
      Files.write(file, good);
      assertTrue(engine.isRemembered(DEVICE, token(2), files(2)));
    }
  }

  @Test
  void theKeyIsTheUsersAlone() throws IOException {
    Path key = directory.resolve("key");
    try (FileCacheEngine engine = engine()) {
      engine.remember(DEVICE, token(1), engine.code(files(1)));
      assertEquals(32, Files.size(key));
      boolean isPosix = key.getFileSystem().supportedFileAttributeViews().contains("posix");
      if (isPosix) {
        assertEquals(
            "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(key)));
        // Others could have read it: it says nothing any more, and is replaced.
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-r--r--"));
        assertFalse(engine.isRemembered(DEVICE, token(1), files(1)));
        byte[] old = Files.readAllBytes(key);
        engine.remember(DEVICE, token(1), engine.code(files(1)));
        assertEquals(
            "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(key)));
        assertFalse(Arrays.equals(old, Files.readAllBytes(key)));
        assertTrue(engine.isRemembered(DEVICE, token(1), files(1)));
      }
      // Without its key, or under another, a map is no map.
      byte[] good = Files.readAllBytes(key);
      byte[] map = Files.readAllBytes(directory.resolve("test/tokens"));
      Files.delete(key);
      assertFalse(engine.isRemembered(DEVICE, token(1), files(1)));
      engine.remember(DEVICE, token(2), engine.code(files(2)));
      Files.write(directory.resolve("test/tokens"), map);
      assertFalse(engine.isRemembered(DEVICE, token(1), files(1)));
      Files.write(directory.resolve("test/tokens"), map);
      Files.write(key, good);
      assertTrue(engine.isRemembered(DEVICE, token(1), files(1)));
    }
  }

  /** Engines of one process exclude each other as those of two do. */
  @Test
  void nothingIsLostAmongThreadsAndEngines() throws Exception {
    int each = 20;
    List<Future<?>> running = new ArrayList<>();
    try (ExecutorService executor = Executors.newFixedThreadPool(6);
        FileCacheEngine shared = engine()) {
      for (int thread = 0; thread < 6; thread++) {
        int first = thread * each;
        running.add(
            executor.submit(
                () -> {
                  FileCacheEngine own = first % 2 == 0 && first > 0 ? engine() : shared;
                  for (int i = first; i < first + each; i++) {
                    own.remember(DEVICE, token(i), own.code(files(i)));
                  }
                  if (own != shared) {
                    own.close();
                  }
                  return null;
                }));
      }
      for (Future<?> one : running) {
        one.get();
      }
      for (int i = 0; i < 6 * each; i++) {
        assertTrue(shared.isRemembered(DEVICE, token(i), files(i)), "entry " + i);
      }
    }
  }

  @Test
  void aHoldExcludesOthersAndCanBeTakenTwice() throws Exception {
    try (FileCacheEngine one = engine();
        FileCacheEngine other = engine();
        ExecutorService executor = Executors.newSingleThreadExecutor()) {
      List<String> events = java.util.Collections.synchronizedList(new ArrayList<>());
      Future<?> second;
      try (CacheEngine.Hold _ = one.hold();
          CacheEngine.Hold _ = one.hold()) {
        second =
            executor.submit(
                () -> {
                  try (CacheEngine.Hold _ = other.hold()) {
                    events.add("second");
                  }
                  return null;
                });
        Thread.sleep(20);
        events.add("first");
      }
      second.get();
      assertEquals(List.of("first", "second"), events);
    }
  }

  @Test
  void anInterruptEndsTheWaitAndNothingElse() throws Exception {
    try (FileCacheEngine one = engine();
        FileCacheEngine other = engine()) {
      try (CacheEngine.Hold _ = one.hold()) {
        Thread.currentThread().interrupt();
        assertThrows(IOException.class, other::hold);
        assertTrue(Thread.interrupted());
      }
      other.remember(DEVICE, token(1), other.code(files(1)));
      assertTrue(one.isRemembered(DEVICE, token(1), files(1)));
    }
  }

  @Test
  void aStorageThatCannotBeWrittenIsAnExceptionAndNoMore() throws IOException {
    Path file = Files.createFile(directory.resolve("file"));
    try (FileCacheEngine engine = new FileCacheEngine(file.resolve("below"), "test")) {
      assertFalse(engine.isRemembered(DEVICE, token(1), files(1)));
      assertThrows(
          IOException.class, () -> engine.remember(DEVICE, token(1), engine.code(files(1))));
      assertThrows(IOException.class, engine::hold);
      BlobStore blobs = engine.blobs("1", BlobLimits.of(10, 10, 100));
      blobs.set(new byte[] {1}, new byte[] {2});
      assertTrue(blobs.get(new byte[] {1}).isEmpty());
    }
  }

  @Test
  void whatWasEmptiedIsMadeAnew() throws IOException {
    try (FileCacheEngine engine = engine()) {
      engine.remember(DEVICE, token(1), engine.code(files(1)));
      for (String name : List.of("test/tokens", "test/lock", "test", "key")) {
        Files.delete(directory.resolve(name));
      }
      assertFalse(engine.isRemembered(DEVICE, token(1), files(1)));
      engine.remember(DEVICE, token(1), engine.code(files(1)));
      assertTrue(engine.isRemembered(DEVICE, token(1), files(1)));
    }
  }

  @Test
  void aClosedEngineRefuses() throws IOException {
    FileCacheEngine engine = engine();
    engine.remember(DEVICE, token(1), engine.code(files(1)));
    engine.close();
    assertFalse(engine.isRemembered(DEVICE, token(1), files(1)));
    assertThrows(IOException.class, () -> engine.remember(DEVICE, token(1), engine.code(files(1))));
    engine.close();
    try (FileCacheEngine next = engine()) {
      assertTrue(next.isRemembered(DEVICE, token(1), files(1)));
    }
  }

  /** All make their key at once; one wins, and all use it. */
  @Test
  void ofManyKeysOneStays() throws Exception {
    for (int round = 0; round < 20; round++) {
      KeyFile key = new KeyFile(directory.resolve("key" + round));
      byte[] said = new byte[new Random(round).nextInt(100)];
      List<Future<byte[]>> macs = new ArrayList<>();
      try (ExecutorService executor = Executors.newFixedThreadPool(4)) {
        for (int i = 0; i < 4; i++) {
          macs.add(executor.submit(() -> key.macOrCreate("test", said)));
        }
        for (Future<byte[]> mac : macs) {
          byte[] made = mac.get();
          assertArrayEquals(key.mac("test", said).orElseThrow(), made);
        }
      }
    }
    try (var files = Files.list(directory)) {
      assertEquals(20, files.count());
    }
  }
}
