// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.EndlessLoop;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.tck.check.TestRequest;
import java.time.Duration;
import java.util.List;

/**
 * Checks of what ends an execution by burst while it is under way: a deadline, a cancellation, the
 * timeout of a loop, the end of the burst. Immutable.
 */
record StopChecks(BurstSuite suite) {
  /** Each execution may be over before it is stopped; none of several is on a device that stops. */
  private static final int TIMES = 8;

  private static final int CHAIN = 64;
  private static final int FEWEST = 1 << 12;
  private static final int MOST = 1 << 22;
  private static final Duration LONG = Duration.ofMillis(50);
  private static final Duration HEAD_START = Duration.ofMillis(100);
  private static final Duration SHORT = Duration.ofMillis(1);

  List<Check> checks() {
    return List.of(
        new Check("a deadline meanwhile", () -> longOne(this::deadline)),
        new Check("cancelled meanwhile", () -> longOne(this::cancelled)),
        new Check("closed meanwhile", () -> longOne(this::closed)),
        new Check("the timeout of a loop", this::loopTimeout));
  }

  /** Something that is done with a long request. */
  @FunctionalInterface
  private interface Body {
    void run(LongRequest request) throws Exception;
  }

  /**
   * A request that takes long, with checkpoints on the way.
   *
   * @param quarter of the time that it takes synchronously
   */
  private record LongRequest(PreparedModel model, Model graph, Request request, Duration quarter) {}

  /** Finds a chain that is long on this device, whether that is slow or fast. */
  private void longOne(Body body) throws Exception {
    for (OperationCode operation : List.of(OperationCode.RELU, OperationCode.ADD)) {
      for (int elements = FEWEST; Probes.takes(suite.device(), chain(operation, elements)); ) {
        Model chain = chain(operation, elements);
        try (PreparedModel model = suite.device().prepare(chain, PrepareConfig.DEFAULT);
            TestRequest memory = TestRequest.of(chain.main())) {
          long start = System.nanoTime();
          Expect.completed(
              "synchronously it", model.execute(memory.request(), ExecutionConfig.DEFAULT));
          Duration time = Duration.ofNanos(System.nanoTime() - start);
          elements *= 2;
          if (time.compareTo(LONG) >= 0 || elements > MOST) {
            body.run(new LongRequest(model, chain, memory.request(), time.dividedBy(4)));
            return;
          }
        }
      }
    }
    throw Expect.skip("the device takes no long chain of RELU or ADD");
  }

  private static Model chain(OperationCode operation, int elements) {
    return TestGraph.chain(operation, CHAIN, elements);
  }

  private ExecutionResult receive(BurstClient client) {
    return BurstSuite.receive(client, suite.limit());
  }

  private void deadline(LongRequest one) throws Exception {
    expectStopped(
        one,
        (client, time) ->
            BurstSuite.send(
                client, one.request(), ExecutionConfig.DEFAULT.with(Deadline.after(time))),
        "its deadline",
        Expect.missed());
  }

  private void cancelled(LongRequest one) throws Exception {
    expectStopped(
        one,
        (client, time) -> {
          long before = client.statistics().executions();
          BurstSuite.send(client, one.request(), ExecutionConfig.DEFAULT);
          // One that has not begun is stopped without a word of the device; not every server
          // counts.
          long end = System.nanoTime() + time.toNanos();
          while (client.statistics().executions() == before && System.nanoTime() - end < 0) {
            Thread.sleep(1);
          }
          Thread.sleep(time);
          client.cancel();
        },
        "its cancellation",
        ErrorStatus.GENERAL_FAILURE);
  }

  /** Sends a request and stops it after some time. */
  @FunctionalInterface
  private interface Stop {
    void run(BurstClient client, Duration time) throws Exception;
  }

  private void expectStopped(LongRequest one, Stop stop, String what, ErrorStatus... wanted)
      throws Exception {
    Duration time = one.quarter();
    try (BurstClient client = suite.service().open(one.model(), BurstSettings.DEFAULT)) {
      for (int i = 0; i < TIMES; i++) {
        long start = System.nanoTime();
        stop.run(client, time);
        if (isStopped(receive(client), wanted)) {
          BurstSuite.send(client, one.request(), ExecutionConfig.DEFAULT);
          Expect.completed("the next request", receive(client));
          return;
        }
        // A device that has become warm meanwhile is faster.
        Duration quarter = Duration.ofNanos((System.nanoTime() - start) / 4);
        time = quarter.compareTo(time) < 0 ? quarter : time;
      }
    }
    throw Expect.failure("it ran on after " + what + ", each of " + TIMES + " times");
  }

  /** False where the execution was done all the same. */
  private static boolean isStopped(ExecutionResult result, ErrorStatus... wanted) {
    if (result instanceof ExecutionResult.Completed) {
      return false;
    }
    Expect.failed(result, wanted);
    return true;
  }

  /** Nobody waits for the result; the memory is let go of when nothing writes it any more. */
  private void closed(LongRequest one) throws Exception {
    TestRequest abandoned = TestRequest.of(one.graph().main());
    try (abandoned;
        BurstClient client = suite.service().open(one.model(), BurstSettings.DEFAULT)) {
      BurstSuite.send(client, abandoned.request(), ExecutionConfig.DEFAULT);
      Thread.sleep(one.quarter());
    }
    ClientChecks.expectUnmapped(abandoned.outputs(), suite.limit());
    Expect.completed(
        "a synchronous execution after it",
        one.model().execute(one.request(), ExecutionConfig.DEFAULT));
  }

  /** An endless loop with a short timeout ends before one with the usual, begun before it. */
  private void loopTimeout() throws Exception {
    Model model = EndlessLoop.model();
    if (!Probes.takes(suite.device(), model)) {
      throw Expect.skip("the device takes no WHILE of ADD and LESS");
    }
    try (PreparedModel prepared = suite.device().prepare(model, PrepareConfig.DEFAULT);
        TestRequest first = TestRequest.of(model.main());
        TestRequest second = TestRequest.of(model.main());
        BurstClient usual = suite.service().open(prepared, BurstSettings.DEFAULT);
        BurstClient hasty = suite.service().open(prepared, BurstSettings.DEFAULT)) {
      BurstSuite.send(usual, first.request(), ExecutionConfig.DEFAULT);
      Thread.sleep(HEAD_START);
      BurstSuite.send(hasty, second.request(), ExecutionConfig.DEFAULT.withLoopTimeout(SHORT));
      Expect.failed(receive(hasty), Expect.missed());
      Expect.that(
          usual.receive(0) == null, "a loop with a timeout of " + SHORT + " ran for the usual one");
      usual.cancel();
      receive(usual);
    }
  }
}
