// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Operators that are other steps on values of which only an execution tells a size, or have results
 * of such sizes. Those that are not here take known sizes alone, unless they ask for {@link
 * Node#openIn}.
 */
final class OpenOperators {
  private static final Map<String, Consumer<Node>> TABLE = table();

  /** Operators that are told a size by an input that may be computed. */
  private static final Map<String, int[]> TOLD =
      Map.of(
          "Range", new int[] {0, 1, 2},
          "ConstantOfShape", new int[] {0},
          "Expand", new int[] {1},
          "TopK", new int[] {1},
          "Slice", new int[] {1, 2},
          "Pad", new int[] {1},
          "Tile", new int[] {1},
          "Reshape", new int[] {1},
          "Compress", new int[] {1});

  private OpenOperators() {}

  private static Map<String, Consumer<Node>> table() {
    Map<String, Consumer<Node>> table = new HashMap<>();
    table.put("Shape", OpenMoves::shape);
    table.put("Size", OpenMoves::count);
    table.put("Reshape", OpenMoves::reshape);
    table.put("Slice", OpenMoves::slice);
    table.put("GatherND", OpenMoves::gatherNd);
    table.put("Compress", OpenMoves::compress);
    table.put("NonZero", OpenMoves::nonZero);
    table.put("NonMaxSuppression", OpenMoves::nonMaxSuppression);
    table.put("Range", OpenMoves::range);
    table.put("ConstantOfShape", OpenMoves::constantOfShape);
    table.put("Expand", OpenMoves::expand);
    table.put("TopK", OpenMoves::topK);
    table.put("Pad", OpenMoves::pad);
    table.put("Tile", OpenMoves::tile);
    table.put("GatherElements", OpenIndexes::gatherElements);
    table.put("ScatterElements", OpenIndexes::scatterElements);
    table.put("ScatterND", OpenIndexes::scatterNd);
    table.put("CumSum", OpenIndexes::cumSum);
    table.put("RoiAlign", RegionAlign::align);
    table.put("MaxRoiPool", RegionAlign::pool);
    table.put("LayerNormalization", OpenOperators::layerNormalization);
    table.put("Conv", OpenOperators::convolution);
    table.put("Resize", Sampling::resize);
    table.put("ConvTranspose", OpenOperators::transposedConvolution);
    table.put("ReduceSum", node -> reduce(node, Reduction.SUM));
    table.put("ReduceMean", node -> reduce(node, Reduction.MEAN));
    table.put("ReduceMax", node -> reduce(node, Reduction.MAX));
    table.put("ReduceMin", node -> reduce(node, Reduction.MIN));
    table.put("ReduceProd", node -> reduce(node, Reduction.PRODUCT));
    table.put("ArgMax", node -> place(node, OperationCode.ARGMAX));
    table.put("ArgMin", node -> place(node, OperationCode.ARGMIN));
    table.put("MatMul", OpenOperators::matmul);
    table.put("Gemm", OpenOperators::gemm);
    return Map.copyOf(table);
  }

  /** Returns whether an operator is one for here, and converts it then. */
  static boolean convert(Node node) {
    String name = node.onnx().type();
    Consumer<Node> converter = node.onnx().domain().isEmpty() ? TABLE.get(name) : null;
    if (converter == null || !isOpen(node) && !isToldLater(node, name)) {
      return false;
    }
    converter.accept(node);
    return true;
  }

  private static boolean isOpen(Node node) {
    for (int i = 0; i < node.inputs(); i++) {
      if (node.has(i) && node.any(i).isOpen()) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether a size is computed that the file does not state. */
  private static boolean isToldLater(Node node, String name) {
    for (int input : TOLD.getOrDefault(name, new int[0])) {
      boolean isNew =
          switch (name) {
            case "Slice" -> node.opset() >= 10;
            case "Pad" -> node.opset() >= 11 && node.text("mode", "constant").equals("constant");
            case "Tile" -> node.opset() >= 6;
            default -> true;
          };
      boolean isTold = input < node.inputs() && isNew;
      if (isTold && node.has(input) && !node.isKnown(input)) {
        return name.equals("Compress") || node.declared(0) == null;
      }
    }
    return false;
  }

  // ---- many elements for one ----

  private static void reduce(Node node, Reduction kind) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    int[] given = node.has(1) ? node.ints(1) : node.list("axes");
    boolean isNone = given == null || given.length == 0;
    node.require(!isNone || !node.flag("noop_with_empty_axes", false), "it reduces nothing");
    int[] axes = isNone ? Dims.range(value.rank()) : node.axes(given, value.rank());
    int[] kept = value.shape().clone();
    for (int axis : axes) {
      kept[axis] = 1;
    }
    Value result;
    if (value.type().isFloat() && value.rank() <= 4) {
      result = ops.reduce(kind, value, axes);
    } else {
      boolean isLast = axes.length == 1 && axes[0] == value.rank() - 1 && value.rank() > 1;
      boolean isSum = kind == Reduction.SUM && (isLast || axes.length == value.rank());
      node.require(isSum && !value.type().is8Bit(), "it reduces " + value.text());
      result =
          isLast ? sums(ops, value, kept) : ops.reshape(OpenSizes.sum(ops, ops.flat(value)), kept);
    }
    int[] rest = Dims.permute(kept, MoveOps.others(value.rank(), axes));
    node.out(node.flag("keepdims", true) ? result : ops.reshape(result, rest));
  }

  /** Sums of integers along the last axis, as a product with a column of ones, which is exact. */
  private static Value sums(Ops ops, Value value, int[] kept) {
    Value places = OpenSizes.places(ops, value, value.rank() - 1);
    Value ones = ops.mul(places, ops.number(DataType.INT32, 0));
    ones = ops.cast(ones, value.type());
    ones = ops.add(ones, ops.number(value.type(), 1));
    return ops.emitSized(
        value.type(),
        kept,
        ThalamusExtension.BATCH_MATMUL,
        ops.operand(value),
        ops.operand(OpenSizes.along(ops, ones, 2, 0)),
        ops.bool(false),
        ops.bool(false));
  }

  private static void layerNormalization(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    int axis = node.axis(node.setting("axis", -1), value.rank());
    int size = Dims.count(value.shape(), axis, value.rank());
    node.require(value.type().isFloat() && size > 0, "it normalizes " + value.text());
    node.require(!node.wants(1) && !node.wants(2), "it gives more than one result");
    node.out(
        ops.emitSized(
            value.type(),
            value.shape(),
            ThalamusExtension.LAYER_NORMALIZATION,
            ops.operand(value),
            ops.operand(node.in(1)),
            node.has(2) ? ops.operand(node.in(2)) : ops.omitted(value.type()),
            ops.int32(axis),
            ops.real(node.real("epsilon", 1e-5f))));
  }

  /** A convolution of an open number of images. */
  private static void convolution(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    Value weights = node.in(1);
    node.require(
        value.rank() == 4
            && weights.rank() == 4
            && value.type().isFloat()
            && Dims.count(value.shape(), 1, 4) > 0
            && value.dim(1) == weights.dim(1)
            && node.setting("group", 1) == 1,
        value.text() + " has another open size than that of its first axis, or groups");
    Frame frame = Frame.of(node, value.shape(), new int[] {weights.dim(2), weights.dim(3)});
    int units = weights.dim(0);
    convolve(
        node,
        OperationCode.CONV_2D,
        new int[] {value.dim(0), frame.output()[0], frame.output()[1], units},
        ops.transpose(weights, 0, 2, 3, 1),
        Dims.join(frame.before(), frame.after()),
        frame.strides(),
        frame.dilations());
  }

  /**
   * Emits a convolution.
   *
   * @param shape of the result, with its channels last
   * @param weights in the order of the operation
   * @param pads before both axes, and after both
   * @param dilations by axis; none where the operation takes none
   */
  private static void convolve(
      Node node,
      OperationCode operation,
      int[] shape,
      Value weights,
      int[] pads,
      int[] strides,
      int... dilations) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    Value bias = node.has(2) ? node.in(2) : ops.fill(value.type(), new int[] {shape[3]}, 0);
    List<Integer> inputs = new ArrayList<>();
    inputs.add(ops.operand(ops.transpose(value, 0, 2, 3, 1)));
    inputs.add(ops.operand(weights));
    inputs.add(ops.operand(bias));
    for (int number : new int[] {pads[1], pads[3], pads[0], pads[2], strides[1], strides[0], 0}) {
      inputs.add(ops.int32(number));
    }
    inputs.add(ops.bool(false));
    for (int axis = dilations.length - 1; axis >= 0; axis--) {
      inputs.add(ops.int32(dilations[axis]));
    }
    Value result = ops.emitSized(value.type(), shape, operation, inputs.toArray(Integer[]::new));
    node.out(ops.transpose(result, 0, 3, 1, 2));
  }

  private static void transposedConvolution(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    Value weights = node.in(1);
    int[] dilations = node.list("dilations", 2, 1);
    int[] extra = node.list("output_padding", 2, 0);
    node.require(
        value.rank() == 4
            && weights.rank() == 4
            && value.type().isFloat()
            && Dims.count(value.shape(), 1, 4) > 0
            && value.dim(1) == weights.dim(0)
            && node.setting("group", 1) == 1
            && !node.hasSetting("output_shape")
            && node.text("auto_pad", "NOTSET").equals("NOTSET")
            && Arrays.equals(dilations, new int[] {1, 1})
            && Arrays.equals(extra, new int[2]),
        value.text() + " has another open size than that of its first axis, or groups, or holes");
    int[] strides = node.list("strides", 2, 1);
    int[] pads = node.list("pads", 4, 0);
    int units = weights.dim(1);
    int[] shape = {value.dim(0), 0, 0, units};
    for (int i = 0; i < 2; i++) {
      int size = strides[i] * (value.dim(i + 2) - 1) + weights.dim(i + 2);
      shape[i + 1] = size - pads[i] - pads[i + 2];
      node.require(shape[i + 1] > 0 && strides[i] > 0, "its result has no elements");
    }
    convolve(
        node,
        OperationCode.TRANSPOSE_CONV_2D,
        shape,
        ops.transpose(weights, 1, 2, 3, 0),
        pads,
        strides);
  }

  private static void place(Node node, OperationType operation) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    int axis = node.axis(node.setting("axis", 0), value.rank());
    node.require(!node.flag("select_last_index", false), "it takes the last of several");
    int[] rest = Dims.remove(value.shape(), axis);
    Value place =
        ops.emitSized(
            DataType.INT64,
            rest.length == 0 ? new int[] {1} : rest,
            operation,
            ops.operand(value),
            ops.int32(axis));
    boolean isKept = node.flag("keepdims", true);
    int[] shape = isKept ? Dims.with(value.shape(), axis, 1) : rest;
    node.out(ops.reshape(place, shape));
  }

  private static Value product(Node node, Value a, Value weights, Value bias) {
    node.require(
        a.type().isFloat() && a.rank() == 2 && a.dim(1) > 0 && weights.dim(1) == a.dim(1),
        a.text() + " and " + weights.text() + " cannot be multiplied");
    return node.ops().fullyConnected(a, weights, bias);
  }

  private static void matmul(Node node) {
    Value a = node.openIn(0);
    Value weights = node.openIn(1);
    if (weights.isOpen() || weights.rank() != 2 || a.rank() != 2) {
      node.out(stacked(node, a, weights));
      return;
    }
    node.out(product(node, node.openIn(0), node.ops().transpose(weights, 1, 0), null));
  }

  private static Value stacked(Node node, Value a, Value b) {
    Ops ops = node.ops();
    node.require(
        a.type().isFloat() && a.rank() > 1 && b.rank() == a.rank(),
        a.text() + " and " + b.text() + " cannot be multiplied");
    return OpenIndexes.product(ops, a, b);
  }

  private static void gemm(Node node) {
    Ops ops = node.ops();
    Value weights = node.in(1);
    Value bias = node.has(2) ? node.in(2) : null;
    node.require(
        !node.flag("transA", false)
            && node.real("alpha", 1) == 1
            && node.real("beta", 1) == 1
            && weights.rank() == 2
            && (bias == null || bias.rank() == 1),
        "its product is turned or weighted");
    weights = node.flag("transB", false) ? weights : ops.transpose(weights, 1, 0);
    Value full = bias == null ? null : ops.expand(bias, weights.dim(0));
    node.out(product(node, node.openIn(0), weights, full));
  }
}
