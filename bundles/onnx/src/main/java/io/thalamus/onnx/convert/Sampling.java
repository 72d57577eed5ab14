// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Resampling;
import java.util.Arrays;
import java.util.List;

/** Values sampled at another size: NNAPI's operations where they mean the same, else a product. */
final class Sampling {
  private static final int[] CHANNELS_LAST = {0, 2, 3, 1};
  private static final int[] CHANNELS_FIRST = {0, 3, 1, 2};

  private Sampling() {}

  static void addTo(Converters table) {
    table.add("Resize", Sampling::resize);
    table.add("Upsample", Sampling::upsample);
  }

  private static void upsample(Node node) throws ModelFormatException {
    Value value = filled(node);
    double[] scales = new double[value.rank()];
    if (node.hasSetting("scales")) {
      float[] given = node.reals("scales");
      node.require(given.length == scales.length, "its scales do not fit " + value.text());
      Arrays.setAll(scales, i -> given[i]);
    } else {
      scales = scales(node, 1, Dims.range(value.rank()), value.rank());
    }
    int[] sizes = sizes(value, scales);
    node.out(sampled(node, value, sizes, scales, "asymmetric", "floor", null));
  }

  private static Value filled(Node node) throws ModelFormatException {
    Value value = node.in(0);
    node.require(value.count() > 0, "it samples " + value.text() + ", which has no elements");
    return value;
  }

  private static double[] scales(Node node, int input, int[] axes, int rank)
      throws ModelFormatException {
    node.require(node.known(input).count() == axes.length, "its scales do not fit its axes");
    double[] scales = new double[rank];
    Arrays.fill(scales, 1);
    for (int i = 0; i < axes.length; i++) {
      scales[axes[i]] = node.known(input).number(i);
      node.require(scales[axes[i]] > 0, "a scale is " + scales[axes[i]]);
    }
    return scales;
  }

  private static int[] sizes(Value value, double... scales) {
    int[] sizes = new int[scales.length];
    Arrays.setAll(sizes, i -> (int) Math.floor(value.dim(i) * scales[i]));
    return sizes;
  }

  private static void resize(Node node) throws ModelFormatException {
    Value value = filled(node);
    boolean isOld = node.opset() < 11;
    int rank = value.rank();
    int[] given = node.list("axes");
    int[] axes = given == null ? Dims.range(rank) : node.axes(given, rank);
    int scalesAt = isOld ? 1 : 2;
    boolean bySize = !isOld && node.has(3) && !(node.isKnown(3) && node.known(3).count() == 0);
    String transformation =
        isOld ? "asymmetric" : node.text("coordinate_transformation_mode", "half_pixel");
    boolean isStretched = node.text("keep_aspect_ratio_policy", "stretch").equals("stretch");
    boolean isCut = transformation.equals("tf_crop_and_resize");
    if (isCut && !node.isKnown(1)) {
      ComputedResize.resize(node, axes, transformation, bySize, 1);
      return;
    }
    if (bySize && !isStretched && !node.isKnown(3)) {
      ComputedResize.resize(node, axes, transformation, true, 3);
      return;
    }
    if (!bySize && !node.isKnown(scalesAt)) {
      ComputedResize.resize(node, axes, transformation, false, scalesAt);
      return;
    }
    double[] roi = isCut ? roi(node, axes, rank) : null;
    double[] scales;
    int[] sizes;
    if (bySize) {
      sizes = value.shape().clone();
      int[] wanted = node.isKnown(3) ? node.ints(3) : Dims.permute(node.stated(0, 3), axes);
      node.require(wanted.length == axes.length, "its sizes do not fit its axes");
      for (int i = 0; i < axes.length; i++) {
        sizes[axes[i]] = wanted[i];
      }
      scales = new double[rank];
      keepAspect(node, value, axes, sizes);
      Arrays.setAll(scales, i -> (double) sizes[i] / value.dim(i));
      if (!isStretched) {
        double common = aspect(node, value, axes, wanted);
        for (int axis : axes) {
          scales[axis] = common;
        }
      }
    } else {
      scales = scales(node, scalesAt, axes, rank);
      sizes = sizes(value, scales);
    }
    String nearest = isOld ? "floor" : node.text("nearest_mode", "round_prefer_floor");
    node.out(sampled(node, value, sizes, scales, transformation, nearest, roi));
  }

  private static double aspect(Node node, Value value, int[] axes, int[] wanted)
      throws ModelFormatException {
    String policy = node.text("keep_aspect_ratio_policy", "stretch");
    boolean isSmaller = policy.equals("not_larger");
    node.require(isSmaller || policy.equals("not_smaller"), "its policy is " + policy);
    double common = isSmaller ? Double.MAX_VALUE : 0;
    for (int i = 0; i < axes.length; i++) {
      double scale = (double) wanted[i] / value.dim(axes[i]);
      common = isSmaller ? Math.min(common, scale) : Math.max(common, scale);
    }
    return common;
  }

  private static void keepAspect(Node node, Value value, int[] axes, int[] sizes)
      throws ModelFormatException {
    if (node.text("keep_aspect_ratio_policy", "stretch").equals("stretch")) {
      return;
    }
    double common = aspect(node, value, axes, node.ints(3));
    for (int axis : axes) {
      sizes[axis] = (int) Math.floor(common * value.dim(axis) + 0.5);
    }
  }

  /** For each dimension where the cut starts, and behind all of these where it ends. */
  private static double[] roi(Node node, int[] axes, int rank) throws ModelFormatException {
    node.require(node.known(1).count() == 2 * axes.length, "its roi does not fit its axes");
    double[] roi = new double[2 * rank];
    Arrays.fill(roi, rank, 2 * rank, 1);
    for (int i = 0; i < axes.length; i++) {
      roi[axes[i]] = node.known(1).number(i);
      roi[axes[i] + rank] = node.known(1).number(i + axes.length);
    }
    return roi;
  }

