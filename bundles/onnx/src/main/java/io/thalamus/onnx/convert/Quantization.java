// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.layout.Grid;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import java.util.List;

/** Quantization with ONNX's own rounding, to the even one of two neighbours. */
final class Quantization {
  private static final int MAX_RANK = 4;

  private Quantization() {}

  static void addTo(Converters table) {
    table.add("QuantizeLinear", Quantization::quantize);
    table.add("DequantizeLinear", Quantization::dequantize);
    // ONNX Runtime has the first two in its own domain too, where ONNX had fewer types.
    table.add(Fused.DOMAIN + "QuantizeLinear", Quantization::quantize);
    table.add(Fused.DOMAIN + "DequantizeLinear", Quantization::dequantize);
    table.add("DynamicQuantizeLinear", Quantization::dynamic);
    table.add("QLinearMatMul", Quantization::matmul);
    table.add("QLinearConv", Quantization::convolution);
  }

  /** A scale or zero point, to be broadcast along an axis where there are several. */
  private static Value along(Node node, Value factor, Value value) {
    node.require(
        factor.count() == 1 || factor.rank() < 2 || node.setting("block_size", 0) > 0,
        factor.text() + " is for blocks, but its block_size is missing");
    return along(node, factor, value, node.setting("axis", 1));
  }

  static Value along(Node node, Value factor, Value value, int along) {
    if (factor.count() == 1) {
      return node.ops().reshape(factor);
    }
    int axis = node.axis(along, value.rank());
    int block = node.setting("block_size", 0);
    if (block > 0 && factor.rank() == value.rank()) {
      return blocks(node.ops(), factor, value, axis, block);
    }
    node.require(
        factor.rank() == 1 && factor.count() == value.dim(axis),
        factor.text() + " does not fit axis " + axis + " of " + value.text());
    return node.ops().reshape(factor, Dims.along(value.rank(), axis, factor.count()));
  }

  private static Value blocks(Ops ops, Value factor, Value value, int axis, int block) {
    int[] apart = Dims.insert(factor.shape(), axis + 1, 1);
    Value repeated =
        ops.reshape(
            ops.expand(ops.reshape(factor, apart), Dims.with(apart, axis + 1, block)),
            Dims.with(factor.shape(), axis, factor.dim(axis) * block));
    return ops.part(repeated, axis, 0, value.dim(axis));
  }

  /** {@code saturate(round(value / scale) + zero)}. */
  static Value quantized(Ops ops, Value value, Value scale, Value zero, DataType type) {
    boolean isDirect =
        type.is8Bit() && !type.is4Bit() && value.type().isFloat() && !value.isConstant();
    if (isDirect && Quantized.isOfAll(scale, zero)) {
      return ops.quantize(value, type, Quantized.of(scale, zero).quantization());
    }
    double least = type.least();
    double most = type.most();
    Value whole = ops.div(value, scale);
    if (value.isConstant()) {
      whole = ops.round(whole);
    } else {
      // Beyond these everything saturates, whatever the zero point is.
      whole = ops.roundSmall(ops.min(ops.max(whole, least - most), most - least));
    }
    Value shifted = zero == null ? whole : ops.add(whole, ops.cast(zero, whole.type()));
    return ops.whole(ops.min(ops.max(shifted, least), most), type);
  }

  /**
   * {@code saturate(round(value / scale + zero))}, as ONNX Runtime has it for AveragePool alone: of
   * two integers the even one depends on the zero point.
   */
  static Value quantizedMeans(Ops ops, Value value, Value scale, Value zero, DataType type) {
    Value steps = ops.div(value, scale);
    Value shifted = zero == null ? steps : ops.add(steps, ops.cast(zero, steps.type()));
    return quantized(ops, shifted, ops.number(shifted.type(), 1), null, type);
  }

  /** Returns whether a type has 8 or 16 bits. */
  private static boolean isSmall(DataType type) {
    return type.is8Bit() || type == DataType.INT16 || type == DataType.UINT16;
  }

  private static void quantize(Node node) {
    Value value = node.in(0);
    Value scale = along(node, node.in(1), value);
    Value zero = node.has(2) ? along(node, node.in(2), value) : null;
    DataType type =
        zero != null
            ? zero.type()
            : node.setting("output_dtype", 0) == 0
                ? DataType.UINT8
                : node.anyType("output_dtype", DataType.UINT8);
    node.require(isSmall(type), "it quantizes to " + type);
    if (value.origin() == Value.Origin.MEANS_OF_BYTES && type.is8Bit()) {
      node.out(quantizedMeans(node.ops(), value, node.ops().cast(scale, value.type()), zero, type));
      return;
    }
    node.out(quantized(node.ops(), value, node.ops().cast(scale, value.type()), zero, type));
  }

  private static void dequantize(Node node) {
    Value value = node.in(0);
    Value scale = along(node, node.in(1), value);
    Value zero = node.has(2) ? along(node, node.in(2), value) : null;
    int axis = value.rank() == 0 ? 0 : node.setting("axis", 1);
    Value real = dequantized(node.ops(), value, scale, zero, axis);
    boolean isComputed = value.type().is8Bit() && !real.isConstant();
    node.out(isComputed ? real.from(Value.Origin.BYTES) : real);
  }

