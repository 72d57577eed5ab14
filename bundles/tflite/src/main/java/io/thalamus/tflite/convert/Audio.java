// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import com.google.flatbuffers.FlexBuffers;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import org.tensorflow.lite.schema.TensorType;

/**
 * The custom operators of speech models, which TensorFlow Lite has beside its own:
 * AudioSpectrogram, products of windows of samples with waves, and Mfcc, the cosine transform of
 * logarithms of the energy in bands of the mel scale.
 */
final class Audio {
  /** Less energy than this in a band is taken for this, so that it has a logarithm. */
  private static final float LEAST_ENERGY = 1e-12f;

  /** The mel scale, {@code 1127 * ln(1 + f / 700)}. */
  private static final double MELS = 1127;

  private static final double CORNER_HERTZ = 700;

  /** Not in any band. */
  private static final float NOWHERE = -1e6f;

  private Audio() {}

  static void addTo(Converters table) {
    table.addCustom("AudioSpectrogram", Audio::spectrogram);
    table.addCustom("Mfcc", Audio::cepstrum);
  }

  private static int setting(Node node, FlexBuffers.Map settings, String name) {
    return node.get(() -> settings.get(name).asInt());
  }

  private static void requireFloats(Node node, int rank) {
    Operand data = node.inOperand(0);
    node.require(
        data.type() == OperandCode.TENSOR_FLOAT32
            && data.shape().rank() == rank
            && data.shape().isFullySpecified(),
        "it takes " + data.type().text() + " " + data.shape());
  }

  /**
   * Samples by channel to squares, or magnitudes, of as many waves as fit the next power of two,
   * for each channel and each window. A window is weighted by a periodic Hann window.
   */
  private static void spectrogram(Node node) {
    FlexBuffers.Map settings = node.namedOptions();
    int window = setting(node, settings, "window_size");
    int stride = setting(node, settings, "stride");
    boolean isSquared = node.get(() -> settings.get("magnitude_squared").asBoolean());
    requireFloats(node, 2);
    Shape samples = node.shapeOf(0);
    int channels = samples.dimension(1);
    node.require(
        window >= 2 && window <= samples.dimension(0) && stride >= 1,
        "it takes windows of %d with stride %d of %d samples"
            .formatted(window, stride, samples.dimension(0)));
    int count = 1 + (samples.dimension(0) - window) / stride;
    int length = Integer.highestOneBit(window - 1) << 1;
    int bins = length / 2 + 1;
    Shape places = Shape.of(channels, count, window);
    int windows = node.temporary(node.inOperand(0), places);
    long[] steps = {1, (long) stride * channels, channels};
    Strided.emit(node, node.in(0), places, 0, steps, windows);
    int rows = Reshape.reshaped(node, windows, Shape.of(channels * count, window));
    int real = squares(node, rows, bins, length, 0);
    int imaginary = squares(node, rows, bins, length, Math.PI / 2);
    int energy = node.compute(OperationCode.ADD, real, real, imaginary);
    Reshape.emit(
        node,
        isSquared ? energy : node.compute(OperationCode.SQRT, energy, energy),
        Shape.of(channels, count, bins));
  }

  /** Squares of the products of windows with waves of each frequency, in a phase. */
  private static int squares(Node node, int windows, int bins, int length, double phase) {
    int window = node.operand(windows).shape().dimension(1);
    float[] waves = node.constants().room((long) bins * window, node.input(0));
    for (int bin = 0; bin < bins; bin++) {
      for (int i = 0; i < window; i++) {
        double weight = 0.5 - 0.5 * Math.cos(2 * Math.PI * i / window);
        double angle = 2 * Math.PI * ((long) bin * i % length) / length;
        waves[bin * window + i] = (float) (weight * Math.cos(angle - phase));
      }
    }
    int part =
        MatrixMultiply.times(node, windows, node.float32Tensor(Shape.of(bins, window), waves));
    return node.compute(OperationCode.MUL, part, part, part);
  }

