// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Recurrent layers over steps that only an execution counts, or many: beside double precision. */
class OpenStepsTest {
  private static final int INT32 = 6;
  private static final int SIZE = 2;
  private static final int BATCH = 2;

  private final Random random = new Random(41);

  /** One direction in double precision: outputs of all steps, and the last states. */
  private static final class Layer {
    private final String type;
    private final float[] w;
    private final float[] r;
    private final int from;
    final double[] h;
    final double[] c;

    Layer(String type, float[] w, float[] r, int direction, float[] first) {
      this.type = type;
      this.w = w;
      this.r = r;
      this.from = direction * gates(type) * SIZE;
      h = new double[BATCH * SIZE];
      c = new double[BATCH * SIZE];
      for (int i = 0; i < h.length; i++) {
        h[i] = first[direction * h.length + i];
      }
    }

    private double sum(float[] matrix, int gate, int unit, double[] row, int at) {
      double sum = 0;
      for (int i = 0; i < SIZE; i++) {
        sum += matrix[(from + gate * SIZE + unit) * SIZE + i] * row[at + i];
      }
      return sum;
    }

    void step(double[] x, int at, int batch) {
      int own = batch * SIZE;
      double[] next = new double[SIZE];
      double[] memory = new double[SIZE];
      for (int k = 0; k < SIZE; k++) {
        double[] sums = new double[gates(type)];
        for (int g = 0; g < sums.length; g++) {
          sums[g] = sum(w, g, k, x, at) + sum(r, g, k, h, own);
        }
        switch (type) {
          case "LSTM" -> {
            memory[k] = sigmoid(sums[2]) * c[own + k] + sigmoid(sums[0]) * Math.tanh(sums[3]);
            next[k] = sigmoid(sums[1]) * Math.tanh(memory[k]);
          }
          case "GRU" -> {
            double[] kept = new double[SIZE];
            for (int i = 0; i < SIZE; i++) {
              kept[i] = sigmoid(sum(w, 1, i, x, at) + sum(r, 1, i, h, own)) * h[own + i];
            }
            double fresh = Math.tanh(sum(w, 2, k, x, at) + sum(r, 2, k, kept, 0));
            double update = sigmoid(sums[0]);
            next[k] = (1 - update) * fresh + update * h[own + k];
          }
          default -> next[k] = Math.tanh(sums[0]);
        }
      }
      System.arraycopy(next, 0, h, own, SIZE);
      System.arraycopy(memory, 0, c, own, SIZE);
    }

    private static double sigmoid(double x) {
      return 1 / (1 + Math.exp(-x));
    }
  }

  private static int gates(String type) {
    return type.equals("LSTM") ? 4 : type.equals("GRU") ? 3 : 1;
  }

  private float[] numbers(int count) {
    return Gaussians.floats(random, count);
  }

  /**
   * Results of the layer in double precision: y, h and, for LSTM, c; the last two are 0 for
   * sequences of length 0, as in ONNX Runtime.
   */
  private static List<float[]> expected(
      String type, float[] w, float[] r, float[] first, float[] x, int... lengths) {
    int steps = x.length / (BATCH * SIZE);
    double[] wide = new double[x.length];
    for (int i = 0; i < x.length; i++) {
      wide[i] = x[i];
    }
    float[] y = new float[2 * x.length];
    float[] h = new float[2 * BATCH * SIZE];
    float[] c = new float[2 * BATCH * SIZE];
    for (int d = 0; d < 2; d++) {
      Layer layer = new Layer(type, w, r, d, first);
      for (int b = 0; b < BATCH; b++) {
        int length = lengths.length == 0 ? steps : Math.min(lengths[b], steps);
        for (int i = 0; i < length; i++) {
          int t = d == 0 ? i : length - 1 - i;
          layer.step(wide, (t * BATCH + b) * SIZE, b);
          for (int k = 0; k < SIZE; k++) {
            y[((t * 2 + d) * BATCH + b) * SIZE + k] = (float) layer.h[b * SIZE + k];
          }
        }
      }
      for (int i = 0; i < BATCH * SIZE; i++) {
        if (lengths.length > 0 && lengths[i / SIZE] == 0) {
          continue;
        }
        h[d * BATCH * SIZE + i] = (float) layer.h[i];
        c[d * BATCH * SIZE + i] = (float) layer.c[i];
      }
    }
    return type.equals("LSTM") ? List.of(y, h, c) : List.of(y, h);
  }

