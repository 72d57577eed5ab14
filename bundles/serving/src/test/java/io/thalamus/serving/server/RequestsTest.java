// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Priority;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.ServingListener;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests, from their checks to their statistics. */
class RequestsTest extends ServerTest {
  @BeforeEach
  void load() throws Exception {
    write("m.tflite", "times 3");
    look();
  }

  @Test
  void answersByNameWithShapesAndTimes() throws Exception {
    InferenceResponse response = get(server.infer(request("m", x(1, 2, 3, 4))));
    assertEquals("m", response.model());
    assertEquals("1", response.version());
    assertEquals(List.of(2L, 2L), response.outputs().getFirst().shape());
    assertArrayEquals(
        new float[] {3, 6, 9, 12},
        response.outputs().getFirst().value().toArray(ValueLayout.JAVA_FLOAT));
    assertEquals("y", response.outputs().getFirst().metadata().name());
    assertEquals(List.of(-1L, 2L), response.outputs().getFirst().metadata().shape());
    assertEquals(1, response.attempts());
    assertTrue(response.times().total() >= response.times().computeInput());
  }

  @Test
  void anOutputOfUnknownSizeGetsRoom() throws Exception {
    float[] many = new float[40_000];
    many[39_999] = 5;
    List<Long> sizes = new ArrayList<>();
    InferenceRequest request =
        InferenceRequest.of(
            "m",
            List.of(x(many)),
            (output, bytes) -> {
              sizes.add(bytes);
              return Arena.ofAuto().allocate(bytes, 64);
            });
    InferenceResponse response = get(server.infer(request));
    assertEquals(160_000, response.outputs().getFirst().value().byteSize());
    assertEquals(15, response.outputs().getFirst().value().get(FakeNetworks.FLOAT, 159_996));
    assertEquals(2, response.attempts());
    assertEquals(2, sizes.size());
  }

  @Test
  void mistakesAreNamed() {
    Input good = x(1, 2);
    Input alien = new Input("z", Datatype.FP32, List.of(1L, 2L), good.value());
    Input whole = new Input("x", Datatype.INT32, List.of(1L, 2L), good.value());
    Input flat = new Input("x", Datatype.FP32, List.of(2L), good.value());
    Input empty = new Input("x", Datatype.FP32, List.of(0L, 2L), good.value());
    Input wide = new Input("x", Datatype.FP32, List.of(1L, 3L), good.value());
    Input small = new Input("x", Datatype.FP32, List.of(1L, 2L), good.value().asSlice(0, 7));
    Input huge = new Input("x", Datatype.FP32, List.of(2147483647L, 2L), good.value());
    Map<List<Input>, String> messages =
        Map.of(
            List.of(), "input 'x' is missing: expected FP32 [-1, 2], and the request has no inputs",
            List.of(alien), "the model has no input 'z': expected 'x'",
            List.of(good, good), "input 'x' is given twice",
            List.of(whole), "input 'x' is of datatype INT32: expected FP32",
            List.of(flat), "input 'x' has shape [2]: expected [-1, 2]",
            List.of(empty),
                "input 'x' has shape [0, 2]: expected [-1, 2]; a dimension of 0 is not served",
            List.of(wide), "input 'x' has shape [1, 3]: expected [-1, 2]",
            List.of(small), "input 'x' has 7 bytes: expected 8 for FP32 [1, 2]",
            List.of(huge), "input 'x' has 8 bytes: expected 17179869176 for FP32 [2147483647, 2]");
    messages.forEach(
        (inputs, message) -> {
          ServingException failure =
              failure(server.infer(request("m", inputs.toArray(Input[]::new))));
          assertEquals(Failure.INVALID_ARGUMENT, failure.failure());
          assertEquals(message, failure.getMessage());
        });
    assertEquals(
        "the model has no output 'q': expected 'y'",
        failure(server.infer(wanted("q"))).getMessage());
    assertEquals(
        "output 'y' is asked for twice", failure(server.infer(wanted("y", "y"))).getMessage());
    assertEquals(0, fake.executions.get());
  }

