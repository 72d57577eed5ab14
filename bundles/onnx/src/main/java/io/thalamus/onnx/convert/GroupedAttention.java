// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import java.util.Arrays;
import java.util.List;

/**
 * ONNX Runtime's GroupQueryAttention, which exporters of language models write: each query sees the
 * keys up to its own, and several heads of queries share one of keys. Past keys and values come
 * first, and are given back with the new ones behind.
 */
final class GroupedAttention {
  private static final int PAST_KEY = 3;
  private static final int PAST_VALUE = 4;
  private static final int LENGTHS = 5;
  private static final int TOTAL = 6;
  private static final int COS = 7;
  private static final int SIN = 8;
  private static final int POSITIONS = 9;
  private static final int BIAS = 10;
  private static final int SINK = 11;

  private final Node node;
  private final Ops ops;
  private final int heads;
  private final int shared;

  private GroupedAttention(Node node) {
    this.node = node;
    this.ops = node.ops();
    this.heads = node.setting("num_heads", 0);
    this.shared = node.setting("kv_num_heads", 0);
  }

  static void addTo(Converters table) {
    table.add(Fused.DOMAIN + "GroupQueryAttention", node -> new GroupedAttention(node).convert());
  }

  private void convert() {
    node.require(
        heads > 0 && shared > 0 && heads % shared == 0, heads + " heads do not share " + shared);
    node.require(!node.wants(3), "it gives its scores");
    node.require(node.setting("kv_cache_bit_width", 0) == 0, "its past is quantized");
    Value query = node.in(0);
    Value key;
    Value value;
    if (node.has(1)) {
      key = node.in(1);
      value = node.in(2);
    } else {
      int size = query.dim(2) / (heads + 2 * shared);
      Value all = query;
      query = ops.part(all, 2, 0, heads * size);
      key = ops.part(all, 2, heads * size, shared * size);
      value = ops.part(all, 2, (heads + shared) * size, all.dim(2) - (heads + shared) * size);
    }
    query = Attention.heads(node, query, heads);
    key = Attention.heads(node, key, shared);
    value = Attention.heads(node, value, shared);
    int steps = query.dim(2);
    int stored = node.has(PAST_KEY) ? node.in(PAST_KEY).dim(2) : 0;
    int total = node.isKnown(TOTAL) ? node.onlyInt(TOTAL) : stored + steps;
    node.require(
        total >= steps && total - steps <= stored,
        "it has %s keys, of which %s are stored and %s new".formatted(total, stored, steps));
    Value before = before(query.dim(0), steps, total);
    if (node.flag("do_rotary", false)) {
      query = turned(query, before);
      key = turned(key, before);
    }
    key = behind(PAST_KEY, key, before, total);
    value = behind(PAST_VALUE, value, before, total);
    node.out(1, key);
    node.out(2, value);
    Value weights = weights(query, key, before);
    Value result = ops.multiply(weights, Attention.repeated(ops, value, heads), false);
    Value joined = ops.transpose(result, 0, 2, 1, 3);
    node.out(ops.reshape(joined, joined.dim(0), joined.dim(1), joined.dim(2) * joined.dim(3)));
  }

  /** How many keys of each batch stand before the new ones: one number, or one for each batch. */
  private Value before(int batch, int steps, int total) {
    if (steps == total || batch == 1) {
      return ops.number(DataType.INT32, total - steps);
    }
    Value last = ops.cast(node.in(LENGTHS), DataType.INT32);
    node.require(last.count() == batch, last.text() + " has no length for each batch");
    return ops.reshape(ops.add(last, 1 - steps), batch, 1, 1, 1);
  }

  private Value turned(Value value, Value before) {
    Value cos = node.in(COS);
    node.require(cos.rank() == 2 && cos.dim(1) > 0, cos.text() + " is no table of cosines");
    int steps = value.dim(2);
    Value row = ops.range(1, steps);
    Value first = before.count() == 1 ? ops.reshape(before) : ops.reshape(before, value.dim(0), 1);
    Value places =
        node.has(POSITIONS) ? ops.cast(node.in(POSITIONS), DataType.INT32) : ops.add(row, first);
    int size = 2 * cos.dim(1);
    return Attention.turned(
        ops,
        value,
        size,
        FusedAttention.rows(ops, cos, places, size),
        FusedAttention.rows(ops, node.in(SIN), places, size),
        node.flag("rotary_interleaved", false));
  }