  private static Value sampled(
      Node node,
      Value value,
      int[] sizes,
      double[] scales,
      String transformation,
      String nearest,
      double[] roi)
      throws ModelFormatException {
    Ops ops = node.ops();
    String mode = node.text("mode", "nearest");
    node.require(Dims.count(sizes) > 0, "it makes " + Dims.text(sizes) + " of " + value.text());
    if (value.type().is8Bit() && !mode.equals("nearest")) {
      Value one = ops.number(DataType.FLOAT, 1);
      Value real = Quantization.dequantized(ops, value, one, null, 0);
      Value result = sampled(node, real, sizes, scales, transformation, nearest, roi);
      // ONNX Runtime cuts fractions off here, and has no cubic form.
      Value whole = mode.equals("linear") ? ops.truncate(result) : result;
      return Quantization.quantized(ops, whole, one, null, value.type());
    }
    node.require(value.type().isFloat() || mode.equals("nearest"), "it samples " + value.text());
    Value direct = direct(node, value, sizes, scales, mode, transformation, nearest);
    if (direct != null) {
      return direct;
    }
    Value result = value;
    Value outside = null;
    for (int axis = 0; axis < value.rank(); axis++) {
      if (sizes[axis] == value.dim(axis) && scales[axis] == 1 && roi == null) {
        continue;
      }
      Resampling resampling =
          new Resampling(
              value.dim(axis),
              sizes[axis],
              scales[axis],
              mode,
              transformation,
              nearest,
              node.real("cubic_coeff_a", -0.75f),
              node.flag("exclude_outside", false),
              node.flag("antialias", false),
              roi == null ? 0 : roi[axis],
              roi == null ? 1 : roi[axis + value.rank()]);
      ops.budget().doubles(Math.multiplyExact(2 * sizes[axis], value.dim(axis)));
      result = along(ops, result, axis, resampling.weights());
      if (roi != null) {
        int[] shape = new int[value.rank()];
        Arrays.fill(shape, 1);
        shape[axis] = sizes[axis];
        Value here = ops.constant(DataType.BOOL, shape, resampling.outside());
        outside = outside == null ? here : ops.binary(Binary.OR, outside, here);
      }
    }
    return outside == null
        ? result
        : ops.select(
            outside, ops.number(value.type(), node.real("extrapolation_value", 0)), result);
  }

  /** A product with weights along one axis; where each is 1 in one place, elements are taken. */
  private static Value along(Ops ops, Value value, int axis, double[][] weights)
      throws ModelFormatException {
    int size = value.dim(axis);
    int[] places = new int[weights.length];
    boolean isTaken = true;
    double[] flat = new double[weights.length * size];
    for (int i = 0; i < weights.length; i++) {
      int hits = 0;
      for (int k = 0; k < size; k++) {
        flat[i * size + k] = weights[i][k];
        if (weights[i][k] != 0) {
          hits++;
          places[i] = k;
        }
      }
      isTaken &= hits == 1 && weights[i][places[i]] == 1;
    }
    if (isTaken) {
      return ops.gather(value, axis, ops.integers(new int[] {places.length}, places));
    }
    Value moved = ops.toEnd(value, axis);
    Value rows = ops.reshape(moved, value.count() / size, size);
    Value factors = ops.constant(value.type(), new int[] {weights.length, size}, flat);
    Value product = ops.fullyConnected(rows, factors, null);
    int[] back = Dims.inverse(Dims.join(MoveOps.others(value.rank(), axis), new int[] {axis}));
    int[] shape = Dims.with(moved.shape(), moved.rank() - 1, weights.length);
    return ops.transpose(ops.reshape(product, shape), back);
  }

  /** NNAPI's operation where it gives the same; null where it does not. */
  private static Value direct(
      Node node,
      Value value,
      int[] sizes,
      double[] scales,
      String mode,
      String transformation,
      String nearest)
      throws ModelFormatException {
    boolean isPlain =
        value.rank() == 4
            && sizes[0] == value.dim(0)
            && sizes[1] == value.dim(1)
            && sizes[2] == value.dim(2) * scales[2]
            && sizes[3] == value.dim(3) * scales[3]
            && !node.flag("antialias", false)
            && !value.isConstant();
    boolean isWhole =
        scales.length == 4
            && scales[2] == Math.rint(scales[2])
            && scales[3] == Math.rint(scales[3]);
    boolean isNearest =
        mode.equals("nearest")
            && isWhole
            && (transformation.equals("asymmetric") && nearest.equals("floor")
                || transformation.equals("half_pixel") && nearest.startsWith("round"));
    boolean isLinear =
        mode.equals("linear")
            && sizes.length == 4
            && sizes[2] > 1
            && sizes[3] > 1
            && List.of("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
                .contains(transformation);
    if (!isPlain || !isNearest && !isLinear) {
      return null;
    }
    Ops ops = node.ops();
    Value data = ops.transpose(value, CHANNELS_LAST);
    Value result =
        ops.emit(
            value.type(),
            isNearest ? OperationCode.RESIZE_NEAREST_NEIGHBOR : OperationCode.RESIZE_BILINEAR,
            ops.operand(data),
            ops.int32(sizes[3]),
            ops.int32(sizes[2]),
            ops.bool(false),
            ops.bool(isLinear && transformation.equals("align_corners")),
            ops.bool(isLinear && transformation.endsWith("half_pixel")));
    return ops.transpose(result, CHANNELS_FIRST);
  }
}
