// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import static io.thalamus.tck.graph.Kinds.FLOATS;
import static io.thalamus.tck.graph.Kinds.NUMBERS;

import io.thalamus.model.OperandCode;
import io.thalamus.tck.graph.GraphDraft.Out;
import io.thalamus.tck.reference.Tensor;
import java.util.ArrayList;
import java.util.List;

/** Operations on images. */
final class WindowKinds {
  private WindowKinds() {}

  static void register(Kinds kinds) {
    kinds.add("CONV_2D", NUMBERS, WindowKinds::convolution);
    kinds.add("DEPTHWISE_CONV_2D", NUMBERS, WindowKinds::depthwise);
    kinds.add("GROUPED_CONV_2D", NUMBERS, WindowKinds::grouped);
    kinds.add("TRANSPOSE_CONV_2D", NUMBERS, WindowKinds::transposed);
    kinds.add("AVERAGE_POOL_2D", NUMBERS, WindowKinds::pool);
    kinds.add("MAX_POOL_2D", NUMBERS, WindowKinds::pool);
    kinds.add("L2_POOL_2D", FLOATS, WindowKinds::pool);
    kinds.add("RESIZE_BILINEAR", NUMBERS, WindowKinds::resize);
    kinds.add("RESIZE_NEAREST_NEIGHBOR", NUMBERS, WindowKinds::resize);
    kinds.add("DEPTH_TO_SPACE", NUMBERS, WindowKinds::depthToSpace);
    kinds.add("SPACE_TO_DEPTH", NUMBERS, WindowKinds::spaceToDepth);
    kinds.add("BATCH_TO_SPACE_ND", NUMBERS, WindowKinds::batchToSpace);
    kinds.add("SPACE_TO_BATCH_ND", NUMBERS, WindowKinds::spaceToBatch);
    kinds.add("INSTANCE_NORMALIZATION", FLOATS, WindowKinds::instanceNormalization);
  }

  /** Images with the layout that they are read in. */
  private record Images(int operand, Tensor tensor, boolean nchw) {
    static Images pick(GraphDraft graph, OperandCode type) {
      int operand = graph.pick(type, 4, 4);
      return new Images(operand, graph.tensor(operand), graph.random().nextInt(3) == 0);
    }

    int batches() {
      return tensor.shape()[0];
    }

    int height() {
      return tensor.shape()[nchw ? 2 : 1];
    }

    int width() {
      return tensor.shape()[nchw ? 3 : 2];
    }

    int channels() {
      return tensor.shape()[nchw ? 1 : 3];
    }

    Out like() {
      return new Out(tensor.type(), Quant.of(tensor));
    }
  }

  /** Filters of the data's type are small: sums of many products say little about each. */
  private static int filter(GraphDraft graph, OperandCode type, int... shape) {
    return graph.leaf(type, shape, new Range(-1, 1));
  }

  /** Paddings or a scheme, then the strides, for windows that fit. */
  private static void addWindow(
      GraphDraft graph, List<Integer> inputs, Images in, int filterHeight, int filterWidth) {
    if (graph.random().nextBoolean()) {
      boolean fits = filterHeight <= in.height() && filterWidth <= in.width();
      inputs.add(graph.int32(fits ? graph.between(1, 2) : 1));
    } else {
      inputs.add(graph.int32(graph.between(0, filterWidth - 1)));
      inputs.add(graph.int32(graph.between(0, filterWidth - 1)));
      inputs.add(graph.int32(graph.between(0, filterHeight - 1)));
      inputs.add(graph.int32(graph.between(0, filterHeight - 1)));
    }
    inputs.add(graph.int32(graph.between(1, 2)));
    inputs.add(graph.int32(graph.between(1, 2)));
  }

  /** The activation, and what may follow it. */
  private static void addEnd(
      GraphDraft graph, List<Integer> inputs, Images in, boolean dilations, boolean always) {
    inputs.add(graph.int32(graph.between(0, 3)));
    boolean dilated = dilations && graph.random().nextInt(3) == 0;
    if (always || in.nchw() || dilated || graph.random().nextBoolean()) {
      inputs.add(graph.bool(in.nchw()));
    }
    if (dilated) {
      inputs.add(graph.int32(graph.between(1, 2)));
      inputs.add(graph.int32(graph.between(1, 2)));
    }
  }

