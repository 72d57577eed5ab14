// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Priority;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceRequest.Sequence;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.ServingException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Sequences on a model that adds what it gets to its state, and answers twice the sum. */
class SequencesTest extends ServerTest {
  @BeforeEach
  void load() throws Exception {
    server.close();
    states = new String[] {"m:t=s"};
    server = new ServingComponent(fake.networks(), "1.2.3", settings(1));
    write("m.tflite", "sum");
    look();
  }

  private static InferenceRequest request(String client, float value, Sequence sequence) {
    Input x =
        new Input(
            "x",
            Datatype.FP32,
            List.of(1L),
            Arena.ofAuto().allocateFrom(FakeNetworks.FLOAT, value));
    return new InferenceRequest(
        "m",
        Optional.empty(),
        "",
        List.of(x),
        List.of(),
        (output, bytes) -> Arena.ofAuto().allocate(bytes, 64),
        System.nanoTime(),
        Optional.empty(),
        Priority.MEDIUM,
        Optional.ofNullable(sequence),
        Optional.of(client),
        false,
        Optional.empty());
  }

  private static Sequence begin(String id) {
    return new Sequence(id, true, false);
  }

  private static Sequence next(String id) {
    return new Sequence(id, false, false);
  }

  private PendingInference start(float value, Sequence sequence) {
    return server.infer(request("anna", value, sequence));
  }

  private static float value(PendingInference pending) throws Exception {
    InferenceResponse response = get(pending);
    assertEquals(1, response.outputs().size(), "the state is hidden");
    return response.outputs().getFirst().value().get(FakeNetworks.FLOAT, 0);
  }

  @Test
  void eachSequenceHasAStateOfItsOwn() throws Exception {
    assertEquals(
        List.of("x"),
        server.metadata("m", Optional.empty()).inputs().stream().map(each -> each.name()).toList());
    assertEquals(2, value(start(1, begin("1"))));
    assertEquals(20, value(start(10, begin("2"))));
    assertEquals(6, value(start(2, next("1"))));
    assertEquals(60, value(start(20, next("2"))));
    assertEquals(12, value(start(3, new Sequence("1", false, true))));
    assertEquals(Failure.INVALID_ARGUMENT, failure(start(4, next("1"))).failure());
    assertEquals(100, value(start(20, next("2"))), "the other one goes on");
    assertEquals(14, value(start(7, begin("2"))), "it begins anew");
    assertEquals(10, value(start(5, null)), "without a sequence the state is 0");
    ServingException others = failure(server.infer(request("bob", 1, next("2"))));
    assertEquals(
        "sequence_id '2' of model 'm' has not begun, or was idle for too long: expected"
            + " sequence_start",
        others.getMessage());
  }

  @Test
  void aSequenceBeginsWithTheFirstValueOfTheFile() throws Exception {
    write("m.tflite", "sum 5");
    look();
    look();
    assertEquals(12, value(start(1, null)));
    assertEquals(12, value(start(1, begin("1"))));
    assertEquals(16, value(start(2, next("1"))));
    assertEquals(22, value(start(3, next("1"))));
  }

  @Test
  void requestsOfOneSequenceAreExecutedInTurn() throws Exception {
    value(start(1, begin("1")));
    CompletableFuture<Void> gate = new CompletableFuture<>();
    fake.hook = run -> gate.thenApply(done -> run.run());
    PendingInference second = start(10, next("1"));
    fake.hook = run -> CompletableFuture.completedFuture(run.run());
    PendingInference third = start(100, next("1"));
    PendingInference fourth = start(1000, new Sequence("1", false, true));
    third.cancel();
    assertFalse(fourth.completion().isDone());
    gate.complete(null);
    assertEquals(22, value(second));
    assertEquals(Failure.CANCELLED, failure(third).failure());
    assertEquals(2022, value(fourth));
  }

  @Test
  void aFailureChangesNoState() throws Exception {
    value(start(1, begin("1")));
    fake.hook =
        run -> {
          run.run();
          return CompletableFuture.completedFuture(
              ExecutionReport.failed(ResultCode.OP_FAILED, "after it was written"));
        };
    failure(start(5, next("1")));
    fake.hook = run -> CompletableFuture.completedFuture(run.run());
    assertEquals(4, value(start(1, next("1"))));
  }

  @Test
  void aSequenceStaysOnItsVersion() throws Exception {
    value(start(1, begin("1")));
    write("m/2/model.tflite", "sum");
    Files.delete(folder.resolve("m.tflite"));
    look();
    look();
    assertEquals("1", get(start(1, next("1"))).version());
    assertEquals("2", get(start(1, begin("2"))).version());
    assertEquals("1", get(start(1, new Sequence("1", false, true))).version());
    eventually(() -> fake.open.get() == 2);
  }

  @Test
  void thereAreOnlySoManyAndIdleOnesAreForgotten() throws Exception {
    value(start(1, begin("1")));
    value(start(1, begin("2")));
    ServingException third = failure(start(1, begin("3")));
    assertEquals(Failure.BUSY, third.failure());
    assertEquals(10, value(start(5, begin("2"))));
    PendingInference[] admitted = new PendingInference[1];
    eventually(
        () -> {
          server.sequences().sweep();
          admitted[0] = start(1, begin("3"));
          return admitted[0].completion().handle((answer, failure) -> failure == null).get();
        });
    assertEquals(2, value(admitted[0]));
    assertEquals(Failure.INVALID_ARGUMENT, failure(start(1, next("1"))).failure());
  }

  @Test
  void aModelWithoutStatesHasNoSequences() throws Exception {
    write("n.tflite", "times 2");
    look();
    look();
    InferenceRequest plain = request("n", x(1, 2));
    InferenceRequest request =
        new InferenceRequest(
            "n",
            Optional.empty(),
            "",
            plain.inputs(),
            List.of(),
            plain.allocator(),
            plain.arrivalNanos(),
            Optional.empty(),
            Priority.MEDIUM,
            Optional.of(begin("1")),
            Optional.empty(),
            false,
            Optional.empty());
    assertEquals(Failure.UNSUPPORTED, failure(server.infer(request)).failure());
  }

  @Test
  void statesMustBeOfTheModel() throws Exception {
    server.close();
    states = new String[] {"m:y=z"};
    server = new ServingComponent(fake.networks(), "1.2.3", settings(1));
    look();
    assertEquals(
        "m.tflite: the model has no input 'z': expected 'x', 's'",
        server.index().getFirst().reason());
    states = new String[] {"m"};
    assertThrows(
        IllegalArgumentException.class,
        () -> new ServingComponent(fake.networks(), "1.2.3", settings(1)));
  }
}
