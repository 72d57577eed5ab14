// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A network over one picture, one row or a sequence of rows, in float32, NHWC, with batch
 * normalization folded into weights and biases. Every layer writes one value; value 0 is the input,
 * value {@code i + 1} what layer {@code i} writes. Immutable.
 *
 * @param name of files and tables
 * @param isQuantized whether files hold the layers in 8 bits, between float inputs and outputs
 * @param input the size of the only input
 * @param layers in the order of execution; the last one writes the output
 */
public record Network(String name, boolean isQuantized, Size input, List<Layer> layers) {
  public Network {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(input, "input");
    layers = List.copyOf(layers);
  }

  /** The axes that a value has in files. */
  public enum Form {
    PICTURE,
    /** Rows of channels: the height is their number, the width 1. */
    ROWS,
    /** One row of channels. */
    ROW
  }

  /** Height, width and channels of a value. */
  public record Size(Form form, int height, int width, int channels) {
    /** The size of a picture. */
    public Size(int height, int width, int channels) {
      this(Form.PICTURE, height, width, channels);
    }

    /** The size of one row. */
    public static Size row(int channels) {
      return new Size(Form.ROW, 1, 1, channels);
    }

    /** The size of a sequence of rows. */
    static Size rows(int rows, int channels) {
      return new Size(Form.ROWS, rows, 1, channels);
    }

    /** Returns the shape with channels last. */
    int[] shape() {
      return switch (form) {
        case PICTURE -> new int[] {1, height, width, channels};
        case ROWS -> new int[] {1, height, channels};
        case ROW -> new int[] {1, channels};
      };
    }

    /** Returns the number of elements. */
    public int elements() {
      return height * width * channels;
    }
  }

  /** The functions that follow a layer at once. */
  public enum Activation {
    NONE,
    RELU,
    RELU6
  }

  /** One layer, with the size of what it writes. */
  public sealed interface Layer {
    /** Returns the size that it writes. */
    Size size();
  }

  /**
   * A layer with weights.
   *
   * @param kind how they are used; a dense layer multiplies each row of a sequence, and all of a
   *     picture as one row
   * @param from the value it reads
   * @param kernel height and width of the window; 1 for a dense layer
   * @param stride in both directions; padding is TensorFlow's SAME, or none where the output says
   *     so
   * @param weights OHWI; 1HWC for a depthwise layer
   * @param bias one for each channel
   */
  public record Weighted(
      Kind kind,
      int from,
      int kernel,
      int stride,
      Activation activation,
      Size size,
      float[] weights,
      float[] bias)
      implements Layer {
    /** The uses of weights. */
    public enum Kind {
      CONVOLUTION,
      DEPTHWISE,
      DENSE
    }
  }

  /** The largest value of a window, padded as SAME. */
  public record MaxPool(int from, int kernel, int stride, Size size) implements Layer {}

  /** The mean of every channel. */
  public record GlobalAverage(int from, int height, int width, Size size) implements Layer {}

  /** The sum of two values. */
  public record Add(int first, int second, Activation activation, Size size) implements Layer {}

  /** The product of two values; the second has one number for each channel, or as many. */
  public record Product(int first, int second, Size size) implements Layer {}

  /** The logistic function of each number. */
  public record Logistic(int from, Size size) implements Layer {}

  /** The channels of two values, one behind the other. */
  public record Concatenation(int first, int second, Size size) implements Layer {}

  /** The Gaussian error linear unit of each number, by the error function. */
  public record Gelu(int from, Size size) implements Layer {}

  /** Each row less its mean, by its standard deviation, times a scale, plus a shift. */
  public record Normalization(int from, float[] scale, float[] shift, Size size) implements Layer {
    /** The number that is added to the variance, as in BERT. */
    static final float EPSILON = 1e-12f;
  }

  /** Attention by the scaled products of queries and keys, in heads that share the channels. */
  public record Attention(int queries, int keys, int values, int heads, Size size)
      implements Layer {
    int headSize() {
      return size.channels() / heads;
    }
  }

  /** Exponentials that sum to 1. */
  public record Softmax(int from, Size size) implements Layer {}

  /** The size of a value. */
  public Size size(int value) {
    return value == 0 ? input : layers.get(value - 1).size();
  }

  /** Returns the padding on both sides: TensorFlow's SAME, or none where the output is smaller. */
  static int padding(int size, int output, int kernel, int stride) {
    return Math.max(0, (output - 1) * stride + kernel - size);
  }

