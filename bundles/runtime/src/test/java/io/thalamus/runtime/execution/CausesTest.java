// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Burst;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceHealth;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.fakes.TimedDevice;
import io.thalamus.runtime.registry.DeviceSettings;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The codes of what the runtime refuses and ends, each by its cause, on a clock that stands. */
class CausesTest {
  private static final long PATIENCE = 60;
  private static final Duration KERNEL = Duration.ofMillis(1);
  private static final int KERNELS = 10;
  private static final Duration IDLE = KERNEL.multipliedBy(KERNELS);

  /** So many executions are needed before times are gone by. */
  private static final int ENOUGH = 12;

  /** Executions wait here for a thread, not for a device. */
  @DeviceSettings(
      cpuPermits = 1_000,
      permits = 1_000,
      executionFloorMillis = 60_000,
      drainMillis = 60_000)
  private static final class ManyPermits {}

  private final SteppedTime time = new SteppedTime();
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final TimedDevice device = new TimedDevice(cpu, time, KERNELS, KERNEL);
  private final TestRuntime runtime =
      TestRuntime.stepped(time, TestRuntime.settings(ManyPermits.class), device);
  private final CountDownLatch gate = new CountDownLatch(1);

  @AfterEach
  void closeAll() {
    gate.countDown();
    runtime.close();
    assertEquals(0, cpu.open(), "left open");
  }