  private static InferenceRequest wanted(String... outputs) {
    InferenceRequest plain = request("m", x(1, 2));
    return new InferenceRequest(
        "m",
        Optional.empty(),
        "",
        plain.inputs(),
        List.of(outputs),
        plain.allocator(),
        plain.arrivalNanos(),
        Optional.empty(),
        Priority.MEDIUM,
        Optional.empty(),
        Optional.empty(),
        false,
        Optional.empty());
  }

  private static InferenceRequest late(Duration since, Duration timeout) {
    InferenceRequest plain = request("m", x(1, 2));
    return new InferenceRequest(
        "m",
        Optional.of("1"),
        "id",
        plain.inputs(),
        List.of("y"),
        plain.allocator(),
        System.nanoTime() - since.toNanos(),
        Optional.of(timeout),
        Priority.HIGH,
        Optional.empty(),
        Optional.of("anna"),
        false,
        Optional.empty());
  }

  @Test
  void whatIsNotThereIsNotFound() {
    ServingException model = failure(server.infer(request("n", x(1, 2))));
    assertEquals(Failure.NOT_FOUND, model.failure());
    assertEquals("there is no model 'n': the server has m", model.getMessage());
  }

  @Test
  void namesOfManyLinesMakeNoMessageOfManyLines() {
    ServingException model = failure(server.infer(request("n\r\n: 1\t2", x(1, 2))));
    assertEquals("there is no model 'n : 1 2': the server has m", model.getMessage());
  }

  @Test
  void theTimeLimitCountsFromTheArrival() throws Exception {
    AtomicReference<FakeNetworks.Run> seen = new AtomicReference<>();
    fake.hook =
        run -> {
          seen.set(run);
          return CompletableFuture.completedFuture(run.run());
        };
    get(server.infer(late(Duration.ofSeconds(100), Duration.ofSeconds(1_000))));
    Duration left = seen.get().timeout.orElseThrow();
    assertTrue(left.compareTo(Duration.ofSeconds(900)) <= 0, left.toString());
    assertEquals(Priority.HIGH, seen.get().priority);
    assertEquals("anna", seen.get().client);
    int before = fake.executions.get();
    ServingException over =
        failure(server.infer(late(Duration.ofSeconds(2), Duration.ofSeconds(1))));
    assertEquals(Failure.DEADLINE_EXCEEDED, over.failure());
    assertEquals(before, fake.executions.get());
  }

  @Test
  void aCancelledRequestEndsWhenItsExecutionHasStopped() throws Exception {
    CompletableFuture<ExecutionReport> report = new CompletableFuture<>();
    CompletableFuture<Void> stopped = new CompletableFuture<>();
    fake.hook =
        run -> {
          run.onStop = () -> stopped.complete(null);
          return report;
        };
    PendingInference pending = server.infer(request("m", x(1, 2)));
    assertFalse(pending.completion().cancel(true), "the future is the server's");
    pending.cancel();
    assertTrue(stopped.isDone());
    assertFalse(pending.completion().isDone(), "its buffers are used");
    report.complete(ExecutionReport.failed(ResultCode.OP_FAILED, "stopped"));
    assertEquals(Failure.CANCELLED, failure(pending).failure());
    assertEquals(
        1, server.statistics(Optional.of("m"), Optional.empty()).getFirst().cancelled().count());
  }

