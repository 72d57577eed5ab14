// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import java.util.List;
import java.util.Map;

/**
 * ONNX Runtime's mixtures of experts: MoE, and QMoE, whose weights have a few bits. All experts
 * compute all rows, and the sum of a row takes those that it is sent to.
 */
final class Experts {
  /** The weights of the third layer of MoE and of QMoE, which ONNX Runtime's CPU refuses. */
  private static final int THIRD = 6;

  private static final int STORED_THIRD = 8;

  /** Of QMoE; behind it are those of the second layer. */
  private static final int ZERO_POINTS = 11;

  private static final int SHARES = 14;

  private final Node node;
  private final Ops ops;
  private final Value input;
  private final boolean isStored;

  private Experts(Node node, boolean isStored) {
    this.node = node;
    this.ops = node.ops();
    this.input = node.in(0);
    this.isStored = isStored;
  }

  static void addTo(Converters table) {
    table.add(Fused.DOMAIN + "MoE", node -> new Experts(node, false).convert());
    table.add(Fused.DOMAIN + "QMoE", node -> new Experts(node, true).convert());
  }

  private void convert() {
    node.require(
        !node.has(isStored ? STORED_THIRD : THIRD) && !node.flag("use_sparse_mixer", false),
        "its experts have a third layer, or a sparse mixer");
    node.require(
        node.text("quant_type", "int").equals("int") && node.setting("weights_prepacked", 0) < 1,
        "its weights are packed for one processor, or no integers");
    Value first = weights(0);
    Value second = weights(1);
    node.require(
        first.rank() == 3
            && second.rank() == 3
            && first.dim(0) == second.dim(0)
            && input.rank() > 1
            && input.dim(input.rank() - 1) == first.dim(2)
            && (isGated() ? 2 : 1) * second.dim(2) == first.dim(1),
        "its weights %s and %s do not fit %s".formatted(first.text(), second.text(), input.text()));
    int experts = first.dim(0);
    int width = first.dim(2);
    int rows = input.count() / width;
    Value inner = layer(ops.reshape(input, 1, rows, width), first, isStored ? 4 : 3);
    Value each = layer(activated(inner), second, isStored ? 7 : 5);
    Value gates = ops.reshape(ops.transpose(gates(rows, experts), 1, 0), experts, rows, 1);
    Value sum = ops.reduce(Reduction.SUM, ops.mul(each, gates), 0);
    node.out(ops.reshape(sum, input.shape()));
  }

  // ---- layers ----

  /** The weights of a layer, {@code [experts, results, inputs]}. */
  private Value weights(int layer) {
    if (!isStored) {
      return node.in(2 + 2 * layer);
    }
    Value packed = node.in(2 + 3 * layer);
    Value scales = node.in(3 + 3 * layer);
    int bits = node.setting("expert_weight_bits", 4);
    node.require(
        packed.rank() == 3
            && packed.type() == DataType.UINT8
            && (bits == 2 || bits == 4 || bits == 8),
        "it has %d bits in %s".formatted(bits, packed.text()));
    int rows = packed.dim(0) * packed.dim(1);
    int depth = packed.dim(2) * (8 / bits);
    boolean isInBlocks = node.setting("block_size", 0) > 0;
    int block = isInBlocks ? node.setting("block_size", 0) : depth;
    int blocks = Math.ceilDiv(depth, block);
    node.require(scales.count() == rows * blocks, scales.text() + " does not fit " + packed.text());
    Value numbers = Fused.apart(ops, ops.reshape(packed, rows, packed.dim(2)), bits);
    Value zero = ops.number(scales.type(), 1 << bits - 1);
    if (node.has(ZERO_POINTS + layer)) {
      // Those of a row stand together, or those of an expert where each row has one.
      int lines = isInBlocks ? rows : packed.dim(0);
      Value points = node.in(ZERO_POINTS + layer);
      int needed = rows * blocks / lines;
      node.require(
          points.count() % lines == 0 && points.count() / lines * (8 / bits) >= needed,
          points.text() + " does not fit " + packed.text());
      Value apart = Fused.apart(ops, ops.reshape(points, lines, points.count() / lines), bits);
      Value each = ops.reshape(ops.part(apart, 1, 0, needed), rows, blocks);
      zero = Fused.eachOfBlocks(ops, ops.cast(each, scales.type()), block, depth);
    }
    Value factors = Fused.eachOfBlocks(ops, ops.reshape(scales, rows, blocks), block, depth);
    Value real = ops.mul(ops.sub(ops.cast(numbers, scales.type()), zero), factors);
    return ops.reshape(ops.cast(real, input.type()), packed.dim(0), packed.dim(1), depth);
  }