  /** The stored keys or values, the new ones behind, and zeros up to a common length. */
  private Value behind(int input, Value fresh, Value before, int total) {
    if (!node.has(input)) {
      return fresh;
    }
    Value past = node.in(input);
    int stored = past.dim(2);
    int steps = fresh.dim(2);
    int all = Math.max(total, stored);
    if (before.isConstant()
        && Arrays.stream(before.constant().integers()).distinct().count() == 1) {
      int first = (int) before.constant().integer(0);
      node.require(first >= 0 && first <= stored, "its lengths do not fit its past");
      int rest = all - first - steps;
      Value[] parts = {ops.part(past, 2, 0, first), fresh, none(fresh, rest)};
      return ops.concat(List.of(parts), 2);
    }
    Value column = ops.range(1, 1, all, 1);
    Value isOld = ops.binary(Binary.LESS, column, before);
    Value isNew = ops.binary(Binary.LESS, column, ops.add(before, steps));
    Value ofNew = ops.add(ops.sub(column, before), stored);
    Value ofNone = ops.number(DataType.INT32, stored + steps);
    Value place = ops.select(isOld, column, ops.select(isNew, ofNew, ofNone));
    int rows = past.dim(0) * shared;
    int each = stored + steps + 1;
    int[] starts = ops.budget().ints(rows);
    Arrays.setAll(starts, i -> i * each);
    Value start = ops.integers(new int[] {past.dim(0), shared, 1, 1}, starts);
    Value both = ops.concat(List.of(past, fresh, none(fresh, 1)), 2);
    Value lines = ops.reshape(both, rows * each, fresh.dim(3));
    Value places = ops.reshape(ops.add(place, start), past.dim(0), shared, all);
    return ops.gather(lines, 0, places);
  }

  private Value none(Value like, int count) {
    return ops.fill(like.type(), new int[] {like.dim(0), shared, count, like.dim(3)}, 0);
  }

  private Value weights(Value query, Value key, Value before) {
    int steps = query.dim(2);
    int columns = key.dim(2);
    double scale = node.real("scale", 0);
    double factor = scale == 0 ? 1 / Math.sqrt(query.dim(3)) : scale;
    Value keys = Attention.repeated(ops, key, heads);
    Value scores = ops.mul(ops.multiply(query, keys, true), factor);
    double cap = node.real("softcap", 0);
    if (cap > 0) {
      scores = ops.mul(ops.unary(Unary.TANH, ops.mul(scores, 1 / cap)), cap);
    }
    if (node.has(BIAS)) {
      scores = ops.add(scores, ops.part(node.in(BIAS), 3, 0, columns));
    }
    Value row = ops.range(1, 1, steps, 1);
    Value column = ops.range(1, 1, 1, columns);
    Value last = ops.add(row, before);
    Value isSeen = ops.binary(Binary.LESS_EQUAL, column, last);
    int window = node.setting("local_window_size", -1);
    if (window > 0) {
      Value isNear = ops.binary(Binary.GREATER, column, ops.add(last, -window));
      isSeen = ops.binary(Binary.AND, isSeen, isNear);
    }
    Value hidden = ops.number(scores.type(), Double.NEGATIVE_INFINITY);
    scores = ops.select(isSeen, scores, hidden);
    if (!node.has(SINK) && !node.flag("smooth_softmax", false)) {
      return ops.softmax(scores, 3, false);
    }
    // One more key, whose score is given or 0 and whose value is 0.
    Value more =
        node.has(SINK)
            ? ops.cast(ops.reshape(node.in(SINK), 1, heads, 1, 1), scores.type())
            : ops.number(scores.type(), 0);
    more = ops.expand(more, scores.dim(0), heads, steps, 1);
    Value weights = ops.softmax(ops.concat(List.of(scores, more), 3), 3, false);
    return ops.part(weights, 3, 0, columns);
  }
}
