// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.model.CacheToken;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Deadlines of compilations that come before the lower bound of like ones, on a stepped clock. */
class CompilationBoundTest {
  private static final Duration USUAL = Duration.ofMillis(40);

  /** So many prepares are needed before times are gone by. */
  private static final int ENOUGH = 12;

  private static final int KEPT = 32;

  private final SteppedTime time = new SteppedTime();
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final AtomicInteger begun = new AtomicInteger();
  private volatile Duration takes = USUAL;
  private final FaultyDevice device = new FaultyDevice(cpu).onPrepare(model -> prepare());
  private final TestRuntime runtime = TestRuntime.stepped(time, TestRuntime.SETTINGS, device);

  @TempDir Path directory;

  @AfterEach
  void close() {
    runtime.close();
    assertEquals(0, cpu.open(), "left open");
  }

  private void prepare() {
    begun.incrementAndGet();
    time.advance(takes);
  }

  private static CompilationOptions on(String device) {
    return CompilationOptions.DEFAULT.withDevices(List.of(device));
  }

  private void compile(Model model, CompilationOptions options) throws Exception {
    runtime.networks().compile(model, options).close();
  }

  private void compile(int times) throws Exception {
    for (int i = 0; i < times; i++) {
      compile(Graphs.addThenMul(), on("cpu"));
    }
  }

  private static CompilationOptions within(CompilationOptions options, Duration time) {
    return options.withTimeout(time);
  }

  private NeuralNetworksException refused(CompilationOptions options) {
    return assertThrows(NeuralNetworksException.class, () -> compile(Graphs.addThenMul(), options));
  }

  private static void assertTooShort(NeuralNetworksException e) {
    assertEquals(Cause.COMPILATION_TOO_SHORT.code(), e.code(), e.getMessage());
    assertTrue(e.getMessage().contains(Cause.COMPILATION_TOO_SHORT.message()), e.getMessage());
    assertEquals(Optional.empty(), e.retryAfter(), "a later try is pointless");
  }

  @Test
  void tooShortIsRefusedBeforeTheDeviceIsAsked() throws Exception {
    compile(ENOUGH);
    int before = begun.get();
    long now = time.nanoTime();
    for (Duration hopeless : List.of(Duration.ofNanos(1), USUAL.dividedBy(2))) {
      assertTooShort(refused(within(on("cpu"), hopeless)));
    }
    assertEquals(before, begun.get());
    assertEquals(now, time.nanoTime());
    compile(Graphs.addThenMul(), within(on("cpu"), USUAL.plusNanos(1)));
    assertTooShort(refused(within(on("cpu"), USUAL)));
    assertEquals(0, runtime.networks().devices().getFirst().health().failures(), "no fault of it");
  }

  @Test
  void nothingIsRefusedForTimesOfOtherWork() throws Exception {
    compile(ENOUGH - 1);
    takes = Duration.ZERO;
    CompilationOptions hurried = within(on("cpu"), Duration.ofNanos(1));
    int before = begun.get();
    // Too few were timed.
    compile(Graphs.addThenMul(), hurried);
    takes = USUAL;
    compile(ENOUGH);
    takes = Duration.ZERO;
    compile(Graphs.twice(2, 2), hurried);
    compile(Graphs.addThenMul(), hurried.with(ExecutionPreference.LOW_POWER));
    assertEquals(before + ENOUGH + 3, begun.get());
    // The same name and settings, but not the same device.
    runtime.remove(device);
    runtime.add(device);
    compile(Graphs.addThenMul(), hurried);
    assertEquals(before + ENOUGH + 4, begun.get());
  }

  @Test
  void aBoundThatIsOutOfDateDoesNotRefuseForEver() throws Exception {
    compile(ENOUGH);
    takes = Duration.ZERO;
    int refused = 0;
    int before = begun.get();
    CompilationOptions half = within(on("cpu"), USUAL.dividedBy(2));
    while (begun.get() == before) {
      try {
        compile(Graphs.addThenMul(), half);
      } catch (NeuralNetworksException e) {
        assertTooShort(e);
        refused++;
      }
    }
    assertEquals(69, refused, "a hundredth each time is a half after 69");
  }

