// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import java.util.Arrays;
import java.util.List;

/** Attention as ONNX Runtime's optimizers write it, with masks that are numbers. */
final class FusedAttention {
  private static final float HIDDEN = -10000;

  /** An input that there is not. */
  private static final int NONE = Integer.MAX_VALUE;

  private FusedAttention() {}

  static void addTo(Converters table) {
    table.add(Fused.DOMAIN + "Attention", FusedAttention::attention);
    table.add(Fused.DOMAIN + "QAttention", FusedAttention::quantized);
    table.add(Fused.DOMAIN + "MultiHeadAttention", FusedAttention::multiHead);
    table.add(Fused.DOMAIN + "DecoderMaskedMultiHeadAttention", FusedAttention::step);
    table.add(Fused.DOMAIN + "RotaryEmbedding", node -> rotary(node, false));
    table.add(Fused.DOMAIN + "MRotaryEmbedding", node -> rotary(node, true));
  }

  /** Queries, keys and values of one product. */
  private static void attention(Node node) {
    Ops ops = node.ops();
    node.require(!node.flag("do_rotary", false), "it turns its queries and keys");
    node.require(!node.has(6), "its past is part of a larger memory");
    Value all = ops.matmul(node.in(0), node.in(1));
    attention(node, node.has(2) ? ops.add(all, node.in(2)) : all, 3, 4, 5);
  }

  /** The same of integers of 8 bits. */
  private static void quantized(Node node) {
    Ops ops = node.ops();
    node.require(!node.flag("do_rotary", false), "it turns its queries and keys");
    Value product = Matrices.product(node, node.in(0), node.inOrNull(6), 7);
    Value scale = ops.mul(ops.reshape(node.in(3)), Matrices.point(ops, node.in(4)));
    Value all = ops.mul(ops.cast(product, scale.type()), scale);
    attention(node, ops.add(all, node.in(2)), 5, 8, NONE);
  }

  /**
   * Attention of queries, keys and values that stand side by side.
   *
   * @param mask the input that masks keys
   * @param stored the input of past keys and values
   * @param given the input of what is added to the scores
   */
  private static void attention(Node node, Value all, int mask, int stored, int given) {
    Ops ops = node.ops();
    int heads = node.setting("num_heads", 0);
    int[] parts = node.list("qkv_hidden_sizes");
    int third = all.dim(2) / 3;
    int[] sizes = parts == null || parts.length == 0 ? new int[] {third, third, third} : parts;
    node.require(
        sizes.length == 3 && Arrays.stream(sizes).sum() == all.dim(2),
        Arrays.toString(sizes) + " do not make up " + all.text());
    Value query = heads(node, ops.part(all, 2, 0, sizes[0]), heads);
    Value key = heads(node, ops.part(all, 2, sizes[0], sizes[1]), heads);
    Value value = heads(node, ops.part(all, 2, sizes[0] + sizes[1], sizes[2]), heads);
    int past = 0;
    if (node.has(stored)) {
      past = node.in(stored).dim(3);
      key = ops.concat(List.of(ops.at(node.in(stored), 0, 0), key), 2);
      value = ops.concat(List.of(ops.at(node.in(stored), 0, 1), value), 2);
    }
    if (node.wants(1)) {
      node.out(1, ops.stack(List.of(key, value), 0));
    }
    Value bias = bias(node, mask, given, query, key, past);
    node.out(attend(node, query, key, value, bias));
  }

  private static void multiHead(Node node) {
    Ops ops = node.ops();
    int heads = node.setting("num_heads", 0);
    node.require(!node.has(8) && !node.has(9), "its past is part of a larger memory");
    Value query = node.in(0);
    Value key;
    Value value;
    if (query.rank() == 5) {
      key = joined(ops, ops.at(query, 3, 1));
      value = joined(ops, ops.at(query, 3, 2));
      query = joined(ops, ops.at(query, 3, 0));
    } else if (node.in(1).rank() == 5) {
      key = joined(ops, ops.at(node.in(1), 3, 0));
      value = joined(ops, ops.at(node.in(1), 3, 1));
    } else {
      key = node.in(1);
      value = node.in(2);
    }
    if (node.has(3)) {
      int first = query.dim(2);
      boolean hasHeads = key.rank() == 4;
      int second = hasHeads ? heads * key.dim(3) : key.dim(2);
      Value bias = node.in(3);
      query = ops.add(query, ops.part(bias, 0, 0, first));
      if (!hasHeads) {
        int third = bias.dim(0) - first - second;
        key = ops.add(key, ops.part(bias, 0, first, second));
        value = ops.add(value, ops.part(bias, 0, first + second, third));
      }
    }
    query = heads(node, query, heads);
    key = heads(node, key, heads);
    value = heads(node, value, heads);
    int past = 0;
    if (node.has(6)) {
      past = node.in(6).dim(2);
      key = ops.concat(List.of(node.in(6), key), 2);
      value = ops.concat(List.of(node.in(7), value), 2);
    }
    node.out(1, key);
    node.out(2, value);
    node.require(!node.wants(3), "it gives its scores");
    node.out(attend(node, query, key, value, bias(node, 4, 5, query, key, past)));
  }

