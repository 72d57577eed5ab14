// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import java.util.List;

/** The operators of transformers: attention, rotary embeddings, gated units. */
final class Attention {
  private static final int MASK = 3;
  private static final int PAST_KEY = 4;
  private static final int PAST_VALUE = 5;
  private static final int LENGTHS = 6;

  private Attention() {}

  static void addTo(Converters table) {
    table.add("Attention", Attention::attention);
    table.add("RotaryEmbedding", Attention::rotaryEmbedding);
    table.add("SwiGLU", Attention::swiGlu);
    table.add("CausalConvWithState", Attention::causalConvolution);
    table.add(Fused.DOMAIN + "CausalConvWithState", Attention::causalConvolution);
  }

  /** Heads as the second dimension: {@code [batch, heads, length, size]}. */
  private static Value heads(Node node, Value value, String setting) {
    return value.rank() == 4 ? value : heads(node, value, node.setting(setting, 0));
  }

  /** So many heads as the second dimension of a value of three. */
  static Value heads(Node node, Value value, int heads) {
    node.require(
        value.rank() == 3 && heads > 0 && value.dim(2) % heads == 0,
        heads + " heads do not fit " + value.text());
    Ops ops = node.ops();
    Value apart = ops.reshape(value, value.dim(0), value.dim(1), heads, value.dim(2) / heads);
    return ops.transpose(apart, 0, 2, 1, 3);
  }

  private static void attention(Node node) {
    Ops ops = node.ops();
    Value query = heads(node, node.in(0), "q_num_heads");
    Value key = heads(node, node.in(1), "kv_num_heads");
    Value value = heads(node, node.in(2), "kv_num_heads");
    int past = 0;
    if (node.has(PAST_KEY)) {
      past = node.in(PAST_KEY).dim(2);
      key = ops.concat(List.of(node.in(PAST_KEY), key), 2);
      value = ops.concat(List.of(node.in(PAST_VALUE), value), 2);
    }
    node.out(1, key);
    node.out(2, value);
    double scale = node.real("scale", 0);
    double factor = Math.sqrt(scale == 0 ? 1 / Math.sqrt(query.dim(3)) : scale);
    Value keys = repeated(ops, key, query.dim(1));
    Value values = repeated(ops, value, query.dim(1));
    Value scores = ops.multiply(ops.mul(query, factor), ops.mul(keys, factor), true);
    Value shown = scores;
    int mode = node.setting("qk_matmul_output_mode", 0);
    double cap = node.real("softcap", 0);
    if (cap != 0) {
      scores = ops.mul(ops.unary(Unary.TANH, ops.mul(scores, 1 / cap)), cap);
    }
    shown = mode == 1 ? scores : shown;
    Value bias = bias(node, scores, past);
    if (bias != null) {
      scores = ops.add(scores, bias);
    }
    shown = mode == 2 ? scores : shown;
    Value weights = ops.softmax(scores, 3, false);
    if (bias != null) {
      Value most = ops.reduce(Reduction.MAX, bias, bias.rank() - 1);
      Value lowest = ops.number(bias.type(), Double.NEGATIVE_INFINITY);
      Value isMasked = ops.binary(Binary.EQUAL, most, lowest);
      weights = ops.select(isMasked, ops.number(weights.type(), 0), weights);
    }
    shown = mode == 3 ? weights : shown;
    Value result = ops.multiply(weights, values, false);
    if (node.in(0).rank() == 3) {
      Value joined = ops.transpose(result, 0, 2, 1, 3);
      result = ops.reshape(joined, joined.dim(0), joined.dim(1), joined.dim(2) * joined.dim(3));
    }
    node.out(result);
    node.out(3, shown);
  }

