// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;

/** Operators that bring elements to a common mean, variance or size. */
final class Normalization {
  private static final float EPSILON = 1e-5f;

  private Normalization() {}

  static void addTo(Converters table) {
    table.add("BatchNormalization", Normalization::batch);
    table.add("InstanceNormalization", Normalization::instance);
    table.add("LayerNormalization", Normalization::layer);
    table.add("GroupNormalization", Normalization::group);
    table.add("RMSNormalization", Normalization::rms);
    table.add("MeanVarianceNormalization", Normalization::meanVariance);
    table.add("LpNormalization", Normalization::lp);
    table.add("LRN", Normalization::lrn);
  }

  /** One factor for each channel, to be broadcast. */
  static Value perChannel(Ops ops, Value factor, int rank) {
    return ops.reshape(factor, Dims.along(Math.max(1, rank - 1), 0, factor.count()));
  }

  /** {@code (value - mean) / sqrt(variance + epsilon)}, by factors that are folded. */
  private static Value scaled(
      Ops ops, Value value, Value mean, Value variance, double epsilon, Value scale, Value bias) {
    Value factor = ops.div(scale, ops.unary(Unary.SQRT, ops.add(variance, epsilon)));
    Value shift = ops.sub(bias, ops.mul(mean, factor));
    return ops.add(ops.mul(value, factor), shift);
  }

  private static void batch(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    node.require(node.setting("spatial", 1) == 1, "it normalizes each place for itself");
    double epsilon = node.real("epsilon", EPSILON);
    boolean isTraining =
        node.flag("training_mode", false) || node.opset() < 7 && !node.flag("is_test", false);
    isTraining &= node.opset() >= 14 || node.wants(1);
    int rank = value.rank();
    Value scale = perChannel(ops, ops.cast(node.in(1), value.type()), rank);
    Value bias = perChannel(ops, ops.cast(node.in(2), value.type()), rank);
    Value mean = perChannel(ops, ops.cast(node.in(3), value.type()), rank);
    Value variance = perChannel(ops, ops.cast(node.in(4), value.type()), rank);
    if (!isTraining) {
      node.out(scaled(ops, value, mean, variance, epsilon, scale, bias));
      return;
    }
    node.require(node.opset() >= 14, "it is a form for training");
    int[] axes = MoveOps.others(rank, 1);
    Value now = ops.reduce(Reduction.MEAN, value, axes);
    Value spread = ops.reduce(Reduction.MEAN, ops.square(ops.sub(value, now)), axes);
    node.out(scaled(ops, value, now, spread, epsilon, scale, bias));
    double momentum = node.real("momentum", 0.9f);
    node.out(1, running(ops, node.in(3), now, momentum));
    node.out(2, running(ops, node.in(4), spread, momentum));
  }

  private static Value running(Ops ops, Value before, Value now, double momentum) {
    return ops.add(
        ops.mul(before, momentum), ops.mul(ops.reshape(now, before.shape()), 1 - momentum));
  }

  /** Mean 0 and variance 1 along some axes. */
  private static Value standardized(Ops ops, Value value, double epsilon, int... axes) {
    Value rest = ops.sub(value, ops.reduce(Reduction.MEAN, value, axes));
    Value variance = ops.reduce(Reduction.MEAN, ops.square(rest), axes);
    return ops.div(rest, ops.unary(Unary.SQRT, ops.add(variance, epsilon)));
  }

  private static void instance(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    Value plain = standardized(ops, value, node.real("epsilon", EPSILON), Pooling.spatial(value));
    Value scale = perChannel(ops, node.in(1), value.rank());
    Value bias = perChannel(ops, node.in(2), value.rank());
    node.out(ops.add(ops.mul(plain, scale), bias));
  }

  private static int[] from(Value value, int axis) {
    return Arrays.stream(Dims.range(value.rank())).skip(axis).toArray();
  }

  private static void layer(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    int axis = node.axis(node.setting("axis", -1), value.rank());
    double epsilon = node.real("epsilon", EPSILON);
    Value bias = node.inOrNull(2);
    if (!node.wants(1) && !node.wants(2)) {
      node.out(layer(ops, value, axis, epsilon, node.in(1), bias));
      return;
    }
    Value wide = ops.cast(value, DataType.FLOAT);
    int[] axes = from(value, axis);
    Value mean = ops.reduce(Reduction.MEAN, wide, axes);
    Value rest = ops.sub(wide, mean);
    Value variance = ops.reduce(Reduction.MEAN, ops.square(rest), axes);
    Value inverse = ops.reciprocal(ops.unary(Unary.SQRT, ops.add(variance, epsilon)));
    Value plain = ops.cast(ops.mul(rest, inverse), value.type());
    Value scaled = ops.mul(plain, node.in(1));
    node.out(bias == null ? scaled : ops.add(scaled, bias));
    node.out(1, mean);
    node.out(2, inverse);
  }

