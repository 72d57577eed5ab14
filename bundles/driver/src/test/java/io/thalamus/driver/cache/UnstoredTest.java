// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.cache.CacheEngine;
import io.thalamus.cache.FileCacheEngine;
import io.thalamus.hal.CacheFile;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PrepareConfig.Cache;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.PerformanceInfo;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The fate of files, and the messages, when a compilation cannot be stored. */
class UnstoredTest {
  private static final PerformanceInfo COST = new PerformanceInfo(1, 1);
  private static final DeviceInfo INFO =
      DeviceInfo.builder("test-device", "1")
          .capabilities(new Capabilities(COST, COST, Map.of(), COST, COST))
          .cacheNeeds(new CacheNeeds(1, 1))
          .build();
  private static final CacheToken TOKEN = CacheToken.of(new byte[CacheToken.SIZE]);
  private static final CacheContents FIRST = contents(3);
  private static final CacheContents SECOND = contents(4);

  @TempDir Path directory;

  private final List<FileChannel> opened = new ArrayList<>();
  private final List<String> causes = new ArrayList<>();
  private boolean refusesDuplicates;

  @AfterEach
  void close() throws IOException {
    for (FileChannel channel : opened) {
      channel.close();
    }
  }

  private static CacheContents contents(int size) {
    return new CacheContents(
        List.of(new byte[size]), List.of(MemorySegment.ofArray(new byte[2 * size])));
  }

  private FileChannel openChannel(Path path) throws IOException {
    FileChannel channel =
        FileChannel.open(
            path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    opened.add(channel);
    return channel;
  }

  /** A handle that tells the test what it is told. */
  private final class Handle implements CacheFile {
    private final Path path;
    private final FileChannel channel;

    Handle(Path path) throws IOException {
      this.path = path;
      this.channel = openChannel(path);
    }

    @Override
    public FileChannel channel() {
      return channel;
    }

    @Override
    public CacheFile duplicate() throws IOException {
      if (refusesDuplicates) {
        throw new IOException("too many open files");
      }
      return new Handle(path);
    }

    @Override
    public void abandon(IOException cause) {
      causes.add(cause.getMessage());
    }

    @Override
    public void close() {
      // The test closes all.
    }
  }

  private Path model() {
    return directory.resolve("model");
  }

  private PrepareConfig config(Path data) throws IOException {
    return PrepareConfig.DEFAULT.with(
        new Cache(List.of(new Handle(model())), List.of(new Handle(data)), TOKEN));
  }

  private static DeviceCache cache(CacheEngine engine) {
    return new DeviceCache(INFO, engine, 1000);
  }

  @Test
  void aFullDiskIsToldAndWhatWasWrittenGivesItsRoomBack() throws IOException {
    Path full = Path.of("/dev/full");
    assumeTrue(Files.exists(full), "no file that is full");
    try (FileCacheEngine engine = new FileCacheEngine(directory.resolve("engine"), "test");
        CacheWriter writer = cache(engine).open(config(full)).orElseThrow()) {
      assertFalse(writer.write(FIRST));
      assertEquals(List.of("No space left on device"), causes);
      assertEquals(0, Files.size(model()));
    }
  }

  /** A later stage that cannot be stored leaves the first one as it is. */
  @Test
  void whatWasNotTouchedStaysGood() throws Exception {
    Path data = directory.resolve("data");
    Path storage = directory.resolve("engine");
    try (FileCacheEngine engine = new FileCacheEngine(storage, "test");
        CacheWriter writer = cache(engine).open(config(data)).orElseThrow()) {
      assertTrue(writer.write(FIRST));
    }
    Path file = Files.createFile(directory.resolve("file"));
    try (FileCacheEngine broken = new FileCacheEngine(file, "test");
        CacheWriter writer = cache(broken).open(config(data)).orElseThrow()) {
      assertFalse(writer.write(SECOND));
    }
    assertEquals(1, causes.size());
    try (FileCacheEngine engine = new FileCacheEngine(storage, "test")) {
      CacheContents found = cache(engine).read(config(data));
      assertArrayEquals(FIRST.modelCache().getFirst(), found.modelCache().getFirst());
      assertEquals(-1, FIRST.dataCache().getFirst().mismatch(found.dataCache().getFirst()));
    }
  }

  @Test
  void aHandleThatCannotBeDuplicatedIsTold() throws IOException {
    PrepareConfig config = config(directory.resolve("data"));
    refusesDuplicates = true;
    try (FileCacheEngine engine = new FileCacheEngine(directory.resolve("engine"), "test")) {
      assertTrue(cache(engine).open(config).isEmpty());
    }
    assertEquals(List.of("too many open files"), causes);
  }
}
