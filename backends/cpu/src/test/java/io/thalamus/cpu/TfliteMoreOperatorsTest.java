// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BidirectionalSequenceLSTMOptions;
import org.tensorflow.lite.schema.BidirectionalSequenceRNNOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.Conv2DOptions;
import org.tensorflow.lite.schema.Conv3DOptions;
import org.tensorflow.lite.schema.FakeQuantOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.LSTMOptions;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.RNNOptions;
import org.tensorflow.lite.schema.RandomOptions;
import org.tensorflow.lite.schema.ReverseSequenceOptions;
import org.tensorflow.lite.schema.SparseToDenseOptions;
import org.tensorflow.lite.schema.TensorType;

/** Operators with several results, states, settings or odd types, against their definitions. */
class TfliteMoreOperatorsTest {
  private static final byte FLOAT = TensorType.FLOAT32;
  private static final byte INT = TensorType.INT32;

  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);
  private final OperatorFile file = new OperatorFile();

  /** Eighths, so that sums are exact in any order. */
  private double[] noise(int count) {
    return random.ints(count, -16, 17).mapToDouble(i -> i / 8.0).toArray();
  }

  private void assertNear(double[] expected, double[] actual, double allowed) {
    assertArrayEquals(expected, actual, allowed, "seed " + seed);
  }

  /** Each element is added to all places that its copy of the filter covers. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void convolutionInThreeDimensionsTurnedBack(boolean isSame) throws Exception {
    int[] in = {2, 3, 2};
    int[] kernel = {3, 2, 3};
    int[] stride = {2, 1, 2};
    int[] out = new int[3];
    int[] before = new int[3];
    for (int i = 0; i < 3; i++) {
      int full = (in[i] - 1) * stride[i] + kernel[i];
      out[i] = isSame ? in[i] * stride[i] : full;
      before[i] = Math.max(0, full - out[i]) / 2;
    }
    double[] x = noise(12 * 2);
    double[] w = noise(18 * 3 * 2);
    double[] expected = new double[out[0] * out[1] * out[2] * 3];
    for (int p = 0; p < 12; p++) {
      for (int k = 0; k < 18; k++) {
        int z = p / 6 * stride[0] + k / 6 - before[0];
        int y = p / 2 % 3 * stride[1] + k / 3 % 2 - before[1];
        int c = p % 2 * stride[2] + k % 3 - before[2];
        boolean isIn = z >= 0 && z < out[0] && y >= 0 && y < out[1] && c >= 0 && c < out[2];
        for (int o = 0; isIn && o < 3; o++) {
          expected[((z * out[1] + y) * out[2] + c) * 3 + o] +=
              x[2 * p] * w[(k * 3 + o) * 2] + x[2 * p + 1] * w[(k * 3 + o) * 2 + 1];
        }
      }
    }
    int sizes = file.constant(INT, new int[] {5}, 1, out[0], out[1], out[2], 3);
    int filter = file.constant(FLOAT, new int[] {3, 2, 3, 3, 2}, w);
    int data = file.input(FLOAT, new int[] {1, 2, 3, 2, 2}, x);
    int result = file.result(FLOAT, 1, out[0], out[1], out[2], 3);
    byte padding = isSame ? Padding.SAME : Padding.VALID;
    file.operator(
        BuiltinOperator.CONV_3D_TRANSPOSE,
        BuiltinOptions.Conv3DOptions,
        flat -> Conv3DOptions.createConv3DOptions(flat, padding, 2, 2, 1, (byte) 0, 1, 1, 1),
        new int[] {sizes, filter, data},
        result);
    assertNear(expected, file.run(result).getFirst(), 0);
  }

  /** Two groups of one channel, whose windows of 2 by 3 see every third row and second column. */
  @Test
  void groupsWithADilation() throws Exception {
    double[] x = noise(7 * 8 * 2);
    double[] w = noise(4 * 2 * 3);
    double[] expected = new double[4 * 4 * 4];
    for (int i = 0; i < expected.length; i++) {
      int channel = i % 4;
      for (int k = 0; k < 6; k++) {
        int row = i / 16 + k / 3 * 3;
        int column = i / 4 % 4 + k % 3 * 2;
        expected[i] += x[(row * 8 + column) * 2 + channel / 2] * w[channel * 6 + k];
      }
    }
    int data = file.input(FLOAT, new int[] {1, 7, 8, 2}, x);
    int filter = file.constant(FLOAT, new int[] {4, 2, 3, 1}, w);
    int result = file.result(FLOAT, 1, 4, 4, 4);
    file.operator(
        BuiltinOperator.CONV_2D,
        BuiltinOptions.Conv2DOptions,
        flat -> Conv2DOptions.createConv2DOptions(flat, Padding.VALID, 1, 1, (byte) 0, 2, 3),
        new int[] {data, filter, OperatorFile.NONE},
        result);
    assertNear(expected, file.run(result).getFirst(), 1e-5);
  }

  /** The first so many steps of each row are turned; the others stay. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void sequencesAreReversedAsFarAsTheyGo(boolean isTimeFirst) throws Exception {
    double[] x = IntStream.range(0, 24).asDoubleStream().toArray();
    int[] shape = isTimeFirst ? new int[] {4, 2, 3} : new int[] {2, 3, 4};
    int[] lengths = {3, 1};
    double[] expected = new double[24];
    for (int i = 0; i < 24; i++) {
      int step = isTimeFirst ? i / 6 : i % 4;
      int length = lengths[isTimeFirst ? i / 3 % 2 : i / 12];
      int stride = isTimeFirst ? 6 : 1;
      expected[i] = step < length ? x[i + (length - 1 - 2 * step) * stride] : x[i];
    }
    int data = file.input(FLOAT, shape, x);
    int sizes = file.input(INT, new int[] {2}, 3, 1);
    int result = file.result(FLOAT, shape);
    int time = isTimeFirst ? 0 : 2;
    file.operator(
        BuiltinOperator.REVERSE_SEQUENCE,
        BuiltinOptions.ReverseSequenceOptions,
        flat ->
            ReverseSequenceOptions.createReverseSequenceOptions(flat, time, isTimeFirst ? 1 : 0),
        new int[] {data, sizes},
        result);
    assertNear(expected, file.run(result).getFirst(), 0);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void valuesAreSetAmongADefault(boolean isKnown) throws Exception {
    int[] shape = {3, 2};
    int places =
        isKnown
            ? file.constant(INT, shape, 0, 1, 1, 0, 1, 2)
            : file.input(INT, shape, 0, 1, 1, 0, 1, 2);
    int sizes = file.constant(INT, new int[] {2}, 2, 3);
    int values = file.input(FLOAT, new int[] {3}, 5, 6, 7);
    int rest = file.constant(FLOAT, new int[0], -1);
    int result = file.result(FLOAT, 2, 3);
    file.operator(
        BuiltinOperator.SPARSE_TO_DENSE,
        BuiltinOptions.SparseToDenseOptions,
        flat -> SparseToDenseOptions.createSparseToDenseOptions(flat, false),
        new int[] {places, sizes, values, rest},
        result);
    assertNear(new double[] {-1, 5, -1, 6, -1, 7}, file.run(result).getFirst(), 0);
  }

  @Test
  void diagonalsOfMatricesAreReplaced() throws Exception {
    double[] x = IntStream.range(0, 12).asDoubleStream().toArray();
    int matrices = file.input(FLOAT, new int[] {2, 3, 2}, x);
    int diagonals = file.input(FLOAT, new int[] {2, 2}, -1, -2, -3, -4);
    int result = file.result(FLOAT, 2, 3, 2);
    file.operator(BuiltinOperator.MATRIX_SET_DIAG, new int[] {matrices, diagonals}, result);
    assertNear(
        new double[] {-1, 1, 2, -2, 4, 5, -3, 7, 8, -4, 10, 11}, file.run(result).getFirst(), 0);
  }

  /** Steps of 2/3; the zero of -1 to 1 at place 1.5 moves to 2, so the ends to -4/3 and 2/3. */
  @Test
  void fourStepsWithZeroAmongThem() throws Exception {
    int x = file.input(FLOAT, new int[] {5}, -9, -0.5, 0.1, 0.4, 9);
    int result = file.result(FLOAT, 5);
    file.operator(
        BuiltinOperator.FAKE_QUANT,
        BuiltinOptions.FakeQuantOptions,
        flat -> FakeQuantOptions.createFakeQuantOptions(flat, -1, 1, 2, false),
        new int[] {x},
        result);
    assertNear(
        new double[] {-4.0 / 3, -2.0 / 3, 0, 2.0 / 3, 2.0 / 3}, file.run(result).getFirst(), 1e-6);
  }

  /**
   * The second box shares half of the first, the third nine tenths, the fourth nothing: the scores
   * of what stays are lowered by {@code exp(-iou^2)} with a sigma of a half.
   */
  @ParameterizedTest
  @ValueSource(doubles = {0, 0.5})
  void overlappingBoxesCountLess(double sigma) throws Exception {
    int boxes =
        file.input(FLOAT, new int[] {4, 4}, 0, 0, 1, 1, 0, 0, 1, 0.5, 0, 0, 1, 0.9, 5, 5, 6, 6);
    int scores = file.input(FLOAT, new int[] {4}, 0.9, 0.8, 0.85, 0.7);
    int most = file.constant(INT, new int[0], 5);
    int overlap = file.constant(FLOAT, new int[0], 0.6);
    int least = file.constant(FLOAT, new int[0], 0.1);
    int by = file.constant(FLOAT, new int[0], sigma);
    int places = file.result(INT, 5);
    int found = file.result(FLOAT, 5);
    int count = file.result(INT);
    file.operator(
        BuiltinOperator.NON_MAX_SUPPRESSION_V5,
        new int[] {boxes, scores, most, overlap, least, by},
        places,
        found,
        count);
    List<double[]> results = file.run(places, found, count);
    double lowered = 0.8 * Math.exp(-0.25);
    assertNear(new double[] {0, sigma > 0 ? 3 : 1, sigma > 0 ? 1 : 3, 0, 0}, results.get(0), 0);
    assertNear(
        sigma > 0 ? new double[] {0.9, 0.7, lowered, 0, 0} : new double[] {0.9, 0.8, 0.7, 0, 0},
        results.get(1),
        1e-6);
    assertNear(new double[] {3}, results.get(2), 0);
  }

  /** A thousand draws at one to three; five deviations are 69. */
  @Test
  void classesAreDrawnAsOftenAsTheyAreLikely() throws Exception {
    int odds = file.input(FLOAT, new int[] {2, 3}, 0, Math.log(3), -99, 50, -50, -50);
    int count = file.constant(INT, new int[0], 1000);
    int result = file.result(TensorType.INT64, 2, 1000);
    file.operator(
        BuiltinOperator.MULTINOMIAL,
        BuiltinOptions.RandomOptions,
        flat -> RandomOptions.createRandomOptions(flat, 3, 8),
        new int[] {odds, count},
        result);
    double[] drawn = file.run(result).getFirst();
    assertEquals(750, Arrays.stream(drawn, 0, 1000).filter(i -> i == 1).count(), 69);
    assertEquals(0, Arrays.stream(drawn, 0, 1000).filter(i -> i == 2).count());
    assertEquals(1000, Arrays.stream(drawn, 1000, 2000).filter(i -> i == 0).count());
  }

  /** The sum over all pixels of {@code x * exp(-2 pi i (u y / h + v x / w))}. */
  @ParameterizedTest
  @ValueSource(ints = {3, 2, 5})
  void spectraOfImages(int rows) throws Exception {
    double[] x = noise(2 * 3 * 4);
    double[] real = new double[2 * rows * 3];
    double[] imaginary = new double[2 * rows * 3];
    for (int i = 0; i < real.length; i++) {
      for (int p = 0; p < Math.min(rows, 3) * 4; p++) {
        double turns = (double) (i / 3 % rows) * (p / 4) / rows + i % 3 * (p % 4) / 4.0;
        double value = x[i / 3 / rows * 12 + p];
        real[i] += value * Math.cos(2 * Math.PI * turns);
        imaginary[i] -= value * Math.sin(2 * Math.PI * turns);
      }
    }
    int data = file.input(FLOAT, new int[] {2, 3, 4}, x);
    int sizes = file.constant(INT, new int[] {2}, rows, 4);
    int spectrum = file.result(TensorType.COMPLEX64, 2, rows, 3);
    int first = file.result(FLOAT, 2, rows, 3);
    int second = file.result(FLOAT, 2, rows, 3);
    file.operator(BuiltinOperator.RFFT2D, new int[] {data, sizes}, spectrum)
        .operator(BuiltinOperator.REAL, new int[] {spectrum}, first)
        .operator(BuiltinOperator.IMAG, new int[] {spectrum}, second);
    List<double[]> results = file.run(first, second);
    assertNear(real, results.get(0), 1e-4);
    assertNear(imaginary, results.get(1), 1e-4);
  }

  /** The sums of 1, 2, 3, 4 with turns of a quarter: 10, -2 + 2i and -2. */
  @Test
  void spectraMayLoseAnAxis() throws Exception {
    int data = file.input(FLOAT, new int[] {1, 4}, 1, 2, 3, 4);
    int sizes = file.constant(INT, new int[] {2}, 1, 4);
    int spectrum = file.result(TensorType.COMPLEX64, 1, 3);
    int row = file.result(TensorType.COMPLEX64, 3);
    int result = file.result(FLOAT, 3);
    file.operator(BuiltinOperator.RFFT2D, new int[] {data, sizes}, spectrum)
        .operator(BuiltinOperator.SQUEEZE, new int[] {spectrum}, row)
        .operator(BuiltinOperator.COMPLEX_ABS, new int[] {row}, result);
    assertNear(new double[] {10, Math.sqrt(8), 2}, file.run(result).getFirst(), 1e-5);
  }

  /** Two rows of -1, 7, -8 and 2, 0, 3, lower halves first. */
  @Test
  void weightsOf4Bits() throws Exception {
    int x = file.input(FLOAT, new int[] {1, 3}, 2, 3, 5);
    int w = file.stored(TensorType.INT4, 0.5f, new byte[] {0x7F, 0x28, 0x30}, 2, 3);
    int result = file.result(FLOAT, 1, 2);
    file.operator(
        BuiltinOperator.FULLY_CONNECTED,
        BuiltinOptions.FullyConnectedOptions,
        flat ->
            FullyConnectedOptions.createFullyConnectedOptions(
                flat, (byte) 0, (byte) 0, false, false),
        new int[] {x, w, OperatorFile.NONE},
        result);
    assertNear(new double[] {-10.5, 9.5}, file.run(result).getFirst(), 1e-6);
  }

  private static double sum(double[] weights, int row, double[] values) {
    double sum = 0;
    for (int i = 0; i < values.length; i++) {
      sum += weights[row * values.length + i] * values[i];
    }
    return sum;
  }

  private static double sigmoid(double x) {
    return 1 / (1 + Math.exp(-x));
  }

  /** A cell of 2 units over steps of 3 numbers: {@code h = tanh(w x + r h + b)}. */
  private double[] rnn(double[] x, boolean isBackwards, double[] w, double[] r, double[] b) {
    double[] outputs = new double[x.length / 3 * 2];
    double[] h = new double[2];
    for (int i = 0; i < x.length / 3; i++) {
      int step = isBackwards ? x.length / 3 - 1 - i : i;
      double[] given = Arrays.copyOfRange(x, 3 * step, 3 * step + 3);
      double[] before = h;
      h = new double[2];
      for (int unit = 0; unit < 2; unit++) {
        h[unit] = Math.tanh(sum(w, unit, given) + sum(r, unit, before) + b[unit]);
        outputs[2 * step + unit] = h[unit];
      }
    }
    return outputs;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void simpleCellsInBothDirections(boolean isMerged) throws Exception {
    double[] x = noise(12);
    double[][] w = {noise(6), noise(4), noise(2), noise(6), noise(4), noise(2)};
    int[] inputs = new int[12];
    Arrays.fill(inputs, OperatorFile.NONE);
    inputs[0] = file.input(FLOAT, new int[] {1, 4, 3}, x);
    for (int i = 0; i < 2; i++) {
      inputs[4 * i + 1] = file.constant(FLOAT, new int[] {2, 3}, w[3 * i]);
      inputs[4 * i + 2] = file.constant(FLOAT, new int[] {2, 2}, w[3 * i + 1]);
      inputs[4 * i + 3] = file.constant(FLOAT, new int[] {2}, w[3 * i + 2]);
      inputs[4 * i + 4] = file.state(1, 2);
    }
    int[] results =
        isMerged
            ? new int[] {file.result(FLOAT, 1, 4, 4)}
            : new int[] {file.result(FLOAT, 1, 4, 2), file.result(FLOAT, 1, 4, 2)};
    file.operator(
        BuiltinOperator.BIDIRECTIONAL_SEQUENCE_RNN,
        BuiltinOptions.BidirectionalSequenceRNNOptions,
        flat ->
            BidirectionalSequenceRNNOptions.createBidirectionalSequenceRNNOptions(
                flat, false, ActivationFunctionType.TANH, isMerged, false),
        inputs,
        results);
    assertBothWays(
        rnn(x, false, w[0], w[1], w[2]), rnn(x, true, w[3], w[4], w[5]), file.run(results));
  }

  private void assertBothWays(double[] forwards, double[] backwards, List<double[]> results) {
    if (results.size() == 2) {
      assertNear(forwards, results.get(0), 1e-5);
      assertNear(backwards, results.get(1), 1e-5);
      return;
    }
    double[] merged = new double[2 * forwards.length];
    for (int i = 0; i < merged.length; i++) {
      merged[i] = (i % 4 < 2 ? forwards : backwards)[i / 4 * 2 + i % 2];
    }
    assertNear(merged, results.getFirst(), 1e-5);
  }

  /** Weights of the gates for input, forgetting, cell and output; for each w, r and b. */
  private double[] lstm(double[] x, boolean isBackwards, double[][] gates) {
    double[] outputs = new double[x.length / 3 * 2];
    double[] h = new double[2];
    double[] c = new double[2];
    for (int i = 0; i < x.length / 3; i++) {
      int step = isBackwards ? x.length / 3 - 1 - i : i;
      double[] given = Arrays.copyOfRange(x, 3 * step, 3 * step + 3);
      double[] before = h;
      h = new double[2];
      for (int unit = 0; unit < 2; unit++) {
        double[] sums = new double[4];
        for (int gate = 0; gate < 4; gate++) {
          sums[gate] =
              sum(gates[gate], unit, given)
                  + sum(gates[4 + gate], unit, before)
                  + gates[8 + gate][unit];
        }
        c[unit] = sigmoid(sums[1]) * c[unit] + sigmoid(sums[0]) * Math.tanh(sums[2]);
        h[unit] = sigmoid(sums[3]) * Math.tanh(c[unit]);
        outputs[2 * step + unit] = h[unit];
      }
    }
    return outputs;
  }

  private double[][] gates() {
    double[][] gates = new double[12][];
    for (int i = 0; i < 12; i++) {
      gates[i] = noise(i < 4 ? 6 : i < 8 ? 4 : 2);
    }
    return gates;
  }

  /** Puts the weights of gates among the inputs of a cell, from one on. */
  private void addGates(int[] inputs, int first, double[][] gates) {
    for (int i = 0; i < 4; i++) {
      inputs[first + i] = file.constant(FLOAT, new int[] {2, 3}, gates[i]);
      inputs[first + 4 + i] = file.constant(FLOAT, new int[] {2, 2}, gates[4 + i]);
      inputs[first + 11 + i] = file.constant(FLOAT, new int[] {2}, gates[8 + i]);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void longMemoriesInBothDirections(boolean isMerged) throws Exception {
    double[] x = noise(12);
    double[][] forwards = gates();
    double[][] backwards = gates();
    int[] inputs = new int[48];
    Arrays.fill(inputs, OperatorFile.NONE);
    inputs[0] = file.input(FLOAT, new int[] {1, 4, 3}, x);
    addGates(inputs, 1, forwards);
    addGates(inputs, 18, backwards);
    for (int i = 35; i < 39; i++) {
      inputs[i] = file.state(1, 2);
    }
    int[] results =
        isMerged
            ? new int[] {file.result(FLOAT, 1, 4, 4)}
            : new int[] {file.result(FLOAT, 1, 4, 2), file.result(FLOAT, 1, 4, 2)};
    file.operator(
        BuiltinOperator.BIDIRECTIONAL_SEQUENCE_LSTM,
        BuiltinOptions.BidirectionalSequenceLSTMOptions,
        flat ->
            BidirectionalSequenceLSTMOptions.createBidirectionalSequenceLSTMOptions(
                flat, ActivationFunctionType.TANH, 0, 0, isMerged, false, false),
        inputs,
        results);
    assertBothWays(lstm(x, false, forwards), lstm(x, true, backwards), file.run(results));
  }

  @Test
  void oneStepOfALongMemory() throws Exception {
    double[] x = noise(3);
    double[][] gates = gates();
    int[] inputs = new int[20];
    Arrays.fill(inputs, OperatorFile.NONE);
    inputs[0] = file.input(FLOAT, new int[] {1, 3}, x);
    addGates(inputs, 1, gates);
    inputs[18] = file.state(1, 2);
    inputs[19] = file.state(1, 2);
    int result = file.result(FLOAT, 1, 2);
    file.operator(
        BuiltinOperator.LSTM,
        BuiltinOptions.LSTMOptions,
        flat ->
            LSTMOptions.createLSTMOptions(flat, ActivationFunctionType.TANH, 0, 0, (byte) 0, false),
        inputs,
        result);
    assertNear(lstm(x, false, gates), file.run(result).getFirst(), 1e-5);
  }

  @Test
  void oneStepOfASimpleCell() throws Exception {
    double[] x = noise(3);
    double[][] w = {noise(6), noise(4), noise(2)};
    int data = file.input(FLOAT, new int[] {1, 3}, x);
    int weights = file.constant(FLOAT, new int[] {2, 3}, w[0]);
    int recurrent = file.constant(FLOAT, new int[] {2, 2}, w[1]);
    int bias = file.constant(FLOAT, new int[] {2}, w[2]);
    int state = file.state(1, 2);
    int result = file.result(FLOAT, 1, 2);
    file.operator(
        BuiltinOperator.RNN,
        BuiltinOptions.RNNOptions,
        flat -> RNNOptions.createRNNOptions(flat, ActivationFunctionType.TANH, false),
        new int[] {data, weights, recurrent, bias, state},
        result);
    assertNear(rnn(x, false, w[0], w[1], w[2]), file.run(result).getFirst(), 1e-5);
  }
}
