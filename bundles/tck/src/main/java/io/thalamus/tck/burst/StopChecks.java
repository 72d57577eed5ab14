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
  /** Each execution may be over before it is stopped: then a later one is stopped earlier. */
  private static final int TIMES = 4;

  /** A device that runs on does so with chains of all lengths. */
  private static final int LENGTHS = 4;

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

  /** Something that is done with a long request. Returns false where it was over too soon. */
  @FunctionalInterface
  private interface Body {
    boolean run(LongRequest request) throws Exception;
  }

  /**
   * A request that takes long, with checkpoints on the way.
   *
   * @param quarter of the time that it takes synchronously
   */
  private record LongRequest(PreparedModel model, Model graph, Request request, Duration quarter) {}

  /**
   * Finds a chain that is long on this device, whether that is slow or fast. What is measured on a
   * busy machine may be a hundred times what the next one takes: then longer chains follow.
   */
  private void longOne(Body body) throws Exception {
    for (OperationCode operation : List.of(OperationCode.RELU, OperationCode.ADD)) {
      int tried = 0;
      for (int elements = FEWEST;
          elements <= MOST
              && tried < LENGTHS
              && Probes.takes(suite.device(), chain(operation, elements));
          elements *= 2) {
        Model chain = chain(operation, elements);
        try (PreparedModel model = suite.device().prepare(chain, PrepareConfig.DEFAULT);
            TestRequest memory = TestRequest.of(chain.main())) {
          Duration first = time(model, memory.request());
          Duration second = time(model, memory.request());
          Duration time = first.compareTo(second) < 0 ? first : second;
          if (time.compareTo(LONG) >= 0 || elements == MOST) {
            if (body.run(new LongRequest(model, chain, memory.request(), time.dividedBy(4)))) {
              return;
            }
            tried++;
          }
        }
      }
      Expect.that(tried == 0, "it ran on to its end, however long that was");
    }
    throw Expect.skip("the device takes no long chain of RELU or ADD");
  }

  private static Duration time(PreparedModel model, Request request) {
    long start = System.nanoTime();
    Expect.completed("synchronously it", model.execute(request, ExecutionConfig.DEFAULT));
    return Duration.ofNanos(System.nanoTime() - start);
  }

  private static Model chain(OperationCode operation, int elements) {
    return TestGraph.chain(operation, CHAIN, elements);
  }

  private ExecutionResult receive(BurstClient client) {
    return BurstSuite.receive(client, suite.limit());
  }

  private boolean deadline(LongRequest one) throws Exception {
    return isStopped(
        one,
        (client, time) ->
            BurstSuite.send(
                client, one.request(), ExecutionConfig.DEFAULT.with(Deadline.after(time))),
        Expect.missed());
  }

  private boolean cancelled(LongRequest one) throws Exception {
    return isStopped(
        one,
        (client, time) -> {
          long before = client.statistics().executions();
          BurstSuite.send(client, one.request(), ExecutionConfig.DEFAULT);
          // One that has not begun is stopped without a word of the device. A server that has not
          // counted the first one never does.
          long end = System.nanoTime() + (before > 0 ? suite.limit() : time).toNanos();
          while (client.statistics().executions() == before && System.nanoTime() - end < 0) {
            Thread.yield();
          }
          client.cancel();
        },
        ErrorStatus.GENERAL_FAILURE);
  }

  /** Sends a request and stops it after some time. */
  @FunctionalInterface
  private interface Stop {
    void run(BurstClient client, Duration time) throws Exception;
  }

  private boolean isStopped(LongRequest one, Stop stop, ErrorStatus... wanted) throws Exception {
    Duration time = one.quarter();
    try (BurstClient client = suite.service().open(one.model(), BurstSettings.DEFAULT)) {
      BurstSuite.send(client, one.request(), ExecutionConfig.DEFAULT);
      Expect.completed("the first request", receive(client));
      for (int i = 0; i < TIMES; i++) {
        stop.run(client, time);
        ExecutionResult result = receive(client);
        if (!(result instanceof ExecutionResult.Completed)) {
          Expect.failed(result, wanted);
          BurstSuite.send(client, one.request(), ExecutionConfig.DEFAULT);
          Expect.completed("the next request", receive(client));
          return true;
        }
        time = time.dividedBy(4);
      }
    }
    return false;
  }

  /** Nobody waits for the result; the memory is let go of when nothing writes it any more. */
  private boolean closed(LongRequest one) throws Exception {
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
    return true;
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
