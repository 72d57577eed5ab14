// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationCache.Looks;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.CacheFile;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.CacheToken;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.events.CompilationLabel;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.registry.Bursts;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Files of compilations: who has them when, and what happens where they cannot be had. */
class CacheFilesTest {
  @TempDir Path parent;

  private final CachingDevice device = CachingDevice.of("a", 1, 2);
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final TestRuntime runtime = TestRuntime.of(device, cpu);
  private final ExecutorService others = Executors.newCachedThreadPool();

  @AfterEach
  void closeAll() {
    others.shutdownNow();
    others.close();
    runtime.close();
    assertEquals(0, device.open() + cpu.open(), "prepared models left open");
  }

  private Path directory() {
    return parent.resolve("cache");
  }

  private CompilationOptions options(Path where, int user) {
    byte[] token = new byte[CacheToken.SIZE];
    token[0] = (byte) user;
    return CompilationOptions.DEFAULT.with(
        new CacheOptions(where, CacheToken.of(token), "addThenMul"));
  }

  private Origin compile() throws Exception {
    return compile(options(directory(), 0));
  }

  /** Compiles, computes, and closes. */
  private Origin compile(CompilationOptions options) throws Exception {
    try (Compilation compilation = runtime.networks().compile(Graphs.addThenMul(), options)) {
      compute(compilation);
      assertEquals(1, compilation.caching().size());
      return compilation.caching().getFirst().origin();
    }
  }