  /** Mean 0 and variance 1 along the axes from one on, then scaled and moved; bias may be null. */
  static Value layer(Ops ops, Value value, int axis, double epsilon, Value scale, Value bias) {
    return ops.emitSized(
        value.type(),
        value.shape(),
        ThalamusExtension.LAYER_NORMALIZATION,
        ops.operand(value),
        ops.operand(scale),
        bias == null ? ops.omitted(value.type()) : ops.operand(bias),
        ops.int32(axis),
        ops.real(epsilon));
  }

  private static void group(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int groups = node.setting("num_groups", 0);
    node.require(
        groups > 0 && value.rank() > 2 && value.dim(1) % groups == 0,
        groups + " groups do not fit " + value.text());
    Value rows = ops.reshape(value, value.dim(0), groups, value.count() / groups / value.dim(0));
    Value plain = standardized(ops, rows, node.real("epsilon", EPSILON), 2);
    Value scale = node.in(1);
    Value bias = node.in(2);
    if (node.opset() < 21 && scale.count() == groups) {
      Value scaled =
          ops.add(ops.mul(plain, ops.reshape(scale, groups, 1)), ops.reshape(bias, groups, 1));
      node.out(ops.reshape(scaled, value.shape()));
      return;
    }
    Value shaped = ops.reshape(plain, value.shape());
    node.out(
        ops.add(
            ops.mul(shaped, perChannel(ops, scale, value.rank())),
            perChannel(ops, bias, value.rank())));
  }

  private static void rms(Node node) {
    Value value = node.in(0);
    int axis = node.axis(node.setting("axis", -1), value.rank());
    node.out(rms(node.ops(), value, axis, node.real("epsilon", EPSILON), node.in(1)));
  }

  /** A mean square of 1 along the axes from one on, then scaled. */
  static Value rms(Ops ops, Value value, int axis, double epsilon, Value scale) {
    Value wide = ops.cast(value, DataType.FLOAT);
    Value mean = ops.reduce(Reduction.MEAN, ops.square(wide), from(value, axis));
    Value size = ops.unary(Unary.SQRT, ops.add(mean, epsilon));
    Value plain = ops.cast(ops.div(wide, size), value.type());
    return ops.mul(plain, ops.cast(scale, value.type()));
  }

  private static void meanVariance(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int[] given = node.list("axes");
    int[] axes = node.axes(given == null ? new int[] {0, 2, 3} : given, value.rank());
    Value rest = ops.sub(value, ops.reduce(Reduction.MEAN, value, axes));
    Value variance = ops.reduce(Reduction.MEAN, ops.square(rest), axes);
    node.out(ops.div(rest, ops.add(ops.unary(Unary.SQRT, variance), 1e-9)));
  }

  /** Divides by the size; what is 0 stays so. */
  private static void lp(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int axis = node.axis(node.setting("axis", -1), value.rank());
    int p = node.setting("p", 2);
    node.require(p == 1 || p == 2, "its p is " + p);
    Value size =
        p == 1
            ? ops.reduce(Reduction.SUM, ops.unary(Unary.ABS, value), axis)
            : ops.unary(Unary.SQRT, ops.reduce(Reduction.SUM, ops.square(value), axis));
    Value zero = ops.number(value.type(), 0);
    Value divisor =
        ops.select(ops.binary(Binary.EQUAL, size, zero), ops.number(value.type(), 1), size);
    node.out(ops.div(value, divisor));
  }

  private static void lrn(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int size = node.setting("size", 0);
    node.require(
        size % 2 == 1 && value.rank() <= 4 && value.rank() > 1,
        "its size is even, or it has more than 4 dimensions");
    node.out(
        ops.emit(
            value.type(),
            OperationCode.LOCAL_RESPONSE_NORMALIZATION,
            ops.operand(value),
            ops.int32(size / 2),
            ops.real(node.real("bias", 1)),
            ops.real(node.real("alpha", 1e-4f) / size),
            ops.real(node.real("beta", 0.75f)),
            ops.int32(1)));
  }
}
