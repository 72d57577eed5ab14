// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.ModelMetadata;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.ServingException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Files that leave dimensions open, and are read and compiled for each size. */
class OpenShapesTest extends ServerTest {
  /** The first version, and eight for other dimensions: a model and a compilation each. */
  private static final int MOST_OPEN = 2 * 9;

  @BeforeEach
  void writeModel() throws Exception {
    write("a.tflite", "open 3");
    look();
  }

  private static float[] row(int rows, int first) {
    float[] values = new float[2 * rows];
    for (int i = 0; i < values.length; i++) {
      values[i] = first + i;
    }
    return values;
  }

  private void check(int rows, int first) throws Exception {
    check(server.infer(request("a", x(row(rows, first)))), rows, first);
  }

  private static void check(PendingInference pending, int rows, int first) throws Exception {
    InferenceResponse response = get(pending);
    assertEquals(List.of((long) rows, 2L), response.outputs().getFirst().shape());
    float[] expected = row(rows, first);
    for (int i = 0; i < expected.length; i++) {
      expected[i] *= 3;
    }
    assertArrayEquals(
        expected, response.outputs().getFirst().value().toArray(ValueLayout.JAVA_FLOAT));
  }

  @Test
  void clientsSeeWhichDimensionsAreOpenOrWhatTheFileStatesForThem() throws Exception {
    ModelMetadata stated = server.metadata("a", Optional.empty());
    assertEquals(List.of(1L, 2L), stated.inputs().getFirst().shape());
    assertEquals(List.of(1L, 2L), stated.outputs().getFirst().shape());
    fake.format = "ONNX";
    write("b.onnx", "open 3");
    look();
    look();
    ModelMetadata metadata = server.metadata("b", Optional.empty());
    assertEquals(List.of(-1L, 2L), metadata.inputs().getFirst().shape());
    assertEquals(List.of(-1L, 2L), metadata.outputs().getFirst().shape());
  }

  @Test
  void eachSizeIsCompiledOnce() throws Exception {
    assertEquals(1, fake.compilations.get());
    check(1, 7);
    assertEquals(1, fake.compilations.get(), "the file was read for one row");
    check(3, 1);
    check(3, 2);
    check(1, 3);
    assertEquals(2, fake.compilations.get());
  }

  @Test
  void requestsThatComeAtOnceWaitForOneCompilation() throws Exception {
    List<PendingInference> pending = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      pending.add(server.infer(request("a", x(row(4, i)))));
    }
    for (int i = 0; i < 20; i++) {
      check(pending.get(i), 4, i);
    }
    assertEquals(2, fake.compilations.get());
  }

  @Test
  void moreThanEightStayIfTheyAreSmall() throws Exception {
    for (int i = 0; i < 40; i++) {
      check(1 + i % 20, i);
    }
    assertEquals(20, fake.compilations.get(), "the file was read for one row");
    assertEquals(2 * 20, fake.open.get());
    Files.delete(folder.resolve("a.tflite"));
    look();
    look();
    eventually(() -> fake.open.get() == 0);
  }

  @Test
  void theLatestEightStayIfTheyAreLarge() throws Exception {
    fake.ownBytes = 100L << 20;
    for (int rows = 1; rows <= 20; rows++) {
      check(rows, rows);
    }
    eventually(() -> fake.open.get() == MOST_OPEN);
    assertEquals(20, fake.compilations.get());
    check(20, 1);
    check(13, 1);
    assertEquals(20, fake.compilations.get());
    check(12, 1);
    assertEquals(21, fake.compilations.get(), "12 had made room");
  }

  @Test
  void aSizeThatTheModelCannotTakeIsToldAndNothingIsLost() throws Exception {
    int tooMany = fake.mostRows + 1;
    for (int i = 0; i < 2; i++) {
      ServingException failed = failure(server.infer(request("a", x(row(tooMany, 1)))));
      assertEquals(Failure.INVALID_ARGUMENT, failed.failure());
      assertEquals(
          "the model cannot take these dimensions: too many rows for it", failed.getMessage());
    }
    check(2, 5);
  }

  @Test
  void aFileThatWasWrittenForOneBatchSaysSo() throws Exception {
    fake.mostRows = 1;
    write("b.tflite", "open 2");
    look();
    look();
    ModelMetadata metadata = server.metadata("b", Optional.empty());
    assertEquals(List.of(1L, 2L), metadata.inputs().getFirst().shape());
    assertEquals(List.of(1L, 2L), metadata.outputs().getFirst().shape());
    assertEquals(
        "input 'x' has shape [2, 2]: expected [1, 2]",
        failure(server.infer(request("b", x(row(2, 1))))).getMessage());
  }

  @Test
  void aNewFileTakesAllSizesAlong() throws Exception {
    check(1, 1);
    check(5, 1);
    write("a.tflite", "times 3");
    look();
    look();
    check(5, 2);
    eventually(() -> fake.open.get() == 2);
  }

  /** Four rows at most are joined, in batches of 1, 2 and 4. */
  @Test
  void theirRequestsAreJoinedIntoBatchesOfFewSizes() throws Exception {
    server.close();
    joins = new String[] {"a=600000000"};
    open();
    look();
    int compiled = fake.compilations.get();
    List<PendingInference> pending = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      pending.add(server.infer(request("a", x(row(1, i)))));
    }
    for (int i = 0; i < 4; i++) {
      check(pending.get(i), 1, i);
    }
    assertEquals(1, fake.executions.get());
    PendingInference three = server.infer(request("a", x(row(3, 7))));
    check(server.infer(request("a", x(row(1, 8)))), 1, 8);
    check(three, 3, 7);
    assertEquals(2, fake.executions.get());
    assertEquals(compiled, fake.compilations.get(), "all sizes were tried before it served");
    check(server.infer(request("a", x(row(6, 1)))), 6, 1);
  }

  @Test
  void rowsThatNobodySentAreZeros() throws Exception {
    server.close();
    joins = new String[] {"a=100000"};
    open();
    look();
    List<Float> padding = new ArrayList<>();
    fake.hook =
        run -> {
          padding.add(run.inputs[0].getAtIndex(FakeNetworks.FLOAT, 6));
          return CompletableFuture.completedFuture(run.run());
        };
    PendingInference two = server.infer(request("a", x(row(2, 5))));
    PendingInference again = server.infer(request("a", x(row(2, 5))));
    check(two, 2, 5);
    check(again, 2, 5);
    two = server.infer(request("a", x(row(2, 5))));
    check(server.infer(request("a", x(row(1, 5)))), 1, 5);
    check(two, 2, 5);
    assertEquals(List.of(7f, 0f), padding);
  }
}
