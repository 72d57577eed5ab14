// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Resampling;
import io.thalamus.onnx.fold.Resampling.Neighbours;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Values sampled at another size: NNAPI's operations where they mean the same, else a product. */
final class Sampling {
  private static final int[] CHANNELS_LAST = {0, 2, 3, 1};
  private static final int[] CHANNELS_FIRST = {0, 3, 1, 2};

  /** ONNX Runtime's whole numbers for 1 where it interpolates in integers. */
  private static final int STEP = 1 << 10;

  /** The constants that a last bit is worth. */
  private static final int MOST_FACTORS = 1 << 20;

  /** Factors in such parts make products with 8-bit integers, along two axes, that floats hold. */
  private static final int EXACT_PARTS = 1 << 7;

  private Sampling() {}

  static void addTo(Converters table) {
    table.add("Resize", Sampling::resize);
    table.add("Upsample", Sampling::upsample);
  }

  private static void upsample(Node node) {
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
    node.out(sampled(node, value, sizes, scales, "asymmetric", "simple", null));
  }

  /**
   * Elements repeated so many times, also along axes of which only an execution tells the size:
   * sampling by whole scales that takes the nearest ones.
   */
  private static Value repeated(Node node, Value value) {
    Ops ops = node.ops();
    int input = node.opset() < 11 ? 1 : 2;
    String places = node.text("coordinate_transformation_mode", "half_pixel");
    String nearest = node.text("nearest_mode", "round_prefer_floor");
    boolean isHalf = places.endsWith("half_pixel") && nearest.startsWith("round");
    boolean isFloor = places.equals("asymmetric") && nearest.equals("floor");
    int[] given = node.list("axes");
    int[] axes = given == null ? Dims.range(value.rank()) : node.axes(given, value.rank());
    node.require(
        node.text("mode", "nearest").equals("nearest")
            && (isHalf || isFloor || input == 1)
            && node.isKnown(input)
            && node.known(input).count() == axes.length,
        "it samples " + value.text() + " by other than whole scales and nearest elements");
    double[] scales = scales(node, input, axes, value.rank());
    Value result = value;
    for (int axis = 0; axis < value.rank(); axis++) {
      int times = (int) scales[axis];
      node.require(times == scales[axis], "it samples an open size by " + scales[axis]);
      if (times > 1) {
        Value row = OpenSizes.along(ops, OpenSizes.places(ops, result, axis), 2, 0);
        Value none =
            ops.cast(ops.integers(new int[] {1, times}, ops.budget().ints(times)), DataType.INT32);
        Value lines = ops.flat(ops.add(ops.cast(row, DataType.INT32), none));
        result = ops.gather(result, axis, lines);
      }
    }
    return result;
  }

  private static Value filled(Node node) {
    Value value = node.openIn(0);
    int known = value.isOpen() ? 1 : 0;
    node.require(
        Dims.count(value.shape(), known, value.rank()) > 0,
        "it samples " + value.text() + ", which has no elements");
    return value;
  }

  private static double[] scales(Node node, int input, int[] axes, int rank) {
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
    // In floats, as ONNX has it: 10 times 0.7 are 7.
    Arrays.setAll(sizes, i -> (int) (value.dim(i) * (float) scales[i]));
    return sizes;
  }

