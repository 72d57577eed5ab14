// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.model.Priority;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.registry.DeviceSettings;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The order in which threads take asynchronous executions, on a device that never waits. */
class AsyncThreadsTest {
  private static final long PATIENCE = 60;

  @DeviceSettings(cpuPermits = 1_024, drainMillis = 60_000)
  private static final class ManyPermits {}

  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final FaultyDevice device = new FaultyDevice(cpu);
  private final SteppedTime time = new SteppedTime();
  private final TestRuntime runtime =
      TestRuntime.stepped(time, TestRuntime.settings(ManyPermits.class), device);

  private final List<Semaphore> gates = new ArrayList<>();
  private final List<CompletableFuture<ExecutionReport>> futures = new ArrayList<>();
  private final BlockingQueue<Integer> begun = new LinkedBlockingQueue<>();

  AsyncThreadsTest() {
    device.onExecute(
        (request, config) -> {
          int number = (int) config.loopTimeout().toNanos();
          begun.add(number);
          gate(number).acquireUninterruptibly();
          return null;
        });
  }

  @AfterEach
  void closeAll() throws Exception {
    gates.forEach(Semaphore::release);
    for (CompletableFuture<ExecutionReport> future : futures) {
      assertTrue(future.get(PATIENCE, TimeUnit.SECONDS).isSuccess());
    }
    runtime.close();
    assertEquals(0, cpu.open(), "left open");
  }

  private synchronized Semaphore gate(int number) {
    return gates.get(number);
  }

  /** Submits an execution, and returns its number: the device knows it by its loop timeout. */
  private int submit(String application, String client, Priority priority) throws Exception {
    return submit(application, client, priority, List.of());
  }

  private int submit(String application, String client, Priority priority, List<Integer> behind)
      throws Exception {
    int number = gates.size();
    synchronized (this) {
      gates.add(new Semaphore(0));
    }
    CompilationOptions options = CompilationOptions.DEFAULT.with(priority);
    Compilation compilation =
        runtime
            .networks(application)
            .compile(Graphs.addThenMul(), client.isEmpty() ? options : options.withClient(client));
    Execution execution =
        Graphs.addThenMulExecution(compilation, new float[4])
            .setLoopTimeout(Duration.ofNanos(number));
    futures.add(
        behind.isEmpty()
            ? execution.computeAsync()
            : execution.startComputeWithDependencies(behind.stream().map(futures::get).toList()));
    return number;
  }

  private int submit(Priority priority) throws Exception {
    return submit("test", "", priority);
  }

  private int begins() throws Exception {
    Integer number = begun.poll(PATIENCE, TimeUnit.SECONDS);
    assertTrue(number != null, "nothing begins");
    return number;
  }

  /** Submits as many as begin at once, and returns their numbers. */
  private Deque<Integer> fill(Priority priority, int count) throws Exception {
    Deque<Integer> running = new ArrayDeque<>();
    for (int i = 0; i < count; i++) {
      running.add(submit(priority));
      assertEquals(running.getLast(), begins());
    }
    return running;
  }

  private int keptForHigh() {
    return runtime.threads.most(Priority.HIGH) - runtime.threads.most(Priority.MEDIUM);
  }

  /** Ends the first of those that run, and returns which one begins instead. */
  private int next(Deque<Integer> running) throws Exception {
    gate(running.remove()).release();
    int next = begins();
    running.add(next);
    return next;
  }

  @Test
  void higherPrioritiesGoFirstAndThenTheFirst() throws Exception {
    Deque<Integer> running = fill(Priority.MEDIUM, 1);
    running.addAll(fill(Priority.LOW, runtime.threads.most(Priority.LOW)));
    running.addAll(fill(Priority.HIGH, keptForHigh()));
    List<Integer> low = List.of(submit(Priority.LOW), submit(Priority.LOW));
    List<Integer> medium = List.of(submit(Priority.MEDIUM), submit(Priority.MEDIUM));
    List<Integer> high = List.of(submit(Priority.HIGH), submit(Priority.HIGH));
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      order.add(next(running));
    }
    List<Integer> expected = new ArrayList<>(high);
    expected.addAll(medium);
    expected.addAll(low);
    assertEquals(expected, order);
  }

  @Test
  void threadsAreKeptForMoreUrgentOnes() throws Exception {
    fill(Priority.LOW, runtime.threads.most(Priority.LOW));
    submit(Priority.LOW);
    fill(Priority.MEDIUM, 1);
    submit(Priority.MEDIUM);
    fill(Priority.HIGH, keptForHigh());
    submit(Priority.HIGH);
    assertEquals(0, begun.size());
  }

  @Test
  void whatHasWaitedLongTakesNoThreadThatIsKeptForUrgentOnes() throws Exception {
    fill(Priority.MEDIUM, runtime.threads.most(Priority.MEDIUM));
    submit(Priority.MEDIUM);
    Deque<Integer> urgent = fill(Priority.HIGH, keptForHigh());
    int next = submit(Priority.HIGH);
    time.advance(Duration.ofSeconds(10));
    assertEquals(next, next(urgent));
  }

  @Test
  void whatHasWaitedLongTakesTurnsWithMoreUrgentOnes() throws Exception {
    Deque<Integer> running = fill(Priority.HIGH, runtime.threads.most(Priority.HIGH));
    int low = submit(Priority.LOW);
    int high = submit(Priority.HIGH);
    time.advance(Duration.ofMillis(999));
    assertEquals(high, next(running), "it has risen by one");
    int second = submit(Priority.HIGH);
    int last = submit(Priority.HIGH);
    time.advance(Duration.ofMillis(1));
    assertEquals(second, next(running), "one that has not risen is not behind");
    assertEquals(low, next(running), "it has risen by two, and one has gone before it");
    assertEquals(last, next(running));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void applicationsAndClientsHaveEqualShares(boolean areClients) throws Exception {
    String other = areClients ? "test" : "other";
    String client = areClients ? "other" : "";
    Deque<Integer> running = fill(Priority.HIGH, runtime.threads.most(Priority.HIGH));
    List<Integer> flood = List.of(submit(Priority.HIGH), submit(Priority.HIGH));
    List<Integer> others =
        List.of(submit(other, client, Priority.LOW), submit(other, client, Priority.LOW));
    time.advance(Duration.ofMillis(30));
    assertEquals(others.get(0), next(running), "it has used nothing");
    running.addFirst(running.removeLast());
    time.advance(Duration.ofMillis(40));
    assertEquals(flood.get(0), next(running), "it has used 30 ms, and the other one 40");
    assertEquals(others.get(1), next(running));
    assertEquals(flood.get(1), next(running));
  }

  @Test
  void whatAnUrgentOneWaitsForHasItsRank() throws Exception {
    Deque<Integer> running = fill(Priority.HIGH, runtime.threads.most(Priority.HIGH));
    int first = submit(Priority.LOW);
    int medium = submit(Priority.MEDIUM);
    int second = submit("test", "", Priority.LOW, List.of(first));
    int urgent = submit("test", "", Priority.HIGH, List.of(second));
    assertEquals(first, next(running));
    running.addFirst(running.removeLast());
    assertEquals(second, next(running));
    running.addFirst(running.removeLast());
    assertEquals(urgent, next(running));
    assertEquals(medium, next(running));
  }

  @Test
  void whatAnUrgentOneWaitsForTakesAThreadThatIsKeptForUrgentOnes() throws Exception {
    fill(Priority.LOW, runtime.threads.most(Priority.LOW));
    int low = submit(Priority.LOW);
    submit("test", "", Priority.HIGH, List.of(low));
    assertEquals(low, begins());
  }
}
