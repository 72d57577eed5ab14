// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.MemoryInfo.State;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.cache.CacheEngine;
import io.thalamus.cache.FileCacheEngine;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import io.thalamus.runtime.NeuralNetworksComponent;
import io.thalamus.runtime.fakes.DomainDevice;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Contents that outlive a device that crashes, and a process that ends. */
class KeptStateTest {
  private static final float[] ONE = {1, 2, 3, 4};
  private static final float[] TWO = {2, 4, 6, 8};
  private static final float[] FOUR = {4, 8, 12, 16};

  @TempDir Path folder;
  private final DomainDevice npu = DomainDevice.of("npu", 0.1);
  private final TestRuntime runtime =
      TestRuntime.with(TestRuntime.SETTINGS, npu, LimitedDevice.cpu());
  private FileCacheEngine engine;
  private NeuralNetworksComponent networks;

  @BeforeEach
  void open() {
    engine = engine("engine");
    networks = networks(engine);
  }

  private FileCacheEngine engine(String storage) {
    return new FileCacheEngine(folder.resolve(storage), "io.thalamus.runtime");
  }

  private NeuralNetworksComponent networks(CacheEngine vouching) {
    return runtime.networks(new MemoryDomains(Duration.ofSeconds(30), System::nanoTime, vouching));
  }

  @AfterEach
  void close() throws Exception {
    networks.close();
    Eventually.that("all is given back", () -> npu.buffers() + npu.open() == 0);
    engine.close();
    runtime.close();
  }

  private Compilation compile(Fallback fallback) throws Exception {
    return networks.compile(Graphs.twice(2, 2), CompilationOptions.DEFAULT.with(fallback));
  }

  private static MemoryDesc.Builder desc(Compilation compilation) {
    return MemoryDesc.builder("state").input(compilation, 0).output(compilation, 0);
  }

  private static void write(Compilation compilation, Memory to) throws Exception {
    compilation
        .createExecution()
        .setInput(0, Graphs.floats(ONE))
        .setOutput(0, to)
        .compute()
        .orThrow();
  }

  private static void holds(float[] expected, Memory memory) throws NeuralNetworksException {
    float[] actual = new float[expected.length];
    memory.copyTo(Graphs.floats(actual));
    assertArrayEquals(expected, actual);
  }

  /** The device departs in the execution that reads one state and writes the next. */
  @Test
  void aCrashTakesNoMoreAlongThanTheLastExecution() throws Exception {
    Compilation twice = compile(Fallback.DENY);
    try (Memory a = networks.createMemory(desc(twice).shadowed().build());
        Memory b = networks.createMemory(desc(twice).shadowed().build());
        Memory alone = networks.createMemory(desc(twice).build())) {
      write(twice, a);
      write(twice, alone);
      assertEquals(List.of("npu", MemoryInfo.SHARED), a.describe().places());
      npu.refuseCopies(true);
      npu.afterExecute((request, config) -> new Failed(ErrorStatus.GENERAL_FAILURE, "crashed"));
      assertTrue(
          twice.createExecution().setInput(0, a).setOutput(0, b).compute().code()
              != ResultCode.NO_ERROR);
      assertEquals(State.UNINITIALIZED, b.describe().state());
      npu.afterExecute(null);
      runtime.remove(npu);
      holds(TWO, a);
      assertEquals(State.DEAD, alone.describe().state());
    }
  }

  /** A copy that fails is no reason to hand out what stood there before. */
  @Test
  void aShadowThatCannotBeCopiedIsReportedAndNeverStale() throws Exception {
    Compilation twice = compile(Fallback.ALLOW);
    try (Memory a = networks.createMemory(desc(twice).shadowed().build())) {
      a.copyFrom(Graphs.floats(FOUR));
      npu.refuseCopies(true);
      write(twice, a);
      assertEquals(State.DEAD, a.describe().state());
      NeuralNetworksException lost =
          assertThrows(NeuralNetworksException.class, () -> holds(TWO, a));
      assertEquals(ResultCode.DEAD_OBJECT, lost.code());
      npu.refuseCopies(false);
      write(twice, a);
      holds(TWO, a);
    }
  }