  /** {@code (value - zero) * scale}. */
  static Value dequantized(Ops ops, Value value, Value scale, Value zero, int axis) {
    if (value.type().is8Bit() && !value.isConstant() && Quantized.isOfAll(scale, zero)) {
      Value flat = value.rank() > MAX_RANK ? ops.flat(value) : value;
      int from = ops.stored(flat, Quantized.of(scale, zero).quantization());
      return ops.reshape(ops.dequantize(flat, from, scale.type()), value.shape());
    }
    int along = axis < 0 ? axis + value.rank() : axis;
    boolean isOnGrid =
        value.isConstant()
            && value.type().is8Bit()
            && scale.type() != DataType.DOUBLE
            && Quantized.isOfOneAxis(scale, zero)
            && (scale.count() == 1 || scale.count() == value.dim(along));
    if (isOnGrid) {
      Grid grid = Quantized.of(scale, zero).grid(value.type(), scale.type(), along);
      return Value.onGrid(value, grid, ops.budget());
    }
    // Differences of small integers are whole as floats; those of others may be too large for that.
    DataType exact = isSmall(value.type()) ? scale.type() : DataType.INT32;
    Value wide = ops.cast(value, exact);
    if (zero != null) {
      wide = ops.sub(wide, ops.cast(zero, exact));
    }
    return ops.mul(ops.cast(wide, scale.type()), scale);
  }

  /** The scale and the zero point, still as a real, that DynamicQuantizeLinear finds. */
  private static List<Value> found(Ops ops, Value value) {
    int[] axes = Dims.range(value.rank());
    Value most = ops.max(ops.reshape(ops.reduce(Reduction.MAX, value, axes)), 0);
    Value least = ops.min(ops.reshape(ops.reduce(Reduction.MIN, value, axes)), 0);
    Value steps = ops.div(ops.sub(most, least), ops.number(value.type(), 255));
    // As ONNX Runtime does with a value of zeros.
    Value isProper = ops.binary(Binary.GREATER, steps, ops.number(value.type(), 0));
    Value scale = ops.select(isProper, steps, ops.number(value.type(), 1));
    Value negated = ops.unary(Unary.NEG, least);
    return List.of(scale, ops.roundSmall(ops.min(ops.max(ops.div(negated, scale), 0), 255)));
  }

  private static void dynamic(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    if (value.type() == DataType.FLOAT && !value.isConstant() && value.count() > 0) {
      List<Value> results =
          ops.emit(
              ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR,
              List.of(ops.operand(value)),
              DataType.UINT8,
              DataType.FLOAT,
              DataType.UINT8);
      node.out(0, ops.reshape(results.get(0), value.shape()));
      node.out(1, ops.reshape(results.get(1)));
      node.out(2, ops.reshape(results.get(2)));
      return;
    }
    List<Value> found = found(ops, value);
    Value point = ops.whole(found.get(1), DataType.UINT8);
    node.out(0, quantized(ops, value, found.get(0), point, DataType.UINT8));
    node.out(1, found.get(0));
    node.out(2, point);
  }

  /** Reals rounded to the grid that DynamicQuantizeLinear finds for them. */
  static Value rounded(Ops ops, Value value) {
    List<Value> found = found(ops, value);
    Value scale = found.get(0);
    Value zero = found.get(1);
    Value whole = ops.add(ops.roundSmall(ops.div(value, scale)), zero);
    return ops.mul(ops.sub(ops.min(ops.max(whole, 0), 255), zero), scale);
  }

  private static Value single(Node node, int input) {
    Value value = node.in(input);
    node.require(value.count() == 1, "it has a scale or zero point for each row or column");
    return node.ops().reshape(value);
  }

  /** Sums of products scaled to the result. */
  private static Value requantized(Ops ops, Value sums, Value from, Value to, Value zero) {
    Value real = ops.mul(sums, ops.cast(from, DataType.FLOAT));
    return quantized(ops, real, ops.cast(to, DataType.FLOAT), zero, zero.type());
  }

  private static void matmul(Node node) {
    Ops ops = node.ops();
    if (QLinear.isKnown(node)) {
      QLinear.matmul(node);
      return;
    }
    Value a = ops.difference(node.in(0), single(node, 2), DataType.FLOAT);
    Value b = ops.difference(node.in(3), single(node, 5), DataType.FLOAT);
    Value scale = ops.mul(single(node, 1), single(node, 4));
    node.out(requantized(ops, ops.matmul(a, b), scale, single(node, 6), single(node, 7)));
  }

  private static void convolution(Node node) {
    Ops ops = node.ops();
    if (QLinear.isKnown(node)) {
      QLinear.convolution(node);
      return;
    }
    Value value = ops.difference(node.in(0), single(node, 2), DataType.FLOAT);
    Value filter = node.in(3);
    int[] shape = Dims.along(filter.rank(), 0, node.in(5).count());
    Value weights = ops.difference(filter, ops.reshape(node.in(5), shape), DataType.FLOAT);
    Frame frame =
        Frame.of(node, value.shape(), Arrays.copyOfRange(filter.shape(), 2, filter.rank()));
    Value bias = node.has(8) ? ops.cast(node.in(8), DataType.FLOAT) : null;
    Value sums = Convolution.convolve(ops, value, weights, bias, frame, node.setting("group", 1));
    Value channels = Normalization.perChannel(ops, node.in(4), filter.rank());
    Value scale = ops.mul(single(node, 1), channels);
    node.out(requantized(ops, sums, scale, single(node, 6), single(node, 7)));
  }
}
