// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.thalamus.api.Burst;
import io.thalamus.api.CacheOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Recordings of the JDK's Flight Recorder after real executions. */
class EventsTest {
  private static final int ROUNDS = 50_000;

  @TempDir Path directory;

  private final LimitedDevice adder = LimitedDevice.of("adder", 0.5, OperationCode.ADD);
  private final FaultyDevice multiplier =
      new FaultyDevice(LimitedDevice.of("multiplier", 0.5, OperationCode.MUL));
  private final LimitedDevice cpu = LimitedDevice.cpu();

  /**
   * The events of the runtime of some work, by their start. Other tests may run beside this one.
   */
  private List<RecordedEvent> record(Work work) throws Exception {
    Path file = directory.resolve("recording.jfr");
    try (Recording recording = new Recording()) {
      recording.start();
      work.run();
      recording.stop();
      recording.dump(file);
    }
    List<RecordedEvent> events = new ArrayList<>();
    for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
      if (event.getEventType().getName().startsWith("thalamus.")) {
        events.add(event);
      }
    }
    Set<Long> ours =
        named(events, "Prepare").stream()
            .filter(EventsTest::isInThisThread)
            .map(event -> event.getLong("compilation"))
            .collect(Collectors.toSet());
    events.removeIf(
        event ->
            !isInThisThread(event)
                && !(event.hasField("compilation") && ours.contains(event.getLong("compilation"))));
    events.sort((a, b) -> a.getStartTime().compareTo(b.getStartTime()));
    return events;
  }

  private static boolean isInThisThread(RecordedEvent event) {
    return event.getThread().getJavaThreadId() == Thread.currentThread().threadId();
  }

  @FunctionalInterface
  private interface Work {
    void run() throws Exception;
  }

  private static List<RecordedEvent> named(List<RecordedEvent> events, String name) {
    return events.stream()
        .filter(event -> event.getEventType().getName().equals("thalamus." + name))
        .toList();
  }

  private static List<String> values(List<RecordedEvent> events, String field) {
    return events.stream().map(event -> Objects.toString(event.getValue(field))).toList();
  }

  private static ExecutionReport compute(Compilation compilation) {
    return Graphs.addThenMulExecution(compilation, new float[4]).compute();
  }

  @Test
  void anExecutionTellsItsSteps() throws Exception {
    List<RecordedEvent> events =
        record(
            () -> {
              try (TestRuntime runtime = TestRuntime.of(adder, multiplier, cpu);
                  Compilation compilation =
                      runtime
                          .networks()
                          .compile(
                              Graphs.addThenMul(), CompilationOptions.DEFAULT.with(Priority.HIGH));
                  Burst burst = compilation.createBurst()) {
                assertTrue(compute(compilation).isSuccess());
                assertTrue(
                    Graphs.addThenMulExecution(compilation, new float[4])
                        .burstCompute(burst)
                        .isSuccess());
              }
            });
    List<RecordedEvent> executions = named(events, "Execution");
    assertEquals(List.of("false", "true"), values(executions, "byBurst"));
    assertEquals(List.of("NO_ERROR", "NO_ERROR"), values(executions, "code"));
    assertEquals(List.of("test", "test"), values(executions, "application"));
    assertEquals(List.of("ADD and 1 more", "ADD and 1 more"), values(executions, "model"));
    assertEquals(List.of("HIGH", "HIGH"), values(executions, "priority"));
    assertEquals(1, Set.copyOf(values(executions, "compilation")).size());
    assertEquals(2, Set.copyOf(values(executions, "execution")).size());
    List<RecordedEvent> steps = named(events, "Step");
    assertEquals(List.of("adder", "multiplier", "adder", "multiplier"), values(steps, "device"));
    assertEquals(List.of("1", "1", "1", "1"), values(steps, "operations"));
    assertEquals(
        List.of("ADD (operation 0)", "MUL (operation 1)"), values(steps.subList(0, 2), "step"));
    for (int i = 0; i < steps.size(); i++) {
      RecordedEvent whole = executions.get(i / 2);
      RecordedEvent step = steps.get(i);
      assertEquals(whole.getLong("execution"), step.getLong("execution"));
      assertEquals(whole.getLong("compilation"), step.getLong("compilation"));
      assertEquals(whole.getBoolean("byBurst"), step.getBoolean("byBurst"));
      assertFalse(step.getStartTime().isBefore(whole.getStartTime()), "starts before the whole");
      assertFalse(step.getEndTime().isAfter(whole.getEndTime()), "ends after the whole");
      if (i % 2 == 1) {
        Instant before = steps.get(i - 1).getEndTime();
        assertFalse(step.getStartTime().isBefore(before), "begins before the last one ended");
      }
    }
    List<RecordedEvent> partitions = named(events, "Partition");
    assertEquals(List.of("2"), values(partitions, "steps"));
    assertEquals(List.of("nnapi"), values(partitions, "policy"));
    List<RecordedEvent> prepares = named(events, "Prepare");
    assertEquals(List.of("adder", "multiplier"), values(prepares, "device"));
    assertEquals(List.of("COMPILED", "COMPILED"), values(prepares, "origin"));
  }

  @Test
  void aFailureTellsFallbackQuarantineAndReplan() throws Exception {
    List<RecordedEvent> events =
        record(
            () -> {
              try (TestRuntime runtime = TestRuntime.of(adder, multiplier, cpu);
                  Compilation compilation =
                      runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT)) {
                multiplier.onExecute(
                    (request, config) -> new Failed(ErrorStatus.GENERAL_FAILURE, "out of order"));
                // So many in a row that it goes into quarantine.
                Eventually.that(
                    "another plan",
                    () -> {
                      assertTrue(compute(compilation).isSuccess());
                      return compilation.plan().steps().stream()
                          .noneMatch(step -> step.device().equals("multiplier"));
                    });
                Eventually.that("re-planned", () -> !compilation.isReplanning());
              }
            });
    RecordedEvent fallback = named(events, "Fallback").getFirst();
    assertEquals("multiplier", fallback.getString("device"));
    assertTrue(fallback.getString("reason").contains("out of order"), fallback::toString);
    List<RecordedEvent> first =
        named(events, "Step").stream()
            .filter(
                step ->
                    step.getLong("execution")
                        == named(events, "Execution").getFirst().getLong("execution"))
            .toList();
    assertEquals(List.of("adder", "multiplier", "cpu"), values(first, "device"));
    assertEquals(List.of("NO_ERROR", "OP_FAILED", "NO_ERROR"), values(first, "code"));
    RecordedEvent quarantine = named(events, "Quarantine").getFirst();
    assertEquals("multiplier", quarantine.getString("device"));
    assertEquals("begins", quarantine.getString("change"));
    assertTrue(quarantine.getDuration("untilProbe").isPositive(), quarantine::toString);
    assertTrue(values(named(events, "Replan"), "outcome").contains("moved"));
  }

  @Test
  void aMissedDeadlineIsTold() throws Exception {
    List<RecordedEvent> events =
        record(
            () -> {
              try (TestRuntime runtime = TestRuntime.of(cpu);
                  Compilation compilation =
                      runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT)) {
                Execution late = Graphs.addThenMulExecution(compilation, new float[4]);
                assertFalse(late.setTimeout(Duration.ZERO).compute().isSuccess());
                assertTrue(compute(compilation).isSuccess());
              }
            });
    List<RecordedEvent> misses = named(events, "DeadlineMiss");
    assertEquals(List.of("execution"), values(misses, "phase"));
    assertEquals(List.of("MISSED_DEADLINE_PERSISTENT"), values(misses, "code"));
    assertEquals(values(misses, "message"), values(named(events, "Refusal"), "message"));
    assertEquals(List.of("NO_ERROR"), values(named(events, "Execution"), "code"));
  }

  @Test
  void whatIsRefusedIsTold() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    FaultyDevice slow = new FaultyDevice(cpu);
    List<RecordedEvent> events =
        record(
            () -> {
              try (TestRuntime runtime = TestRuntime.of(slow);
                  Compilation compilation =
                      runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT)) {
                slow.onExecute((request, config) -> await(end));
                List<CompletableFuture<ExecutionReport>> all = new ArrayList<>();
                do {
                  all.add(Graphs.addThenMulExecution(compilation, new float[4]).computeAsync());
                } while (!all.getLast().isDone());
                end.countDown();
                assertEquals(ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, all.getLast().get().code());
                for (CompletableFuture<ExecutionReport> each : all.subList(0, all.size() - 1)) {
                  assertTrue(each.get().isSuccess());
                }
              }
            });
    assertEquals(List.of("RESOURCE_EXHAUSTED_TRANSIENT"), values(named(events, "Refusal"), "code"));
    assertEquals(Set.of("NO_ERROR"), Set.copyOf(values(named(events, "Execution"), "code")));
  }

  private static ExecutionResult await(CountDownLatch end) {
    try {
      end.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return null;
  }

  @Test
  void theCacheTellsMissHitAndRefusal() throws Exception {
    CachingDevice device = CachingDevice.of("a", 1, 0);
    Path cache = directory.resolve("cache");
    CompilationOptions options =
        CompilationOptions.DEFAULT.with(CacheOptions.of(cache, new byte[32]));
    List<RecordedEvent> events =
        record(
            () -> {
              try (TestRuntime runtime = TestRuntime.of(device, cpu)) {
                for (int i = 0; i < 3; i++) {
                  if (i == 2) {
                    damage(cache);
                  }
                  runtime.networks().compile(Graphs.addThenMul(), options).close();
                }
              }
            });
    assertEquals(List.of("MISS", "HIT", "REFUSED"), values(named(events, "Cache"), "outcome"));
    assertEquals(
        List.of("STORED", "RESTORED", "STORED"), values(named(events, "Prepare"), "origin"));
  }

  /** Changes a byte of what a device stored. */
  private static void damage(Path cache) throws IOException {
    try (Stream<Path> files = Files.list(cache)) {
      for (Path file :
          files.filter(each -> each.toString().endsWith("10")).collect(Collectors.toList())) {
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length / 2] ^= 1;
        Files.write(file, bytes);
      }
    }
  }

  @Test
  void nothingIsAllocatedWhileNobodyRecords() throws Exception {
    CompilationLabel label = new CompilationLabel("a", "c", "m", Priority.LOW);
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long least = Long.MAX_VALUE;
    // Several times, since the tests beside this one may record meanwhile.
    for (int i = 0; i < 20 && least > 0; i++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int round = 0; round < ROUNDS; round++) {
        ExecutionEvent event = ExecutionEvent.start(label, false);
        StepEvent step = StepEvent.start(event);
        if (step != null) {
          step.finish("d", "s", 1, false, 0, ResultCode.NO_ERROR);
        }
        RefusalEvent.tell(label, ResultCode.NO_ERROR, "");
        WaitEvent wait = WaitEvent.start("d", label, 1);
        if (wait != null) {
          wait.commit();
        }
      }
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
    }
    assertEquals(0, least, "bytes in " + ROUNDS + " rounds");
    assertNull(StepEvent.start(null));
  }
}