  /**
   * One step of a decoder. Its keys are all there, or the new one comes into the buffer of those
   * that are stored, behind as many as are said, and what is behind it is not seen.
   */
  private static void step(Node node) {
    Ops ops = node.ops();
    int heads = node.setting("num_heads", 0);
    node.require(
        !node.has(8) && !node.has(9) && !node.has(10) && !node.wants(3),
        "it searches by beams, adds a bias to its inputs or gives its scores");
    Value query = heads(node, node.in(0), heads);
    Value key = heads(node, node.in(1), heads);
    Value value = heads(node, node.in(2), heads);
    Value unseen = null;
    if (node.has(5)) {
      int room = node.in(5).dim(2);
      node.require(
          node.flag("past_present_share_buffer", false) && key.dim(2) == 1,
          "its past is no buffer for one key more");
      Value column = ops.range(1, 1, room, 1);
      Value place = ops.reshape(ops.cast(node.in(7), DataType.INT32), 1, 1, 1, 1);
      Value isNew = ops.binary(Binary.EQUAL, column, place);
      key = ops.select(isNew, key, node.in(5));
      value = ops.select(isNew, value, node.in(6));
      Value row = ops.reshape(column, 1, 1, 1, room);
      Value isSeen = ops.binary(Binary.LESS_EQUAL, row, place);
      Value lowest = ops.number(query.type(), -Float.MAX_VALUE);
      unseen = ops.select(isSeen, ops.number(query.type(), 0), lowest);
    }
    node.out(1, key);
    node.out(2, value);
    Value bias = bias(node, 3, 4, query, key, 0);
    if (unseen != null) {
      bias = bias == null ? unseen : ops.add(bias, unseen);
    }
    node.out(attend(node, query, key, value, bias));
  }

  /** The last two axes as one. */
  private static Value joined(Ops ops, Value value) {
    return ops.reshape(value, value.dim(0), value.dim(1), value.dim(2) * value.dim(3));
  }

  private static Value heads(Node node, Value value, int heads) {
    return value.rank() == 4 ? value : Attention.heads(node, value, heads);
  }

  private static Value attend(Node node, Value query, Value key, Value value, Value bias) {
    Ops ops = node.ops();
    double scale = node.real("scale", 0);
    double factor = scale == 0 ? 1 / Math.sqrt(query.dim(3)) : scale;
    Value scores = ops.mul(ops.multiply(query, key, true), factor);
    scores = bias == null ? scores : ops.add(scores, bias);
    Value result = ops.multiply(ops.softmax(scores, 3, false), value, false);
    return joined(ops, ops.transpose(result, 0, 2, 1, 3));
  }

  /** Returns the summand of the scores; null where there is none. */
  private static Value bias(Node node, int mask, int given, Value query, Value key, int past) {
    Ops ops = node.ops();
    int rows = query.dim(2);
    int columns = key.dim(2);
    Value bias = node.inOrNull(given);
    Value none = ops.number(query.type(), 0);
    if (node.has(mask)) {
      Value isSeen = seen(node, ops.cast(node.in(mask), DataType.INT32), query, columns);
      double hidden = node.real("mask_filter_value", HIDDEN);
      Value summand = ops.select(isSeen, none, ops.number(query.type(), hidden));
      bias = bias == null ? summand : ops.add(bias, summand);
    }
    if (node.flag("unidirectional", false)) {
      Value row = ops.range(rows, 1);
      Value column = ops.range(1, columns);
      Value isBefore = ops.binary(Binary.LESS_EQUAL, column, ops.add(row, past));
      Value lowest = ops.number(query.type(), -Float.MAX_VALUE);
      Value summand = ops.select(isBefore, none, lowest);
      bias = bias == null ? summand : ops.add(bias, summand);
    }
    return bias;
  }

