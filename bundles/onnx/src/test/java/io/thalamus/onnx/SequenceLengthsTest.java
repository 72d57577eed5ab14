// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.reals;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static io.thalamus.onnx.OnnxFileBuilder.texts;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.tck.check.TestGraph;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Recurrent layers over sequences of different length: each is what it is alone. */
class SequenceLengthsTest {
  private static final int INT32 = 6;
  private static final int STEPS = 4;
  private static final int SIZE = 2;
  private static final int[] LENGTHS = {4, 2, 3};

  private final Random random = new Random(23);

  private float[] numbers(int count) {
    return Gaussians.floats(random, count);
  }

  private List<float[]> run(
      String type, int steps, int batch, float[] w, float[] r, float[] x, int... lengths)
      throws Exception {
    int gates = type.equals("LSTM") ? 4 : type.equals("GRU") ? 3 : 1;
    boolean hasLengths = lengths.length > 0;
    OnnxFileBuilder file = new OnnxFileBuilder().input("x", FLOAT, steps, batch, SIZE);
    if (hasLengths) {
      file.input("lengths", INT32, batch);
    }
    file.floats("w", new long[] {2, gates * SIZE, SIZE}, w)
        .floats("r", new long[] {2, gates * SIZE, SIZE}, r)
        .node(
            type,
            List.of("x", "w", "r", "", hasLengths ? "lengths" : ""),
            gates == 4 ? List.of("y", "h", "c") : List.of("y", "h"),
            integer("hidden_size", SIZE),
            text("direction", "bidirectional"))
        .output("y", FLOAT, steps, 2, batch, SIZE)
        .output("h", FLOAT, 2, batch, SIZE);
    if (gates == 4) {
      file.output("c", FLOAT, 2, batch, SIZE);
    }
    Model model = TestFiles.read(file.build());
    byte[] data = TestGraph.bytes(x);
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      List<byte[]> results =
          hasLengths
              ? TestGraph.run(prepared, model.main(), data, TestGraph.bytes(lengths))
              : TestGraph.run(prepared, model.main(), data);
      return results.stream().map(TestGraph::floats).toList();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"LSTM", "GRU", "RNN"})
  void eachSequenceIsWhatItIsAlone(String type) throws Exception {
    int batch = LENGTHS.length;
    int gates = type.equals("LSTM") ? 4 : type.equals("GRU") ? 3 : 1;
    float[] w = numbers(2 * gates * SIZE * SIZE);
    float[] r = numbers(2 * gates * SIZE * SIZE);
    float[] x = numbers(STEPS * batch * SIZE);
    List<float[]> together = run(type, STEPS, batch, w, r, x, LENGTHS);
    for (int b = 0; b < batch; b++) {
      float[] own = new float[LENGTHS[b] * SIZE];
      for (int t = 0; t < LENGTHS[b]; t++) {
        System.arraycopy(x, (t * batch + b) * SIZE, own, t * SIZE, SIZE);
      }
      List<float[]> alone = run(type, LENGTHS[b], 1, w, r, own);
      for (int t = 0; t < STEPS; t++) {
        for (int d = 0; d < 2; d++) {
          int from = ((t * 2 + d) * batch + b) * SIZE;
          float[] found = Arrays.copyOfRange(together.get(0), from, from + SIZE);
          int at = (t * 2 + d) * SIZE;
          float[] expected =
              t < LENGTHS[b] ? Arrays.copyOfRange(alone.get(0), at, at + SIZE) : new float[SIZE];
          assertArrayEquals(expected, found, 1e-5f);
        }
      }
      assertEquals(gates == 4 ? 3 : 2, together.size());
      for (int output = 1; output < together.size(); output++) {
        for (int d = 0; d < 2; d++) {
          int from = (d * batch + b) * SIZE;
          assertArrayEquals(
              Arrays.copyOfRange(alone.get(output), d * SIZE, d * SIZE + SIZE),
              Arrays.copyOfRange(together.get(output), from, from + SIZE),
              1e-5f);
        }
      }
    }
  }

  /** States of a sequence without steps are 0, though the first ones are given. */
  @ParameterizedTest
  @CsvSource({"LSTM, h", "LSTM, c", "GRU, h", "RNN, h"})
  void noStepsLeaveNoState(String type, String state) throws Exception {
    int gates = type.equals("LSTM") ? 4 : type.equals("GRU") ? 3 : 1;
    OnnxFileBuilder file =
        new OnnxFileBuilder()
            .input("x", FLOAT, 2, 2, 1)
            .bytes("lengths", INT32, new long[] {2}, 0, 0, 0, 0, 2, 0, 0, 0)
            .floats("w", new long[] {1, gates, 1}, numbers(gates))
            .floats("r", new long[] {1, gates, 1}, numbers(gates))
            .floats("first", new long[] {1, 2, 1}, 5, 6)
            .node(
                type,
                gates == 4
                    ? List.of("x", "w", "r", "", "lengths", "first", "first")
                    : List.of("x", "w", "r", "", "lengths", "first"),
                gates == 4 ? List.of("y", "h", "c") : List.of("y", "h"),
                integer("hidden_size", 1))
            .output(state, FLOAT, 1, 2, 1);
    float[] found = TestFiles.run(file, numbers(4));
    assertEquals(0, found[0]);
    assertNotEquals(0, found[1]);
  }

  /** Cells take the numbers of their functions in turns; some have none, some are left out. */
  @ParameterizedTest
  @CsvSource({
    "Affine, 0.5, 3, 4, 2, 1",
    "LeakyRelu, 0.5, 3, 2, -1, -2",
    "ThresholdedRelu, 1, 3, 2, 0, 0",
    "ScaledTanh, 2, 3, 1.99998, -1.99998, -2",
    "HardSigmoid, 0.25, 0.5, 1, 0, 0",
    "Elu, 2, 3, 2, -1.72933, -1.96337",
    "Softsign, 0.5, 3, 0.66667, -0.66667, -0.8",
    "Softplus, 0.5, 3, 2.12693, 0.12693, 0.01815"
  })
  void functionsOfCells(
      String function, float alpha, float beta, float first, float second, float third)
      throws Exception {
    OnnxFileBuilder file =
        new OnnxFileBuilder()
            .input("x", FLOAT, 1, 3, 1)
            .floats("w", new long[] {2, 1, 1}, 1, 1)
            .floats("r", new long[] {2, 1, 1}, 0, 0)
            .node(
                "RNN",
                List.of("x", "w", "r"),
                "y",
                integer("hidden_size", 1),
                texts("activations", "Elu", function),
                reals("activation_alpha", 0.75f, alpha),
                reals("activation_beta", beta),
                text("direction", "bidirectional"))
            .output("y", FLOAT, 1, 2, 3, 1);
    float[] found = TestFiles.run(file, 2, -2, -4);
    float[] elu = {2, 0.75f * (float) Math.expm1(-2), 0.75f * (float) Math.expm1(-4)};
    assertArrayEquals(elu, Arrays.copyOf(found, 3), 1e-5f);
    float[] expected = {first, second, third};
    assertArrayEquals(expected, Arrays.copyOfRange(found, 3, 6), 2e-5f);
  }
}
