// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cache.CacheEngine;
import io.thalamus.cache.FileCacheEngine;
import io.thalamus.cache.NoCacheEngine;
import io.thalamus.hal.CacheFile;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PrepareConfig.Cache;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Capabilities;
import io.thalamus.model.Deadline;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.PerformanceInfo;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Handles of every kind, contents of every size, and what becomes of them. */
class DeviceCacheTest {
  private static final PerformanceInfo COST = new PerformanceInfo(1, 1);
  private static final DeviceInfo INFO =
      DeviceInfo.builder("test-device", "1")
          .capabilities(new Capabilities(COST, COST, Map.of(), COST, COST))
          .cacheNeeds(new CacheNeeds(2, 1))
          .build();
  private static final CacheToken TOKEN = CacheToken.of(new byte[CacheToken.SIZE]);
  private static final int LONGEST = 1000;

  @TempDir Path directory;
  private final List<Handle> opened = new ArrayList<>();
  private FileCacheEngine engine;
  private DeviceCache cache;

  @BeforeEach
  void open() {
    engine = new FileCacheEngine(directory.resolve("engine"), "test");
    cache = new DeviceCache(INFO, engine, LONGEST);
  }

  @AfterEach
  void close() {
    opened.forEach(Handle::close);
    engine.close();
  }

  /** A file, opened like all its duplicates. */
  private final class Handle implements CacheFile {
    private final Path path;
    private final OpenOption[] options;
    private final FileChannel channel;

