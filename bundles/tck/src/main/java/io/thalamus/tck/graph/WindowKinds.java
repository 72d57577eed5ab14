// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import static io.thalamus.tck.graph.Kinds.FLOATS;
import static io.thalamus.tck.graph.Kinds.NUMBERS;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** Operations on images. */
final class WindowKinds {
  private WindowKinds() {}

  static void register(Kinds kinds) {
    kinds.add(ThalamusExtension.CONV_2D, NUMBERS, WindowKinds::convolution);
    kinds.add(ThalamusExtension.DEPTHWISE_CONV_2D, NUMBERS, WindowKinds::depthwise);
    kinds.add(ThalamusExtension.GROUPED_CONV_2D, NUMBERS, WindowKinds::grouped);
    kinds.add("TRANSPOSE_CONV_2D", NUMBERS, WindowKinds::transposed);
    kinds.add(ThalamusExtension.AVERAGE_POOL_2D, NUMBERS, WindowKinds::pool);
    kinds.add("MAX_POOL_2D", NUMBERS, WindowKinds::pool);
    kinds.add("L2_POOL_2D", FLOATS, WindowKinds::pool);
    kinds.add(
        Evaluator.name(ThalamusExtension.ROI_ALIGN),
        Set.of(OperandCode.TENSOR_FLOAT32),
        WindowKinds::align);
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
    static Images pick(Growth g) {
      int operand = g.pick(4, 4);
      return new Images(operand, g.tensor(operand), g.oneIn(3));
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
  }

  /** The image, a filter and a bias; small filters, as sums of many products say little. */
  private static List<Integer> start(Growth g, Images in, int channels, int... filterShape) {
    int filter = g.graph().leaf(g.type(), filterShape, new Range(-1, 1));
    return new ArrayList<>(
        List.of(in.operand(), filter, g.graph().bias(in.operand(), filter, channels)));
  }

  /** Paddings or a scheme, then the strides, for windows that fit. */
  private static void addWindow(
      Growth g, List<Integer> inputs, Images in, int filterHeight, int filterWidth) {
    if (g.random().nextBoolean()) {
      boolean fits = filterHeight <= in.height() && filterWidth <= in.width();
      inputs.add(g.graph().int32(fits ? g.between(1, 2) : 1));
    } else {
      inputs.add(g.number(0, filterWidth - 1));
      inputs.add(g.number(0, filterWidth - 1));
      inputs.add(g.number(0, filterHeight - 1));
      inputs.add(g.number(0, filterHeight - 1));
    }
    inputs.add(g.number(1, 2));
    inputs.add(g.number(1, 2));
  }

  /** The activation, and what may follow it. */
  private static void addEnd(
      Growth g, List<Integer> inputs, Images in, boolean dilations, boolean always) {
    inputs.add(g.number(0, 3));
    boolean dilated = dilations && g.oneIn(3);
    if (always || in.nchw() || dilated || g.random().nextBoolean()) {
      inputs.add(g.graph().bool(in.nchw()));
    }
    if (dilated) {
      inputs.add(g.number(1, 2));
      inputs.add(g.number(1, 2));
    }
  }

  private static int size(Growth g, int most) {
    return g.between(1, Math.min(3, most));
  }

  private static boolean convolution(Growth g) {
    Images in = Images.pick(g);
    int height = size(g, in.height());
    int width = size(g, in.width());
    int channels = g.between(1, 4);
    List<Integer> inputs = start(g, in, channels, channels, height, width, in.channels());
    addWindow(g, inputs, in, height, width);
    addEnd(g, inputs, in, true, false);
    return g.addFitting(inputs);
  }

  private static boolean depthwise(Growth g) {
    Images in = Images.pick(g);
    int height = size(g, in.height());
    int width = size(g, in.width());
    int multiplier = g.between(1, 2);
    int channels = in.channels() * multiplier;
    List<Integer> inputs = start(g, in, channels, 1, height, width, channels);
    addWindow(g, inputs, in, height, width);
    inputs.add(g.graph().int32(multiplier));
    addEnd(g, inputs, in, true, false);
    return g.addFitting(inputs);
  }

  private static boolean grouped(Growth g) {
    Images in = Images.pick(g);
    int groups = MoveKinds.factor(in.channels());
    int height = size(g, in.height());
    int width = size(g, in.width());
    int channels = groups * g.between(1, 2);
    List<Integer> inputs = start(g, in, channels, channels, height, width, in.channels() / groups);
    addWindow(g, inputs, in, height, width);
    inputs.add(g.graph().int32(groups));
    addEnd(g, inputs, in, false, true);
    return g.addFitting(inputs);
  }

  private static boolean transposed(Growth g) {
    Images in = Images.pick(g);
    int height = g.between(1, 3);
    int width = g.between(1, 3);
    int channels = g.between(1, 3);
    List<Integer> inputs = start(g, in, channels, channels, height, width, in.channels());
    int strideWidth = g.between(1, 2);
    int strideHeight = g.between(1, 2);
    if (g.random().nextBoolean()) {
      int outHeight = in.height() * strideHeight;
      int outWidth = in.width() * strideWidth;
      inputs.add(
          in.nchw()
              ? g.graph().ints(in.batches(), channels, outHeight, outWidth)
              : g.graph().ints(in.batches(), outHeight, outWidth, channels));
      inputs.add(g.graph().int32(1));
    } else {
      for (int i = 0; i < 4; i++) {
        inputs.add(g.graph().int32(g.between(0, Math.min(height, width) - 1) / 2));
      }
    }
    inputs.add(g.graph().int32(strideWidth));
    inputs.add(g.graph().int32(strideHeight));
    inputs.add(g.number(0, 3));
    inputs.add(g.graph().bool(in.nchw()));
    return g.addFitting(inputs);
  }

  private static boolean pool(Growth g) {
    Images in = Images.pick(g);
    int height = size(g, in.height());
    int width = size(g, in.width());
    List<Integer> inputs = new ArrayList<>(List.of(in.operand()));
    addWindow(g, inputs, in, height, width);
    inputs.add(g.graph().int32(width));
    inputs.add(g.graph().int32(height));
    addEnd(g, inputs, in, false, false);
    return g.addLike(in.operand(), inputs);
  }

  private static boolean resize(Growth g) {
    Images in = Images.pick(g);
    List<Integer> inputs = new ArrayList<>(List.of(in.operand()));
    boolean byFactor = g.oneIn(3);
    inputs.add(byFactor ? g.quarters(2, 8) : g.number(1, 8));
    inputs.add(byFactor ? g.quarters(2, 8) : g.number(1, 8));
    boolean nearest = g.operation().equals("RESIZE_NEAREST_NEIGHBOR");
    boolean corners = g.oneIn(3);
    if (nearest || in.nchw() || corners) {
      inputs.add(g.graph().bool(in.nchw()));
    }
    if (corners) {
      boolean align = g.random().nextBoolean();
      inputs.add(g.graph().bool(align));
      inputs.add(g.graph().bool(!align && g.random().nextBoolean()));
    }
    return g.addLike(in.operand(), inputs);
  }

  private static boolean depthToSpace(Growth g) {
    boolean nchw = g.oneIn(3);
    Predicate<Tensor> fits = t -> t.shape()[nchw ? 1 : 3] % 4 == 0;
    int in = g.graph().pick(g.type(), 4, 4, fits, Range.USUAL);
    return fits.test(g.tensor(in)) && addMoved(g, nchw, in, g.graph().int32(2));
  }

  private static boolean spaceToDepth(Growth g) {
    Images in = Images.pick(g);
    return in.height() % 2 == 0
        && in.width() % 2 == 0
        && addMoved(g, in.nchw(), in.operand(), g.graph().int32(2));
  }

  private static boolean batchToSpace(Growth g) {
    Images in = Images.pick(g);
    int[] block = {g.between(1, 2), g.between(1, 2)};
    return in.batches() % (block[0] * block[1]) == 0
        && addMoved(g, in.nchw(), in.operand(), g.graph().ints(block));
  }

  private static boolean spaceToBatch(Growth g) {
    Images in = Images.pick(g);
    int[] block = {g.between(1, 2), g.between(1, 2)};
    int top = g.between(0, 1);
    int left = g.between(0, 1);
    int[] paddings = {
      top, (in.height() + top) % block[0], left, (in.width() + left) % block[1],
    };
    return addMoved(
        g,
        in.nchw(),
        in.operand(),
        g.graph().ints(block),
        g.graph().ints(new int[] {2, 2}, paddings));
  }

  /** Adds the operation, with its layout where that must be said, or now and then. */
  private static boolean addMoved(Growth g, boolean nchw, Integer... inputs) {
    List<Integer> all = new ArrayList<>(List.of(inputs));
    if (nchw || g.random().nextBoolean()) {
      all.add(g.graph().bool(nchw));
    }
    return g.addLike(inputs[0], all);
  }

  private static boolean instanceNormalization(Growth g) {
    Images in = Images.pick(g);
    return g.add(
        in.operand(),
        g.quarters(1, 8),
        g.quarters(-4, 4),
        g.graph().scalarFor(g.type(), 0.125),
        g.graph().bool(in.nchw()));
  }

  /** Regions of whole eighths that lie inside, outside or across the edge, some without extent. */
  private static boolean align(Growth g) {
    int image = g.pick(4, 4);
    int boxes = g.between(1, 3);
    double[] corners = new double[boxes * 4];
    Arrays.setAll(corners, _ -> g.between(-24, 72) / 8.0);
    int[] images = new int[boxes];
    Arrays.setAll(images, _ -> g.between(0, g.tensor(image).shape()[0] - 1));
    boolean isHalf = g.random().nextBoolean();
    return g.add(
        image,
        g.graph().tensor(g.type(), new int[] {boxes, 4}, Quant.NONE, corners),
        g.graph().ints(images),
        g.graph().int32(1 << g.between(0, 2)),
        g.graph().int32(1 << g.between(0, 2)),
        g.number(0, 3),
        g.graph().scalarFor(g.type(), g.between(1, 4) / 2.0),
        g.graph().bool(isHalf),
        g.graph().bool(g.oneIn(3)));
  }
}
