// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cache.FileCacheEngine;
import io.thalamus.chaos.FaultInjector;
import io.thalamus.chaos.FaultyDevice;
import io.thalamus.chaos.ServiceSwitch;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.npu.command.ExecutableFormat;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.timing.ArrayTiming;
import io.thalamus.npu.timing.Dataflow;
import io.thalamus.tck.caching.CachingTests;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.vectors.Outcome;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Compilations in cache files: what comes back, and what is refused. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class NpuCachingTest {
  private static final int SIDE = 11;
  private static final int CHANNELS = 19;
  private static final Quantization IN = Quantization.of(0.5f, 120);
  private static final Quantization FILTER = Quantization.of(0.25f, 131);
  private static final Quantization OUT = Quantization.of(6f, 117);

  @TempDir Path directory;
  private FileCacheEngine engine;
  private TestGraph graph;
  private Model model;

  @BeforeEach
  void open() {
    engine = new FileCacheEngine(directory.resolve("engine"), "io.thalamus.npu");
    graph = new TestGraph();
    model = model();
  }

  @AfterEach
  void close() {
    graph.close();
    engine.close();
  }

  private Model model() {
    Random random = new Random(7);
    byte[] filter = new byte[CHANNELS * 9 * CHANNELS];
    random.nextBytes(filter);
    int[] bias = random.ints(CHANNELS, -1000, 1000).toArray();
    graph.operation(
        OperationCode.CONV_2D,
        List.of(
            graph.input(TENSOR_QUANT8_ASYMM, IN, 1, SIDE, SIDE, CHANNELS),
            graph.constant(TENSOR_QUANT8_ASYMM, FILTER, filter, CHANNELS, 3, 3, CHANNELS),
            graph.constant(
                TENSOR_INT32, Quantization.of(0.125f, 0), TestGraph.bytes(bias), CHANNELS),
            graph.int32(1),
            graph.int32(1),
            graph.int32(1),
            graph.int32(0)),
        graph.output(TENSOR_QUANT8_ASYMM, OUT, 1, SIDE, SIDE, CHANNELS));
    return graph.model();
  }

  private static byte[] input(int seed) {
    byte[] input = new byte[SIDE * SIDE * CHANNELS];
    new Random(seed).nextBytes(input);
    return input;
  }

  private static NpuConfig config(int budget, boolean first) {
    return NpuConfig.standard().withSearch(budget, first, 1);
  }

  private NpuDevice device(int budget, boolean first) {
    return new NpuDevice("1.0.0", config(budget, first), engine);
  }

  private static byte[] file(NpuPreparedModel prepared) {
    return ExecutableFormat.write(prepared.program().machine().executable());
  }

  private void assertRefused(NpuDevice device, CacheFiles files) {
    DeviceException refusal =
        assertThrows(DeviceException.class, () -> device.prepareFromCache(files.config()));
    assertEquals(ErrorStatus.GENERAL_FAILURE, refusal.status());
  }

  /**
   * Of either stage: same bytes, same trace, same cost, same answers, in another process's life.
   */
  @Test
  void aRestoredModelIsTheOriginal() throws DeviceException {
    byte[] expected = TestGraph.run(new CpuDevice("1.0.0"), model, input(1));
    for (int budget : new int[] {0, 40}) {
      for (ExecutionPreference preference : ExecutionPreference.values()) {
        try (CacheFiles files = CacheFiles.in(directory, budget)) {
          byte[] original;
          String trace;
          NpuReport report;
          try (NpuDevice device = device(budget, true);
              NpuPreparedModel prepared =
                  (NpuPreparedModel) device.prepare(model, files.config().with(preference))) {
            original = file(prepared);
            trace = prepared.trace();
            report = prepared.report();
          }
          try (NpuDevice device = device(budget, true);
              NpuPreparedModel restored =
                  (NpuPreparedModel) device.prepareFromCache(files.config())) {
            assertArrayEquals(original, file(restored));
            assertEquals(trace, restored.trace());
            assertEquals(report, restored.report());
            TestGraph.assertSame(
                expected, TestGraph.run(restored, model.main(), input(1)).get(0), "restored");
          }
        }
      }
    }
  }

  @Test
  void theSecondStageTakesTheFirstOnesPlaceInTheCache() throws Exception {
    byte[] searched = searched(60);
    try (NpuDevice device = device(60, false);
        NpuPreparedModel prepared = prepare(device)) {
      waitForSearch(device);
      assertArrayEquals(searched, file(prepared));
      assertArrayEquals(searched, restored(device));
    }
  }

  @Test
  void theSearchGoesOnForTheCacheWhenTheModelIsClosed() throws Exception {
    byte[] searched = searched(60);
    try (NpuDevice device = device(60, false)) {
      prepare(device).close();
      waitForSearch(device);
      assertArrayEquals(searched, restored(device));
    }
  }

  /** The runtime's handles are closed after the call. */
  private NpuPreparedModel prepare(NpuDevice device) throws DeviceException {
    try (CacheFiles files = CacheFiles.in(directory, 1)) {
      return (NpuPreparedModel) device.prepare(model, files.config());
    }
  }

  /** Returns the program of a device that waits for its search. */
  private byte[] searched(int budget) throws DeviceException {
    try (NpuDevice device = device(budget, true);
        NpuPreparedModel prepared =
            (NpuPreparedModel) device.prepare(model, PrepareConfig.DEFAULT)) {
      return file(prepared);
    }
  }

  private void waitForSearch(NpuDevice device) throws Exception {
    ProgramCache cache =
        new ProgramCache(device.info(), config(60, false), engine, InstantSource.system());
    try (CacheFiles files = CacheFiles.in(directory, 1)) {
      while (!cache.restore(files.config()).isFinal()) {
        Thread.sleep(1);
      }
    }
  }

  private byte[] restored(NpuDevice device) throws DeviceException {
    try (CacheFiles files = CacheFiles.in(directory, 1);
        NpuPreparedModel restored = (NpuPreparedModel) device.prepareFromCache(files.config())) {
      return file(restored);
    }
  }

  @Test
  void aFirstProgramThatNobodyBetteredIsStaleInTheEnd() throws Exception {
    Instant[] now = {Instant.ofEpochSecond(1_000_000)};
    try (CacheFiles files = CacheFiles.in(directory, 1)) {
      NpuConfig config = config(1_000_000, false);
      try (NpuDevice device =
          new NpuDevice("1.0.0", config, engine, NpuDevice.Host.ALONE.with(() -> now[0]))) {
        device.prepare(model, files.config()).close();
      }
      try (NpuDevice device =
          new NpuDevice("1.0.0", config, engine, NpuDevice.Host.ALONE.with(() -> now[0]))) {
        now[0] = now[0].plus(ProgramCache.PATIENCE);
        assertEquals(Optional.empty(), staleness(device, files));
        now[0] = now[0].plus(Duration.ofSeconds(1));
        assertEquals(
            Optional.of("it is a first program that no search has bettered since"),
            staleness(device, files));
      }
      NpuConfig searched = config(4, true);
      try (NpuDevice device =
          new NpuDevice("1.0.0", searched, engine, NpuDevice.Host.ALONE.with(() -> now[0]))) {
        device.prepare(model, files.config()).close();
        now[0] = now[0].plus(Duration.ofDays(1000));
        assertEquals(Optional.empty(), staleness(device, files));
      }
    }
  }

  private static Optional<String> staleness(NpuDevice device, CacheFiles files)
      throws DeviceException {
    try (PreparedModel restored = device.prepareFromCache(files.config())) {
      return restored.staleness();
    }
  }

  @Test
  void nothingButTheOriginalIsRestored() throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("seed " + seed);
    Random random = new Random(seed);
    try (NpuDevice device = device(0, false);
        CacheFiles files = CacheFiles.in(directory, 1);
        CacheFiles other = CacheFiles.in(directory, 2)) {
      assertRefused(device, files);
      device.prepare(model, files.config()).close();
      assertRefused(device, other);
      for (Path path : List.of(files.model(), files.data())) {
        byte[] good = Files.readAllBytes(path);
        for (int i = 0; i < 50; i++) {
          byte[] bad = good.clone();
          bad[random.nextInt(bad.length)] ^= (byte) (1 << random.nextInt(8));
          Files.write(path, bad);
          assertRefused(device, files);
          Files.write(path, java.util.Arrays.copyOf(good, random.nextInt(good.length)));
          assertRefused(device, files);
          Files.write(path, java.util.Arrays.copyOf(good, good.length + 1 + random.nextInt(256)));
          assertRefused(device, files);
        }
        Files.write(path, good);
        device.prepareFromCache(files.config()).close();
      }
      PrepareConfig late = files.config().with(Deadline.after(Duration.ofSeconds(-1)));
      assertEquals(
          ErrorStatus.MISSED_DEADLINE_PERSISTENT,
          assertThrows(DeviceException.class, () -> device.prepareFromCache(late)).status());
    }
  }

  @Test
  void whatOtherSettingsOrAnotherVersionMadeIsRefused() throws Exception {
    try (CacheFiles files = CacheFiles.in(directory, 1);
        NpuDevice device = device(4, true)) {
      device.prepare(model, files.config()).close();
      Architecture all = NpuConfig.standard().architecture();
      NpuConfig other =
          NpuConfig.standard()
              .with(
                  new Architecture(
                      new ArrayTiming(16, 16, Dataflow.OUTPUT_STATIONARY),
                      all.lanes(),
                      all.scratchpad(),
                      all.accumulators(),
                      all.dram(),
                      all.bytesPerSecond(),
                      all.latencySeconds()));
      for (NpuConfig config :
          List.of(
              other.withSearch(4, true, 1),
              config(4, false),
              config(5, true),
              NpuConfig.standard().withSearch(4, true, 2))) {
        try (NpuDevice changed = new NpuDevice("1.0.0", config, engine)) {
          assertRefused(changed, files);
        }
      }
      try (NpuDevice newer = new NpuDevice("1.0.1", config(4, true), engine)) {
        assertRefused(newer, files);
      }
      device.prepareFromCache(files.config()).close();
    }
  }

  /**
   * Each setting that a compilation depends on changes the fingerprint; the test knows no names.
   */
  @Test
  void eachSettingBindsTheCache() {
    Set<String> prints = new HashSet<>();
    prints.add(NpuConfig.of(settings(null)).fingerprint());
    Set<String> withoutEffect = Set.of("bufferBytes", "hostBytesPerSecond", "hostLatencyNanos");
    for (Method setting : NpuSettings.class.getDeclaredMethods()) {
      boolean isNew = prints.add(NpuConfig.of(settings(setting)).fingerprint());
      assertNotEquals(withoutEffect.contains(setting.getName()), isNew, setting.getName());
    }
  }

  /** The defaults, but for one. */
  private static NpuSettings settings(Method changed) {
    InvocationHandler handler =
        (_, method, _) -> {
          Object value = method.getDefaultValue();
          if (!method.equals(changed)) {
            return value;
          }
          return switch (value) {
            case Integer number -> number * 2;
            case Long number -> number * 2;
            case Double number -> number * 1000;
            case Boolean bool -> !bool;
            case Dataflow _ -> Dataflow.INPUT_STATIONARY;
            default -> throw new AssertionError("no other value for " + method);
          };
        };
    return (NpuSettings)
        Proxy.newProxyInstance(
            NpuSettings.class.getClassLoader(), new Class<?>[] {NpuSettings.class}, handler);
  }

  /** The device stands behind the one that injects faults, as in a framework. */
  @Test
  void faultsPassCachingThrough() throws Exception {
    try (NpuDevice within = device(4, true);
        FaultInjector injector = new FaultInjector(ServiceSwitch.NONE, "npu-caching-test");
        FaultyDevice device = new FaultyDevice(within, injector);
        CacheFiles files = CacheFiles.in(directory, 1)) {
      byte[] expected;
      try (PreparedModel prepared = device.prepare(model, files.config())) {
        expected = TestGraph.run(prepared, model.main(), input(2)).get(0);
      }
      assertEquals(within.info().cacheNeeds(), device.info().cacheNeeds());
      try (PreparedModel restored = device.prepareFromCache(files.config())) {
        TestGraph.assertSame(
            expected, TestGraph.run(restored, model.main(), input(2)).get(0), "restored");
      }
    }
  }

  /** The kit's tests of caching while a second stage writes behind their backs. */
  @Test
  void theSecondStageDisturbsNoTestOfTheKit() throws Exception {
    try (NpuDevice device = device(20, false);
        CachingTests tests = new CachingTests(device, Long.getLong("thalamus.seed", 1))) {
      List<Check> checks = tests.checks();
      assertTrue(checks.size() > 40, checks.size() + " tests");
      for (Check check : checks) {
        assertEquals(Outcome.PASSED, check.run(), check.name());
      }
    }
  }

  @Test
  void aDeviceWithoutAPlaceToCacheCompilesAndRefuses() throws IOException, DeviceException {
    try (NpuDevice device = new NpuDevice("1.0.0", config(4, true));
        CacheFiles files = CacheFiles.in(directory, 1)) {
      device.prepare(model, files.config()).close();
      assertRefused(device, files);
      assertEquals(0, Files.size(files.model()));
    }
  }
}