  private Value layer(Value rows, Value weights, int bias) {
    Value product = ops.multiply(rows, weights, true);
    if (!node.has(bias)) {
      return product;
    }
    Value added = ops.reshape(node.in(bias), weights.dim(0), 1, weights.dim(1));
    return ops.add(product, added);
  }

  private boolean isGated() {
    return node.text("activation_type", "relu").equals("swiglu");
  }

  private Value activated(Value inner) {
    String activation = node.text("activation_type", "relu");
    return switch (activation) {
      case "relu" -> ops.unary(Unary.RELU, inner);
      case "gelu" -> Activation.tanhGelu(ops, inner);
      case "silu" -> ops.mul(inner, ops.unary(Unary.LOGISTIC, inner));
      case "identity" -> inner;
      case "swiglu" -> gated(inner);
      default -> throw node.refuse("its activation_type is " + activation);
    };
  }

  /** Gates and what they let through, which stand in turns or one behind the other. */
  private Value gated(Value inner) {
    int experts = inner.dim(0);
    int rows = inner.dim(1);
    int size = inner.dim(2) / 2;
    int fusion = node.setting("swiglu_fusion", 0);
    node.require(fusion == 1 || fusion == 2, "its swiglu_fusion is " + fusion);
    boolean areInTurns = fusion == 1;
    Value pairs =
        areInTurns
            ? ops.reshape(inner, experts, rows, size, 2)
            : ops.reshape(inner, experts, rows, 2, size);
    int axis = areInTurns ? 3 : 2;
    Value gate = ops.at(pairs, axis, 0);
    Value linear = ops.at(pairs, axis, 1);
    float limit = node.real("swiglu_limit", Float.POSITIVE_INFINITY);
    if (limit < Float.POSITIVE_INFINITY) {
      gate = ops.min(gate, limit);
      linear = ops.min(ops.max(linear, -limit), limit);
    }
    Value slope = ops.mul(gate, node.real("activation_alpha", 1));
    Value open = ops.mul(gate, ops.unary(Unary.LOGISTIC, slope));
    return ops.mul(open, ops.add(linear, node.real("activation_beta", 0)));
  }

  // ---- routes ----

  /** How much of a row each expert gives, which is 0 for all but the likeliest ones. */
  private Value gates(int rows, int experts) {
    int k = node.setting("k", 1);
    node.require(k > 0 && k <= experts, "it takes %s of %s experts".formatted(k, experts));
    Value likely = ops.softmax(ops.reshape(node.in(1), rows, experts), 1, false);
    List<Value> best =
        node.compute("TopK", Map.of(), List.of(likely, ops.integers(new int[] {1}, k)), 2);
    Value number = ops.range(1, 1, experts);
    Value isTaken =
        ops.binary(
            Binary.EQUAL, ops.reshape(ops.cast(best.get(1), number.type()), rows, k, 1), number);
    Value taken = ops.reduce(Reduction.MAX, ops.cast(isTaken, likely.type()), 1);
    boolean areGiven = isStored && node.has(SHARES);
    Value shares = areGiven ? ops.reshape(node.in(SHARES), rows, experts) : likely;
    Value gates = ops.mul(ops.reshape(taken, rows, experts), shares);
    // Without given shares, ONNX Runtime's QMoE compares those that are taken alone.
    boolean isNormalized = isStored && !areGiven || node.flag("normalize_routing_weights", false);
    return isNormalized ? ops.div(gates, ops.reduce(Reduction.SUM, gates, 1)) : gates;
  }
}
