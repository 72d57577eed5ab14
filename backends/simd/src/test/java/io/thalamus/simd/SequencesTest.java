// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.Quantization.NONE;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Cells with a long memory against their formulas in double. */
@Tag("widths")
class SequencesTest {
  private final Random random = seeded();
  private final Twins simd = new Twins();

  private static Random seeded() {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("SequencesTest seed " + seed);
    return new Random(seed);
  }

  @AfterEach
  void close() {
    simd.close();
  }

  private int pick(int... values) {
    return values[random.nextInt(values.length)];
  }

  private float[] floats(double size, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) (random.nextGaussian() * size);
    }
    return values;
  }

  /** By gate (input, forget, cell, output), the weights of a cell. */
  private record Weights(float[][] inputs, float[][] outputs, float[][] biases) {}

  private Weights weights(int size, int cells) {
    float[][] inputs = new float[4][];
    float[][] outputs = new float[4][];
    float[][] biases = new float[4][];
    for (int gate = 0; gate < 4; gate++) {
      inputs[gate] = floats(0.4, cells * size);
      outputs[gate] = floats(0.6 / Math.sqrt(cells), cells * cells);
      biases[gate] = floats(0.4, cells);
    }
    return new Weights(inputs, outputs, biases);
  }

  private static double sigmoid(double x) {
    return 1 / (1 + Math.exp(-x));
  }

  private static double[] gate(
      Weights weights, int gate, float[] data, int row, int size, double[] output) {
    int cells = output.length;
    double[] sums = new double[cells];
    for (int i = 0; i < cells; i++) {
      sums[i] = weights.biases()[gate][i];
      for (int k = 0; k < size; k++) {
        sums[i] += (double) weights.inputs()[gate][i * size + k] * data[row * size + k];
      }
      for (int k = 0; k < cells; k++) {
        sums[i] += weights.outputs()[gate][i * cells + k] * output[k];
      }
    }
    return sums;
  }

  /** One step, which changes the states. */
  private static void step(
      Weights weights,
      boolean isCoupled,
      double clip,
      float[] data,
      int row,
      int size,
      double[] output,
      double[] state) {
    double[] admit = gate(weights, 0, data, row, size, output);
    double[] forget = gate(weights, 1, data, row, size, output);
    double[] cell = gate(weights, 2, data, row, size, output);
    double[] shown = gate(weights, 3, data, row, size, output);
    for (int i = 0; i < output.length; i++) {
      double kept = sigmoid(forget[i]);
      double admitted = isCoupled ? 1 - kept : sigmoid(admit[i]);
      state[i] = kept * state[i] + admitted * Math.tanh(cell[i]);
      state[i] = clip > 0 ? Math.clamp(state[i], -clip, clip) : state[i];
    }
    for (int i = 0; i < output.length; i++) {
      output[i] = sigmoid(shown[i]) * Math.tanh(state[i]);
    }
  }

  private List<Integer> operands(TestGraph graph, Weights weights, int size, boolean isCoupled) {
    int cells = weights.biases()[0].length;
    List<Integer> inputs = new ArrayList<>();
    for (int part = 0; part < 4; part++) {
      for (int gate = 0; gate < (part == 2 ? 3 : 4); gate++) {
        if (part == 2 || isCoupled && gate == 0) {
          inputs.add(graph.noValue(TENSOR_FLOAT32));
        } else {
          float[] values =
              (part == 0 ? weights.inputs() : part == 1 ? weights.outputs() : weights.biases())
                  [gate];
          int[] shape =
              part == 0
                  ? new int[] {cells, size}
                  : part == 1 ? new int[] {cells, cells} : new int[] {cells};
          inputs.add(graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(values), shape));
        }
      }
    }
    inputs.add(graph.noValue(TENSOR_FLOAT32));
    inputs.add(graph.noValue(TENSOR_FLOAT32));
    return inputs;
  }

  @Test
  void sequencesAreThoseOfTheFormulas() throws DeviceException {
    for (int round = 0; round < 30; round++) {
      int steps = pick(1, 3, 50, 100);
      int batches = pick(1, 2, 3);
      int size = pick(1, 7, 40, 600);
      int cells = pick(1, 5, 16, 33, 70);
      boolean isTwofold = round % 3 == 0;
      boolean isCoupled = !isTwofold && round % 4 == 1;
      float clip = random.nextBoolean() ? 0.5f : 0;
      boolean isTimeMajor = random.nextBoolean();
      int[] rows = isTimeMajor ? new int[] {steps, batches} : new int[] {batches, steps};
      int directions = isTwofold ? 2 : 1;
      float[] data = floats(0.5, batches * steps * size);
      double[] wanted = new double[batches * steps * cells * directions];
      try (TestGraph graph = new TestGraph()) {
        List<Integer> inputs = new ArrayList<>();
        inputs.add(graph.input(TENSOR_FLOAT32, NONE, rows[0], rows[1], size));
        List<byte[]> arguments = new ArrayList<>(List.of(TestGraph.bytes(data)));
        float[][] states = new float[2 * directions][];
        for (int direction = 0; direction < directions; direction++) {
          Weights weights = weights(size, cells);
          inputs.addAll(operands(graph, weights, size, isCoupled));
          float[] outputs = floats(0.3, batches * cells);
          float[] memory = floats(0.3, batches * cells);
          states[2 * direction] = outputs;
          states[2 * direction + 1] = memory;
          for (int batch = 0; batch < batches; batch++) {
            double[] output = new double[cells];
            double[] state = new double[cells];
            for (int i = 0; i < cells; i++) {
              output[i] = outputs[batch * cells + i];
              state[i] = memory[batch * cells + i];
            }
            for (int t = 0; t < steps; t++) {
              int at = direction == 1 ? steps - 1 - t : t;
              int row = isTimeMajor ? at * batches + batch : batch * steps + at;
              step(weights, isCoupled, clip, data, row, size, output, state);
              int to = (row * directions + direction) * cells;
              System.arraycopy(output, 0, wanted, to, cells);
            }
          }
        }
        for (float[] state : states) {
          inputs.add(graph.input(TENSOR_FLOAT32, NONE, batches, cells));
          arguments.add(TestGraph.bytes(state));
        }
        for (int i = 0; isTwofold && i < 9; i++) {
          inputs.add(graph.noValue(TENSOR_FLOAT32));
        }
        inputs.addAll(List.of(graph.int32(4), graph.float32(clip), graph.float32(0)));
        if (isTwofold) {
          inputs.add(graph.bool(true));
        }
        inputs.add(graph.bool(isTimeMajor));
        for (int i = 0; i < (isTwofold ? 8 : 4); i++) {
          inputs.add(graph.noValue(TENSOR_FLOAT32));
        }
        graph.operation(
            isTwofold
                ? OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM
                : OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM,
            inputs,
            graph.output(TENSOR_FLOAT32, NONE, rows[0], rows[1], cells * directions));
        String message = "round " + round;
        float[] got =
            TestGraph.floats(simd.run(graph.model(), message, arguments.toArray(byte[][]::new)));
        assertNear(wanted, got, message);
      }
    }
  }

  private static double activated(int activation, double x) {
    return switch (activation) {
      case 0 -> x;
      case 1 -> Math.max(0, x);
      case 3 -> Math.clamp(x, 0, 6);
      case 4 -> Math.tanh(x);
      default -> sigmoid(x);
    };
  }

  @Test
  void filtersOverTimeAreThoseOfTheFormula() throws DeviceException {
    for (int round = 0; round < 40; round++) {
      int batches = pick(1, 2, 3);
      int size = pick(1, 7, 40, 600, 1100);
      int units = pick(1, 5, 16, 33, 70);
      int rank = pick(1, 2, 3);
      int memory = pick(1, 2, 5, 8, 27);
      int filters = units * rank;
      boolean hasBias = random.nextBoolean();
      int activation = pick(0, 1, 3, 4, 6);
      float[] data = floats(0.5, batches * size);
      float[] features = floats(1 / Math.sqrt(size), filters * size);
      float[] times = floats(0.5, filters * memory);
      float[] bias = floats(0.4, units);
      float[] state = floats(0.5, batches * filters * memory);
      double[] results = new double[batches * units];
      double[] states = new double[state.length];
      for (int row = 0; row < batches * filters; row++) {
        int filter = row % filters;
        double product = 0;
        for (int k = 0; k < size; k++) {
          product += (double) features[filter * size + k] * data[row / filters * size + k];
        }
        double sum = product * times[filter * memory + memory - 1];
        for (int m = 0; m < memory - 1; m++) {
          sum += (double) times[filter * memory + m] * state[row * memory + m];
          states[row * memory + m] = m < memory - 2 ? state[row * memory + m + 1] : product;
        }
        results[row / rank] += sum;
      }
      for (int i = 0; i < results.length; i++) {
        results[i] = activated(activation, results[i] + (hasBias ? bias[i % units] : 0));
      }
      for (boolean isStateFirst : new boolean[] {false, true}) {
        try (TestGraph graph = new TestGraph()) {
          List<Integer> inputs =
              List.of(
                  graph.input(TENSOR_FLOAT32, NONE, batches, size),
                  graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(features), filters, size),
                  graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(times), filters, memory),
                  hasBias
                      ? graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(bias), units)
                      : graph.noValue(TENSOR_FLOAT32),
                  graph.input(TENSOR_FLOAT32, NONE, batches, filters * memory),
                  graph.int32(rank),
                  graph.int32(activation));
          int[] whole = {batches, filters * memory};
          int[] few = {batches, units};
          int first = graph.output(TENSOR_FLOAT32, NONE, isStateFirst ? whole : few);
          int second = graph.output(TENSOR_FLOAT32, NONE, isStateFirst ? few : whole);
          graph.operation(
              OperationCode.SVDF,
              inputs,
              isStateFirst ? List.of(first, second) : List.of(second, first));
          String message = "round " + round + (isStateFirst ? ", states" : ", results");
          byte[] got =
              simd.run(graph.model(), message, TestGraph.bytes(data), TestGraph.bytes(state));
          assertNear(isStateFirst ? states : results, TestGraph.floats(got), message);
        }
      }
    }
  }

  private static void assertNear(double[] wanted, float[] got, String message) {
    assertEquals(wanted.length, got.length, message);
    for (int i = 0; i < got.length; i++) {
      assertEquals(wanted[i], got[i], 1e-5, message + ", element " + i);
    }
  }
}
