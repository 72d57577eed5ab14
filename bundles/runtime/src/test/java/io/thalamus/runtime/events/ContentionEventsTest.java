// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Priority;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.registry.DeviceSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import jdk.jfr.consumer.RecordingStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The events of executions that contend for a device with one permit. */
class ContentionEventsTest {
  private static final long PATIENCE = 60;

  @DeviceSettings(cpuPermits = 1, permits = 1)
  private static final class OnePermit {}

  @TempDir Path directory;

  private final FaultyDevice npu = new FaultyDevice(LimitedDevice.all("contended", 0.1));
  private final TestRuntime runtime =
      TestRuntime.with(TestRuntime.settings(OnePermit.class), npu, LimitedDevice.cpu());
  private final AtomicInteger executions = new AtomicInteger();
  private final CountDownLatch inside = new CountDownLatch(1);
  private final CountDownLatch end = new CountDownLatch(1);

  @AfterEach
  void close() {
    runtime.close();
  }

  private Compilation compile(String application, String client, Priority priority)
      throws Exception {
    return runtime
        .networks(application)
        .compile(Graphs.addThenMul(), CompilationOptions.DEFAULT.with(priority).withClient(client));
  }

  private static CompletableFuture<ExecutionReport> start(Compilation compilation) {
    return Graphs.addThenMulExecution(compilation, new float[4]).computeAsync();
  }

  private static void done(CompletableFuture<ExecutionReport> execution) throws Exception {
    ExecutionReport report = execution.get(PATIENCE, TimeUnit.SECONDS);
    assertTrue(report.isSuccess(), report::message);
  }

  /** The first one computes until its permit is asked back, and stands back once. */
  private ExecutionResult standBack(ExecutionConfig config) {
    if (executions.getAndIncrement() > 0) {
      return null;
    }
    inside.countDown();
    while (!config.control().isPauseWanted()) {
      Thread.yield();
    }
    return config.control().checkpoint() == Signal.CONTINUE
        ? null
        : new Failed(ErrorStatus.GENERAL_FAILURE, "asked to stop");
  }

  @Test
  void aPreemptionTellsWhoForWhomWhereAndHowLong() throws Exception {
    npu.onExecute((request, config) -> standBack(config));
    List<RecordedEvent> events;
    try (Compilation low = compile("shop", "till 1", Priority.LOW);
        Compilation high = compile("shop", "till 1", Priority.HIGH);
        Recording recording = new Recording()) {
      recording.start();
      CompletableFuture<ExecutionReport> first = start(low);
      assertTrue(inside.await(PATIENCE, TimeUnit.SECONDS));
      done(start(high));
      done(first);
      recording.stop();
      Path file = directory.resolve("recording.jfr");
      recording.dump(file);
      events = RecordingFile.readAllEvents(file);
    }
    List<RecordedEvent> steps = named(events, "Step");
    assertEquals(2, steps.size(), steps::toString);
    RecordedEvent high = steps.get(steps.get(0).getString("priority").equals("HIGH") ? 0 : 1);
    RecordedEvent low = steps.get(high == steps.get(0) ? 1 : 0);
    List<RecordedEvent> preemptions = named(events, "Preempt");
    assertEquals(1, preemptions.size(), preemptions::toString);
    RecordedEvent preempt = preemptions.getFirst();
    assertEquals("contended", preempt.getString("device"));
    assertEquals("shop", preempt.getString("application"));
    assertEquals("till 1", preempt.getString("client"));
    assertEquals("LOW", preempt.getString("priority"));
    assertEquals(low.getLong("execution"), preempt.getLong("execution"));
    assertEquals("HIGH", preempt.getString("forPriority"));
    assertEquals(high.getLong("compilation"), preempt.getLong("forCompilation"));
    assertFalse(preempt.getStartTime().isBefore(low.getStartTime()), "before the step");
    assertFalse(preempt.getEndTime().isAfter(low.getEndTime()), "after the step");
    // It was given the permit after the other had stood back.
    RecordedEvent wait = named(events, "Wait").getFirst();
    assertEquals(high.getLong("execution"), wait.getLong("execution"));
    assertFalse(wait.getEndTime().isBefore(preempt.getStartTime()), "ran beside the other");
    Duration waited = low.getDuration("waited");
    assertTrue(waited.isPositive() && waited.compareTo(low.getDuration()) < 0, waited::toString);
  }

  private static List<RecordedEvent> named(List<RecordedEvent> events, String name) {
    return events.stream()
        .filter(event -> event.getEventType().getName().equals("thalamus." + name))
        .filter(event -> event.getString("device").equals("contended"))
        .toList();
  }

  @Test
  void theLoadTellsWhoRunsAndWhoWaitsNow() throws Exception {
    npu.onExecute((request, config) -> hold());
    Queue<RecordedEvent> seen = new ConcurrentLinkedQueue<>();
    try (Compilation one = compile("shop", "till 1", Priority.MEDIUM);
        Compilation other = compile("bank", "desk", Priority.MEDIUM);
        RecordingStream stream = new RecordingStream()) {
      CompletableFuture<ExecutionReport> first = start(one);
      assertTrue(inside.await(PATIENCE, TimeUnit.SECONDS));
      CompletableFuture<ExecutionReport> second = start(other);
      CompletableFuture<ExecutionReport> third = start(other);
      CountDownLatch complete = new CountDownLatch(1);
      stream.onEvent(
          "thalamus.Load",
          event -> {
            if (event.getString("device").equals("contended")) {
              seen.add(event);
              if (event.getString("application").equals("bank") && event.getInt("waiting") == 2) {
                complete.countDown();
              }
            }
          });
      stream.startAsync();
      assertTrue(complete.await(PATIENCE, TimeUnit.SECONDS), seen::toString);
      end.countDown();
      done(first);
      done(second);
      done(third);
    }
    RecordedEvent bank =
        seen.stream()
            .filter(event -> event.getString("application").equals("bank"))
            .filter(event -> event.getInt("waiting") == 2)
            .findFirst()
            .orElseThrow();
    assertEquals("desk", bank.getString("client"));
    assertEquals(0, bank.getInt("running"));
    List<RecordedEvent> together =
        seen.stream().filter(event -> event.getLong("sample") == bank.getLong("sample")).toList();
    RecordedEvent device = together.getFirst();
    assertEquals("", device.getString("application"));
    assertEquals(1, device.getInt("permits"));
    assertEquals(1, device.getInt("running"));
    assertEquals(2, device.getInt("waiting"));
    RecordedEvent shop =
        together.stream()
            .filter(event -> event.getString("application").equals("shop"))
            .findFirst()
            .orElseThrow();
    assertEquals(1, shop.getInt("running"));
    assertEquals(0, shop.getInt("waiting"));
  }

  private ExecutionResult hold() {
    inside.countDown();
    try {
      end.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return null;
  }
}
