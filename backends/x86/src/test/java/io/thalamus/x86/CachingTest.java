// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.Quantization.NONE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cache.FileCacheEngine;
import io.thalamus.driver.BurstSource;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.CacheToken;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.tck.caching.CacheFiles;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.code.Machine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Code in cache files: what comes back, and what is refused. */
class CachingTest {
  private static final CacheToken TOKEN = CacheToken.of(new byte[CacheToken.SIZE]);
  private static final float[] INPUT = {1, -2, 3, -4, 5, -6};
  private static final float[] OUTPUT = {2, 0, 6, 0, 10, 0};

  @TempDir Path storage;
  @TempDir Path directory;
  private FileCacheEngine engine;

  @BeforeEach
  void open() {
    engine = new FileCacheEngine(storage, "io.thalamus.x86");
  }

  @AfterEach
  void close() {
    engine.close();
  }

  private X86Device device(String version, Level level) {
    Levels.assume(level);
    return new X86Device(version, Machine.of(level), 1, engine, BurstSource.NONE);
  }

  /** Twice the input, or 0 where that is negative. */
  private static Model model(TestGraph graph) {
    int x = graph.input(TENSOR_FLOAT32, NONE, 1, INPUT.length);
    int two = graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(2f), 1, 1);
    int y = graph.output(TENSOR_FLOAT32, NONE, 1, INPUT.length);
    graph.operation(OperationCode.MUL, List.of(x, two, graph.int32(1)), y);
    return graph.model();
  }

  private CacheFiles store(X86Device device) throws Exception {
    CacheFiles files = new CacheFiles(directory, device.info().cacheNeeds());
    try (TestGraph graph = new TestGraph()) {
      Model model = model(graph);
      files.with(
          TOKEN,
          config -> {
            device.prepare(model, config).close();
            return null;
          });
    }
    return files;
  }

  private static void assertRefused(CacheFiles files, X86Device device, String what)
      throws Exception {
    files.with(
        TOKEN,
        config -> {
          DeviceException refused =
              assertThrows(
                  DeviceException.class, () -> device.prepareFromCache(config).close(), what);
          assertEquals(ErrorStatus.GENERAL_FAILURE, refused.status(), what);
          return null;
        });
  }

  @Test
  void codeComesBackAndComputes() throws Exception {
    try (X86Device device = device("1.0.0", Level.AVX2);
        TestGraph graph = new TestGraph()) {
      Model model = model(graph);
      CacheFiles files = store(device);
      byte[] output =
          files.with(
              TOKEN,
              config -> {
                try (PreparedModel prepared = device.prepareFromCache(config)) {
                  return TestGraph.run(prepared, model.main(), TestGraph.bytes(INPUT)).getFirst();
                }
              });
      assertArrayEquals(OUTPUT, TestGraph.floats(output));
    }
  }

  @Test
  void noByteMayDiffer() throws Exception {
    try (X86Device device = device("1.0.0", Level.AVX2)) {
      CacheFiles files = store(device);
      for (String name : List.of("model0", "data0")) {
        Path file = directory.resolve(name);
        byte[] bytes = Files.readAllBytes(file);
        assertTrue(bytes.length > 0, name);
        for (int i = 0; i < bytes.length; i++) {
          bytes[i] ^= 1;
          Files.write(file, bytes);
          assertRefused(files, device, name + ", byte " + i);
          bytes[i] ^= 1;
        }
        Files.write(file, bytes);
      }
      files.with(
          TOKEN,
          config -> {
            device.prepareFromCache(config).close();
            return null;
          });
    }
  }

  @Test
  void anotherVersionOrProcessorCompilesAnew() throws Exception {
    try (X86Device device = device("1.0.0", Level.AVX2);
        X86Device newer = device("1.0.1", Level.AVX2)) {
      assertRefused(store(device), newer, "another version");
    }
    try (X86Device device = device("1.0.0", Level.AVX512);
        X86Device shorter = device("1.0.0", Level.AVX2)) {
      assertRefused(store(device), shorter, "a processor with shorter vectors");
    }
  }
}