  private static void compute(Compilation compilation) {
    float[] result = new float[4];
    assertTrue(Graphs.addThenMulExecution(compilation, result).compute().isSuccess());
    assertArrayEquals(Graphs.addThenMulResult(), result);
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> all = Files.list(directory())) {
      return all.filter(file -> file.getFileName().toString().matches("[A-P]{64}[12].*"))
          .sorted()
          .toList();
    }
  }

  @Test
  void theSecondCompilationIsRestored() throws Exception {
    assertEquals(Origin.STORED, compile());
    assertEquals(Origin.RESTORED, compile());
    assertEquals(3, files().size());
    for (Path file : files()) {
      assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    }
  }

  @Test
  void aStaleStepComputesAndIsCompiledAnewInTheBackground() throws Exception {
    assertEquals(Origin.STORED, compile());
    CountDownLatch mayCompile = new CountDownLatch(1);
    device
        .withStaleness("it could be faster")
        .on(
            (call, cache) -> {
              if (call.equals("prepare")) {
                await(mayCompile);
              }
            });
    try (Compilation compilation =
        runtime.networks().compile(Graphs.addThenMul(), options(directory(), 0))) {
      assertEquals(Origin.STALE, compilation.caching().getFirst().origin());
      compute(compilation);
      mayCompile.countDown();
      Eventually.that(
          "it is renewed", () -> compilation.caching().getFirst().origin() == Origin.STORED);
      compute(compilation);
    }
    assertEquals(2, device.preparedWithCache());
    device.withStaleness("");
    assertEquals(Origin.RESTORED, compile());
    assertEquals(2, device.preparedWithCache());
  }

  @Test
  void aMissingOrDamagedFileIsWrittenAnew() throws Exception {
    compile();
    for (Path file : files()) {
      Files.delete(file);
      assertEquals(Origin.STORED, compile());
      byte[] content = Files.readAllBytes(file);
      content[content.length / 2] ^= 4;
      Files.write(file, content);
      assertEquals(Origin.STORED, compile());
      Files.write(file, new byte[0]);
      assertEquals(Origin.STORED, compile());
      assertEquals(Origin.RESTORED, compile());
    }
    // For each file: missing, changed, empty, good.
    Looks looks = runtime.storedCompilations().looks().getFirst();
    int count = files().size();
    assertEquals(count, looks.hits());
    assertEquals(1 + 3L * count, looks.misses() + looks.refused());
    assertTrue(looks.refused() >= count, looks.toString());
    assertEquals(0, looks.unavailable());
  }

  /** An application that gives one token for all of its models gets the answers of each. */
  @Test
  void modelsOfOtherWeightsUnderOneTokenAreToldApart() throws Exception {
    try (SharedMemory weights = SharedMemory.allocate(MemoryKind.ASHMEM, 2 * 64 * Float.BYTES)) {
      for (int i = 0; i < 2 * 64; i++) {
        weights.segment().setAtIndex(ValueLayout.JAVA_FLOAT, i, i == 127 ? 8 : i % 64);
      }
      assertEquals(Origin.STORED, addTo(weights, 0, 63));
      assertEquals(Origin.RESTORED, addTo(weights, 0, 63));
      assertEquals(Origin.STORED, addTo(weights, 1, 8));
      assertEquals(Origin.RESTORED, addTo(weights, 1, 8));
      assertEquals(Origin.RESTORED, addTo(weights, 0, 63));
    }
  }

  /** Adds one of two constants, which differ in the last element. */
  private Origin addTo(SharedMemory weights, int which, float last) throws Exception {
    Graphs.Builder g = new Graphs.Builder(64);
    int in = g.input("in");
    int out = g.output("out");
    Operand like = g.raw().get(in);
    int constant =
        g.raw()
            .constant(
                "weights",
                like.type(),
                like.shape(),
                like.quantization(),
                new ConstantReference(weights, which * 256L, 256));
    g.op(OperationCode.ADD, in, constant, out);
    try (Compilation compilation = runtime.networks().compile(g.model(), options(directory(), 0))) {
      float[] result = new float[64];
      compilation
          .createExecution()
          .setInput(0, Graphs.floats(new float[64]))
          .setOutput(0, Graphs.floats(result))
          .compute()
          .orThrow();
      assertEquals(last, result[63]);
      return compilation.caching().getFirst().origin();
    }
  }

  @Test
  void anotherEntrysFilesAreRefused() throws Exception {
    compile();
    List<Path> first = files();
    compile(options(directory(), 1));
    List<Path> second = files().stream().filter(file -> !first.contains(file)).toList();
    for (int i = 0; i < first.size(); i++) {
      Files.write(second.get(i), Files.readAllBytes(first.get(i)));
    }
    assertEquals(Origin.STORED, compile(options(directory(), 1)));
  }

  @Test
  void aDirectoryThatCannotBeMadeCostsCachingOnly() throws Exception {
    Path file = Files.createFile(parent.resolve("file"));
    assertEquals(Origin.NOT_STORED, compile(options(file.resolve("below"), 0)));
  }

  @Test
  void aFileInPlaceOfTheDirectoryIsNamed() throws Exception {
    Path file = Files.createFile(parent.resolve("file"));
    NeuralNetworksException refused =
        assertThrows(NeuralNetworksException.class, () -> compile(options(file, 0)));
    assertEquals(ResultCode.BAD_DATA, refused.code());
    assertEquals(
        "compilations cannot be stored in " + file + ", which is no directory",
        refused.getMessage());
  }

  @Test
  void aTokenOfAnotherLengthIsRefused() {
    NeuralNetworksException refused =
        assertThrows(NeuralNetworksException.class, () -> CacheOptions.of(parent, new byte[31]));
    assertEquals(ResultCode.BAD_DATA, refused.code());
    assertEquals("a cache token has 32 bytes, not 31", refused.getMessage());
  }

  @Test
  void aDirectoryInPlaceOfAFileCostsCachingOnly() throws Exception {
    compile();
    Path file = files().getFirst();
    Files.delete(file);
    Files.createDirectory(file);
    assertEquals(Origin.NOT_STORED, compile());
  }

  @Test
  void anotherBuildOrOtherSettingsAreAnotherEntry() throws Exception {
    compile();
    runtime.code = new byte[] {2};
    assertEquals(Origin.STORED, compile());
    runtime.remove(device);
    runtime.registry.addDevice(device, Map.of("size", new int[] {8, 8}));
    assertEquals(Origin.STORED, compile());
    runtime.remove(device);
    runtime.registry.addDevice(
        device, Map.of("size", new int[] {8, 8}, "service.id", 77L, "component.id", 3L));
    assertEquals(Origin.RESTORED, compile());
    runtime.remove(device);
    runtime.registry.addDevice(device, Map.of("size", new int[] {8, 9}));
    assertEquals(Origin.STORED, compile());
    runtime.code = new byte[] {1};
    runtime.remove(device);
    runtime.add(device);
    assertEquals(Origin.RESTORED, compile());
  }

  @Test
  void codeThatCannotBeReadCostsCachingOnly() throws Exception {
    try (TestRuntime other = TestRuntime.of(CachingDevice.of("b", 1, 0))) {
      StepCache broken =
          new StepCache(
              other.registry,
              any -> {
                throw new IOException("no such bundle");
              },
              1 << 20);
      io.thalamus.runtime.compilation.Compiler compiler =
          new io.thalamus.runtime.compilation.Compiler(
              other.registry,
              other.policies,
              other.threads,
              TestRuntime.LENIENT,
              other.measurements,
              broken,
              new Bursts(other.burstService));
      try (compiler;
          broken;
          Compilation compilation =
              compiler.compile(
                  Graphs.addThenMul(),
                  options(directory(), 0),
                  CompilationLabel.PLANNING,
                  closed -> {})) {
        compute(compilation);
        assertEquals(Origin.NOT_STORED, compilation.caching().getFirst().origin());
      }
    }
  }

  @Test
  void nobodyWaitsForFilesThatAreBeingWritten() throws Exception {
    CountDownLatch isWriting = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    device.on(
        (call, cache) -> {
          isWriting.countDown();
          await(go);
        });
    Future<Origin> first = others.submit(() -> compile());
    await(isWriting);
    // The files exist already, and are empty.
    assertEquals(Origin.NOT_STORED, compile());
    assertEquals(0, device.restores());
    go.countDown();
    assertEquals(Origin.STORED, first.get());
    assertEquals(Origin.RESTORED, compile());
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void readersShareAnEntry() throws Exception {
    compile();
    CountDownLatch isReading = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    device.on(
        (call, cache) -> {
          if (isReading.getCount() > 0) {
            isReading.countDown();
            await(go);
          }
        });
    Future<Origin> first = others.submit(() -> compile());
    await(isReading);
    assertEquals(Origin.RESTORED, compile());
    go.countDown();
    assertEquals(Origin.RESTORED, first.get());
  }

  @Test
  void aDuplicateOutlivesTheCallAndHasItsOwnPosition() throws Exception {
    AtomicReference<CacheFile> lent = new AtomicReference<>();
    AtomicReference<CacheFile> kept = new AtomicReference<>();
    device.on(
        (call, cache) -> {
          if (call.equals("prepare") && kept.get() == null) {
            lent.set(cache.modelCache().getFirst());
            kept.set(lent.get().duplicate());
            kept.get().channel().position(3);
            assertEquals(0, lent.get().channel().position());
          }
        });
    assertEquals(Origin.STORED, compile());
    assertFalse(lent.get().channel().isOpen());
    assertThrows(IOException.class, () -> lent.get().duplicate());
    // Others read as soon as the call is over, though the later stage still writes.
    assertEquals(Origin.RESTORED, compile());
    kept.get().channel().write(ByteBuffer.wrap(new byte[] {1, 2, 3}), 50);
    // What was read is damaged, and its writer is not disturbed.
    assertEquals(Origin.NOT_STORED, compile());
    kept.get().close();
    kept.get().close();
    assertEquals(Origin.STORED, compile());
    assertEquals(Origin.RESTORED, compile());
  }

  @Test
  void aDepartureClosesWhatTheDeviceStillHasOpen() throws Exception {
    AtomicReference<CacheFile> kept = new AtomicReference<>();
    device.on((call, cache) -> kept.set(cache.dataCache().getFirst().duplicate()));
    compile();
    assertTrue(kept.get().channel().isOpen());
    runtime.remove(device);
    assertFalse(kept.get().channel().isOpen());
    device.on((call, cache) -> {});
    runtime.add(device);
    assertEquals(Origin.RESTORED, compile());
  }

  @Test
  void theEndOfTheRuntimeClosesWhatDevicesHaveOpen() throws Exception {
    AtomicReference<CacheFile> kept = new AtomicReference<>();
    device.on((call, cache) -> kept.set(cache.dataCache().getFirst().duplicate()));
    compile();
    runtime.cache.close();
    assertFalse(kept.get().channel().isOpen());
  }

  @Test
  void whatADeviceDoesNotCompileLeavesNoFiles() throws Exception {
    device.on(
        (call, cache) -> {
          throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "not today");
        });
    try (Compilation compilation =
        runtime.networks().compile(Graphs.addThenMul(), options(directory(), 0))) {
      assertEquals("cpu", compilation.caching().getFirst().device());
      assertEquals(Origin.COMPILED, compilation.caching().getFirst().origin());
    }
    assertEquals(List.of(), files());
  }

  @ParameterizedTest
  @EnumSource(
      value = ErrorStatus.class,
      names = {
        "DEVICE_UNAVAILABLE",
        "MISSED_DEADLINE_TRANSIENT",
        "MISSED_DEADLINE_PERSISTENT",
        "RESOURCE_EXHAUSTED_TRANSIENT",
        "RESOURCE_EXHAUSTED_PERSISTENT"
      })
  void aGoodEntrySurvivesAFailureThatPasses(ErrorStatus status) throws Exception {
    assertEquals(Origin.STORED, compile());
    List<Path> stored = files();
    device.on(
        (call, cache) -> {
          throw new DeviceException(status, "not now");
        });
    CompilationOptions options = options(directory(), 0).with(CompilationOptions.Fallback.DENY);
    assertThrows(
        NeuralNetworksException.class,
        () -> runtime.networks().compile(Graphs.addThenMul(), options));
    assertEquals(stored, files(), "the good entry is removed");
    device.on((call, cache) -> {});
    assertEquals(Origin.RESTORED, compile());
    assertEquals(1, device.prepared().size());
  }

  @Test
  void whatIsTooLateToRestoreIsNotCompiledEither() throws Exception {
    SteppedTime time = new SteppedTime();
    Duration timeout = Duration.ofMillis(5);
    try (TestRuntime stepped = TestRuntime.stepped(time, TestRuntime.SETTINGS, device)) {
      CompilationOptions options =
          options(directory(), 0).withDevices(List.of("a")).withTimeout(timeout);
      stepped.networks().compile(Graphs.addThenMul(), options).close();
      List<Path> stored = files();
      List<String> calls = new ArrayList<>();
      device.on(
          (call, cache) -> {
            calls.add(call);
            time.advance(timeout);
            throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "asked to stop");
          });
      NeuralNetworksException e =
          assertThrows(
              NeuralNetworksException.class,
              () -> stepped.networks().compile(Graphs.addThenMul(), options));
      assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, e.code(), e.getMessage());
      assertEquals(1, calls.size(), "only the restoring: " + calls);
      assertEquals(stored, files(), "the good entry is removed");
    }
  }

  @Test
  void anEntryThatAFailedCompilationHasTouchedIsRemoved() throws Exception {
    assertEquals(Origin.STORED, compile());
    device.on(
        (call, cache) -> {
          if (call.equals("prepare")) {
            cache.dataCache().getFirst().channel().truncate(1);
          }
          throw new DeviceException(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "full");
        });
    compileWithoutDevice();
    assertEquals(List.of(), files());
  }

  @Test
  void anEntryThatTheDeviceRefusesIsRemovedWhenItCannotCompile() throws Exception {
    assertEquals(Origin.STORED, compile());
    device.on(
        (call, cache) -> {
          throw new DeviceException(
              call.equals("prepare")
                  ? ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT
                  : ErrorStatus.GENERAL_FAILURE,
              "no");
        });
    compileWithoutDevice();
    assertEquals(List.of(), files());
  }

  private void compileWithoutDevice() throws Exception {
    try (Compilation compilation =
        runtime.networks().compile(Graphs.addThenMul(), options(directory(), 0))) {
      assertEquals("cpu", compilation.caching().getFirst().device());
    }
  }

  @Test
  void aCompilationThatIsPlannedAgainComesFromItsFiles() throws Exception {
    try (Compilation compilation =
        runtime.networks().compile(Graphs.addThenMul(), options(directory(), 0))) {
      compute(compilation);
      runtime.remove(device);
      Eventually.that("planned again", () -> !compilation.isReplanning());
      assertEquals("cpu", compilation.caching().getFirst().device());
      compute(compilation);
      runtime.add(device);
      Eventually.that("planned again", () -> !compilation.isReplanning());
      compute(compilation);
      assertEquals(Origin.RESTORED, compilation.caching().getFirst().origin());
      assertEquals(1, device.prepared().size());
    }
  }

  @Test
  void aStepThatIsRepeatedElsewhereComesFromItsFilesThere() throws Exception {
    FaultyDevice failing =
        new FaultyDevice(LimitedDevice.all("f", 0.1))
            .onExecute(
                (request, config) ->
                    new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, "not today"));
    CachingDevice other = CachingDevice.of("b", 1, 0);
    for (int i = 0; i < 2; i++) {
      try (TestRuntime pair = TestRuntime.of(failing, other);
          Compilation compilation =
              pair.networks().compile(Graphs.addThenMul(), options(directory(), 0))) {
        compute(compilation);
      }
    }
    assertEquals(1, other.preparedWithCache());
    assertEquals(1, other.restored());
  }
}
