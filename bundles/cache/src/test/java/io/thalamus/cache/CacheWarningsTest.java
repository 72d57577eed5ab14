// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.CacheToken;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A storage that fails is a warning once, until it works. */
class CacheWarningsTest {
  private static final byte[] KEY = {1};

  @TempDir Path directory;

  private final Warnings warnings = new Warnings();
  private final Logger logger = Logger.getLogger(FileCacheEngine.class.getPackageName());

  /** The warnings of this test: others run beside it, with directories of their own. */
  private final class Warnings extends Handler {
    private final Queue<String> told = new ConcurrentLinkedQueue<>();

    @Override
    public void publish(LogRecord log) {
      if (log.getLevel() == Level.WARNING
          && log.getParameters() != null
          && log.getParameters()[0].toString().startsWith(directory.toString())) {
        told.add(log.getParameters()[1].toString());
      }
    }

    @Override
    public void flush() {
      // Nothing is held back.
    }

    @Override
    public void close() {
      // Nothing is open.
    }
  }

  @BeforeEach
  void listen() {
    logger.addHandler(warnings);
  }

  @AfterEach
  void listenNoMore() {
    logger.removeHandler(warnings);
  }

  private void assertWarnings(int count) {
    assertEquals(count, warnings.told.size(), warnings.told::toString);
  }

  @Test
  void blobsThatCannotBeKeptAreOneWarning() throws IOException {
    Path file = Files.createFile(directory.resolve("file"));
    try (FileCacheEngine engine = new FileCacheEngine(file, "test")) {
      BlobStore blobs = engine.blobs("1", BlobLimits.of(100, 100, 1000));
      for (int i = 0; i < 3; i++) {
        blobs.set(new byte[] {(byte) i}, new byte[10]);
      }
      assertWarnings(1);
      assertFalse(warnings.told.peek().contains("Exception"), "it is in words");
      Files.delete(file);
      blobs.set(KEY, new byte[10]);
      assertTrue(blobs.get(KEY).isPresent());
      assertWarnings(1);
    }
  }

  @Test
  void aMapThatCannotBeReadIsOneWarningUntilItCan() throws IOException {
    CacheToken token = CacheToken.of(new byte[CacheToken.SIZE]);
    List<MemorySegment> files = List.of(MemorySegment.ofArray(new byte[32]));
    Path map = directory.resolve("test/tokens");
    try (FileCacheEngine engine = new FileCacheEngine(directory, "test")) {
      for (int times = 1; times < 3; times++) {
        Files.createDirectories(map);
        for (int i = 0; i < 3; i++) {
          assertFalse(engine.isRemembered("device", token, files));
        }
        assertWarnings(times);
        Files.delete(map);
        engine.remember("device", token, engine.code(files));
        assertTrue(engine.isRemembered("device", token, files));
        Files.delete(map);
      }
    }
  }
}
