// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Timing;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.PendingInference;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Requests that are executed as one, four rows at most. */
class JoinerTest extends ServerTest {
  /** Longer than any test waits. */
  private static final String LONG = "m=600000000";

  private void serve(String join, String model) throws Exception {
    server.close();
    joins = new String[] {join};
    server = new ServingComponent(fake.networks(), "1.2.3", settings(1));
    write("m.tflite", model);
    look();
  }

  private static float[] values(PendingInference pending) throws Exception {
    return get(pending).outputs().getFirst().value().toArray(ValueLayout.JAVA_FLOAT);
  }

  private String reason() {
    return server.index().getFirst().reason();
  }

  @Test
  void requestsBecomeOneExecutionAndKeepTheirRows() throws Exception {
    serve(LONG, "times 3");
    PendingInference first = server.infer(request("m", x(1, 2)));
    PendingInference second = server.infer(request("m", x(3, 4, 5, 6)));
    PendingInference third = server.infer(request("m", x(7, 8)));
    InferenceResponse answer = get(second);
    assertEquals(List.of(2L, 2L), answer.outputs().getFirst().shape());
    assertArrayEquals(new float[] {3, 6}, values(first));
    assertArrayEquals(new float[] {9, 12, 15, 18}, values(second));
    assertArrayEquals(new float[] {21, 24}, values(third));
    assertEquals(1, fake.executions.get());
    var statistics = server.statistics(Optional.of("m"), Optional.empty()).getFirst();
    assertEquals(3, statistics.inferenceCount());
    assertEquals(1, statistics.executionCount());
  }

  @Test
  void nobodyWaitsLongerThanTheDelay() throws Exception {
    serve("m=1000", "times 3");
    assertArrayEquals(new float[] {3, 6}, times("m", 1, 2));
  }

  @Test
  void requestsTooLargeToBeJoinedAreAnswered() throws Exception {
    serve("m=1000", "times 2");
    PendingInference small = server.infer(request("m", x(1, 2)));
    PendingInference large = server.infer(request("m", x(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)));
    assertArrayEquals(new float[] {2, 4}, values(small));
    assertEquals(12, values(large).length);
  }

  @Test
  void whereTheJointExecutionFailsEachIsExecutedAlone() throws Exception {
    serve(LONG, "times 3");
    fake.hook =
        run ->
            CompletableFuture.completedFuture(
                run.shape.dimension(0) > 1
                    ? new ExecutionReport(
                        ResultCode.OP_FAILED, "too much", List.of(), Timing.NONE, List.of())
                    : run.run());
    List<PendingInference> four =
        List.of(
            server.infer(request("m", x(1, 2))),
            server.infer(request("m", x(3, 4))),
            server.infer(request("m", x(5, 6))),
            server.infer(request("m", x(7, 8))));
    assertArrayEquals(new float[] {21, 24}, values(four.getLast()));
    assertArrayEquals(new float[] {3, 6}, values(four.getFirst()));
    assertEquals(5, fake.executions.get());
  }

  @Test
  void whoLeftMeanwhileGetsNoAnswer() throws Exception {
    serve(LONG, "times 3");
    PendingInference gone = server.infer(request("m", x(1, 2)));
    gone.cancel();
    PendingInference there = server.infer(request("m", x(3, 4, 5, 6, 7, 8)));
    assertEquals(6, values(there).length);
    assertEquals(Failure.CANCELLED, failure(gone).failure());
  }

  @Test
  void modelsThatCannotBeJoinedAreRefused() throws Exception {
    serve(LONG, "sum");
    assertEquals(
        "m.tflite: its requests cannot be joined: input 'x' has shape [1]: expected one whose first"
            + " dimension alone is open",
        reason());
    fake.warmUp =
        run -> {
          ExecutionReport report = run.run();
          if (run.shape.dimension(0) > 1) {
            run.outputs[0].set(FakeNetworks.FLOAT, 0, 0.25f);
          }
          return report;
        };
    serve(LONG, "times 3");
    assertEquals(
        "m.tflite: its requests cannot be joined: output 'y' of 2 rows together differs from theirs"
            + " alone",
        reason());
  }
}