    Handle(Path path, OpenOption... options) {
      this.path = path;
      this.options = options;
      try {
        channel = FileChannel.open(path, options);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      opened.add(this);
    }

    @Override
    public FileChannel channel() {
      return channel;
    }

    @Override
    public CacheFile duplicate() {
      return new Handle(path, options);
    }

    @Override
    public void close() {
      try {
        channel.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private Handle file(String name) {
    return new Handle(
        directory.resolve(name),
        StandardOpenOption.CREATE,
        StandardOpenOption.READ,
        StandardOpenOption.WRITE);
  }

  private static PrepareConfig config(List<CacheFile> model, List<CacheFile> data) {
    return PrepareConfig.DEFAULT.with(new Cache(model, data, TOKEN));
  }

  private PrepareConfig config() {
    return config(List.of(file("m0"), file("m1")), List.of(file("d0")));
  }

  private static CacheContents contents(long seed, int... sizes) {
    Random random = new Random(seed);
    byte[][] files = new byte[sizes.length][];
    for (int i = 0; i < sizes.length; i++) {
      files[i] = new byte[sizes[i]];
      random.nextBytes(files[i]);
    }
    return new CacheContents(List.of(files[0], files[1]), List.of(MemorySegment.ofArray(files[2])));
  }

  private void assertHolds(CacheContents expected) throws DeviceException {
    CacheContents found = cache.read(config());
    for (int i = 0; i < 2; i++) {
      assertArrayEquals(expected.modelCache().get(i), found.modelCache().get(i));
    }
    assertEquals(-1, expected.dataCache().getFirst().mismatch(found.dataCache().getFirst()));
  }

  private void assertRefused(ErrorStatus status, PrepareConfig config) {
    assertEquals(status, assertThrows(DeviceException.class, () -> cache.read(config)).status());
  }

  /** A search that ends stores its program while another process restores the first one. */
  @Test
  void whatIsReadWhileItIsReplacedIsOneOrTheOther() throws Exception {
    CacheContents one = contents(1, 500, 400, 300);
    CacheContents other = contents(2, 300, 500, 600);
    try (FileCacheEngine engineOfReader = new FileCacheEngine(directory.resolve("engine"), "test");
        CacheWriter writer = cache.open(config()).orElseThrow();
        ExecutorService thread =
            Executors.newSingleThreadExecutor(Thread.ofPlatform().name("writer").factory())) {
      DeviceCache reader = new DeviceCache(INFO, engineOfReader, LONGEST);
      assertTrue(writer.write(one));
      AtomicBoolean stopped = new AtomicBoolean();
      Future<Integer> written =
          thread.submit(
              () -> {
                int writes = 0;
                while (!stopped.get() && writer.write(writes % 2 == 0 ? other : one)) {
                  writes++;
                  Thread.sleep(1); // The lock of a file is not handed over, so others need a gap.
                }
                return writes;
              });
      PrepareConfig config = config();
      try {
        for (int i = 0; i < 200; i++) {
          byte[] read = reader.read(config).modelCache().getFirst();
          assertTrue(
              Arrays.equals(read, one.modelCache().getFirst())
                  || Arrays.equals(read, other.modelCache().getFirst()));
        }
      } finally {
        stopped.set(true);
      }
      assertTrue(written.get() > 0);
    }
  }

  /** As after an update of the device, and after the update was taken back. */
  @Test
  void anotherVersionFindsNothing() throws DeviceException {
    CacheContents contents = contents(1, 10, 20, 30);
    try (CacheWriter writer = cache.open(config()).orElseThrow()) {
      assertTrue(writer.write(contents));
    }
    DeviceInfo newer =
        DeviceInfo.builder(INFO.name(), "2")
            .capabilities(INFO.capabilities())
            .cacheNeeds(INFO.cacheNeeds())
            .build();
    DeviceException refused =
        assertThrows(
            DeviceException.class, () -> new DeviceCache(newer, engine, LONGEST).read(config()));
    assertEquals(ErrorStatus.GENERAL_FAILURE, refused.status());
    assertHolds(contents);
  }

  /** The same token in two directories, as of two applications that run the same model. */
  @Test
  void filesInAnotherPlaceLeaveTheseAsTheyAre() throws DeviceException {
    CacheContents first = contents(1, 10, 20, 30);
    try (CacheWriter writer = cache.open(config()).orElseThrow();
        CacheWriter elsewhere =
            cache
                .open(config(List.of(file("e0"), file("e1")), List.of(file("e2"))))
                .orElseThrow()) {
      assertTrue(writer.write(first));
      assertTrue(elsewhere.write(contents(2, 10, 20, 30)));
    }
    assertHolds(first);
  }

  @Test
  void whatIsWrittenIsReadWhateverItsSize() throws DeviceException {
    int[][] sizes = {{10, 20, 30}, {0, 0, 0}, {1, 0, 1000}, {1000, 1000, 0}, {3, 2, 1}};
    for (int i = 0; i < sizes.length; i++) {
      CacheContents contents = contents(i, sizes[i]);
      try (CacheWriter writer = cache.open(config()).orElseThrow()) {
        assertTrue(writer.write(contents));
      }
      assertHolds(contents);
    }
  }

  @Test
  void aLaterStageWritesWhenTheRuntimesHandlesAreClosed() throws DeviceException {
    PrepareConfig config = config();
    CacheContents second = contents(2, 5, 6, 7);
    try (CacheWriter writer = cache.open(config).orElseThrow()) {
      writer.write(contents(1, 50, 60, 70));
      config.cache().orElseThrow().modelCache().forEach(CacheFile::close);
      config.cache().orElseThrow().dataCache().forEach(CacheFile::close);
      assertHolds(contents(1, 50, 60, 70));
      assertTrue(writer.write(second));
    }
    assertHolds(second);
  }

  @Test
  void wrongHandlesStoreNothingAndAreRefused() throws IOException {
    for (String name : List.of("m0", "m1", "d0")) {
      Files.createFile(directory.resolve(name));
    }
    Handle readOnly = new Handle(directory.resolve("m1"), StandardOpenOption.READ);
    Handle writeOnly = new Handle(directory.resolve("d0"), StandardOpenOption.WRITE);
    Handle closed = file("m0");
    closed.close();
    List<PrepareConfig> wrong =
        List.of(
            config(List.of(file("m0"), readOnly), List.of(file("d0"))),
            config(List.of(file("m0"), file("m1")), List.of(writeOnly)),
            config(List.of(closed, file("m1")), List.of(file("d0"))));
    for (PrepareConfig config : wrong) {
      assertTrue(cache.open(config).isEmpty());
      assertRefused(ErrorStatus.GENERAL_FAILURE, config);
    }
    List<PrepareConfig> miscounted =
        List.of(
            config(List.of(file("m0")), List.of(file("d0"))),
            config(List.of(file("m0"), file("m1"), file("m2")), List.of(file("d0"))),
            config(List.of(file("m0"), file("m1")), List.of()),
            config(List.of(), List.of()));
    for (PrepareConfig config : miscounted) {
      assertTrue(cache.open(config).isEmpty());
      assertRefused(ErrorStatus.INVALID_ARGUMENT, config);
    }
    assertTrue(cache.open(PrepareConfig.DEFAULT).isEmpty());
    assertRefused(ErrorStatus.INVALID_ARGUMENT, PrepareConfig.DEFAULT);
  }

  @Test
  void bytesThatMoveBetweenFilesAreNotTheSame() throws Exception {
    try (CacheWriter writer = cache.open(config()).orElseThrow()) {
      writer.write(
          new CacheContents(
              List.of(new byte[] {1, 2}, new byte[] {3}),
              List.of(MemorySegment.ofArray(new byte[] {4}))));
    }
    Files.write(directory.resolve("m0"), new byte[] {1});
    Files.write(directory.resolve("m1"), new byte[] {2, 3});
    assertRefused(ErrorStatus.GENERAL_FAILURE, config());
  }

  @Test
  void aFileThatIsTooLongIsNotRead() throws Exception {
    try (CacheWriter writer = cache.open(config()).orElseThrow()) {
      assertTrue(writer.write(contents(1, LONGEST + 1, 1, 1)));
    }
    assertRefused(ErrorStatus.GENERAL_FAILURE, config());
  }

  @Test
  void nobodyWaitsForTheLockLongerThanTheDeadline() throws Exception {
    CacheContents first = contents(1, 10, 20, 30);
    try (FileCacheEngine other = new FileCacheEngine(directory.resolve("engine"), "test");
        CacheWriter writer = cache.open(config()).orElseThrow()) {
      assertTrue(writer.write(first));
      try (CacheEngine.Hold _ = other.hold()) {
        Duration soon = Duration.ofMillis(100);
        assertRefused(ErrorStatus.MISSED_DEADLINE_TRANSIENT, config().with(Deadline.after(soon)));
        assertFalse(writer.write(contents(2, 10, 20, 30), Deadline.after(soon)));
      }
      assertHolds(first);
      assertTrue(writer.write(contents(3, 10, 20, 30), Deadline.after(Duration.ofMinutes(1))));
    }
    assertHolds(contents(3, 10, 20, 30));
  }

  /** The code of long files takes longer than to write or to read them. */
  @Test
  void nobodyWaitsForTheCodeOfFiles() throws Exception {
    List<String> calls = new ArrayList<>();
    CacheContents contents = contents(1, 10, 20, 30);
    try (FileCacheEngine other = new FileCacheEngine(directory.resolve("engine"), "test")) {
      CacheEngine watched =
          (CacheEngine)
              Proxy.newProxyInstance(
                  CacheEngine.class.getClassLoader(),
                  new Class<?>[] {CacheEngine.class},
                  (_, method, arguments) -> {
                    if (Set.of("code", "isRemembered").contains(method.getName())) {
                      other.hold(Deadline.after(Duration.ofSeconds(5))).close();
                      calls.add(method.getName());
                    }
                    return method.invoke(engine, arguments);
                  });
      DeviceCache device = new DeviceCache(INFO, watched, LONGEST);
      try (CacheWriter writer = device.open(config()).orElseThrow()) {
        assertTrue(writer.write(contents));
      }
      assertHolds(contents);
      device.read(config());
    }
    assertEquals(List.of("code", "isRemembered"), calls);
  }

  @Test
  void withoutAnEngineNothingIsStored() {
    DeviceCache forgetful = new DeviceCache(INFO, new NoCacheEngine(), LONGEST);
    try (CacheWriter writer = forgetful.open(config()).orElseThrow()) {
      assertFalse(writer.write(contents(1, 1, 2, 3)));
    }
    assertEquals(
        ErrorStatus.GENERAL_FAILURE,
        assertThrows(DeviceException.class, () -> forgetful.read(config())).status());
  }
}
