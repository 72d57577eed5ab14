// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.reader.ModelFormatException;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** ONNX Runtime's own operators that keep a state from step to step, beside their definitions. */
class StatefulStepsTest {
  private static final String DOMAIN = "com.microsoft.";
  private static final int STEPS = 3;
  private static final int SIZE = 4;
  private static final int WIDTH = 5;

  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private float[] numbers(int count) {
    float[] numbers = new float[count];
    for (int i = 0; i < count; i++) {
      numbers[i] = (float) random.nextGaussian() / 2;
    }
    return numbers;
  }

  private void assertNear(double[] expected, float[] actual) {
    double[] numbers = IntStream.range(0, actual.length).mapToDouble(i -> actual[i]).toArray();
    assertArrayEquals(expected, numbers, 1e-4, "seed " + seed);
  }

  /** Several states may share a key, and several a query, as those of Qwen's networks do. */
  @ParameterizedTest
  @CsvSource({"2,2,2", "4,2,2", "2,2,4", "2,4,4", "1,1,3"})
  void statesReadAndChangedByEachStep(int queries, int keys, int states) throws Exception {
    float[] q = numbers(STEPS * queries * SIZE);
    float[] k = numbers(STEPS * keys * SIZE);
    float[] v = numbers(STEPS * states * WIDTH);
    float[] past = numbers(states * SIZE * WIDTH);
    float[] decay = numbers(STEPS * states);
    float[] rate = numbers(STEPS * states);
    file.input("q", FLOAT, 1, STEPS, queries * SIZE)
        .floats("k", new long[] {1, STEPS, keys * SIZE}, k)
        .floats("v", new long[] {1, STEPS, states * WIDTH}, v)
        .floats("past", new long[] {1, states, SIZE, WIDTH}, past)
        .floats("decay", new long[] {1, STEPS, states}, decay)
        .floats("rate", new long[] {1, STEPS, states}, rate)
        .node(
            DOMAIN + "LinearAttention",
            List.of("q", "k", "v", "past", "decay", "rate"),
            List.of("y", "present"),
            integer("q_num_heads", queries),
            integer("kv_num_heads", states))
        .output("y", FLOAT, 1, STEPS, Math.max(queries, states) * WIDTH);
    double[] state = IntStream.range(0, past.length).mapToDouble(i -> past[i]).toArray();
    int heads = Math.max(queries, states);
    double[] expected = new double[STEPS * heads * WIDTH];
    for (int t = 0; t < STEPS; t++) {
      for (int h = 0; h < states; h++) {
        int key = (t * keys + h * keys / states) * SIZE;
        for (int w = 0; w < WIDTH; w++) {
          double known = 0;
          for (int i = 0; i < SIZE; i++) {
            int cell = (h * SIZE + i) * WIDTH + w;
            state[cell] *= Math.exp(decay[t * states + h]);
            known += k[key + i] * state[cell];
          }
          double change = rate[t * states + h] * (v[(t * states + h) * WIDTH + w] - known);
          for (int i = 0; i < SIZE; i++) {
            state[(h * SIZE + i) * WIDTH + w] += k[key + i] * change;
          }
        }
      }
      for (int at = 0; at < heads * WIDTH; at++) {
        int h = at / WIDTH;
        for (int i = 0; i < SIZE; i++) {
          double asked = q[(t * queries + h * queries / heads) * SIZE + i] / Math.sqrt(SIZE);
          expected[t * heads * WIDTH + at] +=
              asked * state[(h * states / heads * SIZE + i) * WIDTH + at % WIDTH];
        }
      }
    }
    assertNear(expected, TestFiles.run(file, q));
  }

  /** Channels may be first or last, in two dimensions too, and what is seen may be apart. */
  @ParameterizedTest
  @CsvSource({"1,0", "2,0", "1,1", "3,1"})
  void convolutionsOfWhatWasBefore(int dilation, int last) throws Exception {
    int channels = 4;
    int steps = 5;
    int before = 2 * dilation;
    float[] x = numbers(channels * steps);
    float[] past = numbers(channels * before);
    float[] w = numbers(channels * 3);
    float[] b = numbers(channels);
    long[] input = last == 1 ? new long[] {1, steps, 2, 2} : new long[] {1, channels, steps};
    long[] kept = last == 1 ? new long[] {1, before, 2, 2} : new long[] {1, channels, before};
    file.input("x", FLOAT, input)
        .floats("w", new long[] {channels, 1, 3}, w)
        .floats("b", new long[] {channels}, b)
        .floats("past", kept, past)
        .node(
            DOMAIN + "CausalConvWithState",
            List.of("x", "w", "b", "past"),
            List.of("y", "present"),
            text("activation", "silu"),
            integer("dilation", dilation),
            integer("channels_last", last))
        .output("y", FLOAT, input);
    double[] expected = new double[channels * steps];
    for (int c = 0; c < channels; c++) {
      for (int t = 0; t < steps; t++) {
        double sum = b[c];
        for (int j = 0; j < 3; j++) {
          int from = t + j * dilation;
          boolean isPast = from < before;
          int at = isPast ? from : from - before;
          int length = isPast ? before : steps;
          sum +=
              w[c * 3 + j] * (isPast ? past : x)[last == 1 ? at * channels + c : c * length + at];
        }
        expected[last == 1 ? t * channels + c : c * steps + t] = sum / (1 + Math.exp(-sum));
      }
    }
    assertNear(expected, TestFiles.run(file, x));
  }

  @Test
  void statesOfSeveralStepsAreRefused() {
    file.input("q", FLOAT, 1, 2, 4)
        .node(
            DOMAIN + "LinearAttention",
            List.of("q", "q", "q"),
            List.of("y", "present"),
            integer("q_num_heads", 1),
            integer("kv_num_heads", 1),
            integer("state_window", 2),
            text("update_rule", "linear"))
        .output("y", FLOAT, 1, 2, 4);
    ModelFormatException refused =
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()));
    assertTrue(
        refused.getMessage().contains("it keeps the states of several steps"),
        refused.getMessage());
  }
}
