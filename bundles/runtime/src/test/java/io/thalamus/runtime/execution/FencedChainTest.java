// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.Durations;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Timing;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.FencedDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Steps that wait for fences on their devices, without a return to the thread that executes. */
class FencedChainTest {
  private static final long PATIENCE_SECONDS = 30;

  private final FencedDevice adds = new FencedDevice(device("adds", OperationCode.ADD));
  private final FencedDevice muls = new FencedDevice(device("muls", OperationCode.MUL));
  private final FencedDevice subs = new FencedDevice(device("subs", OperationCode.SUB));
  private final SteppedTime time = new SteppedTime();
  private final TestRuntime runtime =
      TestRuntime.stepped(time, TestRuntime.SETTINGS, adds, muls, subs, LimitedDevice.cpu());

  private static LimitedDevice device(String id, OperationCode operation) {
    return LimitedDevice.of(id, 0.5, operation);
  }

  @AfterEach
  void close() {
    runtime.close();
  }

  /** {@code (a + b) * b - a}. */
  private static Model three() {
    return endingWith(OperationCode.SUB);
  }

  /** {@code ((a + b) * b) + a}: two models on one device. */
  private static Model thereAndBack() {
    return endingWith(OperationCode.ADD);
  }

  private static Model endingWith(OperationCode last) {
    Graphs.Builder g = new Graphs.Builder(2);
    int a = g.input("a");
    int b = g.input("b");
    int sum = g.temporary("sum");
    int product = g.temporary("product");
    int out = g.output("out");
    g.op(OperationCode.ADD, a, b, sum);
    g.op(OperationCode.MUL, sum, b, product);
    g.op(last, product, a, out);
    return g.model();
  }

  private Compilation compile(Model model) throws Exception {
    return runtime.networks().compile(model, CompilationOptions.DEFAULT);
  }

  private static Execution begin(Compilation compilation, float[] result) {
    return compilation
        .createExecution()
        .setInput(0, Graphs.floats(1, 2))
        .setInput(1, Graphs.floats(3, 5))
        .setOutput(0, Graphs.floats(result));
  }

  private static final float[] EXPECTED = {11, 33};