  private Compilation compile() throws Exception {
    return runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT);
  }

  /** A compilation whose steps were measured: all of them took {@link #IDLE}. */
  private Compilation measured() throws Exception {
    Compilation compilation = compile();
    for (int i = 0; i < ENOUGH; i++) {
      assertTrue(execution(compilation).compute().isSuccess());
    }
    return compilation;
  }

  private static Execution execution(Compilation compilation) {
    return Graphs.addThenMulExecution(compilation, new float[4]);
  }

  private static ExecutionReport get(CompletableFuture<ExecutionReport> future) throws Exception {
    return future.get(PATIENCE, TimeUnit.SECONDS);
  }

  private static void assertCause(Cause cause, ExecutionReport report) {
    assertEquals(cause.code(), report.code(), report.message());
    assertTrue(report.message().startsWith(cause.message()), report.message());
  }

  /** Has executions stay on the device until the gate opens; returns how many are there. */
  private AtomicInteger hold() {
    AtomicInteger inside = new AtomicInteger();
    device.onExecute(
        (request, config) -> {
          inside.incrementAndGet();
          try {
            assertTrue(gate.await(PATIENCE, TimeUnit.SECONDS));
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
          return null;
        });
    return inside;
  }

  private List<CompletableFuture<ExecutionReport>> fillThreads(Compilation compilation)
      throws Exception {
    AtomicInteger inside = hold();
    List<CompletableFuture<ExecutionReport>> running = new ArrayList<>();
    int threads = Math.max(4, 2 * Runtime.getRuntime().availableProcessors());
    for (int i = 0; i < threads; i++) {
      running.add(execution(compilation).computeAsync());
    }
    Eventually.that("all threads are busy", () -> inside.get() == threads);
    return running;
  }

  @Test
  void overAtEntry() throws Exception {
    Compilation compilation = compile();
    for (Duration timeout : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
      assertCause(
          Cause.OVER_AT_ENTRY, execution(compilation).setTimeout(timeout).computeAsync().join());
      assertCause(Cause.OVER_AT_ENTRY, execution(compilation).setTimeout(timeout).compute());
      NeuralNetworksException e =
          assertThrows(
              NeuralNetworksException.class,
              () ->
                  runtime
                      .networks()
                      .compile(
                          Graphs.addThenMul(),
                          CompilationOptions.DEFAULT
                              .withDevices(List.of("cpu"))
                              .withTimeout(timeout)));
      assertEquals(Cause.OVER_AT_ENTRY.code(), e.code());
    }
    assertEquals(0, device.kernels());
    assertEquals(1, cpu.prepared().size(), "only what had no timeout");
  }

  @Test
  void tooShortIsRefusedBeforeAnythingRuns() throws Exception {
    Compilation compilation = measured();
    int before = device.kernels();
    Duration hopeless = IDLE.dividedBy(10);
    CompletableFuture<ExecutionReport> never = new CompletableFuture<>();
    try (Burst burst = compilation.createBurst()) {
      for (ExecutionReport report :
          List.of(
              execution(compilation).setTimeout(hopeless).compute(),
              execution(compilation).setTimeout(hopeless).burstCompute(burst),
              get(execution(compilation).setTimeout(hopeless).computeAsync()),
              get(
                  execution(compilation)
                      .setTimeout(hopeless)
                      .startComputeWithDependencies(List.of(never))))) {
        assertCause(Cause.TOO_SHORT, report);
        assertEquals(Optional.empty(), report.retryAfter(), "a later try is pointless");
      }
      assertEquals(before, device.kernels());
      assertTrue(execution(compilation).setTimeout(IDLE.plusNanos(1)).compute().isSuccess());
    }
  }

  @Test
  void whatOneCompilationMeasuredTheNextOneKnows() throws Exception {
    measured().close();
    int before = device.kernels();
    Compilation next = compile();
    assertCause(
        Cause.TOO_SHORT, execution(next).setTimeout(IDLE.dividedBy(10)).computeAsync().join());
    assertEquals(before, device.kernels());
    assertTrue(execution(next).setTimeout(IDLE.plusNanos(1)).compute().isSuccess());
  }

  @Test
  void nothingIsRefusedForTimesThatNobodyMeasured() throws Exception {
    Compilation compilation = compile();
    for (int i = 0; i < ENOUGH - 1; i++) {
      assertTrue(execution(compilation).compute().isSuccess());
    }
    int before = device.kernels();
    ExecutionReport report = execution(compilation).setTimeout(KERNEL).compute();
    assertCause(Cause.STOPPED, report);
    assertEquals(before + 1, device.kernels());
  }

  @Test
  void aBoundThatIsOutOfDateDoesNotRefuseForEver() throws Exception {
    Compilation compilation = measured();
    device.setKernels(1, KERNEL);
    int refused = 0;
    while (!execution(compilation).setTimeout(IDLE.dividedBy(2)).compute().isSuccess()) {
      refused++;
      assertTrue(refused < 100, "a hundredth each time is a half after 69");
    }
    assertEquals(69, refused);
  }

  @Test
  void overInTheQueue() throws Exception {
    Compilation compilation = measured();
    assertTrue(get(execution(compilation).computeAsync()).isSuccess());
    List<CompletableFuture<ExecutionReport>> running = fillThreads(compilation);
    CompletableFuture<ExecutionReport> late =
        execution(compilation).setTimeout(IDLE.multipliedBy(2)).computeAsync();
    CompletableFuture<ExecutionReport> behind =
        execution(compilation)
            .setTimeout(IDLE.multipliedBy(2))
            .startComputeWithDependencies(List.of());
    CompletableFuture<ExecutionReport> near =
        execution(compilation).setTimeout(IDLE.multipliedBy(3)).computeAsync();
    time.advance(IDLE.multipliedBy(2));
    assertTrue(late.isDone(), "nobody waits for a thread to hear that it is over");
    assertCause(Cause.OVER_IN_QUEUE, late.join());
    assertTrue(late.join().retryAfter().isPresent(), "the time that the queue takes");
    assertCause(Cause.OVER_IN_QUEUE, get(behind));
    assertFalse(near.isDone());
    time.advance(KERNEL);
    gate.countDown();
    assertCause(Cause.OVER_IN_QUEUE, get(near));
    for (CompletableFuture<ExecutionReport> run : running) {
      assertTrue(get(run).isSuccess());
    }
  }

  @Test
  void overBehindDependencies() throws Exception {
    Compilation compilation = measured();
    CompletableFuture<ExecutionReport> never = new CompletableFuture<>();
    CompletableFuture<ExecutionReport> slow = new CompletableFuture<>();
    Duration given = IDLE.multipliedBy(2);
    ExecutionReport done = execution(compilation).compute();
    int before = device.kernels();
    CompletableFuture<ExecutionReport> a =
        execution(compilation).setTimeout(given).startComputeWithDependencies(List.of(never));
    CompletableFuture<ExecutionReport> b =
        execution(compilation).setTimeout(given).startComputeWithDependencies(List.of(slow));
    time.advance(given.minus(KERNEL));
    slow.complete(done);
    assertFalse(a.isDone());
    assertCause(Cause.OVER_BEHIND_FENCES, b.join());
    time.advance(given);
    assertCause(Cause.OVER_BEHIND_FENCES, a.join());
    assertEquals(before, device.kernels());
  }

  @Test
  void overWhileItWaitsForAMemory() throws Exception {
    Compilation compilation = measured();
    AtomicInteger inside = hold();
    try (Memory memory =
        runtime.networks().createMemory(MemoryDesc.builder("m").output(compilation, 0).build())) {
      CompletableFuture<ExecutionReport> holder =
          execution(compilation).setOutput(0, memory).computeAsync();
      Eventually.that("it has the memory", () -> inside.get() == 1);
      CompletableFuture<ExecutionReport> waiter = new CompletableFuture<>();
      Execution second = execution(compilation).setOutput(0, memory).setTimeout(IDLE.plus(KERNEL));
      Thread thread = new Thread(() -> waiter.complete(second.compute()), "waiter");
      thread.start();
      Eventually.that(
          "it is answered",
          () -> {
            time.advance(KERNEL);
            return waiter.isDone();
          });
      thread.join();
      assertCause(Cause.OVER_AWAITING_MEMORY, waiter.join());
      assertFalse(holder.isDone());
      gate.countDown();
      assertTrue(get(holder).isSuccess());
    }
  }

  @Test
  void stoppedThoughAnIdleDeviceWouldBeDone() throws Exception {
    Compilation compilation = measured();
    device.setKernels(3 * KERNELS, KERNEL);
    int before = device.kernels();
    ExecutionReport report = execution(compilation).setTimeout(IDLE.plus(KERNEL)).compute();
    assertCause(Cause.STOPPED, report);
    assertEquals(before + KERNELS + 1, device.kernels(), "no kernel after the deadline");
  }

  @Test
  void stoppedWhereAnIdleDeviceIsTooSlow() throws Exception {
    Compilation compilation = compile();
    for (int i = 0; i < 2 * ENOUGH; i++) {
      // A third of the times is short: they bring the lower bound below the usual time.
      device.setKernels(i % 6 == 0 ? KERNELS / 2 : KERNELS, KERNEL);
      assertTrue(execution(compilation).compute().isSuccess());
    }
    device.setKernels(KERNELS, KERNEL);
    Duration between = IDLE.minus(KERNEL);
    assertCause(Cause.STOPPED_HOPELESS, execution(compilation).setTimeout(between).compute());
    assertTrue(execution(compilation).setTimeout(IDLE.plus(KERNEL)).compute().isSuccess());
  }

  @Test
  void compilationStopped() throws Exception {
    device.onPrepare(
        model -> {
          time.advance(IDLE);
          throw new io.thalamus.hal.DeviceException(
              ErrorStatus.MISSED_DEADLINE_PERSISTENT, "over before it began");
        });
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () ->
                runtime
                    .networks()
                    .compile(
                        Graphs.addThenMul(),
                        CompilationOptions.DEFAULT.withDevices(List.of("cpu")).withTimeout(IDLE)));
    assertEquals(Cause.COMPILATION_STOPPED.code(), e.code(), e.getMessage());
  }

  @Test
  void aFullQueueSaysWhenToTryAgain() throws Exception {
    Compilation compilation = measured();
    ExecutionReport first = get(execution(compilation).computeAsync());
    assertTrue(first.isSuccess());
    List<CompletableFuture<ExecutionReport>> running = fillThreads(compilation);
    int threads = running.size();
    Optional<ExecutionReport> refusal = Optional.empty();
    Execution refused = null;
    while (refusal.isEmpty()) {
      refused = execution(compilation);
      CompletableFuture<ExecutionReport> one = refused.computeAsync();
      refusal = one.isDone() ? Optional.of(one.join()) : Optional.empty();
      running.add(one);
      assertTrue(running.size() < 10_000, "it is bounded");
    }
    running.removeLast();
    assertCause(Cause.QUEUE_FULL, refusal.get());
    int half = (running.size() - threads) / 2;
    for (int number = 2; number <= 600; number++) {
      ExecutionReport next = execution(compilation).computeAsync().join();
      assertEquals(
          IDLE.multipliedBy(half + number).dividedBy(threads).toMillis(),
          next.retryAfter().orElseThrow().toMillis(),
          "who comes back at one time would be refused again");
    }
    assertEquals(
        IDLE.multipliedBy(half + 1).dividedBy(threads).toMillis(),
        refusal.get().retryAfter().orElseThrow().toMillis(),
        "half of those that wait, by the time of one, by the threads");
    assertEquals(
        refusal.get().retryAfter(),
        assertThrows(NeuralNetworksException.class, refusal.get()::orThrow).retryAfter());
    DeviceHealth health = runtime.networks().devices().getFirst().health();
    assertEquals(0, health.failures(), "no mark against the device");
    gate.countDown();
    for (CompletableFuture<ExecutionReport> run : running) {
      assertTrue(get(run).isSuccess());
    }
    assertTrue(get(refused.computeAsync()).isSuccess(), "it was not done, and may start again");
    assertEquals(ResultCode.BAD_STATE, refused.compute().code(), "once it was done");
  }

  @Test
  void tooManyCallsAreFinal() throws Exception {
    int most = 256;
    AtomicInteger inside = new AtomicInteger();
    LimitedDevice npu = LimitedDevice.all("npu", 0.1);
    FaultyDevice busy = new FaultyDevice(npu);
    List<Thread> callers = new ArrayList<>();
    try (TestRuntime other = TestRuntime.with(TestRuntime.settings(ManyPermits.class), busy, cpu);
        Compilation compilation =
            other.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT)) {
      for (int i = 0; i < ENOUGH; i++) {
        assertTrue(execution(compilation).compute().isSuccess());
      }
      busy.onExecute(
          (request, config) -> {
            inside.incrementAndGet();
            try {
              assertTrue(gate.await(PATIENCE, TimeUnit.SECONDS));
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            return null;
          });
      for (int i = 0; i < most; i++) {
        callers.add(Thread.ofVirtual().start(() -> execution(compilation).compute()));
      }
      Eventually.that("all are busy", () -> inside.get() == most);
      Execution refused = execution(compilation);
      ExecutionReport report = refused.compute();
      assertEquals(Cause.DEVICE_BUSY.code(), report.code(), report.message());
      assertTrue(report.message().contains(Cause.DEVICE_BUSY.message()), report.message());
      assertTrue(report.retryAfter().orElseThrow().isPositive());
      assertEquals(0, cpu.executions(), "not moved to the reference");
      assertEquals(0, other.networks().devices().getFirst().health().failures());
      gate.countDown();
      for (Thread caller : callers) {
        caller.join();
      }
      assertTrue(refused.compute().isSuccess());
    }
  }

  /** The host of executions with something of it in the way. */
  private static ExecutionHost without(Compilation compilation, String method) {
    return (ExecutionHost)
        Proxy.newProxyInstance(
            CausesTest.class.getClassLoader(),
            new Class<?>[] {ExecutionHost.class},
            (proxy, called, arguments) -> {
              if (called.getName().equals(method)) {
                throw new OutOfMemoryError("Java heap space");
              }
              called.setAccessible(true);
              try {
                return called.invoke(compilation, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Test
  void memoryThatIsShortInTheRuntimeIsShortForNow() throws Exception {
    Compilation compilation = compile();
    ExecutionImpl execution = new ExecutionImpl(without(compilation, "takeSample"));
    execution.setInput(0, Graphs.floats(1, 2, 3, 4)).setInput(1, Graphs.floats(1, 2, 3, 4));
    execution.setInput(2, Graphs.floats(1, 2, 3, 4)).setOutput(0, Graphs.floats(0, 0, 0, 0));
    assertCause(Cause.MEMORY_SHORT, execution.compute());
    assertTrue(execution(compilation).compute().isSuccess(), "it goes on");
  }

  @Test
  void whatADriverEstimatesReachesTheCaller() throws Exception {
    Duration soon = Duration.ofMillis(7);
    Compilation denied =
        runtime
            .networks()
            .compile(
                Graphs.addThenMul(),
                CompilationOptions.DEFAULT.with(CompilationOptions.Fallback.DENY));
    device.onExecute(
        (request, config) ->
            new Failed(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "full", Optional.of(soon)));
    ExecutionReport report = execution(denied).compute();
    assertEquals(ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, report.code());
    assertEquals(Optional.of(soon), report.retryAfter());
  }

  @Test
  void loopsGoByTheClockOfTheRuntime() throws Exception {
    device.onExecute(
        (request, config) -> {
          assertEquals(Signal.CONTINUE, config.control().status());
          long start = config.nanoTime();
          assertFalse(config.isLoopOverdue(start));
          time.advance(config.loopTimeout().plusNanos(1));
          assertTrue(config.isLoopOverdue(start));
          return null;
        });
    assertTrue(execution(compile()).compute().isSuccess());
  }
}
