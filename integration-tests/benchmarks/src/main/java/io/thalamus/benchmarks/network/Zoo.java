// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import io.thalamus.benchmarks.network.Network.Activation;
import io.thalamus.benchmarks.network.Network.Builder;
import io.thalamus.benchmarks.network.Network.Size;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * The networks of the literature, by the layer tables of their papers, and the smallest network of
 * all, whose time is what an execution costs beside its kernels.
 */
public final class Zoo {
  private static final Size PICTURE = new Size(224, 224, 3);
  private static final Size FEW = new Size(1, 1, 8);
  private static final Size SPECTROGRAM = new Size(49, 10, 1);
  private static final int WORDS = 12;
  private static final int CLASSES = 1000;
  private static final long SEED = 20_260_101;

  /** Channels and stride of each pair of layers after the first one (Howard et al. 2017). */
  private static final List<int[]> MOBILENET_V1 =
      List.of(
          new int[] {64, 1},
          new int[] {128, 2},
          new int[] {128, 1},
          new int[] {256, 2},
          new int[] {256, 1},
          new int[] {512, 2},
          new int[] {512, 1},
          new int[] {512, 1},
          new int[] {512, 1},
          new int[] {512, 1},
          new int[] {512, 1},
          new int[] {1024, 2},
          new int[] {1024, 1});

  /** Expansion, channels, repetitions and first stride (Sandler et al. 2018, table 2). */
  private static final List<int[]> MOBILENET_V2 =
      List.of(
          new int[] {1, 16, 1, 1},
          new int[] {6, 24, 2, 2},
          new int[] {6, 32, 3, 2},
          new int[] {6, 64, 4, 2},
          new int[] {6, 96, 3, 1},
          new int[] {6, 160, 3, 2},
          new int[] {6, 320, 1, 1});

  /** Blocks of each stage (He et al. 2015, table 1). */
  private static final int[] RESNET_50 = {3, 4, 6, 3};

  /** Expansion, channels, repetitions, first stride and window (Tan and Le 2019, table 1). */
  private static final List<int[]> EFFICIENTNET_B0 =
      List.of(
          new int[] {1, 16, 1, 1, 3},
          new int[] {6, 24, 2, 2, 3},
          new int[] {6, 40, 2, 2, 5},
          new int[] {6, 80, 3, 2, 3},
          new int[] {6, 112, 3, 1, 5},
          new int[] {6, 192, 4, 2, 5},
          new int[] {6, 320, 1, 1, 3});

  private static final Map<String, Supplier<Network>> NETWORKS =
      new TreeMap<>(
          Map.ofEntries(
              entry("add", Zoo::add),
              entry("bert_mini", Zoo::bertMini),
              entry("convolution", Zoo::convolution),
              entry("dense_stack", Zoo::denseStack),
              entry("ds_cnn", Zoo::dsCnn),
              entry("efficientnet_b0", Zoo::efficientNetB0),
              entry("mobilenet_v1", Zoo::mobileNetV1),
              entry("mobilenet_v2", Zoo::mobileNetV2),
              entry("mobilenet_v2_qdq", () -> mobileNetV2().quantized()),
              entry("resnet_50", Zoo::resNet50),
              entry("resnet_50_qdq", () -> resNet50().quantized()),
              entry("squeezenet_1_1", Zoo::squeezeNet)));

  private Zoo() {}

  private static Map.Entry<String, Supplier<Network>> entry(
      String name, Supplier<Network> network) {
    return Map.entry(name, network);
  }

  /** The names of all networks, the smallest too, in alphabetical order. */
  public static List<String> names() {
    return List.copyOf(NETWORKS.keySet());
  }

  /** The names of those that engines are compared over, in alphabetical order. */
  public static List<String> literature() {
    return names().stream()
        .filter(name -> !Set.of("add", "convolution", "ds_cnn").contains(name))
        .toList();
  }

