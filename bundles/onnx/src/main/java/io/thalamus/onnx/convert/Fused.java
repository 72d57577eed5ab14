// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Operators that ONNX Runtime's optimizers put in the place of several of ONNX's. */
final class Fused {
  static final String DOMAIN = "com.microsoft.";

  private static final float EPSILON = 1e-5f;
  private static final float SKIP_EPSILON = 1e-12f;

  /** X, W, R, B, lengths, first states and peepholes. */
  private static final int LSTM_INPUTS = 8;

  /** Of words, positions and segments, and the scale and shift of the normalization. */
  private static final int STORED_TABLES = 5;

  /** The numbers of bitsandbytes' 4 bits as floats, and as quantiles of the normal distribution. */
  private static final double[] FP4 = {
    0,
    5.208333333e-3,
    2.0 / 3,
    1,
    1.0 / 3,
    0.5,
    1.0 / 6,
    0.25,
    -0.0,
    -5.208333333e-3,
    -2.0 / 3,
    -1,
    -1.0 / 3,
    -0.5,
    -1.0 / 6,
    -0.25
  };

  private static final double[] NF4 = {
    -1,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1
  };

  private Fused() {}

  static void addTo(Converters table) {
    table.add(DOMAIN + "SkipLayerNormalization", node -> skip(node, false));
    table.add(DOMAIN + "SkipSimplifiedLayerNormalization", node -> skip(node, true));
    table.add(DOMAIN + "EmbedLayerNormalization", Fused::embed);
    table.add(DOMAIN + "QEmbedLayerNormalization", Fused::storedEmbed);
    table.add(DOMAIN + "MatMulBnb4", Fused::matmulOfTable);
    table.add(DOMAIN + "Unique", node -> Search.unique(node, false));
    table.add(DOMAIN + "Gelu", node -> node.out(Activation.gelu(node.ops(), node.openIn(0))));
    table.add(DOMAIN + "BiasGelu", node -> node.out(Activation.gelu(node.ops(), biased(node))));
    table.add(DOMAIN + "FastGelu", node -> node.out(Activation.tanhGelu(node.ops(), biased(node))));
    table.add(DOMAIN + "QuickGelu", node -> node.out(gated(node, node.real("alpha", 1.702f))));
    table.add(DOMAIN + "FusedMatMul", Fused::matmul);
    table.add(DOMAIN + "TransposeMatMul", Fused::matmul);
    for (String same : List.of("GatherND", "GridSample", "Pad", "Range", "Trilu")) {
      table.add(DOMAIN + same, node -> node.out(same(node, same)));
    }
    table.add(DOMAIN + "CDist", Fused::distances);
    table.add(DOMAIN + "ExpandDims", Fused::expandDims);
    table.add(DOMAIN + "FusedGemm", Fused::gemm);
    table.add(DOMAIN + "FusedConv", Fused::convolution);
    table.add(DOMAIN + "MatMulIntegerToFloat", Fused::matmulToFloat);
    table.add(DOMAIN + "DynamicQuantizeMatMul", Fused::dynamicMatmul);
    table.add(DOMAIN + "MatMulNBits", Fused::matmulBits);
    table.add(DOMAIN + "GatherBlockQuantized", Fused::gatherBits);
    table.add(DOMAIN + "DynamicQuantizeLSTM", Fused::dynamicLstm);
    // ONNX Runtime has this one in ONNX's own domain.
    table.add("SimplifiedLayerNormalization", Fused::simplified);
  }

  private static Value biased(Node node) {
    return node.has(1) ? node.ops().add(node.openIn(0), node.openIn(1)) : node.openIn(0);
  }

  private static Value gated(Node node, double alpha) {
    Ops ops = node.ops();
    return ops.mul(node.openIn(0), ops.unary(Unary.LOGISTIC, ops.mul(node.openIn(0), alpha)));
  }

  // ---- normalization ----

  private static void simplified(Node node) {
    Value value = node.in(0);
    node.require(!node.wants(1), "it gives more than one result");
    int axis = node.axis(node.setting("axis", -1), value.rank());
    double epsilon = node.real("epsilon", EPSILON);
    node.out(Normalization.rms(node.ops(), value, axis, epsilon, node.in(1)));
  }