  /**
   * The layer, over all steps or over those whose first number is positive.
   *
   * @param isChosen whether only an execution determines the steps
   */
  private Model model(
      String type, int steps, boolean isChosen, float[] w, float[] r, float[] first, int... lengths)
      throws Exception {
    int gates = gates(type);
    OnnxFileBuilder file = new OnnxFileBuilder().input("x", FLOAT, steps, BATCH, SIZE);
    String data = "x";
    if (isChosen) {
      file.input("keep", FLOAT, steps)
          .floats("zero", new long[0], 0)
          .node("Greater", List.of("keep", "zero"), "is")
          .node("Compress", List.of("x", "is"), "some", integer("axis", 0));
      data = "some";
    }
    if (lengths.length > 0) {
      file.input("lengths", INT32, BATCH);
    }
    List<String> results = gates == 4 ? List.of("y", "h", "c") : List.of("y", "h");
    file.floats("w", new long[] {2, gates * SIZE, SIZE}, w)
        .floats("r", new long[] {2, gates * SIZE, SIZE}, r)
        .floats("first", new long[] {2, BATCH, SIZE}, first)
        .node(
            type,
            List.of(data, "w", "r", "", lengths.length > 0 ? "lengths" : "", "first"),
            results,
            integer("hidden_size", SIZE),
            text("direction", "bidirectional"))
        .output("y", FLOAT, isChosen ? -1 : steps, 2, BATCH, SIZE);
    for (String result : results.subList(1, results.size())) {
      file.output(result, FLOAT, 2, BATCH, SIZE);
    }
    return TestFiles.read(file.build());
  }

  private void check(Model model, List<float[]> expected, byte[]... inputs) throws Exception {
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      List<byte[]> results = TestGraph.run(prepared, model.main(), inputs);
      assertEquals(expected.size(), results.size());
      for (int i = 0; i < results.size(); i++) {
        assertArrayEquals(expected.get(i), TestGraph.floats(results.get(i)), 1e-5f);
      }
    }
  }

  /** One compiled model over 3, 5, 1 and no steps of five. */
  @ParameterizedTest
  @CsvSource({"LSTM,", "GRU,", "RNN,", "LSTM, 3 1", "GRU, 0 2", "RNN, 1 3"})
  void overChosenSteps(String type, String given) throws Exception {
    int[] lengths = lengths(given);
    float[] w = numbers(2 * gates(type) * SIZE * SIZE);
    float[] r = numbers(2 * gates(type) * SIZE * SIZE);
    float[] first = numbers(2 * BATCH * SIZE);
    Model model = model(type, 5, true, w, r, first, lengths);
    for (float[] keep :
        new float[][] {{1, 0, 1, 1, 0}, {1, 1, 1, 1, 1}, {0, 0, 0, 1, 0}, {0, 0, 0, 0, 0}}) {
      float[] x = numbers(5 * BATCH * SIZE);
      List<byte[]> inputs = new ArrayList<>(List.of(TestGraph.bytes(x), TestGraph.bytes(keep)));
      if (lengths.length > 0) {
        inputs.add(TestGraph.bytes(lengths));
      }
      float[] chosen = chosen(x, keep);
      check(model, expected(type, w, r, first, chosen, lengths), inputs.toArray(byte[][]::new));
    }
  }

  private static int[] lengths(String text) {
    if (text == null) {
      return new int[0];
    }
    String[] parts = text.split(" ");
    int[] lengths = new int[parts.length];
    for (int i = 0; i < lengths.length; i++) {
      lengths[i] = Integer.parseInt(parts[i]);
    }
    return lengths;
  }

  private static float[] chosen(float[] x, float[] keep) {
    float[] chosen = new float[x.length];
    int row = BATCH * SIZE;
    int count = 0;
    for (int t = 0; t < keep.length; t++) {
      if (keep[t] > 0) {
        System.arraycopy(x, t * row, chosen, row * count++, row);
      }
    }
    return Arrays.copyOf(chosen, row * count);
  }

  /** More steps than are written out, each sequence as far as it goes. */
  @ParameterizedTest
  @CsvSource({"LSTM", "GRU", "RNN"})
  void overManySteps(String type) throws Exception {
    int steps = 1030;
    int[] lengths = {1030, 1027};
    float[] w = numbers(2 * gates(type) * SIZE * SIZE);
    float[] r = numbers(2 * gates(type) * SIZE * SIZE);
    float[] first = numbers(2 * BATCH * SIZE);
    float[] x = numbers(steps * BATCH * SIZE);
    check(
        model(type, steps, false, w, r, first, lengths),
        expected(type, w, r, first, x, lengths),
        TestGraph.bytes(x),
        TestGraph.bytes(lengths));
  }
}