  @Test
  void aSavedStateContinuesInTheNextProcess() throws Exception {
    Path file = folder.resolve("saved");
    Compilation twice = compile(Fallback.ALLOW);
    try (Memory a = networks.createMemory(desc(twice).build())) {
      write(twice, a);
      a.save(file);
      a.copyFrom(Graphs.floats(FOUR));
      a.save(file);
    }
    try (FileCacheEngine next = engine("engine");
        NeuralNetworksComponent later = networks(next);
        Compilation again = later.compile(Graphs.twice(2, 2), CompilationOptions.DEFAULT);
        Memory b = later.createMemory(desc(again).build());
        Memory c = later.createMemory(desc(again).build())) {
      b.restore(file);
      holds(FOUR, b);
      again.createExecution().setInput(0, b).setOutput(0, c).compute().orThrow();
      holds(new float[] {8, 16, 24, 32}, c);
    }
    if (file.getFileSystem().supportedFileAttributeViews().contains("posix")) {
      assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    }
    try (Stream<Path> files = Files.list(folder)) {
      assertEquals(2, files.count(), "nothing is left beside the file and the engine");
    }
  }

  /** Each byte with another bit, each shorter file, and some longer ones. */
  @Test
  void aFileThatWasChangedIsRefusedAndChangesNothing() throws Exception {
    Path file = folder.resolve("saved");
    Compilation twice = compile(Fallback.ALLOW);
    try (Memory a = networks.createMemory(desc(twice).build())) {
      write(twice, a);
      a.save(file);
      byte[] good = Files.readAllBytes(file);
      a.copyFrom(Graphs.floats(FOUR));
      Random random = new Random(1);
      for (int i = 0; i < good.length; i++) {
        byte[] bad = good.clone();
        bad[i] ^= (byte) (1 << random.nextInt(8));
        refuses(a, file, bad);
        refuses(a, file, Arrays.copyOf(good, i));
      }
      refuses(a, file, Arrays.copyOf(good, good.length + 1));
      refuses(a, file, new byte[1 << 16]);
      holds(FOUR, a);
      Files.write(file, good);
      a.restore(file);
      holds(TWO, a);
    }
  }

  private static void refuses(Memory memory, Path file, byte[] bytes) throws Exception {
    Files.write(file, bytes);
    NeuralNetworksException e =
        assertThrows(NeuralNetworksException.class, () -> memory.restore(file));
    assertEquals(ResultCode.BAD_DATA, e.code(), e.getMessage());
  }

  @Test
  void aFileOfAnotherKeyOrShapeIsRefused() throws Exception {
    Path file = folder.resolve("saved");
    Compilation twice = compile(Fallback.ALLOW);
    try (Memory a = networks.createMemory(desc(twice).build());
        FileCacheEngine stranger = engine("stranger");
        NeuralNetworksComponent others = networks(stranger);
        Compilation theirs = others.compile(Graphs.twice(2, 2), CompilationOptions.DEFAULT);
        Memory b = others.createMemory(desc(theirs).build());
        Compilation flat = networks.compile(Graphs.twice(4, 1), CompilationOptions.DEFAULT);
        Memory c = networks.createMemory(desc(flat).build())) {
      write(twice, a);
      a.save(file);
      refusesWith("another user", b, file);
      refusesWith("dimensions " + Shape.of(2, 2), c, file);
    }
  }

  private static void refusesWith(String words, Memory memory, Path file) {
    NeuralNetworksException e =
        assertThrows(NeuralNetworksException.class, () -> memory.restore(file));
    assertEquals(ResultCode.BAD_DATA, e.code());
    assertTrue(e.getMessage().contains(words), e.getMessage());
    assertEquals(State.UNINITIALIZED, memory.describe().state());
  }

  @Test
  void troubleWithFilesIsSaidInALine() throws Exception {
    Compilation twice = compile(Fallback.ALLOW);
    try (NeuralNetworksComponent without = networks((CacheEngine) null);
        Memory a = networks.createMemory(desc(twice).build());
        Compilation other = without.compile(Graphs.twice(2, 2), CompilationOptions.DEFAULT);
        Memory b = without.createMemory(desc(other).build())) {
      fails(ResultCode.BAD_DATA, "holds nothing", () -> a.save(folder.resolve("empty")));
      write(twice, a);
      write(other, b);
      fails(ResultCode.OP_FAILED, "no such file", () -> a.restore(folder.resolve("none")));
      fails(ResultCode.OP_FAILED, "gone/file", () -> a.save(folder.resolve("gone/file")));
      fails(ResultCode.OP_FAILED, "no caching engine", () -> b.save(folder.resolve("file")));
      holds(TWO, a);
    }
  }

  private static void fails(ResultCode code, String words, Executable call) {
    NeuralNetworksException e = assertThrows(NeuralNetworksException.class, call);
    assertEquals(code, e.code(), e.getMessage());
    assertTrue(e.getMessage().contains(words), e.getMessage());
  }
}
