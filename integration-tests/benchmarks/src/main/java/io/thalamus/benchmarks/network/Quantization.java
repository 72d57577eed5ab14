// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import io.thalamus.benchmarks.network.Network.Add;
import io.thalamus.benchmarks.network.Network.GlobalAverage;
import io.thalamus.benchmarks.network.Network.Layer;
import io.thalamus.benchmarks.network.Network.MaxPool;
import io.thalamus.benchmarks.network.Network.Size;
import io.thalamus.benchmarks.network.Network.Weighted;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * The 8-bit numbers of a network, as the tools of TensorFlow Lite and of ONNX Runtime choose them:
 * values have the range of a float run over noise, weights a symmetric one for each channel, biases
 * the product of both scales. Immutable.
 */
final class Quantization {
  private static final long SEED = 11;
  private static final int STEPS = 255;

  private final List<Parameters> values = new ArrayList<>();

  /** The scale and the zero point of a value in signed bytes. */
  record Parameters(float scale, int zeroPoint) {
    private static Parameters of(float[] values) {
      float least = 0;
      float largest = 0;
      for (float value : values) {
        least = Math.min(least, value);
        largest = Math.max(largest, value);
      }
      float scale = (largest - least) / STEPS;
      return new Parameters(scale, Byte.MIN_VALUE + Math.round(-least / scale));
    }
  }

  /** Runs {@code network} in float. */
  Quantization(Network network) {
    float[] input = new float[network.input().elements()];
    SplittableRandom random = new SplittableRandom(SEED);
    for (int i = 0; i < input.length; i++) {
      input[i] = (float) random.nextDouble(-1, 1);
    }
    List<float[]> run = new ArrayList<>(List.of(input));
    values.add(Parameters.of(input));
    for (Layer layer : network.layers()) {
      float[] output = new float[layer.size().elements()];
      switch (layer) {
        case Weighted weighted -> {
          Size from = network.size(weighted.from());
          float[] weights = innermostChannels(weighted);
          for (int row = 0; row < layer.size().height(); row++) {
            row(weighted, weights, from, run.get(weighted.from()), output, row);
          }
        }
        case MaxPool pool -> maxPool(pool, network.size(pool.from()), run.get(pool.from()), output);
        case GlobalAverage average -> {
          float[] from = run.get(average.from());
          float share = (float) output.length / from.length;
          for (int i = 0; i < from.length; i++) {
            output[i % output.length] += from[i] * share;
          }
        }
        case Add add -> {
          float[] first = run.get(add.first());
          float[] second = run.get(add.second());
          for (int i = 0; i < output.length; i++) {
            output[i] = first[i] + second[i];
          }
          activate(add.activation(), output, 0, output.length);
        }
        default -> throw new IllegalArgumentException("no 8-bit form of " + layer);
      }
      run.add(output);
      // A pool passes values on, so that TensorFlow Lite wants one scale for both.
      values.add(layer instanceof MaxPool pool ? values.get(pool.from()) : Parameters.of(output));
    }
  }

  Parameters parameters(int value) {
    return values.get(value);
  }

  /** A scale for each channel of a layer's weights. */
  static float[] scales(Weighted layer) {
    float[] weights = layer.weights();
    float[] scales = new float[layer.size().channels()];
    for (int i = 0; i < weights.length; i++) {
      int channel = channel(layer, i);
      scales[channel] = Math.max(scales[channel], Math.abs(weights[i]) / Byte.MAX_VALUE);
    }
    return scales;
  }

  private static int channel(Weighted layer, int i) {
    int channels = layer.size().channels();
    return layer.kind() == Weighted.Kind.DEPTHWISE
        ? i % channels
        : i / (layer.weights().length / channels);
  }