  /** Heads repeated where several heads of the query share one of the keys. */
  static Value repeated(Ops ops, Value value, int heads) {
    int own = value.dim(1);
    if (own == heads) {
      return value;
    }
    Emitter.require(heads % own == 0, heads + " heads do not share " + own);
    int[] shape = {value.dim(0), own, heads / own, value.dim(2), value.dim(3)};
    Value apart = ops.reshape(value, value.dim(0), own, 1, value.dim(2), value.dim(3));
    return ops.reshape(ops.expand(apart, shape), value.dim(0), heads, value.dim(2), value.dim(3));
  }

  /**
   * Returns the summand of the scores, minus infinity where a key is not seen; null for nothing.
   */
  private static Value bias(Node node, Value scores, int past) {
    Ops ops = node.ops();
    int rows = scores.dim(2);
    int columns = scores.dim(3);
    double lowest = Double.NEGATIVE_INFINITY;
    Value none = ops.number(scores.type(), 0);
    Value hidden = ops.number(scores.type(), lowest);
    Value bias = null;
    if (node.has(MASK)) {
      Value mask = node.in(MASK);
      bias =
          mask.type() == DataType.BOOL
              ? ops.select(mask, none, hidden)
              : ops.cast(mask, scores.type());
      int missing = columns - bias.dim(bias.rank() - 1);
      if (missing > 0 && bias.dim(bias.rank() - 1) > 1) {
        int[] before = new int[bias.rank()];
        int[] after = new int[bias.rank()];
        after[bias.rank() - 1] = missing;
        bias = ops.pad(bias, before, after, lowest);
      }
    }
    Value row = ops.range(rows, 1);
    Value column = ops.range(1, columns);
    Value isSeen = null;
    Value offset = ops.number(DataType.INT32, past);
    if (node.has(LENGTHS)) {
      Value lengths =
          ops.reshape(ops.cast(node.in(LENGTHS), DataType.INT32), scores.dim(0), 1, 1, 1);
      isSeen = ops.binary(Binary.LESS, column, lengths);
      offset = ops.add(lengths, -rows);
    }
    if (node.flag("is_causal", false)) {
      Value isBefore = ops.binary(Binary.LESS_EQUAL, column, ops.add(row, offset));
      isSeen = isSeen == null ? isBefore : ops.binary(Binary.AND, isSeen, isBefore);
    }
    if (isSeen != null) {
      Value cut = ops.select(isSeen, none, hidden);
      bias = bias == null ? cut : ops.add(bias, cut);
    }
    return bias;
  }

  private static void swiGlu(Node node) {
    Ops ops = node.ops();
    Value gate = node.in(0);
    Value opened = ops.unary(Unary.LOGISTIC, ops.mul(gate, node.real("alpha", 1)));
    node.out(ops.mul(ops.mul(gate, opened), node.in(1)));
  }

  /** A convolution of each channel that sees what was before, which is the state. */
  private static void causalConvolution(Node node) {
    Ops ops = node.ops();
    boolean isLast = node.flag("channels_last", false);
    Value value = isLast ? channelsFirst(ops, node.in(0)) : node.in(0);
    Value weights = node.in(1);
    int dilation = node.setting("dilation", 1);
    node.require(
        value.rank() == 3 && weights.rank() == 3 && weights.dim(1) == 1 && dilation > 0,
        "it has the inputs " + value.text() + " and " + weights.text());
    node.require(node.setting("state_window", 0) == 0, "it keeps the states of several steps");
    int before = Math.multiplyExact(weights.dim(2) - 1, dilation);
    Value state =
        node.has(3)
            ? isLast ? channelsFirst(ops, node.in(3)) : node.in(3)
            : ops.fill(value.type(), new int[] {value.dim(0), value.dim(1), before}, 0);
    Value seen = ops.concat(List.of(state, value), 2);
    Frame frame =
        new Frame(
            new int[] {weights.dim(2)},
            new int[] {1},
            new int[] {dilation},
            new int[1],
            new int[1],
            new int[] {value.dim(2)});
    Value bias = node.inOrNull(2);
    Value result = Convolution.convolve(ops, seen, weights, bias, frame, value.dim(1));
    String activation = node.text("activation", "none");
    if (activation.equals("silu") || activation.equals("swish")) {
      result = ops.mul(result, ops.unary(Unary.LOGISTIC, result));
    } else {
      node.require(activation.equals("none"), "its activation is " + activation);
    }
    Value kept = ops.part(seen, 2, seen.dim(2) - before, before);
    node.out(isLast ? channelsLast(ops, result, node.in(0)) : result);
    node.out(1, isLast ? channelsLast(ops, kept, node.in(0)) : kept);
  }

