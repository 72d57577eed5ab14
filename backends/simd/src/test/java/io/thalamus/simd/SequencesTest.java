// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.Quantization.NONE;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.StoredLstmSteps;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Cells with a long memory: of floats against their formulas in double, of bytes against the
 * reference.
 */
@Widths
class SequencesTest {
  private final Seeded random = new Seeded(SequencesTest.class);
  private final Twins simd = new Twins();

  @AfterEach
  void close() {
    simd.close();
  }

  /**
   * By gate (input, forget, cell, output), the weights of a cell; null where it has no such part.
   */
  private record Weights(
      float[][] inputs,
      float[][] outputs,
      float[][] biases,
      float[][] peepholes,
      float[][] norms,
      float[] projection,
      float[] projectionBias) {
    int cells() {
      return biases[0].length;
    }
  }

  private Weights weights(int size, int cells, int outputs, boolean hasPeepholes, boolean isNorm) {
    float[][] inputs = new float[4][];
    float[][] recurrent = new float[4][];
    float[][] biases = new float[4][];
    float[][] peepholes = new float[4][];
    float[][] norms = new float[4][];
    for (int gate = 0; gate < 4; gate++) {
      inputs[gate] = random.floats(0.4, cells * size);
      recurrent[gate] = random.floats(0.6 / Math.sqrt(outputs), cells * outputs);
      biases[gate] = random.floats(0.4, cells);
      peepholes[gate] = gate == 2 || !hasPeepholes ? null : random.floats(0.5, cells);
      norms[gate] = isNorm ? random.floats(0.5, cells) : null;
    }
    boolean isProjected = outputs != cells;
    return new Weights(
        inputs,
        recurrent,
        biases,
        peepholes,
        norms,
        isProjected ? random.floats(1 / Math.sqrt(cells), outputs * cells) : null,
        isProjected && random.nextBoolean() ? random.floats(0.2, outputs) : null);
  }

  private static double sigmoid(double x) {
    return 1 / (1 + Math.exp(-x));
  }

  private static double[] gate(
      Weights weights, int gate, float[] data, int row, int size, double[] output, double[] state) {
    int cells = weights.cells();
    int outputs = output.length;
    boolean isNormalized = weights.norms()[gate] != null;
    double[] sums = new double[cells];
    for (int i = 0; i < cells; i++) {
      sums[i] = isNormalized ? 0 : weights.biases()[gate][i];
      for (int k = 0; k < size; k++) {
        sums[i] += (double) weights.inputs()[gate][i * size + k] * data[row * size + k];
      }
      for (int k = 0; k < outputs; k++) {
        sums[i] += weights.outputs()[gate][i * outputs + k] * output[k];
      }
      if (weights.peepholes()[gate] != null) {
        sums[i] += weights.peepholes()[gate][i] * state[i];
      }
    }
    if (isNormalized) {
      double mean = Arrays.stream(sums).average().orElseThrow();
      double variance =
          Arrays.stream(sums).map(sum -> (sum - mean) * (sum - mean)).average().orElseThrow();
      double deviation = Math.sqrt(variance == 0 ? 1e-8 : variance);
      for (int i = 0; i < cells; i++) {
        double factor = weights.norms()[gate][i];
        sums[i] = (sums[i] - mean) / deviation * factor + weights.biases()[gate][i];
      }
    }
    return sums;
  }

  private static double clip(double value, double limit) {
    return limit > 0 ? Math.clamp(value, -limit, limit) : value;
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
    double[] admit = gate(weights, 0, data, row, size, output, state);
    double[] forget = gate(weights, 1, data, row, size, output, state);
    double[] cell = gate(weights, 2, data, row, size, output, state);
    for (int i = 0; i < state.length; i++) {
      double kept = sigmoid(forget[i]);
      double admitted = isCoupled ? 1 - kept : sigmoid(admit[i]);
      state[i] = clip(kept * state[i] + admitted * Math.tanh(cell[i]), clip);
    }
    double[] shown = gate(weights, 3, data, row, size, output, state);
    for (int i = 0; i < state.length; i++) {
      shown[i] = sigmoid(shown[i]) * Math.tanh(state[i]);
    }
    for (int i = 0; i < output.length; i++) {
      if (weights.projection() == null) {
        output[i] = shown[i];
      } else {
        double sum = weights.projectionBias() == null ? 0 : weights.projectionBias()[i];
        for (int k = 0; k < shown.length; k++) {
          sum += weights.projection()[i * shown.length + k] * shown[k];
        }
        output[i] = clip(sum, clip);
      }
    }
  }