  /** The weights of a layer in the order of a network. */
  static byte[] weights(Weighted layer) {
    float[] scales = scales(layer);
    byte[] bytes = new byte[layer.weights().length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) Math.round(layer.weights()[i] / scales[channel(layer, i)]);
    }
    return bytes;
  }

  /** A scale for each bias of a layer. */
  float[] biasScales(Weighted layer) {
    float[] scales = scales(layer);
    for (int i = 0; i < scales.length; i++) {
      scales[i] *= parameters(layer.from()).scale();
    }
    return scales;
  }

  int[] bias(Weighted layer) {
    float[] scales = biasScales(layer);
    return IntStream.range(0, scales.length)
        .map(i -> Math.round(layer.bias()[i] / scales[i]))
        .toArray();
  }

  /**
   * The weights with output channels as the innermost dimension, so that Java's loops vectorize.
   */
  private static float[] innermostChannels(Weighted layer) {
    if (layer.kind() == Weighted.Kind.DEPTHWISE) {
      return layer.weights();
    }
    int channels = layer.size().channels();
    int taps = layer.weights().length / channels;
    float[] result = new float[layer.weights().length];
    for (int i = 0; i < result.length; i++) {
      result[i % taps * channels + i / taps] = layer.weights()[i];
    }
    return result;
  }

  /** Computes one row of pixels. */
  private static void row(
      Weighted layer, float[] weights, Size from, float[] input, float[] output, int row) {
    Size size = layer.size();
    int channels = size.channels();
    boolean isDense = layer.kind() == Weighted.Kind.DENSE;
    int kernel = layer.kernel();
    int stride = layer.stride();
    int top = row * stride - Network.padding(from.height(), size.height(), kernel, stride) / 2;
    for (int column = 0; column < size.width(); column++) {
      int left = column * stride - Network.padding(from.width(), size.width(), kernel, stride) / 2;
      int to = (row * size.width() + column) * channels;
      System.arraycopy(layer.bias(), 0, output, to, channels);
      for (int tap = 0; tap < kernel * kernel; tap++) {
        int y = top + tap / kernel;
        int x = left + tap % kernel;
        if (y < 0 || y >= from.height() || x < 0 || x >= from.width()) {
          continue;
        }
        int pixel = isDense ? 0 : (y * from.width() + x) * from.channels();
        if (layer.kind() == Weighted.Kind.DEPTHWISE) {
          for (int c = 0; c < channels; c++) {
            output[to + c] += input[pixel + c] * weights[tap * channels + c];
          }
          continue;
        }
        int inputs = isDense ? input.length : from.channels();
        for (int i = 0; i < inputs; i++) {
          axpy(input[pixel + i], weights, (tap * inputs + i) * channels, output, to, channels);
        }
      }
      activate(layer.activation(), output, to, channels);
    }
  }

  private static void axpy(float factor, float[] from, int at, float[] to, int into, int count) {
    for (int i = 0; i < count; i++) {
      to[into + i] += factor * from[at + i];
    }
  }

  private static void maxPool(MaxPool pool, Size from, float[] input, float[] output) {
    Size size = pool.size();
    int channels = size.channels();
    int kernel = pool.kernel();
    int above = Network.padding(from.height(), size.height(), kernel, pool.stride()) / 2;
    int before = Network.padding(from.width(), size.width(), kernel, pool.stride()) / 2;
    Arrays.fill(output, Float.NEGATIVE_INFINITY);
    for (int i = 0; i < output.length; i++) {
      int place = i / channels;
      for (int tap = 0; tap < kernel * kernel; tap++) {
        int y = place / size.width() * pool.stride() - above + tap / kernel;
        int x = place % size.width() * pool.stride() - before + tap % kernel;
        if (y >= 0 && y < from.height() && x >= 0 && x < from.width()) {
          int pixel = (y * from.width() + x) * channels;
          output[i] = Math.max(output[i], input[pixel + i % channels]);
        }
      }
    }
  }

  private static void activate(Network.Activation activation, float[] values, int at, int count) {
    float least = activation == Network.Activation.NONE ? Float.NEGATIVE_INFINITY : 0;
    float largest = activation == Network.Activation.RELU6 ? 6 : Float.POSITIVE_INFINITY;
    for (int i = at; i < at + count; i++) {
      values[i] = Math.clamp(values[i], least, largest);
    }
  }
}