  /**
   * Squares of magnitudes to coefficients of a cosine transform, for each window. The bands depend
   * on the rate of the samples, which is an input.
   */
  private static void cepstrum(Node node) {
    FlexBuffers.Map settings = node.namedOptions();
    int bands = setting(node, settings, "filterbank_channel_count");
    int coefficients = setting(node, settings, "dct_coefficient_count");
    int lower = setting(node, settings, "lower_frequency_limit");
    int upper = setting(node, settings, "upper_frequency_limit");
    requireFloats(node, 3);
    Shape energy = node.shapeOf(0);
    int bins = energy.dimension(2);
    node.require(
        bins >= 2
            && bands >= 1
            && coefficients >= 1
            && coefficients <= bands
            && lower >= 0
            && upper > lower
            && node.input(1).is(TensorType.INT32),
        "it takes %d coefficients of %d bands from %d to %d Hz of %d frequencies"
            .formatted(coefficients, bands, lower, upper, bins));
    int rows = energy.dimension(0) * energy.dimension(1);
    int squares = Reshape.reshaped(node, node.in(0), Shape.of(rows, bins));
    int magnitudes = node.compute(OperationCode.SQRT, squares, squares);
    int rate = rate(node);
    int inBands =
        MatrixMultiply.times(node, magnitudes, bands(node, rate, bins, bands, lower, upper));
    int least = node.float32Tensor(Shape.of(1), LEAST_ENERGY);
    int some = node.compute(OperationCode.MAXIMUM, inBands, inBands, least);
    int logarithms = node.compute(OperationCode.LOG, some, some);
    float[] waves = node.constants().room((long) coefficients * bands, node.input(0));
    for (int i = 0; i < coefficients; i++) {
      for (int band = 0; band < bands; band++) {
        waves[i * bands + band] =
            (float) (Math.sqrt(2.0 / bands) * Math.cos(Math.PI / bands * i * (band + 0.5)));
      }
    }
    int transform = node.float32Tensor(Shape.of(coefficients, bands), waves);
    int transformed = MatrixMultiply.times(node, logarithms, transform);
    int known =
        node.compute(OperationCode.MUL, transformed, transformed, isKnown(node, rate, bins, upper));
    Reshape.emit(node, known, energy.with(2, coefficients));
  }

  /** The rate of the samples as one real number. */
  private static int rate(Node node) {
    int real =
        node.compute(OperationCode.CAST, OperandCode.TENSOR_FLOAT32, node.shapeOf(1), node.in(1));
    return Reshape.reshaped(node, real, Shape.of(1));
  }

  /** 1 where the highest band is among the frequencies, else 0, as all coefficients are then. */
  private static int isKnown(Node node, int rate, int bins, int upper) {
    int end = number(node, OperationCode.MUL, rate, (float) (bins / (2.0 * (bins - 1))));
    int limit = node.float32Tensor(Shape.of(1), upper);
    return node.compute(
        OperationCode.SELECT,
        rate,
        node.compare(OperationCode.GREATER, end, limit),
        node.float32Tensor(Shape.of(1), 1),
        node.float32Tensor(Shape.of(1), 0));
  }

  /**
   * Weights of frequencies in bands: triangles around centers that are as far apart in the mel
   * scale as a triangle is wide to one side.
   */
  private static int bands(Node node, int rate, int bins, int bands, int lower, int upper) {
    Shape line = Shape.of(bins);
    float[] steps = node.constants().room(bins, node.input(0));
    float[] before = node.constants().room(bins, node.input(0));
    float[] nowhere = node.constants().room(bins, node.input(0));
    for (int bin = 0; bin < bins; bin++) {
      steps[bin] = (float) (bin / (2.0 * (bins - 1)));
      before[bin] = (float) ((bin - 0.5) / (2.0 * (bins - 1)));
      nowhere[bin] = NOWHERE;
    }
    Operand reals = node.operand(rate);
    int hertz = node.compute(OperationCode.MUL, reals, line, rate, node.float32Tensor(line, steps));
    int hertzBefore =
        node.compute(OperationCode.MUL, reals, line, rate, node.float32Tensor(line, before));
    int corners = number(node, OperationCode.MUL, hertz, (float) (1 / CORNER_HERTZ));
    int ratio = number(node, OperationCode.ADD, corners, 1);
    int logarithm = node.compute(OperationCode.LOG, ratio, ratio);
    double lowest = MELS * Math.log1p(lower / CORNER_HERTZ);
    double spacing = (MELS * Math.log1p(upper / CORNER_HERTZ) - lowest) / (bands + 1);
    int place = number(node, OperationCode.MUL, logarithm, (float) (MELS / spacing));
    int isAbove =
        node.compare(OperationCode.GREATER, hertzBefore, node.float32Tensor(Shape.of(1), lower));
    int isWithin =
        node.compare(OperationCode.LESS_EQUAL, hertz, node.float32Tensor(Shape.of(1), upper));
    int none = node.float32Tensor(line, nowhere);
    int above = node.compute(OperationCode.SELECT, place, isAbove, place, none);
    int within = node.compute(OperationCode.SELECT, place, isWithin, above, none);
    float[] centers = node.constants().room(bands, node.input(0));
    for (int band = 0; band < bands; band++) {
      centers[band] = (float) (lowest / spacing + band + 1);
    }
    Shape all = Shape.of(bands, bins);
    int distance =
        node.compute(
            OperationCode.SUB, reals, all, within, node.float32Tensor(Shape.of(bands, 1), centers));
    int away = node.compute(OperationCode.ABS, distance, distance);
    int height = number(node, OperationCode.ADD, number(node, OperationCode.MUL, away, -1), 1);
    return node.compute(OperationCode.RELU, height, height);
  }

  private static int number(Node node, OperationCode operation, int operand, float number) {
    return node.compute(operation, operand, operand, node.float32Tensor(Shape.of(1), number));
  }
}