  @Test
  void codesOfTheRuntimeBecomeFailures() {
    Map<ResultCode, Failure> failures =
        Map.of(
            ResultCode.BAD_DATA, Failure.INVALID_ARGUMENT,
            ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, Failure.BUSY,
            ResultCode.RESOURCE_EXHAUSTED_PERSISTENT, Failure.UNPROCESSABLE,
            ResultCode.MISSED_DEADLINE_TRANSIENT, Failure.DEADLINE_EXCEEDED,
            ResultCode.MISSED_DEADLINE_PERSISTENT, Failure.DEADLINE_EXCEEDED,
            ResultCode.OP_FAILED, Failure.INTERNAL,
            ResultCode.DEAD_OBJECT, Failure.UNAVAILABLE);
    failures.forEach(
        (code, failure) -> {
          fake.hook =
              run ->
                  CompletableFuture.completedFuture(
                      ExecutionReport.failed(code, "no", Optional.of(Duration.ofMillis(7))));
          ServingException seen = failure(server.infer(request("m", x(1, 2))));
          assertEquals(failure, seen.failure());
          assertEquals("no", seen.getMessage());
          assertEquals(Optional.of(Duration.ofMillis(7)), seen.retryAfter());
        });
  }

  @Test
  void aDeviceThatWentIsNoFailure() throws Exception {
    fake.hook =
        run -> {
          fake.hook = next -> CompletableFuture.completedFuture(next.run());
          return CompletableFuture.completedFuture(
              ExecutionReport.failed(ResultCode.DEAD_OBJECT, "gone"));
        };
    assertEquals(2, get(server.infer(request("m", x(1, 2)))).attempts());
  }

  @Test
  void faultsOfAllocatorsAndOfTheRuntimeAreAnswered() {
    InferenceRequest bad =
        InferenceRequest.of(
            "m",
            List.of(x(1, 2)),
            (output, bytes) -> {
              throw new ServingException(Failure.TOO_LARGE, "no room for " + output.name());
            });
    assertEquals("no room for y", failure(server.infer(bad)).getMessage());
    fake.hook = run -> CompletableFuture.failedFuture(new IllegalStateException("odd"));
    assertEquals(Failure.INTERNAL, failure(server.infer(request("m", x(1, 2)))).failure());
  }

  @Test
  void listenersAndStatisticsSeeEveryRequest() throws Exception {
    List<String> heard = new ArrayList<>();
    server.addListener(
        new ServingListener() {
          @Override
          public void arrived(String model, String version) {
            heard.add("arrived " + model + "/" + version);
            throw new IllegalStateException("a listener with a fault");
          }

          @Override
          public void ended(EndedRequest request) {
            heard.add("ended " + request.failure() + " after " + request.attempts());
          }
        });
    get(server.infer(request("m", x(1, 2))));
    failure(server.infer(request("m")));
    failure(server.infer(request("n")));
    assertEquals(
        List.of(
            "arrived m/1",
            "ended Optional.empty after 1",
            "arrived m/1",
            "ended Optional[INVALID_ARGUMENT] after 0",
            "ended Optional[NOT_FOUND] after 0"),
        heard);
    ModelStatistics statistics = server.statistics(Optional.empty(), Optional.empty()).getFirst();
    assertEquals(1, statistics.success().count());
    assertEquals(1, statistics.fail().count());
    assertEquals(1, statistics.executionCount());
    assertEquals(0, statistics.pending());
    assertEquals(
        statistics.success().nanos(),
        statistics.queue().nanos()
            + statistics.computeInput().nanos()
            + statistics.computeInfer().nanos()
            + statistics.computeOutput().nanos());
  }

  @Test
  void theEndWaitsForWhatRuns() throws Exception {
    CompletableFuture<ExecutionReport> report = new CompletableFuture<>();
    fake.hook = run -> report.thenApply(done -> run.run());
    PendingInference running = server.infer(request("m", x(1, 2)));
    server.announceEnd();
    assertFalse(server.isReady());
    assertFalse(server.isReady("m", Optional.empty()));
    PendingInference second = server.infer(request("m", x(1, 2)));
    assertFalse(server.drain(Duration.ofMillis(1)), "two still run");
    assertEquals(Failure.UNAVAILABLE, failure(server.infer(request("m", x(1, 2)))).failure());
    report.complete(null);
    assertTrue(server.drain(Duration.ofSeconds(PATIENCE_SECONDS)));
    get(running);
    get(second);
  }
}