  /**
   * A network with its weights.
   *
   * @throws IllegalArgumentException where there is none of this name
   */
  public static Network network(String name) {
    Supplier<Network> network = NETWORKS.get(name);
    if (network == null) {
      throw new IllegalArgumentException("no network " + name + "; there are " + names());
    }
    return network.get();
  }

  private static Network add() {
    Builder net = new Builder("add", FEW, SEED);
    return net.end(net.sum(0, 0, Activation.NONE));
  }

  /** A single operation that takes most of a second: 40 billion multiplications. */
  private static Network convolution() {
    Builder net = new Builder("convolution", new Size(112, 112, 256), SEED);
    return net.end(net.convolution(0, 256, 7, 1, Activation.RELU));
  }

  /** The small one of Zhang et al. 2017 (table 4), but for the first window, which is square. */
  private static Network dsCnn() {
    Builder net = new Builder("ds_cnn", SPECTROGRAM, SEED);
    int value = net.convolution(0, 64, 4, 2, Activation.RELU);
    for (int i = 0; i < 4; i++) {
      value = net.depthwise(value, 3, 1, Activation.RELU);
      value = net.convolution(value, 64, 1, 1, Activation.RELU);
    }
    return net.softmax(net.dense(net.globalAverage(value), WORDS, Activation.NONE));
  }

  /**
   * Eight layers of 1024 for one row: 34 MB of weights, of which each is used once, so that caches
   * do not hold them and memory bounds the time. Multilayer perceptrons for one request are so.
   */
  private static Network denseStack() {
    Builder net = new Builder("dense_stack", Size.row(1024), SEED);
    int value = 0;
    for (int i = 0; i < 8; i++) {
      value = net.dense(value, 1024, i < 7 ? Activation.RELU : Activation.NONE);
    }
    return net.softmax(value);
  }

  /** The encoder of Turc et al. 2019 (table 1: 4 layers of 256), from embedded tokens on. */
  private static Network bertMini() {
    Builder net = new Builder("bert_mini", Size.rows(128, 256), SEED);
    int value = 0;
    for (int i = 0; i < 4; i++) {
      int mixed =
          net.attention(
              net.dense(value, 256, Activation.NONE),
              net.dense(value, 256, Activation.NONE),
              net.dense(value, 256, Activation.NONE),
              4);
      int projected = net.dense(mixed, 256, Activation.NONE);
      value = net.normalization(net.sum(value, projected, Activation.NONE));
      int wide = net.gelu(net.dense(value, 1024, Activation.NONE));
      int narrow = net.dense(wide, 256, Activation.NONE);
      value = net.normalization(net.sum(value, narrow, Activation.NONE));
    }
    return net.end(value);
  }

  /** The version 1.1 of Iandola et al. 2016, padded so that no size is odd. */
  private static Network squeezeNet() {
    Builder net = new Builder("squeezenet_1_1", PICTURE, SEED);
    int value = net.maxPool(net.convolution(0, 64, 3, 2, Activation.RELU), 3, 2);
    for (int fire = 0; fire < 8; fire++) {
      if (fire == 2 || fire == 4) {
        value = net.maxPool(value, 3, 2);
      }
      int narrow = 16 * (fire / 2 + 1);
      value = net.convolution(value, narrow, 1, 1, Activation.RELU);
      value =
          net.concatenation(
              net.convolution(value, 4 * narrow, 1, 1, Activation.RELU),
              net.convolution(value, 4 * narrow, 3, 1, Activation.RELU));
    }
    value = net.convolution(value, CLASSES, 1, 1, Activation.RELU);
    return net.softmax(net.globalAverage(value));
  }

