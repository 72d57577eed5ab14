// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Priority;
import io.thalamus.runtime.domain.DomainMemory;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.registry.DeviceSettings;
import io.thalamus.runtime.schedule.Application;
import io.thalamus.runtime.schedule.Contender;
import io.thalamus.runtime.schedule.Permits;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Executions that stand back for more urgent ones on devices with a single permit. */
class PrioritiesTest {
  private static final long PATIENCE = 60;

  @DeviceSettings(cpuPermits = 1, permits = 1, waiting = 1, drainMillis = 60_000)
  private static final class OnePermit {}

  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final LimitedDevice fast = LimitedDevice.all("fast", 0.1);
  private final FaultyDevice npu = new FaultyDevice(fast);
  private final FaultyDevice reference = new FaultyDevice(cpu);
  private final SteppedTime time = new SteppedTime();
  private final TestRuntime runtime =
      TestRuntime.stepped(time, TestRuntime.settings(OnePermit.class), npu, reference);
  private final Urgent urgent = new Urgent();
  private final CountDownLatch inside = new CountDownLatch(1);

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, cpu.open() + fast.open(), "left open");
  }

  /** An urgent execution of the same application, which lasts as long as a test wants. */
  private static final class Urgent extends Contender {
    Urgent() {
      super(new Application("test"), Priority.HIGH);
    }

    @Override
    protected long nanosLeft() {
      return Long.MAX_VALUE;
    }

    @Override
    public Signal status() {
      return Signal.CONTINUE;
    }
  }

  private Permits permits(String device) {
    return runtime.registry.devices().stream()
        .filter(each -> each.id().equals(device))
        .findFirst()
        .orElseThrow()
        .schedule();
  }

  private Compilation compile(CompilationOptions options) throws Exception {
    return runtime.networks().compile(Graphs.addThenMul(), options.with(Priority.LOW));
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.get(PATIENCE, TimeUnit.SECONDS);
  }

  private static CompletableFuture<ExecutionReport> start(Compilation compilation, float[] result) {
    return Graphs.addThenMulExecution(compilation, result).computeAsync();
  }

  /** Computes until its permit is asked back, and stands back once. */
  private ExecutionResult standBack(ExecutionConfig config) {
    inside.countDown();
    while (!config.control().isPauseWanted()) {
      Thread.yield();
      if (config.control().status() != Signal.CONTINUE) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "asked to stop");
      }
    }
    return config.control().checkpoint() == Signal.CONTINUE
        ? null
        : new Failed(ErrorStatus.GENERAL_FAILURE, "asked to stop");
  }

  private void takePermitOf(String device) throws Exception {
    assertTrue(inside.await(PATIENCE, TimeUnit.SECONDS));
    FutureTask<Permits.Turn> turn = new FutureTask<>(() -> permits(device).acquire(urgent, false));
    Thread.ofPlatform().name("thalamus-test-urgent").start(turn);
    assertEquals(Permits.Turn.GRANTED, get(turn));
    Eventually.that("it stands back", () -> permits(device).preemptions() == 1);
  }

  @Test
  void aPauseIsNoHangOfTheDevice() throws Exception {
    npu.onExecute((request, config) -> standBack(config));
    float[] result = new float[4];
    CompletableFuture<ExecutionReport> paused = start(compile(CompilationOptions.DEFAULT), result);
    takePermitOf("fast");
    // Whoever watches the call looks at the clock some 20 times meanwhile.
    time.advance(Duration.ofDays(1));
    Thread.sleep(400);
    assertTrue(!paused.isDone(), "it waits");
    permits("fast").release(urgent);
    ExecutionReport report = get(paused);
    assertTrue(report.isSuccess(), report::message);
    assertEquals("fast", report.steps().get(0).device());
    assertEquals(1, report.steps().size());
    assertArrayEquals(Graphs.addThenMulResult(), result);
    npu.onExecute(null);
  }

  @Test
  void aQueueOfTheDeviceIsNoHangAndNoTimeOfTheStep() throws Exception {
    Duration day = Duration.ofDays(1);
    npu.onExecute(
        (request, config) -> {
          config.control().spentOnOthers(day.toNanos());
          time.advance(day);
          // Whoever watches the call looks at the clock some times meanwhile.
          LockSupport.parkNanos(Duration.ofMillis(100).toNanos());
          return null;
        });
    Compilation compilation = compile(CompilationOptions.DEFAULT);
    ExecutionReport report = get(start(compilation, new float[4]));
    assertTrue(report.isSuccess(), report::message);
    assertEquals("fast", report.steps().get(0).device());
    assertEquals(Duration.ZERO, report.steps().get(0).duration());
  }

  @Test
  void aPauseIsNoTimeOfTheStep() throws Exception {
    try (TestRuntime real = TestRuntime.with(TestRuntime.settings(OnePermit.class), reference)) {
      reference.onExecute((request, config) -> standBack(config));
      Compilation compilation =
          real.networks()
              .compile(Graphs.addThenMul(), CompilationOptions.DEFAULT.with(Priority.LOW));
      CompletableFuture<ExecutionReport> paused = start(compilation, new float[4]);
      assertTrue(inside.await(PATIENCE, TimeUnit.SECONDS));
      Permits permits = real.registry.devices().get(0).schedule();
      long start = System.nanoTime();
      assertEquals(Permits.Turn.GRANTED, permits.acquire(urgent, false));
      long granted = System.nanoTime();
      Thread.sleep(1_000);
      permits.release(urgent);
      Duration step = get(paused).steps().get(0).duration();
      long all = System.nanoTime() - start;
      assertTrue(
          step.toNanos() < granted - start + all - TimeUnit.MILLISECONDS.toNanos(900),
          () -> "the step took " + step + " without its pause");
    }
  }

  @Test
  void aDepartureWakesWhatIsPausedAndItIsRepeatedElsewhere() throws Exception {
    npu.onExecute((request, config) -> standBack(config));
    float[] result = new float[4];
    CompletableFuture<ExecutionReport> paused = start(compile(CompilationOptions.DEFAULT), result);
    takePermitOf("fast");
    // Its clock stands: if it waited for the paused one, it would wait for ever.
    runtime.remove(npu);
    ExecutionReport report = get(paused);
    assertTrue(report.isSuccess(), report::message);
    assertEquals("cpu", report.steps().get(report.steps().size() - 1).device());
    assertArrayEquals(Graphs.addThenMulResult(), result);
  }

  @Test
  void cancellingAndDeadlinesWakeWhatIsPaused() throws Exception {
    reference.onExecute((request, config) -> standBack(config));
    Compilation onCpu = compile(CompilationOptions.DEFAULT.withDevices(List.of("cpu")));
    CompletableFuture<ExecutionReport> cancelled = start(onCpu, new float[4]);
    takePermitOf("cpu");
    assertTrue(cancelled.cancel(true));
    Eventually.that("nobody waits", () -> permits("cpu").waiting() == 0);
    FutureTask<ExecutionReport> waiting =
        new FutureTask<>(
            () ->
                Graphs.addThenMulExecution(onCpu, new float[4])
                    .setTimeout(Duration.ofMillis(20))
                    .compute());
    Thread.ofPlatform().name("thalamus-test-late").start(waiting);
    Eventually.that("it waits", () -> permits("cpu").waiting() == 1);
    time.advance(Duration.ofMillis(20));
    ExecutionReport late = get(waiting);
    assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, late.code(), late::message);
    permits("cpu").release(urgent);
    assertEquals(0, permits("cpu").held());
  }

  @Test
  void aFullQueueRefusesForGoodAndBlamesNobody() throws Exception {
    npu.onExecute((request, config) -> standBack(config));
    Compilation compilation = compile(CompilationOptions.DEFAULT);
    CompletableFuture<ExecutionReport> paused = start(compilation, new float[4]);
    takePermitOf("fast");
    ExecutionReport refused = Graphs.addThenMulExecution(compilation, new float[4]).compute();
    assertEquals(ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, refused.code());
    assertEquals(1, refused.steps().size(), "it is not repeated elsewhere");
    assertEquals(0, runtime.registry.descriptions().get(0).health().failures());
    permits("fast").release(urgent);
    assertTrue(get(paused).isSuccess());
  }

  @Test
  void priorityAndClientOfACompilationRankItsExecutions() throws Exception {
    Compilation compilation =
        runtime
            .networks("shop")
            .compile(
                Graphs.addThenMul(),
                CompilationOptions.DEFAULT
                    .with(Fallback.DENY)
                    .with(Priority.HIGH)
                    .withClient("till 1"));
    npu.onExecute(
        (request, config) -> {
          inside.countDown();
          return null;
        });
    assertTrue(Graphs.addThenMulExecution(compilation, new float[4]).compute().isSuccess());
    ExecutionHost host = (ExecutionHost) compilation;
    assertEquals(new Application("shop", "till 1"), host.application());
    assertEquals(Priority.HIGH, host.priority());
    compilation.close();
  }

  @Test
  void whoKeepsAnUrgentOneFromAMemoryHasItsRank() throws Exception {
    List<Duration> order = new CopyOnWriteArrayList<>();
    npu.onExecute(
        (request, config) -> {
          order.add(config.loopTimeout());
          return null;
        });
    permits("fast").acquire(urgent, false);
    CompilationOptions options = CompilationOptions.DEFAULT;
    Compilation low = runtime.networks().compile(Graphs.twice(2, 2), options.with(Priority.LOW));
    Compilation high = runtime.networks().compile(Graphs.twice(2, 2), options.with(Priority.HIGH));
    Compilation medium = runtime.networks().compile(Graphs.twice(2, 2), options);
    CountDownLatch waits = new CountDownLatch(1);
    time.onLook(
        () -> {
          if (Thread.currentThread().getName().equals("thalamus-test-high")
              && Arrays.stream(Thread.currentThread().getStackTrace())
                  .anyMatch(frame -> frame.getClassName().equals(DomainMemory.class.getName()))) {
            waits.countDown();
          }
        });
    try (Memory memory =
        runtime
            .networks()
            .createMemory(MemoryDesc.builder("m").output(low, 0).input(high, 0).build())) {
      MemorySegment one = Graphs.floats(1, 2, 3, 4);
      low.createExecution()
          .setInput(0, one)
          .setOutput(0, memory)
          .setLoopTimeout(Duration.ofMillis(1))
          .computeAsync();
      Eventually.that("it waits", () -> permits("fast").waiting() == 1);
      CompletableFuture<ExecutionReport> other =
          medium
              .createExecution()
              .setInput(0, one)
              .setOutput(0, Graphs.floats(new float[4]))
              .setLoopTimeout(Duration.ofMillis(2))
              .computeAsync();
      Eventually.that("it waits", () -> permits("fast").waiting() == 2);
      float[] result = new float[4];
      FutureTask<ExecutionReport> reader =
          new FutureTask<>(
              () ->
                  high.createExecution()
                      .setInput(0, memory)
                      .setOutput(0, Graphs.floats(result))
                      .setLoopTimeout(Duration.ofMillis(3))
                      .setTimeout(Duration.ofDays(1))
                      .compute());
      Thread.ofPlatform().name("thalamus-test-high").start(reader);
      assertTrue(waits.await(PATIENCE, TimeUnit.SECONDS));
      permits("fast").release(urgent);
      get(reader).orThrow();
      get(other).orThrow();
      assertArrayEquals(new float[] {4, 8, 12, 16}, result);
      assertEquals(Duration.ofMillis(1), order.getFirst(), "before the medium one");
    }
  }
}