  /** {@code [batch, channels, length]} of what has its channels last, in one or more dimensions. */
  private static Value channelsFirst(Ops ops, Value value) {
    Emitter.require(value.rank() > 2, value.text() + " has no channels");
    int channels = 1;
    for (int i = 2; i < value.rank(); i++) {
      channels *= value.dim(i);
    }
    return ops.transpose(ops.reshape(value, value.dim(0), value.dim(1), channels), 0, 2, 1);
  }

  /** The other way round, with the channels of a value. */
  private static Value channelsLast(Ops ops, Value value, Value like) {
    int[] shape = like.shape().clone();
    shape[1] = value.dim(2);
    return ops.reshape(ops.transpose(value, 0, 2, 1), shape);
  }

  private static void rotaryEmbedding(Node node) {
    Ops ops = node.ops();
    Value input = node.in(0);
    boolean isFlat = input.rank() == 3;
    Value value = isFlat ? heads(node, input, "num_heads") : input;
    int size = value.dim(3);
    int part = node.setting("rotary_embedding_dim", 0);
    int rotated = part == 0 ? size : part;
    Value cos = angles(node, 1, rotated / 2);
    Value sin = angles(node, 2, rotated / 2);
    Value result = turned(ops, value, rotated, cos, sin, node.flag("interleaved", false));
    node.out(isFlat ? ops.reshape(ops.transpose(result, 0, 2, 1, 3), input.shape()) : result);
  }

  /** The first numbers of each head, pair by pair turned by an angle; the others as they are. */
  static Value turned(
      Ops ops, Value value, int rotated, Value cos, Value sin, boolean isInterleaved) {
    int size = value.dim(3);
    Emitter.require(
        rotated % 2 == 0 && rotated <= size, rotated + " numbers of " + value.text() + " turn");
    Value part = ops.part(value, 3, 0, rotated);
    int half = rotated / 2;
    Value first;
    Value second;
    if (isInterleaved) {
      Value pairs = ops.reshape(part, value.dim(0), value.dim(1), value.dim(2), half, 2);
      first = ops.at(pairs, 4, 0);
      second = ops.at(pairs, 4, 1);
    } else {
      first = ops.part(part, 3, 0, half);
      second = ops.part(part, 3, half, half);
    }
    Value real = ops.sub(ops.mul(cos, first), ops.mul(sin, second));
    Value imaginary = ops.add(ops.mul(sin, first), ops.mul(cos, second));
    Value joined =
        isInterleaved
            ? ops.reshape(
                ops.stack(List.of(real, imaginary), 4),
                value.dim(0),
                value.dim(1),
                value.dim(2),
                rotated)
            : ops.concat(List.of(real, imaginary), 3);
    return rotated == size
        ? joined
        : ops.concat(List.of(joined, ops.part(value, 3, rotated, size - rotated)), 3);
  }

  /** The table's rows by position, as {@code [batch, 1, length, half]}. */
  private static Value angles(Node node, int input, int half) {
    Ops ops = node.ops();
    Value table = node.in(input);
    Value rows = node.has(3) ? ops.gather(table, 0, ops.cast(node.in(3), DataType.INT32)) : table;
    node.require(rows.rank() == 3 && rows.dim(2) >= half, "its tables do not fit it");
    Value cut = ops.part(rows, 2, 0, half);
    return ops.reshape(cut, cut.dim(0), 1, cut.dim(1), half);
  }
}