  /** Also of an open first axis, where NNAPI has an operation for it. */
  static void resize(Node node) {
    Value open = node.openIn(0);
    if (open.isOpenInside()) {
      node.out(repeated(node, open));
      return;
    }
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
    int[] stated = node.declared(0);
    boolean isStated = stated != null && Dims.count(stated) > 0;
    boolean isComputed =
        isCut && !node.isKnown(1)
            || bySize && !node.isKnown(3) && (!isStretched || !isStated)
            || !bySize && !node.isKnown(scalesAt);
    if (isComputed) {
      ComputedResize.resize(node, axes, transformation, bySize);
      return;
    }
    double[] roi = isCut ? roi(node, axes, rank) : null;
    double[] scales;
    int[] sizes;
    if (bySize) {
      sizes = value.shape().clone();
      int[] wanted = node.isKnown(3) ? node.ints(3) : Dims.permute(stated, axes);
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
    String nearest = isOld ? "simple" : node.text("nearest_mode", "round_prefer_floor");
    node.out(sampled(node, value, sizes, scales, transformation, nearest, roi));
  }

  private static double aspect(Node node, Value value, int[] axes, int[] wanted) {
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

  private static void keepAspect(Node node, Value value, int[] axes, int[] sizes) {
    if (node.text("keep_aspect_ratio_policy", "stretch").equals("stretch")) {
      return;
    }
    double common = aspect(node, value, axes, node.ints(3));
    for (int axis : axes) {
      sizes[axis] = (int) Math.floor(common * value.dim(axis) + 0.5);
    }
  }

  /** For each dimension where the cut starts, and behind all of these where it ends. */
  private static double[] roi(Node node, int[] axes, int rank) {
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
      double[] roi) {
    Ops ops = node.ops();
    String mode = node.text("mode", "nearest");
    int known = value.isOpen() ? 1 : 0;
    node.require(
        Dims.count(sizes, known, sizes.length) > 0,
        "it makes " + Dims.text(sizes) + " of " + value.text());
    if (value.isOpen()) {
      Value open = direct(node, value, sizes, scales, mode, transformation, nearest);
      node.require(
          open != null && value.type().isFloat(),
          value.text() + " is open, and sampled by none of NNAPI's ways");
      return open;
    }
    boolean isSmoothed = node.flag("antialias", false);
    if (isSmoothed && value.type().is8Bit() && roi == null) {
      return smoothed(node, value, sizes, scales, mode, transformation);
    }
    boolean isWhole = value.type().is8Bit() || value.type() == DataType.INT32;
    if (isWhole && mode.equals("linear") && !isSmoothed && roi == null) {
      Value whole = between(node, value, sizes, scales, transformation);
      if (whole != null) {
        return whole;
      }
    }
    if (value.type() == DataType.INT32 && mode.equals("linear")) {
      Value real = ops.cast(value, DataType.FLOAT);
      Value result = sampled(node, real, sizes, scales, transformation, nearest, roi);
      return ops.cast(ops.truncate(result), value.type());
    }
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
          resampling(node, value, sizes, scales, mode, transformation, nearest, roi, axis);
      ops.budget().doubles(Math.multiplyExact(2 * sizes[axis], value.dim(axis)));
      result = along(ops, result, axis, resampling.weights());
      if (roi != null) {
        int[] shape = Dims.along(value.rank(), axis, sizes[axis]);
        Value here = ops.constant(DataType.BOOL, shape, resampling.outside());
        outside = outside == null ? here : ops.binary(Binary.OR, outside, here);
      }
    }
    return outside == null
        ? result
        : ops.select(
            outside, ops.number(value.type(), node.real("extrapolation_value", 0)), result);
  }

  /**
   * Integers interpolated with ONNX Runtime's own sums, of which fractions are cut off: a last bit
   * would be a whole step. Null where another way gives the same, or would take much less memory.
   */
  private static Value between(
      Node node, Value value, int[] sizes, double[] scales, String transformation) {
    int rank = value.rank();
    boolean isChannelsLast = rank == 4 && scales[1] != 1;
    int last = isChannelsLast ? 2 : rank - 1;
    int count = Math.min(rank, rank % 2 == 0 ? 2 : 3);
    for (int axis = 0; axis < rank; axis++) {
      boolean isSampled = sizes[axis] != value.dim(axis) || scales[axis] != 1;
      if (isSampled && (axis > last || axis <= last - count)) {
        return null;
      }
    }
    // From the last axis on, in the order of their factors.
    List<Neighbours> pairs = new ArrayList<>();
    boolean isExact = value.type().is8Bit() && count == 2;
    for (int i = 0; i < count; i++) {
      Resampling axis = resampling(node, value, sizes, scales, transformation, last - i);
      pairs.add(axis.neighbours());
      isExact &= pairs.getLast().isMultiple(EXACT_PARTS);
    }
    boolean isFixed = isChannelsLast && value.type().is8Bit();
    long cells = 1L << count;
    for (Neighbours pair : pairs) {
      cells *= pair.low().length;
    }
    if (isExact && !isFixed || cells > MOST_FACTORS) {
      return null;
    }
    Ops ops = node.ops();
    DataType type = isFixed ? DataType.INT32 : DataType.FLOAT;
    Value numbers = ops.cast(value, type);
    Value sum = null;
    for (int corner = 0; corner < 1 << count; corner++) {
      Value found = numbers;
      Value factor = null;
      for (int i = 0; i < count; i++) {
        boolean isHigh = (corner >> i & 1) == 1;
        int axis = last - i;
        int[] places = isHigh ? pairs.get(i).high() : pairs.get(i).low();
        found = ops.gather(found, axis, ops.integers(new int[] {places.length}, places));
        double[] factors = factors(ops, pairs.get(i), isHigh, isFixed);
        Value own = ops.constant(type, Dims.along(rank, axis, factors.length), factors);
        factor = factor == null ? own : ops.mul(factor, own);
      }
      Value product = ops.mul(found, factor);
      sum = sum == null ? product : ops.add(sum, product);
    }
    Value whole =
        isFixed ? ops.div(sum, ops.number(type, (double) STEP * STEP)) : ops.truncate(sum);
    return ops.cast(whole, value.type());
  }

  /**
   * Factors of neighbours as they are, or as whole numbers, which ONNX Runtime takes with channels
   * last: what is cut off of the upper one belongs to the lower one.
   */
  private static double[] factors(Ops ops, Neighbours pairs, boolean isHigh, boolean isFixed) {
    double[] factors = ops.budget().doubles(pairs.low().length);
    for (int i = 0; i < factors.length; i++) {
      int upper = (int) (pairs.ofHigh()[i] * STEP);
      if (isFixed) {
        factors[i] = isHigh ? upper : STEP - upper;
      } else {
        factors[i] = isHigh ? pairs.ofHigh()[i] : pairs.ofLow()[i];
      }
    }
    return factors;
  }

  /** Bytes by filters that are stretched, rounded along each axis, from the last one on. */
  private static Value smoothed(
      Node node, Value value, int[] sizes, double[] scales, String mode, String transformation) {
    Ops ops = node.ops();
    Value result = ops.cast(value, DataType.FLOAT);
    for (int axis = value.rank() - 1; axis >= 0; axis--) {
      if (sizes[axis] != value.dim(axis)) {
        Resampling resampling =
            resampling(node, value, sizes, scales, mode, transformation, "", null, axis);
        ops.budget().doubles(Math.multiplyExact(2 * sizes[axis], value.dim(axis)));
        Value sum = along(ops, result, axis, resampling.weights());
        Value whole = ops.unary(Unary.FLOOR, ops.add(sum, 0.5));
        result = ops.min(ops.max(whole, value.type().least()), value.type().most());
      }
    }
    return ops.cast(result, value.type());
  }

  private static Resampling resampling(
      Node node, Value value, int[] sizes, double[] scales, String transformation, int axis) {
    return resampling(node, value, sizes, scales, "linear", transformation, "", null, axis);
  }

  private static Resampling resampling(
      Node node,
      Value value,
      int[] sizes,
      double[] scales,
      String mode,
      String transformation,
      String nearest,
      double[] roi,
      int axis) {
    return new Resampling(
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
  }

  /** A product with weights along one axis; where each is 1 in one place, elements are taken. */
  private static Value along(Ops ops, Value value, int axis, double[][] weights) {
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
      String nearest) {
    boolean isPlain =
        value.rank() == 4
            && MoveOps.isPlain(value)
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
            && (transformation.equals("asymmetric")
                    && (nearest.equals("floor") || nearest.equals("simple"))
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
        ops.emitSized(
            value.type(),
            new int[] {sizes[0], sizes[2], sizes[3], sizes[1]},
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