  private static int operand(TestGraph graph, float[] values, int... shape) {
    return values == null
        ? graph.noValue(TENSOR_FLOAT32)
        : graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(values), shape);
  }

  private static void gates(
      TestGraph graph, List<Integer> inputs, float[][] values, boolean isCoupled, int... shape) {
    for (int gate = 0; gate < 4; gate++) {
      inputs.add(operand(graph, isCoupled && gate == 0 ? null : values[gate], shape));
    }
  }

  private List<Integer> operands(
      TestGraph graph, Weights weights, int size, int outputs, boolean isCoupled) {
    int cells = weights.cells();
    List<Integer> inputs = new ArrayList<>();
    gates(graph, inputs, weights.inputs(), isCoupled, cells, size);
    gates(graph, inputs, weights.outputs(), isCoupled, cells, outputs);
    for (int gate : new int[] {0, 1, 3}) {
      float[] peephole = isCoupled && gate == 0 ? null : weights.peepholes()[gate];
      inputs.add(operand(graph, peephole, cells));
    }
    gates(graph, inputs, weights.biases(), isCoupled, cells);
    inputs.add(operand(graph, weights.projection(), outputs, cells));
    inputs.add(operand(graph, weights.projectionBias(), outputs));
    return inputs;
  }

  @Test
  void sequencesAreThoseOfTheFormulas() throws DeviceException {
    for (int round = 0; round < 60; round++) {
      int steps = random.pick(1, 3, 50, 100);
      int batches = random.pick(1, 2, 3);
      int size = random.pick(1, 7, 40, 600);
      int cells = random.pick(1, 5, 16, 33, 70);
      int outputs = random.pick(cells, 3, 20, 600);
      boolean hasPeepholes = random.nextInt(3) == 0;
      boolean isNormalized = random.nextInt(3) == 0;
      boolean isTwofold = round % 3 == 0;
      boolean isCoupled = !isTwofold && round % 4 == 1;
      float clip = random.nextBoolean() ? 0.5f : 0;
      boolean isTimeMajor = random.nextBoolean();
      int[] rows = isTimeMajor ? new int[] {steps, batches} : new int[] {batches, steps};
      int directions = isTwofold ? 2 : 1;
      float[] data = random.floats(0.5, batches * steps * size);
      double[] wanted = new double[batches * steps * outputs * directions];
      try (TestGraph graph = new TestGraph()) {
        List<Integer> inputs = new ArrayList<>();
        inputs.add(graph.input(TENSOR_FLOAT32, NONE, rows[0], rows[1], size));
        List<byte[]> arguments = new ArrayList<>(List.of(TestGraph.bytes(data)));
        float[][] states = new float[2 * directions][];
        List<Weights> all = new ArrayList<>();
        for (int direction = 0; direction < directions; direction++) {
          Weights weights = weights(size, cells, outputs, hasPeepholes, isNormalized);
          all.add(weights);
          inputs.addAll(operands(graph, weights, size, outputs, isCoupled));
          float[] before = random.floats(0.3, batches * outputs);
          float[] memory = random.floats(0.3, batches * cells);
          states[2 * direction] = before;
          states[2 * direction + 1] = memory;
          for (int batch = 0; batch < batches; batch++) {
            double[] output = part(before, batch, outputs);
            double[] state = part(memory, batch, cells);
            for (int t = 0; t < steps; t++) {
              int at = direction == 1 ? steps - 1 - t : t;
              int row = isTimeMajor ? at * batches + batch : batch * steps + at;
              step(weights, isCoupled, clip, data, row, size, output, state);
              int to = (row * directions + direction) * outputs;
              System.arraycopy(output, 0, wanted, to, outputs);
            }
          }
        }
        for (float[] state : states) {
          inputs.add(graph.input(TENSOR_FLOAT32, NONE, batches, state.length / batches));
          arguments.add(TestGraph.bytes(state));
        }
        for (int i = 0; isTwofold && i < 9; i++) {
          inputs.add(graph.noValue(TENSOR_FLOAT32));
        }
        inputs.addAll(List.of(graph.int32(4), graph.float32(clip), graph.float32(clip)));
        if (isTwofold) {
          inputs.add(graph.bool(true));
        }
        inputs.add(graph.bool(isTimeMajor));
        for (Weights weights : all) {
          gates(graph, inputs, weights.norms(), isCoupled, cells);
        }
        graph.operation(
            isTwofold
                ? OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM
                : OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM,
            inputs,
            graph.output(TENSOR_FLOAT32, NONE, rows[0], rows[1], outputs * directions));
        String message = "round " + round;
        float[] got =
            TestGraph.floats(simd.run(graph.model(), message, arguments.toArray(byte[][]::new)));
        assertNear(wanted, got, isNormalized ? 1e-4 : 1e-5, message);
      }
    }
  }

  private static double[] part(float[] rows, int row, int count) {
    double[] part = new double[count];
    for (int i = 0; i < count; i++) {
      part[i] = rows[row * count + i];
    }
    return part;
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
      int batches = random.pick(1, 2, 3);
      int size = random.pick(1, 7, 40, 600, 1100);
      int units = random.pick(1, 5, 16, 33, 70);
      int rank = random.pick(1, 2, 3);
      int memory = random.pick(1, 2, 5, 8, 27);
      int filters = units * rank;
      boolean hasBias = random.nextBoolean();
      int activation = random.pick(0, 1, 3, 4, 6);
      float[] data = random.floats(0.5, batches * size);
      float[] features = random.floats(1 / Math.sqrt(size), filters * size);
      float[] times = random.floats(0.5, filters * memory);
      float[] bias = random.floats(0.4, units);
      float[] state = random.floats(0.5, batches * filters * memory);
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
          assertNear(isStateFirst ? states : results, TestGraph.floats(got), 1e-5, message);
        }
      }
    }
  }

  private static void assertNear(double[] wanted, float[] got, double tolerance, String message) {
    assertEquals(wanted.length, got.length, message);
    for (int i = 0; i < got.length; i++) {
      assertEquals(wanted[i], got[i], tolerance, message + ", element " + i);
    }
  }

  @Test
  void stepsOfStoredCellsEqualTheReference() throws DeviceException {
    try (CpuDevice cpu = new CpuDevice("1.0.0")) {
      for (int i = 0; i < 60; i++) {
        try (TestGraph graph = new TestGraph()) {
          byte[][] inputs = StoredLstmSteps.fill(graph, random);
          String message = "steps of LSTM " + i;
          byte[] expected = TestGraph.run(cpu, graph.model(), inputs);
          byte[] actual = simd.run(graph.model(), message, inputs);
          TestGraph.assertSame(expected, actual, message);
        }
      }
    }
  }
}
