// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A convolutional network over one picture, in float32, NHWC, with batch normalization folded into
 * weights and biases. Every layer writes one value; value 0 is the input, value {@code i + 1} what
 * layer {@code i} writes. Immutable.
 *
 * @param name of files and tables
 * @param input height, width and channels of the picture
 * @param layers in the order of execution; the last one writes the output
 */
public record Network(String name, Size input, List<Layer> layers) {
  public Network {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(input, "input");
    layers = List.copyOf(layers);
  }

  /** Height, width and channels of a value. */
  public record Size(int height, int width, int channels) {
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
    /** The values it reads. */
    List<Integer> reads();

    /** Returns the size that it writes. */
    Size size();
  }

  /**
   * A layer with weights.
   *
   * @param kind how they are used
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

    @Override
    public List<Integer> reads() {
      return List.of(from);
    }
  }

  /** The largest value of a window, padded as SAME. */
  public record MaxPool(int from, int kernel, int stride, Size size) implements Layer {
    @Override
    public List<Integer> reads() {
      return List.of(from);
    }
  }

  /** The mean of every channel. */
  public record GlobalAverage(int from, int height, int width, Size size) implements Layer {
    @Override
    public List<Integer> reads() {
      return List.of(from);
    }
  }

  /** The sum of two values. */
  public record Add(int first, int second, Activation activation, Size size) implements Layer {
    @Override
    public List<Integer> reads() {
      return List.of(first, second);
    }
  }

  /** The product of two values; the second has one number for each channel, or as many. */
  public record Product(int first, int second, Size size) implements Layer {
    @Override
    public List<Integer> reads() {
      return List.of(first, second);
    }
  }

  /** The logistic function of each number. */
  public record Logistic(int from, Size size) implements Layer {
    @Override
    public List<Integer> reads() {
      return List.of(from);
    }
  }

  /** The channels of two values, one behind the other. */
  public record Concatenation(int first, int second, Size size) implements Layer {
    @Override
    public List<Integer> reads() {
      return List.of(first, second);
    }
  }

  /** Exponentials that sum to 1. */
  public record Softmax(int from, Size size) implements Layer {
    @Override
    public List<Integer> reads() {
      return List.of(from);
    }
  }

  /** The size of a value. */
  public Size size(int value) {
    return value == 0 ? input : layers.get(value - 1).size();
  }

  /** Returns whether a value is one row of channels, without height and width. */
  boolean isFlat(int value) {
    return value > 0
        && switch (layers.get(value - 1)) {
          case Weighted weighted -> weighted.kind() == Weighted.Kind.DENSE;
          case Softmax softmax -> isFlat(softmax.from());
          default -> false;
        };
  }

  /** The output. */
  public Size output() {
    return layers.getLast().size();
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

    int dense(int from, int channels) {
      int fanIn = size(from).elements();
      return add(
          new Weighted(
              Weighted.Kind.DENSE,
              from,
              1,
              1,
              Activation.NONE,
              new Size(1, 1, channels),
              random.weights(channels * fanIn, fanIn, Activation.NONE),
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
      return new Network(name, input, layers);
    }
  }
}
