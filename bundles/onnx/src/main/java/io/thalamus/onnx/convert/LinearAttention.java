// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Attention by a state that each step changes and reads: with state S, key k, value v, decay g and
 * rate b, {@code S = exp(g) S + b k (v - k' exp(g) S)}, of which the rules leave out parts, and the
 * result is {@code scale q' S}. Steps are unrolled. In ONNX Runtime's own form several states may
 * share one key or query.
 */
final class LinearAttention {
  private static final int MAX_STEPS = 1024;
  private static final int STATE = 3;
  private static final int DECAY = 4;
  private static final int RATE = 5;
  private static final Set<String> RULES = Set.of("linear", "gated", "delta", "gated_delta");

  private LinearAttention() {}

  static void addTo(Converters table) {
    table.add("LinearAttention", LinearAttention::convert);
    table.add(Fused.DOMAIN + "LinearAttention", LinearAttention::convert);
  }

  private static void convert(Node node) {
    Ops ops = node.ops();
    String rule = node.text("update_rule", "gated_delta");
    node.require(RULES.contains(rule), "its rule is " + rule);
    node.require(node.setting("state_window", 0) == 0, "it keeps the states of several steps");
    int queryHeads = node.setting("q_num_heads", 0);
    int heads = node.setting("kv_num_heads", 0);
    Value query = node.in(0);
    Value key = node.in(1);
    Value value = node.in(2);
    node.require(
        query.rank() == 3
            && key.rank() == 3
            && value.rank() == 3
            && heads > 0
            && queryHeads > 0
            && (queryHeads % heads == 0 || heads % queryHeads == 0)
            && query.dim(2) % queryHeads == 0
            && value.dim(2) % heads == 0
            && isOfHeads(key.dim(2), query.dim(2) / queryHeads, heads),
        "its heads do not fit " + query.text() + ", " + key.text() + " and " + value.text());
    int batch = query.dim(0);
    int steps = query.dim(1);
    node.require(steps <= MAX_STEPS, "it has more than " + MAX_STEPS + " steps");
    int size = query.dim(2) / queryHeads;
    key = repeated(ops, key, size, heads);
    if (queryHeads < heads) {
      query = repeated(ops, query, size, heads);
      queryHeads = heads;
    }
    int width = value.dim(2) / heads;
    double given = node.real("scale", 0);
    double scale = given == 0 ? 1 / Math.sqrt(size) : given;
    Value state =
        node.has(STATE)
            ? node.in(STATE)
            : ops.fill(query.type(), new int[] {batch, heads, size, width}, 0);
    boolean isGated = rule.startsWith("gated");
    boolean isDelta = rule.endsWith("delta");
    List<Value> results = new ArrayList<>();
    for (int step = 0; step < steps; step++) {
      Value row = ops.reshape(ops.part(key, 1, step, 1), batch, heads, 1, size);
      Value change = ops.reshape(ops.part(value, 1, step, 1), batch, heads, 1, width);
      if (isGated) {
        Value decay = ops.part(node.in(DECAY), 1, step, 1);
        Value factor = ops.unary(Unary.EXP, decay);
        state = ops.mul(state, ops.reshape(factor, batch, heads, decay.dim(2) / heads, 1));
      }
      if (isDelta) {
        Value rate = ops.part(node.in(RATE), 1, step, 1);
        change =
            ops.mul(
                ops.sub(change, ops.multiply(row, state, false)),
                ops.reshape(rate, batch, rate.dim(2), 1, 1));
      }
      state = ops.add(state, ops.mul(ops.reshape(row, batch, heads, size, 1), change));
      Value asked =
          ops.reshape(ops.part(query, 1, step, 1), batch, heads, queryHeads / heads, size);
      Value read = ops.multiply(ops.mul(asked, scale), state, false);
      results.add(ops.reshape(read, batch, 1, queryHeads * width));
    }
    node.out(ops.concat(results, 1));
    node.out(1, state);
  }

  private static boolean isOfHeads(int all, int size, int heads) {
    return size > 0 && all > 0 && all % size == 0 && heads % (all / size) == 0;
  }

  /** Heads side by side, each repeated until there are so many. */
  private static Value repeated(Ops ops, Value value, int size, int heads) {
    int own = value.dim(2) / size;
    if (own == heads) {
      return value;
    }
    int batch = value.dim(0);
    int steps = value.dim(1);
    Value apart = ops.reshape(value, batch * steps, own, 1, size);
    return ops.reshape(Attention.repeated(ops, apart, heads), batch, steps, heads * size);
  }
}