  /** Returns where a key is seen by a query: by ends, by ends and starts, or one by one. */
  private static Value seen(Node node, Value mask, Value query, int columns) {
    Ops ops = node.ops();
    int batch = query.dim(0);
    int rows = query.dim(2);
    Value zero = ops.number(DataType.INT32, 0);
    if (mask.rank() == 1 && (mask.dim(0) == batch || mask.dim(0) == 2 * batch)) {
      Value column = ops.range(columns);
      Value ends = ops.reshape(ops.part(mask, 0, 0, batch), batch, 1, 1, 1);
      Value isSeen = ops.binary(Binary.LESS, column, ends);
      if (mask.dim(0) == batch) {
        return isSeen;
      }
      Value starts = ops.reshape(ops.part(mask, 0, batch, batch), batch, 1, 1, 1);
      return ops.binary(Binary.AND, isSeen, ops.binary(Binary.GREATER_EQUAL, column, starts));
    }
    Value each = mask;
    if (mask.rank() == 2) {
      each = ops.reshape(mask, mask.dim(0), 1, 1, mask.dim(1));
    } else if (mask.rank() == 3) {
      each = ops.reshape(mask, mask.dim(0), 1, mask.dim(1), mask.dim(2));
    } else if (mask.rank() == 4 && mask.dim(2) >= columns && mask.dim(3) >= columns) {
      each = ops.part(ops.part(mask, 2, columns - rows, rows), 3, 0, columns);
    }
    node.require(
        each.rank() == 4 && each.dim(3) == columns && (each.dim(2) == 1 || each.dim(2) == rows),
        "its mask is " + mask.text());
    return ops.binary(Binary.GREATER, each, zero);
  }

  /**
   * Turns pairs of numbers by angles of a table.
   *
   * @param isOfThree whether each place has a position in time, height and width
   */
  private static void rotary(Node node, boolean isOfThree) {
    Ops ops = node.ops();
    Value input = node.in(0);
    Value cos = node.in(2);
    node.require(cos.rank() == 2 && cos.dim(1) > 0, cos.text() + " is no table of cosines");
    int part = node.setting("rotary_embedding_dim", 0);
    int size = part > 0 ? part : 2 * cos.dim(1);
    boolean isFlat = input.rank() == 3;
    int heads = node.setting("num_heads", 0);
    if (isFlat && heads == 0) {
      node.require(part == 0 && input.dim(2) % size == 0, "the number of its heads is not given");
      heads = input.dim(2) / size;
    }
    Value value = heads(node, input, heads);
    int length = value.dim(2);
    Value positions = ops.cast(node.in(1), DataType.INT32);
    if (isOfThree) {
      node.require(
          positions.rank() == 3 && positions.dim(0) == 3, positions.text() + " has not 3 streams");
      positions = ops.reshape(positions, positions.dim(0) * positions.dim(1), positions.dim(2));
    }
    if (positions.count() == 1) {
      Value steps = ops.range(1, length);
      positions = ops.add(ops.reshape(positions), steps);
    }
    node.require(
        positions.rank() == 2 && positions.dim(1) == length && size <= 2 * cos.dim(1),
        "its positions or tables do not fit it");
    Value turned =
        Attention.turned(
            ops,
            value,
            size,
            sections(node, rows(ops, cos, positions, size), isOfThree),
            sections(node, rows(ops, node.in(3), positions, size), isOfThree),
            node.flag("interleaved", false));
    // Kernels of ONNX Runtime read the setting scale, and do not use it.
    node.out(isFlat ? ops.reshape(ops.transpose(turned, 0, 2, 1, 3), input.shape()) : turned);
  }

  /** For each number of a row that of time, height or width, as sections or in turns. */
  private static Value sections(Node node, Value rows, boolean isOfThree) {
    if (!isOfThree) {
      return rows;
    }
    Ops ops = node.ops();
    int[] sizes = node.list("mrope_section", 3, 0);
    int batch = rows.dim(0) / 3;
    int half = rows.dim(3);
    node.require(
        Arrays.stream(sizes).allMatch(size -> size >= 0) && Arrays.stream(sizes).sum() == half,
        "its sections %s are not %d".formatted(Arrays.toString(sizes), half));
    boolean isInTurns = node.setting("mrope_layout", 0) == 1;
    int[] places = new int[half];
    for (int i = 0; i < half; i++) {
      int stream = i < sizes[0] ? 0 : i < sizes[0] + sizes[1] ? 1 : 2;
      if (isInTurns) {
        stream = i / 3 < sizes[i % 3] ? i % 3 : 0;
      }
      places[i] = stream * half + i;
    }
    Value streams = ops.reshape(rows, 3, batch, rows.dim(2), half);
    Value beside = ops.reshape(ops.transpose(streams, 1, 2, 0, 3), batch, 1, rows.dim(2), 3 * half);
    return ops.gather(beside, 3, ops.integers(new int[] {half}, places));
  }

  /** The rows of a table at positions, as {@code [batch, 1, length, half]}. */
  static Value rows(Ops ops, Value table, Value positions, int size) {
    Value rows = ops.part(ops.gather(table, 0, positions), 2, 0, size / 2);
    return ops.reshape(rows, rows.dim(0), 1, rows.dim(1), size / 2);
  }
}
