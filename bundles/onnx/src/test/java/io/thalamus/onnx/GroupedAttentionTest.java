// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** GroupQueryAttention beside its definition in float64. */
class GroupedAttentionTest {
  private static final int INT32 = 6;
  private static final int HEADS = 4;
  private static final int SHARED = 2;
  private static final int SIZE = 4;
  private static final int STORED = 3;
  private static final int TABLE = 8;

  private final Random random = new Random(17);
  private int batch;
  private int steps;
  private int total;
  private int[] lengths;
  private double cap;
  private int window;
  private boolean isSmooth;
  private boolean isTurned;

  private float[] numbers(int count) {
    return Gaussians.floats(random, count);
  }

  /** The vector of a step, turned pair by pair as its place says. */
  private double[] vector(float[] values, int first, int place) {
    double[] vector = new double[SIZE];
    for (int i = 0; i < SIZE; i++) {
      vector[i] = values[first + i];
    }
    int half = SIZE / 2;
    for (int i = 0; isTurned && i < half; i++) {
      double angle = place * (i + 1) * 0.3;
      double x = vector[i];
      double y = vector[i + half];
      vector[i] = x * Math.cos(angle) - y * Math.sin(angle);
      vector[i + half] = y * Math.cos(angle) + x * Math.sin(angle);
    }
    return vector;
  }

  private List<double[]> keys(float[] fresh, float[] past, int b, int head, boolean isKey) {
    List<double[]> keys = new ArrayList<>();
    int before = lengths[b] + 1 - steps;
    boolean wasTurned = isTurned;
    isTurned = false;
    for (int i = 0; i < before; i++) {
      keys.add(vector(past, ((b * SHARED + head) * STORED + i) * SIZE, 0));
    }
    isTurned = wasTurned && isKey;
    for (int i = 0; i < steps; i++) {
      keys.add(vector(fresh, ((b * steps + i) * SHARED + head) * SIZE, before + i));
    }
    isTurned = wasTurned;
    return keys;
  }

  private float[] expected(float[] q, float[] k, float[] v, float[] pastK, float[] pastV) {
    float[] result = new float[q.length];
    for (int b = 0; b < batch; b++) {
      for (int h = 0; h < HEADS; h++) {
        List<double[]> keys = keys(k, pastK, b, h / (HEADS / SHARED), true);
        List<double[]> values = keys(v, pastV, b, h / (HEADS / SHARED), false);
        int before = lengths[b] + 1 - steps;
        for (int s = 0; s < steps; s++) {
          int place = ((b * steps + s) * HEADS + h) * SIZE;
          double[] query = vector(q, place, before + s);
          double sum = isSmooth ? 1 : 0;
          double[] out = new double[SIZE];
          int first = window > 0 ? Math.max(0, before + s + 1 - window) : 0;
          for (int i = first; i <= before + s; i++) {
            double score = 0;
            for (int d = 0; d < SIZE; d++) {
              score += query[d] * keys.get(i)[d] / Math.sqrt(SIZE);
            }
            double weight = Math.exp(cap > 0 ? cap * Math.tanh(score / cap) : score);
            sum += weight;
            for (int d = 0; d < SIZE; d++) {
              out[d] += weight * values.get(i)[d];
            }
          }
          for (int d = 0; d < SIZE; d++) {
            result[place + d] = (float) (out[d] / sum);
          }
        }
      }
    }
    return result;
  }

  private static float[] tables(boolean isCos) {
    float[] table = new float[TABLE * SIZE / 2];
    for (int i = 0; i < table.length; i++) {
      double angle = i / (SIZE / 2) * (i % (SIZE / 2) + 1) * 0.3;
      table[i] = (float) (isCos ? Math.cos(angle) : Math.sin(angle));
    }
    return table;
  }

  /** The lengths are those less one, as the operator wants them. */
  @ParameterizedTest
  @CsvSource({
    "1, 2, 5, 4, 4, 0, 0, 0, 1",
    "2, 1, 4, 3, 1, 0, 0, 0, 0",
    "2, 1, 4, 2, 3, 2, 0, 0, 1",
    "1, 2, 5, 4, 4, 3, 2, 1, 1",
    "2, 3, 3, 2, 2, 0, 0, 1, 1",
  })
  void headsShareKeys(
      int batch,
      int steps,
      int total,
      int first,
      int second,
      double cap,
      int window,
      int smooth,
      int turn)
      throws Exception {
    this.batch = batch;
    this.steps = steps;
    this.total = total;
    lengths = new int[] {first, second};
    this.cap = cap;
    this.window = window;
    isSmooth = smooth > 0;
    isTurned = turn > 0;
    float[] q = numbers(batch * steps * HEADS * SIZE);
    float[] k = numbers(batch * steps * SHARED * SIZE);
    float[] v = numbers(k.length);
    float[] pastK = numbers(batch * SHARED * STORED * SIZE);
    float[] pastV = numbers(pastK.length);
    Model model = model();
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      byte[] ends = TestGraph.bytes(batch == 1 ? new int[] {first} : lengths);
      List<byte[]> results =
          TestGraph.run(
              prepared,
              model.main(),
              TestGraph.bytes(q),
              TestGraph.bytes(k),
              TestGraph.bytes(v),
              TestGraph.bytes(pastK),
              TestGraph.bytes(pastV),
              ends);
      float[] expected = expected(q, k, v, pastK, pastV);
      assertArrayEquals(expected, TestGraph.floats(results.get(0)), 1e-5f);
      float[] values = TestGraph.floats(results.get(1));
      int each = values.length / batch / SHARED;
      for (int b = 0; b < batch; b++) {
        for (int h = 0; h < SHARED; h++) {
          List<double[]> known = keys(v, pastV, b, h, false);
          for (int i = 0; i < each; i++) {
            double value = i / SIZE < known.size() ? known.get(i / SIZE)[i % SIZE] : 0;
            assertArrayEquals(
                new float[] {(float) value}, new float[] {values[(b * SHARED + h) * each + i]});
          }
        }
      }
    }
  }

  private Model model() throws Exception {
    OnnxFileBuilder file =
        new OnnxFileBuilder()
            .input("q", FLOAT, batch, steps, HEADS * SIZE)
            .input("k", FLOAT, batch, steps, SHARED * SIZE)
            .input("v", FLOAT, batch, steps, SHARED * SIZE)
            .input("pk", FLOAT, batch, SHARED, STORED, SIZE)
            .input("pv", FLOAT, batch, SHARED, STORED, SIZE)
            .input("lengths", INT32, batch)
            .integers("total", new long[0], total)
            .floats("cos", new long[] {TABLE, SIZE / 2}, tables(true))
            .floats("sin", new long[] {TABLE, SIZE / 2}, tables(false))
            .node(
                "com.microsoft.GroupQueryAttention",
                List.of("q", "k", "v", "pk", "pv", "lengths", "total", "cos", "sin"),
                List.of("y", "nk", "nv"),
                integer("num_heads", HEADS),
                integer("kv_num_heads", SHARED),
                integer("do_rotary", isTurned ? 1 : 0),
                real("softcap", (float) cap),
                integer("local_window_size", window > 0 ? window : -1),
                integer("smooth_softmax", isSmooth ? 1 : 0));
    file.output("y", FLOAT, batch, steps, HEADS * SIZE);
    file.output("nv", FLOAT, batch, SHARED, Math.max(total, STORED), SIZE);
    return TestFiles.read(file.build());
  }
}