  private static List<Integer> start(GraphDraft graph, Images in, int filter, int channels) {
    return new ArrayList<>(
        List.of(in.operand(), filter, graph.bias(in.operand(), filter, channels)));
  }

  private static int size(GraphDraft graph, int most) {
    return graph.between(1, Math.min(3, most));
  }

  private static boolean convolution(GraphDraft graph, String operation, OperandCode type) {
    Images in = Images.pick(graph, type);
    int height = size(graph, in.height());
    int width = size(graph, in.width());
    int channels = graph.between(1, 4);
    int filter = filter(graph, type, channels, height, width, in.channels());
    List<Integer> inputs = start(graph, in, filter, channels);
    addWindow(graph, inputs, in, height, width);
    addEnd(graph, inputs, in, true, false);
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs));
  }

  private static boolean depthwise(GraphDraft graph, String operation, OperandCode type) {
    Images in = Images.pick(graph, type);
    int height = size(graph, in.height());
    int width = size(graph, in.width());
    int multiplier = graph.between(1, 2);
    int channels = in.channels() * multiplier;
    int filter = filter(graph, type, 1, height, width, channels);
    List<Integer> inputs = start(graph, in, filter, channels);
    addWindow(graph, inputs, in, height, width);
    inputs.add(graph.int32(multiplier));
    addEnd(graph, inputs, in, true, false);
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs));
  }

  private static boolean grouped(GraphDraft graph, String operation, OperandCode type) {
    Images in = Images.pick(graph, type);
    int groups = in.channels() % 2 == 0 ? 2 : in.channels() % 3 == 0 ? 3 : 1;
    int height = size(graph, in.height());
    int width = size(graph, in.width());
    int channels = groups * graph.between(1, 2);
    int filter = filter(graph, type, channels, height, width, in.channels() / groups);
    List<Integer> inputs = start(graph, in, filter, channels);
    addWindow(graph, inputs, in, height, width);
    inputs.add(graph.int32(groups));
    addEnd(graph, inputs, in, false, true);
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs));
  }

  private static boolean transposed(GraphDraft graph, String operation, OperandCode type) {
    Images in = Images.pick(graph, type);
    int height = graph.between(1, 3);
    int width = graph.between(1, 3);
    int channels = graph.between(1, 3);
    int filter = filter(graph, type, channels, height, width, in.channels());
    List<Integer> inputs = start(graph, in, filter, channels);
    int strideWidth = graph.between(1, 2);
    int strideHeight = graph.between(1, 2);
    if (graph.random().nextBoolean()) {
      int outHeight = in.height() * strideHeight;
      int outWidth = in.width() * strideWidth;
      inputs.add(
          in.nchw()
              ? graph.ints(in.batches(), channels, outHeight, outWidth)
              : graph.ints(in.batches(), outHeight, outWidth, channels));
      inputs.add(graph.int32(1));
    } else {
      for (int i = 0; i < 4; i++) {
        inputs.add(graph.int32(graph.between(0, Math.min(height, width) - 1) / 2));
      }
    }
    inputs.add(graph.int32(strideWidth));
    inputs.add(graph.int32(strideHeight));
    inputs.add(graph.int32(graph.between(0, 3)));
    inputs.add(graph.bool(in.nchw()));
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs));
  }

  private static boolean pool(GraphDraft graph, String operation, OperandCode type) {
    Images in = Images.pick(graph, type);
    int height = size(graph, in.height());
    int width = size(graph, in.width());
    List<Integer> inputs = new ArrayList<>(List.of(in.operand()));
    addWindow(graph, inputs, in, height, width);
    inputs.add(graph.int32(width));
    inputs.add(graph.int32(height));
    addEnd(graph, inputs, in, false, false);
    return graph.add(operation, inputs, in.like());
  }

  private static boolean resize(GraphDraft graph, String operation, OperandCode type) {
    Images in = Images.pick(graph, type);
    List<Integer> inputs = new ArrayList<>(List.of(in.operand()));
    if (graph.random().nextInt(3) == 0) {
      inputs.add(graph.scalarFor(type, graph.between(2, 8) / 4.0));
      inputs.add(graph.scalarFor(type, graph.between(2, 8) / 4.0));
    } else {
      inputs.add(graph.int32(graph.between(1, 8)));
      inputs.add(graph.int32(graph.between(1, 8)));
    }
    boolean nearest = operation.equals("RESIZE_NEAREST_NEIGHBOR");
    boolean corners = graph.random().nextInt(3) == 0;
    if (nearest || in.nchw() || corners) {
      inputs.add(graph.bool(in.nchw()));
    }
    if (corners) {
      boolean align = graph.random().nextBoolean();
      inputs.add(graph.bool(align));
      inputs.add(graph.bool(!align && graph.random().nextBoolean()));
    }
    return graph.add(operation, inputs, in.like());
  }

  private static boolean depthToSpace(GraphDraft graph, String operation, OperandCode type) {
    boolean nchw = graph.random().nextInt(3) == 0;
    int in = graph.pick(type, 4, 4, t -> t.shape()[nchw ? 1 : 3] % 4 == 0, Range.USUAL);
    return graph.tensor(in).shape()[nchw ? 1 : 3] % 4 == 0
        && graph.add(
            operation,
            withLayout(graph, new ArrayList<>(List.of(in, graph.int32(2))), nchw),
            like(graph, in));
  }

  private static boolean spaceToDepth(GraphDraft graph, String operation, OperandCode type) {
    Images in = Images.pick(graph, type);
    return in.height() % 2 == 0
        && in.width() % 2 == 0
        && graph.add(
            operation,
            withLayout(graph, new ArrayList<>(List.of(in.operand(), graph.int32(2))), in.nchw()),
            in.like());
  }

  private static boolean batchToSpace(GraphDraft graph, String operation, OperandCode type) {
    Images in = Images.pick(graph, type);
    int[] block = {graph.between(1, 2), graph.between(1, 2)};
    return in.batches() % (block[0] * block[1]) == 0
        && graph.add(
            operation,
            withLayout(graph, new ArrayList<>(List.of(in.operand(), graph.ints(block))), in.nchw()),
            in.like());
  }

  private static boolean spaceToBatch(GraphDraft graph, String operation, OperandCode type) {
    Images in = Images.pick(graph, type);
    int[] block = {graph.between(1, 2), graph.between(1, 2)};
    int[] paddings = {
      graph.between(0, 1), 0, graph.between(0, 1), 0,
    };
    paddings[1] = (in.height() + paddings[0]) % block[0];
    paddings[3] = (in.width() + paddings[2]) % block[1];
    return graph.add(
        operation,
        withLayout(
            graph,
            new ArrayList<>(
                List.of(in.operand(), graph.ints(block), graph.ints(new int[] {2, 2}, paddings))),
            in.nchw()),
        in.like());
  }

  private static List<Integer> withLayout(GraphDraft graph, List<Integer> inputs, boolean nchw) {
    if (nchw || graph.random().nextBoolean()) {
      inputs.add(graph.bool(nchw));
    }
    return inputs;
  }

  private static Out like(GraphDraft graph, int in) {
    return new Out(graph.tensor(in).type(), Quant.of(graph.tensor(in)));
  }

  private static boolean instanceNormalization(
      GraphDraft graph, String operation, OperandCode type) {
    Images in = Images.pick(graph, type);
    return graph.add(
        operation,
        List.of(
            in.operand(),
            graph.scalarFor(type, graph.between(1, 8) / 4.0),
            graph.scalarFor(type, graph.between(-4, 4) / 4.0),
            graph.scalarFor(type, 0.125),
            graph.bool(in.nchw())),
        new Out(type));
  }
}
