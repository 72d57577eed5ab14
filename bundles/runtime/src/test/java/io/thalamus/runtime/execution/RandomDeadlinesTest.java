// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Burst;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.fakes.TimedDevice;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Random deadlines on a plan over two devices whose times are known, on a clock that they move. */
class RandomDeadlinesTest {
  private static final int DEADLINES = 10_000;
  private static final Duration ADD = Duration.ofNanos(300_000);
  private static final Duration MUL = Duration.ofNanos(500_000);
  private static final int ADDS = 4;
  private static final int MULS = 7;
  private static final long IDLE = ADDS * ADD.toNanos() + MULS * MUL.toNanos();
  private static final int ENOUGH = 12;

  private enum Way {
    SYNC,
    ASYNC,
    FENCED,
    BURST
  }

  @Test
  void nobodyWaitsBeyondACheckpointAndNothingPossibleIsRefused() throws Exception {
    long seed = Long.getLong("thalamus.seed", System.nanoTime());
    Random random = new Random(seed);
    SteppedTime time = new SteppedTime();
    TimedDevice adder =
        new TimedDevice(
            LimitedDevice.pointers("test-adder", 0.5, OperationCode.ADD), time, ADDS, ADD);
    TimedDevice multiplier =
        new TimedDevice(
            LimitedDevice.pointers("test-multiplier", 0.5, OperationCode.MUL), time, MULS, MUL);
    Map<Cause, Integer> ends = new EnumMap<>(Cause.class);
    int done = 0;
    try (TestRuntime runtime = TestRuntime.stepped(time, TestRuntime.SETTINGS, adder, multiplier);
        Compilation compilation =
            runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT);
        Burst burst = compilation.createBurst()) {
      for (int i = 0; i < ENOUGH; i++) {
        assertTrue(run(compilation, burst, Way.SYNC, Long.MAX_VALUE / 4).isSuccess());
      }
      for (int i = 0; i < DEADLINES; i++) {
        String which = "seed " + seed + ", deadline " + i;
        // A third near the idle time, where the two differ by one nanosecond.
        long given =
            random.nextInt(3) == 0 ? IDLE - 2 + random.nextInt(5) : random.nextLong(2 * IDLE);
        // A busy device takes longer than it ever did.
        boolean isBusy = random.nextInt(4) == 0;
        multiplier.setKernels(isBusy ? 3 * MULS : MULS, MUL);
        long start = time.nanoTime();
        int kernels = adder.kernels() + multiplier.kernels();
        Way way = Way.values()[random.nextInt(Way.values().length)];
        ExecutionReport report = run(compilation, burst, way, given);
        long end = time.nanoTime();
        int ran = adder.kernels() + multiplier.kernels() - kernels;
        long longest = Math.max(ADD.toNanos(), MUL.toNanos());
        assertTrue(
            end - start < given + longest || report.isSuccess() && end - start <= given + longest,
            which + ": answered " + (end - start - given) + " ns after its deadline");
        if (report.isSuccess()) {
          done++;
          continue;
        }
        Cause cause = cause(report);
        ends.merge(cause, 1, Integer::sum);
        switch (cause) {
          case OVER_AT_ENTRY -> {
            assertEquals(0, given, which);
            assertEquals(0, ran, which);
          }
          case TOO_SHORT -> {
            assertTrue(given <= IDLE, which + ": refused, and an idle device needs no more");
            assertEquals(0, ran, which);
          }
          case STOPPED ->
              assertTrue(
                  isBusy && given > IDLE,
                  which
                      + ": stopped after "
                      + ran
                      + " kernels, with "
                      + given
                      + " ns, busy: "
                      + isBusy
                      + " "
                      + way
                      + report);
          case STOPPED_HOPELESS -> assertTrue(given <= IDLE, which);
          default -> throw new AssertionError(which + ": " + report.code() + report.message());
        }
      }
    }
    System.out.printf("%d random deadlines, seed %d: %d done, %s%n", DEADLINES, seed, done, ends);
    assertTrue(done > DEADLINES / 5, "done: " + done);
    assertTrue(ends.get(Cause.TOO_SHORT) > DEADLINES / 5, ends.toString());
    assertTrue(ends.get(Cause.STOPPED) > DEADLINES / 50, ends.toString());
  }

  @Test
  void aHopelessDeadlineIsRefusedByTheRealClockToo() throws Exception {
    LimitedDevice cpu = LimitedDevice.cpu();
    FaultyDevice slow = new FaultyDevice(cpu);
    slow.onExecute(
        (request, config) -> {
          long start = System.nanoTime();
          while (System.nanoTime() - start < ADD.toNanos()) {
            Thread.onSpinWait();
          }
          return null;
        });
    long[] nanos = new long[200];
    try (TestRuntime runtime = TestRuntime.of(slow);
        Compilation compilation =
            runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT);
        Burst burst = compilation.createBurst()) {
      for (int i = 0; i < ENOUGH; i++) {
        assertTrue(Graphs.addThenMulExecution(compilation, new float[4]).compute().isSuccess());
      }
      int refused = 0;
      for (int i = 0; i < nanos.length; i++) {
        int before = cpu.executions();
        long start = System.nanoTime();
        ExecutionReport report = run(compilation, burst, Way.values()[i % 4], ADD.toNanos() / 10);
        nanos[i] = System.nanoTime() - start;
        // A loaded machine may take the time away before the lower bound is looked at. Times that
        // differ much make the bound low, and each refusal lowers it: then some are tried.
        assertTrue(
            cause(report) == Cause.TOO_SHORT
                || cause(report) == Cause.STOPPED_HOPELESS
                || report.code() == ResultCode.MISSED_DEADLINE_TRANSIENT,
            report.message());
        if (cause(report) == Cause.TOO_SHORT) {
          refused++;
          assertEquals(before, cpu.executions(), "no kernel runs");
        }
      }
      assertTrue(refused > 0);
    }
    Arrays.sort(nanos);
    System.out.printf(
        "refused: median %d us, 99 %% below %d us%n",
        nanos[nanos.length / 2] / 1000, nanos[nanos.length * 99 / 100] / 1000);
  }

  private static Cause cause(ExecutionReport report) {
    for (Cause cause : Cause.values()) {
      if (report.message().equals(cause.message())
          || report.message().startsWith(cause.message() + ": ")) {
        assertEquals(cause.code(), report.code());
        return cause;
      }
    }
    throw new AssertionError(report.code() + ": " + report.message());
  }

  private static ExecutionReport run(Compilation compilation, Burst burst, Way way, long nanos)
      throws Exception {
    Execution execution =
        Graphs.addThenMulExecution(compilation, new float[4]).setTimeout(Duration.ofNanos(nanos));
    ExecutionReport report =
        switch (way) {
          case SYNC -> execution.compute();
          case BURST -> execution.burstCompute(burst);
          case ASYNC -> execution.computeAsync().get(60, TimeUnit.SECONDS);
          case FENCED ->
              execution.startComputeWithDependencies(java.util.List.of()).get(60, TimeUnit.SECONDS);
        };
    assertTrue(report.isSuccess() == (report.code() == ResultCode.NO_ERROR));
    return report;
  }
}