  /** The time that each of the latest ones took, and what follows from them, reckoned anew. */
  private static final class Oracle {
    private final List<Long> times = new ArrayList<>();
    private int refused;

    double bound() {
      if (times.size() < ENOUGH) {
        return -1;
      }
      int from = times.size() >= KEPT ? times.size() - KEPT : times.size() / 2;
      List<Long> latest = times.subList(from, times.size()).stream().sorted().toList();
      long quarter = latest.get((latest.size() - 1) / 4);
      double bound = Math.max(0, 2 * latest.getFirst() - quarter);
      for (int i = 0; i < refused; i++) {
        bound -= bound / 100;
      }
      return bound;
    }
  }

  @Test
  void ofRandomDeadlinesThoseAreRefusedThatTheBoundForbids() throws Exception {
    long seed = Long.getLong("thalamus.seed", System.nanoTime());
    Random random = new Random(seed);
    Oracle oracle = new Oracle();
    int refusals = 0;
    int done = 0;
    for (int i = 0; i < 2_000; i++) {
      String which = "seed " + seed + ", compilation " + i;
      long own = 1_000_000 + (long) (300_000 * -Math.log(1 - random.nextDouble()));
      takes = Duration.ofNanos(own);
      long given = 500_000 + random.nextLong(2_000_000);
      boolean isRefused = given <= oracle.bound() * (1 - 1e-9);
      boolean isAllowed = given > oracle.bound() * (1 + 1e-9);
      int before = begun.get();
      try {
        compile(Graphs.addThenMul(), within(on("cpu"), Duration.ofNanos(given)));
        done++;
      } catch (NeuralNetworksException e) {
        if (begun.get() == before) {
          assertTooShort(e);
        }
      }
      boolean isBegun = begun.get() > before;
      assertTrue(isBegun ? !isRefused : !isAllowed, which);
      if (isBegun) {
        oracle.times.add(own);
        oracle.refused = 0;
      } else {
        oracle.refused++;
        refusals++;
      }
    }
    System.out.printf("2000 compilations, seed %d: %d done, %d refused%n", seed, done, refusals);
    assertTrue(done > 500 && refusals > 200, done + " done, " + refusals + " refused");
  }

  @Test
  void whatIsRestoredIsComparedWithWhatWasRestored() throws Exception {
    CachingDevice caching = CachingDevice.of("a", 1, 0);
    List<String> calls = new ArrayList<>();
    caching.on(
        (name, cache) -> {
          calls.add(name);
          time.advance(name.equals("prepare") ? USUAL : USUAL.dividedBy(4));
        });
    try (TestRuntime other = TestRuntime.stepped(time, TestRuntime.SETTINGS, caching)) {
      CompilationOptions stored =
          on("a").with(new CacheOptions(directory, CacheToken.of(new byte[CacheToken.SIZE]), ""));
      for (int i = 0; i < 1 + ENOUGH; i++) {
        other.networks().compile(Graphs.addThenMul(), stored).close();
      }
      assertEquals(ENOUGH, caching.restored());
      calls.clear();
      CompilationOptions hurried = within(stored, USUAL.dividedBy(4));
      assertTooShort(
          assertThrows(
              NeuralNetworksException.class,
              () -> other.networks().compile(Graphs.addThenMul(), hurried)));
      assertEquals(List.of(), calls, "neither restored, nor compiled in no time");
      CompilationOptions soon = within(stored, USUAL.dividedBy(4).plusNanos(1));
      other.networks().compile(Graphs.addThenMul(), soon).close();
      assertEquals(List.of("prepareFromCache"), calls, "compiling takes longer: another matter");
      CompilationOptions bare = within(on("a"), Duration.ofNanos(1));
      other.networks().compile(Graphs.addThenMul(), bare).close();
    }
    assertEquals(0, caching.open(), "left open");
  }
}