  private static Network efficientNetB0() {
    Builder net = new Builder("efficientnet_b0", PICTURE, SEED);
    int value = swish(net, net.convolution(0, 32, 3, 2, Activation.NONE));
    for (int[] row : EFFICIENTNET_B0) {
      for (int i = 0; i < row[2]; i++) {
        int stride = i == 0 ? row[3] : 1;
        int from = value;
        int channels = net.channels(from);
        if (row[0] > 1) {
          int wide = net.convolution(value, channels * row[0], 1, 1, Activation.NONE);
          value = swish(net, wide);
        }
        value = swish(net, net.depthwise(value, row[4], stride, Activation.NONE));
        value = net.product(value, attention(net, value, channels / 4));
        value = net.convolution(value, row[1], 1, 1, Activation.NONE);
        if (stride == 1 && channels == row[1]) {
          value = net.sum(from, value, Activation.NONE);
        }
      }
    }
    value = swish(net, net.convolution(value, 1280, 1, 1, Activation.NONE));
    return net.softmax(net.dense(net.globalAverage(value), CLASSES, Activation.NONE));
  }

  private static int swish(Builder net, int value) {
    return net.product(value, net.logistic(value));
  }

  /** A number for each channel by the means of all (squeeze and excitation). */
  private static int attention(Builder net, int value, int narrow) {
    int squeezed = net.convolution(net.globalAverage(value), narrow, 1, 1, Activation.NONE);
    int wide = net.convolution(swish(net, squeezed), net.channels(value), 1, 1, Activation.NONE);
    return net.logistic(wide);
  }

  private static Network mobileNetV1() {
    Builder net = new Builder("mobilenet_v1", PICTURE, SEED);
    int value = net.convolution(0, 32, 3, 2, Activation.RELU6);
    for (int[] row : MOBILENET_V1) {
      value = net.depthwise(value, 3, row[1], Activation.RELU6);
      value = net.convolution(value, row[0], 1, 1, Activation.RELU6);
    }
    return net.softmax(net.dense(net.globalAverage(value), CLASSES, Activation.NONE));
  }

  private static Network mobileNetV2() {
    Builder net = new Builder("mobilenet_v2", PICTURE, SEED);
    int channels = 32;
    int value = net.convolution(0, channels, 3, 2, Activation.RELU6);
    for (int[] row : MOBILENET_V2) {
      for (int i = 0; i < row[2]; i++) {
        int stride = i == 0 ? row[3] : 1;
        int from = value;
        if (row[0] > 1) {
          value = net.convolution(value, channels * row[0], 1, 1, Activation.RELU6);
        }
        value = net.depthwise(value, 3, stride, Activation.RELU6);
        value = net.convolution(value, row[1], 1, 1, Activation.NONE);
        if (stride == 1 && channels == row[1]) {
          value = net.sum(from, value, Activation.NONE);
        }
        channels = row[1];
      }
    }
    value = net.convolution(value, 1280, 1, 1, Activation.RELU6);
    return net.softmax(net.dense(net.globalAverage(value), CLASSES, Activation.NONE));
  }

  /** With the stride in the 3x3 convolution, as most implementations have it. */
  private static Network resNet50() {
    Builder net = new Builder("resnet_50", PICTURE, SEED);
    int value = net.maxPool(net.convolution(0, 64, 7, 2, Activation.RELU), 3, 2);
    for (int stage = 0; stage < RESNET_50.length; stage++) {
      int narrow = 64 << stage;
      for (int block = 0; block < RESNET_50[stage]; block++) {
        int stride = block == 0 && stage > 0 ? 2 : 1;
        int shortcut =
            block == 0 ? net.convolution(value, narrow * 4, 1, stride, Activation.NONE) : value;
        int inner = net.convolution(value, narrow, 1, 1, Activation.RELU);
        inner = net.convolution(inner, narrow, 3, stride, Activation.RELU);
        inner = net.convolution(inner, narrow * 4, 1, 1, Activation.NONE);
        value = net.sum(shortcut, inner, Activation.RELU);
      }
    }
    return net.softmax(net.dense(net.globalAverage(value), CLASSES, Activation.NONE));
  }
}