  private static List<Boolean> fenced(ExecutionReport report) {
    return report.steps().stream().map(StepReport::fenced).toList();
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS), "nobody came");
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void assertDone(ExecutionReport report, float[] result) {
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(EXPECTED, result);
  }

  /** While it makes the calls, it has the lock of the chain, which others wait for. */
  private static boolean isLaunching() {
    return StackWalker.getInstance()
        .walk(frames -> frames.anyMatch(frame -> frame.getMethodName().equals("launch")));
  }

  @Test
  void aChainOverThreeDevicesReturnsToTheHostOnlyAtItsEnd() throws Exception {
    Thread host = Thread.currentThread();
    CountDownLatch isHeld = new CountDownLatch(1);
    CountDownLatch last = new CountDownLatch(1);
    // The thread that executes looks at the clock now and then: there it is held until the last
    // device computes.
    adds.onCompute(
        config -> {
          Eventually.that("all are called", () -> muls.fenced.get() + subs.fenced.get() == 2);
          time.onLook(
              () -> {
                if (Thread.currentThread() == host && !isLaunching()) {
                  isHeld.countDown();
                  await(last);
                }
              });
          await(isHeld);
          return null;
        });
    subs.onCompute(
        config -> {
          last.countDown();
          return null;
        });
    float[] result = new float[2];
    ExecutionReport report = begin(compile(three()), result).compute();
    assertDone(report, result);
    assertEquals(List.of("adds", "muls", "subs"), Graphs.ranOn(report));
    assertEquals(List.of(false, true, true), fenced(report));
    assertEquals(1, adds.plain.get() + muls.plain.get() + subs.plain.get());
  }

  @Test
  void timesFromTheLaunchAndFromTheFenceAreToldApart() throws Exception {
    muls.waited = Duration.ofNanos(7);
    subs.waited = Duration.ofNanos(500);
    float[] result = new float[2];
    ExecutionReport report = begin(compile(three()), result).compute();
    assertDone(report, result);
    // The devices say that they compute for 20 ns, 10 of them on hardware.
    assertEquals(
        List.of(Optional.empty(), durations(10, 27, 10, 20), durations(10, 520, 10, 20)),
        report.steps().stream().map(StepReport::durations).toList());
    assertEquals(Timing.NONE, report.timing(), "nobody asked");
  }

  @Test
  void whatADeviceDoesNotMeasureIsUnknown() throws Exception {
    muls.measures = false;
    float[] result = new float[2];
    ExecutionReport report = begin(compile(three()), result).compute();
    assertDone(report, result);
    assertEquals(
        List.of(Optional.empty(), Optional.empty(), durations(10, 20, 10, 20)),
        report.steps().stream().map(StepReport::durations).toList());
  }

  @Test
  void theTimesOfAStepThatALoopRepeatsAreSums() throws Exception {
    muls.waited = Duration.ofNanos(7);
    Graphs.Builder body = new Graphs.Builder(1);
    int x = body.input("x");
    int limit = body.input("limit");
    int sum = body.temporary("sum");
    body.op(OperationCode.ADD, x, limit, sum);
    body.op(OperationCode.MUL, sum, limit, body.output("r"));
    float[] result = new float[1];
    ExecutionReport report =
        compile(ControlFlowTest.loop(body.build()))
            .createExecution()
            .setInput(0, Graphs.floats(-1))
            .setInput(1, Graphs.floats(1))
            .setOutput(0, Graphs.floats(result))
            .compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(new float[] {1}, result);
    assertEquals(
        List.of(durations(20, 54, 20, 40)),
        report.steps().stream().filter(StepReport::fenced).map(StepReport::durations).toList());
  }

  private static Optional<Durations> durations(
      long onHardware, long inDriver, long fencedOnHardware, long fencedInDriver) {
    return Optional.of(
        new Durations(
            Optional.of(Duration.ofNanos(onHardware)),
            Optional.of(Duration.ofNanos(inDriver)),
            Optional.of(Duration.ofNanos(fencedOnHardware)),
            Optional.of(Duration.ofNanos(fencedInDriver))));
  }

  @Test
  void aDeviceWaitsForItselfToo() throws Exception {
    float[] result = new float[2];
    ExecutionReport report = begin(compile(thereAndBack()), result).compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(new float[] {13, 37}, result);
    assertEquals(List.of("adds", "muls", "adds"), Graphs.ranOn(report));
    assertEquals(List.of(false, true, true), fenced(report));
  }

  @Test
  void whatFailsIsRepeatedElsewhereAndTheRestGoesOn() throws Exception {
    muls.onCompute(config -> new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, "the test's"));
    Compilation compilation = compile(three());
    float[] result = new float[2];
    ExecutionReport report = begin(compilation, result).compute();
    assertDone(report, result);
    assertEquals(List.of("adds", "muls", "cpu", "subs"), Graphs.ranOn(report));
    assertEquals(1, failures("muls"));
    assertEquals(0, failures("subs"), "whose fence failed did nothing wrong");
    assertEquals(0, failures("adds"));
  }

  private long failures(String id) {
    return runtime.networks().devices().stream()
        .filter(device -> device.id().equals(id))
        .findFirst()
        .orElseThrow()
        .health()
        .failures();
  }

  @Test
  void aFenceThatNeverSignalsIsGivenUpWithItsDevice() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    adds.onCompute(
        config -> {
          inside.countDown();
          await(end);
          return null;
        });
    Compilation compilation = compile(three());
    float[] result = new float[2];
    CompletableFuture<ExecutionReport> running =
        CompletableFuture.supplyAsync(() -> begin(compilation, result).compute());
    await(inside);
    time.advance(Duration.ofMillis(TestRuntime.SETTINGS.firstExecutionMillis()));
    ExecutionReport report = running.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    end.countDown();
    assertDone(report, result);
    assertEquals(List.of("adds", "cpu", "muls", "subs"), Graphs.ranOn(report));
    assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.steps().getFirst().code());
    assertEquals(0, failures("muls") + failures("subs"));
  }

  @Test
  void aDeadlineThatPassesBehindAFenceIsMissed() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    adds.onCompute(
        config -> {
          inside.countDown();
          Eventually.that("it is late", () -> config.deadline().hasPassed());
          return new ExecutionResult.Failed(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "late");
        });
    Compilation compilation = compile(three());
    float[] result = new float[2];
    CompletableFuture<ExecutionReport> running =
        CompletableFuture.supplyAsync(
            () -> begin(compilation, result).setTimeout(Duration.ofSeconds(1)).compute());
    await(inside);
    time.advance(Duration.ofSeconds(1));
    ExecutionReport report = running.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, report.code());
    assertEquals(List.of("adds"), Graphs.ranOn(report));
    assertEquals(0, failures("adds") + failures("muls") + failures("subs"));
  }

  @Test
  void whoDoesNotWaitIsBlamedAndItsStepRepeated() throws Exception {
    muls.waits = false;
    Compilation compilation = compile(three());
    float[] result = new float[2];
    adds.onCompute(
        config -> {
          Eventually.that("the next one is cancelled", () -> subs.failures.get() == 1);
          return null;
        });
    ExecutionReport report = begin(compilation, result).compute();
    assertDone(report, result);
    assertEquals(List.of("adds", "muls", "cpu", "subs"), Graphs.ranOn(report));
    assertEquals(1, failures("muls"));
  }

  /** Many at once, of which some steps fail: each result is right, and no permit is lost. */
  @Test
  void manyChainsAtOnce() throws Exception {
    long seed = System.nanoTime();
    System.out.println("seed " + seed);
    Random random = new Random(seed);
    for (FencedDevice device : List.of(adds, muls, subs)) {
      device.onCompute(
          config ->
              random.nextInt(50) == 0
                  ? new ExecutionResult.Failed(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "full")
                  : null);
    }
    Compilation compilation = compile(three());
    List<CompletableFuture<ExecutionReport>> all = new ArrayList<>();
    List<float[]> results = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      float[] result = new float[2];
      results.add(result);
      all.add(begin(compilation, result).computeAsync());
    }
    for (int i = 0; i < all.size(); i++) {
      assertDone(all.get(i).get(PATIENCE_SECONDS, TimeUnit.SECONDS), results.get(i));
    }
    float[] result = new float[2];
    assertDone(begin(compilation, result).compute(), result);
  }
}