  /** A sum, normalized along its last axis. */
  private static void skip(Node node, boolean isSimplified) {
    Ops ops = node.ops();
    int bias = isSimplified ? 3 : 4;
    Value sum = ops.add(node.in(0), node.in(1));
    sum = node.has(bias) ? ops.add(sum, node.in(bias)) : sum;
    int axis = sum.rank() - 1;
    double epsilon = node.real("epsilon", SKIP_EPSILON);
    if (isSimplified) {
      node.out(Normalization.rms(ops, sum, axis, epsilon, node.in(2)));
    } else {
      Value shift = node.inOrNull(3);
      node.out(Normalization.layer(ops, sum, axis, epsilon, node.in(2), shift));
    }
    Value wide = ops.cast(sum, DataType.FLOAT);
    Value mean = ops.reduce(Reduction.MEAN, wide, axis);
    node.out(1, mean);
    Value rest = isSimplified ? wide : ops.sub(wide, mean);
    Value variance = ops.reduce(Reduction.MEAN, ops.square(rest), axis);
    node.out(2, ops.reciprocal(ops.unary(Unary.SQRT, ops.add(variance, epsilon))));
    node.out(3, sum);
  }

  /** The vectors of words, positions and segments, added and normalized. */
  private static void embed(Node node) {
    Ops ops = node.ops();
    Value words = node.in(0);
    node.require(words.rank() == 2, words.text() + " has no words in rows");
    int length = words.dim(1);
    Value sum = ops.gather(node.in(2), 0, ops.cast(words, DataType.INT32));
    Value positions = node.has(8) ? ops.cast(node.in(8), DataType.INT32) : ops.range(1, length);
    sum = ops.add(sum, ops.gather(node.in(3), 0, positions));
    if (node.has(1) && node.has(4)) {
      sum = ops.add(sum, ops.gather(node.in(4), 0, ops.cast(node.in(1), DataType.INT32)));
    }
    double epsilon = node.real("epsilon", SKIP_EPSILON);
    node.out(0, Normalization.layer(ops, sum, 2, epsilon, node.in(5), node.in(6)));
    Value mask =
        node.has(7)
            ? ops.cast(node.in(7), DataType.INT32)
            : ops.fill(DataType.INT32, words.shape(), 0);
    node.out(1, ops.reshape(ops.reduce(Reduction.SUM, mask, 1), words.dim(0)));
    node.out(2, sum);
  }

