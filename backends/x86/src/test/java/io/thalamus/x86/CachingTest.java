// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.Quantization.NONE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Code in cache files: what comes back, and what is refused. */
class CachingTest {
  private static final CacheToken TOKEN = CacheToken.of(new byte[CacheToken.SIZE]);
  private static final List<String> FILES = List.of("model0", "data0");

  /** The number of reads while the files change. */
  private static final int READS = 200;

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
    return model(graph, OperationCode.MUL, 2);
  }

  private static Model model(TestGraph graph, OperationCode code, float constant) {
    int x = graph.input(TENSOR_FLOAT32, NONE, 1, INPUT.length);
    float[] values = new float[INPUT.length];
    Arrays.fill(values, constant);
    int other = graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(values), values.length);
    int y = graph.output(TENSOR_FLOAT32, NONE, 1, INPUT.length);
    graph.operation(code, List.of(x, other, graph.int32(1)), y);
    return graph.model();
  }

  private CacheFiles store(X86Device device) throws Exception {
    try (TestGraph graph = new TestGraph()) {
      return store(device, directory, TOKEN, model(graph));
    }
  }

  private static CacheFiles store(X86Device device, Path directory, CacheToken token, Model model)
      throws Exception {
    CacheFiles files = new CacheFiles(directory, device.info().cacheNeeds());
    files.with(
        token,
        config -> {
          device.prepare(model, config).close();
          return null;
        });
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
      for (String name : FILES) {
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
      assertAccepted(files, device);
    }
  }

  @Test
  void noByteMayBeMissingOrBeMore() throws Exception {
    try (X86Device device = device("1.0.0", Level.AVX2)) {
      CacheFiles files = store(device);
      for (String name : FILES) {
        Path file = directory.resolve(name);
        byte[] bytes = Files.readAllBytes(file);
        for (int length = 0; length < bytes.length; length++) {
          Files.write(file, Arrays.copyOf(bytes, length));
          assertRefused(files, device, name + " of " + length + " bytes");
        }
        Files.write(file, Arrays.copyOf(bytes, bytes.length + 1));
        assertRefused(files, device, name + " and a byte");
        Files.write(file, bytes);
      }
      assertAccepted(files, device);
    }
  }

  /** The files of each are the device's own and untouched, but for another model. */
  @Test
  void filesOfAnotherModelAreRefused() throws Exception {
    try (X86Device device = device("1.0.0", Level.AVX2)) {
      CacheFiles files = store(device);
      Path other = storeOther(device);
      for (List<String> exchanged : List.of(List.of("model0"), List.of("data0"), FILES)) {
        Map<String, byte[]> kept = new HashMap<>();
        for (String name : exchanged) {
          Path file = directory.resolve(name);
          kept.put(name, Files.readAllBytes(file));
          Files.copy(other.resolve(name), file, StandardCopyOption.REPLACE_EXISTING);
        }
        assertRefused(files, device, exchanged + " of another model");
        for (Map.Entry<String, byte[]> one : kept.entrySet()) {
          Files.write(directory.resolve(one.getKey()), one.getValue());
        }
      }
      assertAccepted(files, device);
    }
  }

  /** A reader of a file in which two models take turns computes its own model or none. */
  @Test
  void filesThatAreExchangedWhileTheyAreReadComputeNothingElse() throws Exception {
    try (X86Device device = device("1.0.0", Level.AVX2);
        TestGraph graph = new TestGraph()) {
      Model model = model(graph);
      CacheFiles files = store(device);
      Path other = storeOther(device);
      Map<Path, List<byte[]>> contents = new HashMap<>();
      for (String name : FILES) {
        Path file = directory.resolve(name);
        contents.put(
            file, List.of(Files.readAllBytes(other.resolve(name)), Files.readAllBytes(file)));
      }
      AtomicBoolean isOver = new AtomicBoolean();
      FutureTask<Void> writing =
          new FutureTask<>(
              () -> {
                while (!isOver.get()) {
                  for (int turn = 0; turn < 2; turn++) {
                    for (Map.Entry<Path, List<byte[]>> one : contents.entrySet()) {
                      Files.write(one.getKey(), one.getValue().get(turn));
                    }
                  }
                }
                return null;
              });
      Thread writer = Thread.ofPlatform().name("exchange").start(writing);
      try {
        for (int i = 0; i < READS; i++) {
          readOwnOrNone(files, device, model);
        }
      } finally {
        isOver.set(true);
        writer.join();
      }
      writing.get();
      assertAccepted(files, device);
    }
  }

  private static void readOwnOrNone(CacheFiles files, X86Device device, Model model)
      throws Exception {
    files.with(
        TOKEN,
        config -> {
          try (PreparedModel prepared = device.prepareFromCache(config)) {
            byte[] output =
                TestGraph.run(prepared, model.main(), TestGraph.bytes(INPUT)).getFirst();
            assertArrayEquals(OUTPUT, TestGraph.floats(output));
          } catch (DeviceException e) {
            assertEquals(ErrorStatus.GENERAL_FAILURE, e.status());
          }
          return null;
        });
  }

  /** Both files differ: the code, and the constant. */
  private Path storeOther(X86Device device) throws Exception {
    byte[] token = new byte[CacheToken.SIZE];
    token[0] = 1;
    Path other = Files.createDirectory(directory.resolve("other"));
    try (TestGraph graph = new TestGraph()) {
      store(device, other, CacheToken.of(token), model(graph, OperationCode.ADD, 3));
    }
    for (String name : FILES) {
      assertFalse(
          Arrays.equals(
              Files.readAllBytes(directory.resolve(name)), Files.readAllBytes(other.resolve(name))),
          name);
    }
    return other;
  }

  private static void assertAccepted(CacheFiles files, X86Device device) throws Exception {
    files.with(
        TOKEN,
        config -> {
          device.prepareFromCache(config).close();
          return null;
        });
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