  /** The output. */
  public Size output() {
    return layers.getLast().size();
  }

  /** The same in 8 bits, without a softmax at the end: steps of 8 bits tell logits apart. */
  Network quantized() {
    List<Layer> logits =
        layers.getLast() instanceof Softmax ? layers.subList(0, layers.size() - 1) : layers;
    return new Network(name + "_qdq", true, input, logits);
  }

  /** Multiplications and additions of all weights, as the literature counts them. */
  public long multiplyAccumulates() {
    long sum = 0;
    for (Layer layer : layers) {
      if (layer instanceof Weighted weighted) {
        long places = (long) weighted.size().height() * weighted.size().width();
        sum += places * weighted.weights().length;
      }
    }
    return sum;
  }

  /** Puts a network together, layer by layer, with weights from a seed. Not thread-safe. */
  static final class Builder {
    private final String name;
    private final Size input;
    private final RandomWeights random;
    private final List<Layer> layers = new ArrayList<>();

    Builder(String name, Size input, long seed) {
      this.name = name;
      this.input = input;
      this.random = new RandomWeights(seed);
    }

    private Size size(int value) {
      return value == 0 ? input : layers.get(value - 1).size();
    }

    private int add(Layer layer) {
      layers.add(layer);
      return layers.size();
    }

    private Size windowed(int from, int stride, int channels) {
      Size size = size(from);
      return new Size(
          Math.ceilDiv(size.height(), stride), Math.ceilDiv(size.width(), stride), channels);
    }

    int convolution(int from, int channels, int kernel, int stride, Activation activation) {
      int fanIn = kernel * kernel * size(from).channels();
      return add(
          new Weighted(
              Weighted.Kind.CONVOLUTION,
              from,
              kernel,
              stride,
              activation,
              windowed(from, stride, channels),
              random.weights(channels * fanIn, fanIn, activation),
              random.bias(channels)));
    }

    int depthwise(int from, int kernel, int stride, Activation activation) {
      int channels = size(from).channels();
      int fanIn = kernel * kernel;
      return add(
          new Weighted(
              Weighted.Kind.DEPTHWISE,
              from,
              kernel,
              stride,
              activation,
              windowed(from, stride, channels),
              random.weights(channels * fanIn, fanIn, activation),
              random.bias(channels)));
    }

    int dense(int from, int channels, Activation activation) {
      Size size = size(from);
      boolean isSequence = size.form() == Form.ROWS;
      int fanIn = isSequence ? size.channels() : size.elements();
      return add(
          new Weighted(
              Weighted.Kind.DENSE,
              from,
              1,
              1,
              activation,
              isSequence ? Size.rows(size.height(), channels) : Size.row(channels),
              random.weights(channels * fanIn, fanIn, activation),
              random.bias(channels)));
    }

    int maxPool(int from, int kernel, int stride) {
      return add(new MaxPool(from, kernel, stride, windowed(from, stride, size(from).channels())));
    }

    int globalAverage(int from) {
      Size size = size(from);
      return add(
          new GlobalAverage(from, size.height(), size.width(), new Size(1, 1, size.channels())));
    }

    int sum(int first, int second, Activation activation) {
      return add(new Add(first, second, activation, size(first)));
    }

    int product(int first, int second) {
      return add(new Product(first, second, size(first)));
    }

    int logistic(int from) {
      return add(new Logistic(from, size(from)));
    }

    int gelu(int from) {
      return add(new Gelu(from, size(from)));
    }

    int normalization(int from) {
      Size size = size(from);
      float[] scale = random.bias(size.channels());
      for (int i = 0; i < scale.length; i++) {
        scale[i] += 1;
      }
      return add(new Normalization(from, scale, random.bias(size.channels()), size));
    }

    int attention(int queries, int keys, int values, int heads) {
      return add(new Attention(queries, keys, values, heads, size(queries)));
    }

    int concatenation(int first, int second) {
      Size size = size(first);
      int channels = size.channels() + size(second).channels();
      return add(new Concatenation(first, second, new Size(size.height(), size.width(), channels)));
    }

    int channels(int value) {
      return size(value).channels();
    }

    Network softmax(int from) {
      return end(add(new Softmax(from, size(from))));
    }

    /** Ends with a value, which is the last that was written. */
    Network end(int value) {
      if (value != layers.size()) {
        throw new IllegalArgumentException("value " + value + " is not the last one");
      }
      return new Network(name, false, input, layers);
    }
  }
}