  /** The same with tables of 8 bits, each with a scale and a zero point. */
  private static void storedEmbed(Node node) {
    Ops ops = node.ops();
    List<Value> inputs = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      inputs.add(node.inOrNull(i));
    }
    for (int i = 0; i < STORED_TABLES; i++) {
      Value real = null;
      if (node.has(2 + i)) {
        Value scale = ops.reshape(node.in(2 + i + STORED_TABLES + 1));
        int point = 2 + i + 2 * STORED_TABLES + 1;
        Value zero = node.has(point) ? ops.reshape(node.in(point)) : null;
        real = Quantization.dequantized(ops, node.in(2 + i), scale, zero, 0);
      }
      inputs.add(real);
    }
    inputs.add(node.inOrNull(2 + STORED_TABLES));
    List<Value> results =
        node.compute(DOMAIN + "EmbedLayerNormalization", node.onnx().attributes(), inputs, 2);
    node.out(0, results.get(0));
    node.out(1, results.get(1));
  }

  // ---- products ----

  /**
   * A matrix, or a stack of them.
   *
   * @param rows the setting that swaps the last two axes
   * @param stacks the setting that puts the first axis before the last of all
   */
  private static Value turned(Node node, int input, String rows, String stacks) {
    Value value = node.in(input);
    int rank = value.rank();
    if (node.flag(stacks, false) && rank > 2) {
      int[] order = Dims.insert(MoveOps.others(rank, 0, rank - 1), rank - 2, 0);
      value = node.ops().transpose(value, Dims.insert(order, rank - 1, rank - 1));
    }
    return node.flag(rows, false) && rank > 1 ? node.ops().toEnd(value, rank - 2) : value;
  }

  /** The result of ONNX's own operator of the same name, which is younger. */
  private static Value same(Node node, String operator) {
    List<Value> given = Arrays.asList(inputs(node, node.inputs()));
    return node.compute(operator, node.onnx().attributes(), given, 1).getFirst();
  }

  /** The distances of each point of the first set from each of the second. */
  private static void distances(Node node) {
    Ops ops = node.ops();
    Value a = node.in(0);
    Value b = node.in(1);
    String metric = node.text("metric", "sqeuclidean");
    node.require(
        a.rank() == 2 && b.rank() == 2 && List.of("euclidean", "sqeuclidean").contains(metric),
        "it has the metric %s for %s and %s".formatted(metric, a.text(), b.text()));
    Value lengths = ops.reduce(Reduction.SUM, ops.square(a), 1);
    Value others = ops.transpose(ops.reduce(Reduction.SUM, ops.square(b), 1), 1, 0);
    Value twice = ops.mul(ops.matmul(a, ops.transpose(b, 1, 0)), 2);
    Value square = ops.max(ops.sub(ops.add(lengths, others), twice), 0);
    node.out(metric.equals("euclidean") ? ops.unary(Unary.SQRT, square) : square);
  }

  private static void expandDims(Node node) {
    Value value = node.in(0);
    int axis = node.axis(node.onlyInt(1), value.rank() + 1);
    node.out(node.ops().reshape(value, Dims.insert(value.shape(), axis, 1)));
  }

  private static void matmul(Node node) {
    Ops ops = node.ops();
    Value a = turned(node, 0, "transA", "transBatchA");
    Value b = turned(node, 1, "transB", "transBatchB");
    Value product = ops.matmul(a, b);
    node.out(ops.mul(product, node.real("alpha", 1)));
  }

  private static Value[] inputs(Node node, int count) {
    Value[] inputs = new Value[Math.min(count, node.inputs())];
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = node.inOrNull(i);
    }
    return inputs;
  }

  private static void gemm(Node node) {
    Value product = node.compute("Gemm", node.onnx().attributes(), inputs(node, 3));
    node.out(activated(node, product, node.text("activation", "")));
  }

  private static void convolution(Node node) {
    Value result =
        node.compute("Conv", node.onnx().attributes(), inputs(node, node.has(2) ? 3 : 2));
    Value sum = node.has(3) ? node.ops().add(result, node.in(3)) : result;
    node.out(activated(node, sum, node.text("activation", "")));
  }

  private static Value activated(Node node, Value value, String activation) {
    Ops ops = node.ops();
    float[] given = node.reals("activation_params");
    float[] numbers = given == null ? new float[0] : given;
    boolean isAlone = numbers.length >= 2 || !List.of("Clip", "HardSigmoid").contains(activation);
    node.require(isAlone, "its activation " + activation + " lacks numbers");
    return switch (activation) {
      case "" -> value;
      case "Relu", "Sigmoid", "Tanh", "HardSwish", "Softplus", "Softsign" ->
          node.compute(activation, Map.of(), value);
      case "LeakyRelu" -> {
        double slope = numbers.length > 0 ? numbers[0] : node.real("activation_alpha", 0.01f);
        yield Activation.prelu(ops, value, ops.number(value.type(), slope));
      }
      case "Clip" -> ops.min(ops.max(value, numbers[0]), numbers[1]);
      case "HardSigmoid" -> Activation.hardSigmoid(ops, value, numbers[0], numbers[1]);
      default -> throw node.refuse("its activation is " + activation);
    };
  }

  private static Value scaled(Node node, Value product, Value scale, int bias) {
    Ops ops = node.ops();
    Value real = ops.mul(ops.cast(product, scale.type()), scale);
    return node.has(bias) ? ops.add(real, node.in(bias)) : real;
  }

  private static void matmulToFloat(Node node) {
    Ops ops = node.ops();
    Value scale = ops.mul(Matrices.ofRows(ops, node.in(2)), Matrices.point(ops, node.in(3)));
    Value product = Matrices.product(node, node.in(0), node.inOrNull(4), 5);
    node.out(scaled(node, product, scale, 6));
  }

  private static void dynamicMatmul(Node node) {
    Ops ops = node.ops();
    List<Value> found = node.compute("DynamicQuantizeLinear", Map.of(), List.of(node.in(0)), 3);
    Value scale = ops.mul(ops.reshape(found.get(1)), Matrices.point(ops, node.in(2)));
    node.out(scaled(node, Matrices.product(node, found.get(0), found.get(2), 3), scale, 4));
  }

  /** A recurrent layer with stored weights, whose inputs and states are rounded to 8 bits. */
  private static void dynamicLstm(Node node) {
    Value weights = lstmWeights(node, 1, LSTM_INPUTS);
    Value recurrent = lstmWeights(node, 2, LSTM_INPUTS + 2);
    Recurrent.run(node, 4, weights, recurrent, true);
  }

  /** Stored weights of each direction, turned, with one scale or one for each column. */
  private static Value lstmWeights(Node node, int input, int scale) {
    Ops ops = node.ops();
    Value stored = node.in(input);
    node.require(stored.rank() == 3, stored.text() + " has not 3 dimensions");
    int directions = stored.dim(0);
    Value factor = ofDirections(ops, node.in(scale), directions);
    Value real =
        node.has(scale + 1)
            ? ops.difference(
                stored, ofDirections(ops, node.in(scale + 1), directions), factor.type())
            : ops.cast(stored, factor.type());
    return ops.transpose(ops.mul(real, factor), 0, 2, 1);
  }

  private static Value ofDirections(Ops ops, Value value, int directions) {
    Emitter.require(value.count() % directions == 0, value.text() + " does not fit its directions");
    return ops.reshape(value, directions, 1, value.count() / directions);
  }

  /** A product with weights of a few bits, whose blocks have scales of their own. */
  private static void matmulBits(Node node) {
    Ops ops = node.ops();
    int columns = node.setting("N", 0);
    int depth = node.setting("K", 0);
    int bits = node.setting("bits", 4);
    int block = node.setting("block_size", 0);
    boolean isKnown = bits == 2 || bits == 4 || bits == 8;
    node.require(
        isKnown && columns > 0 && depth > 0 && block > 0 && block % (8 / bits) == 0,
        "it has %d bits in blocks of %d".formatted(bits, block));
    int blocks = Math.ceilDiv(depth, block);
    Value packed = node.in(1);
    node.require(
        packed.type() == DataType.UINT8
            && packed.count() == (long) columns * blocks * block * bits / 8
            && node.in(2).count() == columns * blocks,
        packed.text() + " and " + node.in(2).text() + " do not fit it");
    Value numbers = apart(ops, ops.reshape(packed, columns, packed.count() / columns), bits);
    Value whole = ops.part(ops.reshape(numbers, columns, blocks * block), 1, 0, depth);
    Value scales = ops.reshape(node.in(2), columns, blocks);
    Value zero = ops.fill(scales.type(), scales.shape(), 1 << bits - 1);
    if (node.has(3) && node.in(3).type() != DataType.UINT8) {
      zero = ops.cast(ops.reshape(node.in(3), columns, blocks), scales.type());
    } else if (node.has(3)) {
      int bytes = node.in(3).count() / columns;
      node.require(
          node.in(3).count() % columns == 0 && bytes * (8 / bits) >= blocks,
          node.in(3).text() + " does not fit it");
      Value points = apart(ops, ops.reshape(node.in(3), columns, bytes), bits);
      zero = ops.cast(ops.part(points, 1, 0, blocks), scales.type());
    }
    Value factors;
    if (node.has(4)) {
      // Each row says what block it is of.
      Value places = ops.flat(ops.cast(node.in(4), DataType.INT32));
      node.require(places.count() >= depth, places.text() + " names no block for each row");
      places = ops.part(places, 0, 0, depth);
      factors = ops.gather(scales, 1, places);
      zero = ops.gather(zero, 1, places);
    } else {
      factors = eachOfBlocks(ops, scales, block, depth);
      zero = eachOfBlocks(ops, zero, block, depth);
    }
    Value rows = ops.mul(ops.sub(ops.cast(whole, scales.type()), zero), factors);
    Value value = node.in(0);
    Value product = ops.matmul(value, ops.transpose(ops.cast(rows, value.type()), 1, 0));
    node.out(node.has(5) ? ops.add(product, node.in(5)) : product);
  }

  /** A product with weights of 4 bits that name numbers of a table, whose blocks have scales. */
  private static void matmulOfTable(Node node) {
    Ops ops = node.ops();
    int columns = node.setting("N", 0);
    int depth = node.setting("K", 0);
    int block = node.setting("block_size", 0);
    int kind = node.setting("quant_type", 1);
    Value packed = node.in(1);
    Value scales = node.in(2);
    long count = (long) columns * depth;
    node.require(
        columns > 0
            && depth > 0
            && block > 0
            && (kind == 0 || kind == 1)
            && packed.type() == DataType.UINT8
            && packed.count() == (count + 1) / 2
            && scales.count() == Math.ceilDiv(count, block),
        packed.text() + " and " + scales.text() + " do not fit it");
    Value bytes = ops.cast(ops.flat(packed), DataType.INT32);
    Value range = ops.number(DataType.INT32, 1 << 4);
    Value high = ops.binary(Binary.FLOOR_DIV, bytes, range);
    Value low = ops.remainder(bytes, range, false);
    Value places = ops.part(ops.flat(ops.stack(List.of(high, low), 1)), 0, 0, (int) count);
    Value table = ops.constant(DataType.FLOAT, new int[] {16}, kind == 0 ? FP4 : NF4);
    Value numbers = ops.gather(table, 0, places);
    int blocks = scales.count();
    Value each = ops.expand(ops.reshape(scales, blocks, 1), blocks, block);
    Value factors = ops.part(ops.flat(each), 0, 0, (int) count);
    Value rows = ops.reshape(ops.mul(numbers, ops.cast(factors, DataType.FLOAT)), columns, depth);
    Value value = node.in(0);
    node.out(ops.matmul(value, ops.transpose(ops.cast(rows, value.type()), 1, 0)));
  }

  /** Rows of a table of a few bits, whose blocks have scales of their own. */
  private static void gatherBits(Node node) {
    Ops ops = node.ops();
    Value table = node.in(0);
    Value scales = node.in(2);
    int block = node.setting("block_size", 128);
    int bits = node.setting("bits", 4);
    boolean isPacked = table.type() == DataType.UINT8;
    node.require(
        table.rank() == 2
            && scales.rank() == 2
            && scales.dim(0) == table.dim(0)
            && node.setting("gather_axis", 0) == 0
            && node.axis(node.setting("quantize_axis", 1), 2) == 1
            && (!isPacked || bits == 4 || bits == 8)
            && block > 0,
        "it takes rows of " + table.text() + " with the scales " + scales.text());
    Value indexes = node.in(1);
    Value flat = ops.flat(ops.cast(indexes, DataType.INT32));
    Value rows = ops.gather(table, 0, flat);
    Value numbers = isPacked ? apart(ops, rows, bits) : ops.cast(rows, DataType.INT32);
    int width = numbers.dim(1);
    Value factors = ops.gather(scales, 0, flat);
    int blocks = factors.dim(1);
    node.require(
        blocks == Math.ceilDiv(width, block),
        scales.text() + " has no scale for each block of " + block);
    Value zero = ops.number(scales.type(), isPacked ? 1 << bits - 1 : 0);
    if (node.has(3)) {
      Value points = ops.gather(node.in(3), 0, flat);
      points = isPacked ? apart(ops, points, bits) : ops.cast(points, DataType.INT32);
      node.require(points.dim(1) >= blocks, node.in(3).text() + " does not fit it");
      zero = eachOfBlocks(ops, ops.part(points, 1, 0, blocks), block, width);
      zero = ops.cast(zero, scales.type());
    }
    Value real =
        ops.mul(
            ops.sub(ops.cast(numbers, scales.type()), zero),
            eachOfBlocks(ops, factors, block, width));
    node.out(ops.reshape(real, Dims.join(indexes.shape(), new int[] {width})));
  }

  /** Values of the blocks of each row, repeated for the numbers of a block. */
  static Value eachOfBlocks(Ops ops, Value values, int block, int width) {
    int rows = values.dim(0);
    int blocks = values.dim(1);
    Value repeated = ops.expand(ops.reshape(values, rows, blocks, 1), rows, blocks, block);
    return ops.part(ops.reshape(repeated, rows, blocks * block), 1, 0, width);
  }

  /** The numbers of so many bits that rows of bytes hold, the lowest first. */
  static Value apart(Ops ops, Value bytes, int bits) {
    Value wide = ops.cast(bytes, DataType.INT32);
    if (bits == 8) {
      return wide;
    }
    int each = 8 / bits;
    Value[] parts = new Value[each];
    Value range = ops.number(DataType.INT32, 1 << bits);
    Value rest = wide;
    for (int i = 0; i < each; i++) {
      parts[i] = ops.remainder(rest, range, false);
      rest = ops.binary(Binary.FLOOR_DIV, rest, range);
    }
    return ops.reshape(ops.stack(Arrays.asList(parts), 2), bytes.dim(0), bytes.dim(1) * each);
  }
}
