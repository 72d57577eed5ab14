// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.OnnxAttribute;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxNode;
import io.thalamus.onnx.file.OnnxTensor;
import io.thalamus.onnx.file.OnnxValue;
import io.thalamus.onnx.file.Refusal;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensors;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BinaryOperator;
import java.util.stream.LongStream;

/**
 * The sizes that operators demand of open dimensions of inputs because of constants beside them:
 * the rows of a matrix, the channels of a filter, the state of a recurrent layer. It follows
 * dimensions as far as operators pass them on, and is silent on all others. Used by one thread.
 */
final class NeededSizes {
  /** A dimension of which nothing is known. */
  private static final long ANY = Long.MIN_VALUE;

  private static final long MOST = 1 << 24;

  private static final Set<String> SAME =
      Set.of(
          "Identity Cast Dropout Relu LeakyRelu Sigmoid Tanh Elu Erf Exp Log Sqrt Neg Abs Clip Not"
              .concat(" Softmax LogSoftmax HardSwish HardSigmoid Softplus Gelu FastGelu QuickGelu")
              .concat(" Reciprocal CumSum")
              .concat(" QuantizeLinear DequantizeLinear SimplifiedLayerNormalization")
              .split(" "));

  private static final Set<String> PAIRS =
      Set.of("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Where", "Greater", "Less", "Equal");

  private static final List<OnnxAttribute> NO_BRANCHES = List.of();

  private final Map<String, long[]> shapes = new HashMap<>();
  private final Map<String, OnnxTensor> constants = new HashMap<>();

  /** Numbers of inputs' own dimensions by input; those of one name in the file are one. */
  private final Map<String, long[]> own = new HashMap<>();

  /** The sizes, or other dimensions, that dimensions are equal to. */
  private final Map<Long, Long> equal = new HashMap<>();

  private NeededSizes(OnnxGraph graph) {
    long next = ANY;
    for (OnnxValue input : graph.inputs()) {
      if (input.dims() != null && !graph.constants().containsKey(input.name())) {
        long[] dims = input.dims().clone();
        for (int i = 0; i < dims.length; i++) {
          dims[i] = dims[i] == OpenInputs.UNNAMED ? ++next : dims[i];
        }
        own.put(input.name(), dims);
      }
    }
    shapes.putAll(own);
    follow(graph);
  }

  private void follow(OnnxGraph graph) {
    constants.putAll(graph.constants());
    graph.constants().forEach((name, tensor) -> shapes.put(name, tensor.dims()));
    for (int i : NodeOrder.of(graph)) {
      try {
        follow(graph.nodes().get(i));
      } catch (ArithmeticException
          | NegativeArraySizeException
          | IndexOutOfBoundsException
          | Refusal e) {
        // A damaged one, which its converter reports.
        continue;
      }
    }
  }

  /**
   * Returns those of a graph, for an input's dimension the size that it has otherwise; the same
   * where nothing is demanded.
   */
  static Choice of(OnnxGraph graph) {
    NeededSizes needed = new NeededSizes(graph);
    return (input, axis, otherwise) -> {
      long[] dims = needed.own.get(input);
      // Of two inputs of one name, which a damaged file may have, the dimensions are the last
      // one's.
      boolean isKnown = dims != null && axis < dims.length;
      long found = isKnown ? needed.resolved(dims[axis]) : ANY;
      return found >= 0 ? (int) Math.min(found, MOST) : otherwise;
    };
  }

  /** Chooses the size of an input's dimension. */
  @FunctionalInterface
  interface Choice {
    int of(String input, int axis, int otherwise);
  }

  private long resolved(long dim) {
    long found = dim;
    while (found < 0 && equal.containsKey(found)) {
      found = equal.get(found);
    }
    return found;
  }

  private void same(long a, long b) {
    long x = resolved(a);
    long y = resolved(b);
    if (x == ANY || y == ANY || x == y) {
      return;
    }
    if (x < 0) {
      equal.put(x, y);
    } else if (y < 0) {
      equal.put(y, x);
    }
  }

  private long[] in(OnnxNode node, int input) {
    return input < node.inputs().size() ? shapes.get(node.inputs().get(input)) : null;
  }

  private static long setting(OnnxNode node, String name, long otherwise) {
    OnnxAttribute attribute = node.attributes().get(name);
    return attribute == null ? otherwise : attribute.i();
  }

  /** Integers of a setting, or of a constant where they are an input; null where they are none. */
  private long[] numbers(OnnxNode node, String name, int input) {
    OnnxAttribute attribute = node.attributes().get(name);
    if (attribute != null) {
      return attribute.ints().toArray();
    }
    OnnxTensor tensor =
        input >= 0 && input < node.inputs().size() ? constants.get(node.inputs().get(input)) : null;
    boolean isShort = tensor != null && tensor.dims().length <= 1;
    return isShort ? Tensors.of(tensor, new Budget(0)).integers() : null;
  }

  private static int axis(long axis, long... dims) {
    return (int) (axis < 0 ? axis + dims.length : axis);
  }

  private void follow(OnnxNode node) {
    String type = node.type();
    OnnxAttribute value = node.attributes().get("value");
    if (type.equals("Constant") && value != null && value.tensor() != null) {
      node.outputs().forEach(name -> constants.put(name, value.tensor()));
      out(node, 0, value.tensor().dims());
      return;
    }
    for (OnnxAttribute branch : type.equals("If") ? node.attributes().values() : NO_BRANCHES) {
      if (branch.graph() != null) {
        follow(branch.graph());
      }
    }
    long[] first = in(node, 0);
    if (first == null) {
      return;
    }
    if (SAME.contains(type)) {
      out(node, 0, first);
    } else if (PAIRS.contains(type)) {
      long[] result = first;
      for (int i = 1; i < node.inputs().size(); i++) {
        result = broadcast(result, in(node, i));
      }
      out(node, 0, result);
    } else {
      moved(node, type, first);
      if (in(node, 1) != null) {
        beside(node, type, first, in(node, 1));
      }
    }
  }

  private void out(OnnxNode node, int output, long... dims) {
    if (dims != null && output < node.outputs().size()) {
      shapes.put(node.outputs().get(output), dims);
    }
  }

  private void moved(OnnxNode node, String type, long... x) {
    switch (type) {
      case "Transpose" -> {
        long[] given = numbers(node, "perm", -1);
        int last = x.length - 1;
        out(
            node,
            0,
            LongStream.range(0, x.length)
                .map(i -> x[given == null ? last - (int) i : (int) given[(int) i]])
                .toArray());
      }
      case "Unsqueeze", "Squeeze" -> {
        long[] axes = numbers(node, "axes", 1);
        boolean isMore = type.equals("Unsqueeze");
        int rank = axes == null ? 0 : x.length + (isMore ? axes.length : -axes.length);
        if (rank > 0) {
          long[] wide = new long[isMore ? rank : x.length];
          int[] places = Arrays.stream(axes).mapToInt(axis -> axis(axis, wide)).sorted().toArray();
          out(node, 0, isMore ? inserted(x, places) : removed(x, places));
        }
      }
      case "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool" ->
          out(node, 0, planes(x, x[1]));
      case "Slice" -> {
        long[] starts = numbers(node, "starts", 1);
        long[] ends = numbers(node, "ends", 2);
        long[] given = numbers(node, "axes", 3);
        long[] steps = numbers(node, "", 4);
        long[] part = x.clone();
        for (int i = 0; starts != null && ends != null && i < starts.length; i++) {
          int axis = given == null ? i : axis(given[i], x);
          long size = resolved(x[axis]);
          boolean isPlain = size >= 0 && (steps == null || steps[i] == 1);
          long from = starts[i] < 0 ? starts[i] + size : starts[i];
          long to = ends[i] < 0 ? ends[i] + size : Math.min(ends[i], size);
          part[axis] = isPlain ? Math.max(0, to - from) : ANY;
        }
        out(node, 0, starts == null ? null : part);
      }
      case "Concat" -> {
        int axis = axis(setting(node, "axis", 1), x);
        long[] all = x.clone();
        for (int i = 1; i < node.inputs().size() && all != null; i++) {
          long[] part = in(node, i);
          for (int k = 0; part != null && k < all.length; k++) {
            if (k == axis) {
              all[k] = resolved(all[k]) >= 0 && resolved(part[k]) >= 0 ? all[k] + part[k] : ANY;
            } else {
              same(all[k], part[k]);
            }
          }
          all = part == null ? null : all;
        }
        out(node, 0, all);
      }
      case "Split" -> {
        int axis = axis(setting(node, "axis", 0), x);
        long[] sizes = numbers(node, "split", 1);
        if (sizes != null) {
          same(x[axis], Arrays.stream(sizes).sum());
        }
        for (int i = 0; i < node.outputs().size(); i++) {
          long[] part = x.clone();
          part[axis] = sizes == null ? ANY : sizes[i];
          out(node, i, part);
        }
      }
      default -> {
        long[] axes = type.startsWith("Reduce") ? numbers(node, "axes", 1) : null;
        if (axes != null && setting(node, "keepdims", 1) != 0) {
          long[] kept = x.clone();
          for (long axis : axes) {
            kept[axis(axis, x)] = 1;
          }
          out(node, 0, kept);
        }
      }
    }
  }

  private static long[] inserted(long[] dims, int... places) {
    long[] result = dims;
    for (int place : places) {
      long[] old = result;
      result =
          LongStream.range(0, old.length + 1)
              .map(i -> i == place ? 1 : old[(int) (i < place ? i : i - 1)])
              .toArray();
    }
    return result;
  }

  private static long[] removed(long[] dims, int... places) {
    return Arrays.stream(Dims.range(dims.length))
        .filter(i -> Arrays.binarySearch(places, i) < 0)
        .mapToLong(i -> dims[i])
        .toArray();
  }

  /** A batch of planes of unknown sizes. */
  private static long[] planes(long[] x, long channels) {
    long[] result = new long[x.length];
    Arrays.fill(result, ANY);
    result[0] = x[0];
    result[1] = channels;
    return result;
  }

  /** Operators that read a second value, mostly a constant. */
  private void beside(OnnxNode node, String type, long[] x, long... w) {
    switch (type) {
      case "MatMul" -> {
        if (x.length >= 2 && w.length >= 2) {
          same(x[x.length - 1], w[w.length - 2]);
          long[] left = x.clone();
          left[x.length - 1] = ANY;
          long[] right = w.clone();
          right[w.length - 2] = ANY;
          long[] result = joined(left, right, (a, b) -> pair(a, b));
          result[result.length - 1] = w[w.length - 1];
          result[result.length - 2] = x[x.length - 2];
          out(node, 0, result);
        }
      }
      case "Gemm", "FusedGemm" -> {
        int a = (int) setting(node, "transA", 0);
        int b = (int) setting(node, "transB", 0);
        same(x[1 - a], w[b]);
        out(node, 0, x[a], w[1 - b]);
      }
      case "Conv", "FusedConv" -> {
        same(x[1], w[1] * setting(node, "group", 1));
        out(node, 0, planes(x, w[0]));
      }
      case "ConvTranspose" -> {
        same(x[1], w[0]);
        out(node, 0, planes(x, w[1] * setting(node, "group", 1)));
      }
      case "BatchNormalization", "InstanceNormalization" -> {
        same(x[1], w[0]);
        out(node, 0, x);
      }
      case "LayerNormalization" -> {
        for (int i = 1; i <= w.length; i++) {
          same(x[x.length - i], w[w.length - i]);
        }
        out(node, 0, x);
      }
      case "LSTM", "GRU", "RNN" -> recurrent(node, x, w);
      case "Gather" -> {
        int axis = axis(setting(node, "axis", 0), x);
        out(
            node,
            0,
            LongStream.concat(
                    LongStream.concat(Arrays.stream(x, 0, axis), Arrays.stream(w)),
                    Arrays.stream(x, axis + 1, x.length))
                .toArray());
      }
      default -> {}
    }
  }

  private void recurrent(OnnxNode node, long[] x, long... w) {
    long[] r = in(node, 2);
    if (r == null || setting(node, "layout", 0) != 0) {
      return;
    }
    same(x[2], w[2]);
    if (in(node, 4) != null) {
      same(x[1], in(node, 4)[0]);
    }
    for (int i = 5; i < 7; i++) {
      long[] state = in(node, i);
      if (state != null) {
        same(state[0], w[0]);
        same(state[1], x[1]);
        same(state[2], r[2]);
      }
    }
    out(node, 0, x[0], w[0], x[1], r[2]);
    out(node, 1, w[0], x[1], r[2]);
    out(node, 2, w[0], x[1], r[2]);
  }

  private long[] broadcast(long[] a, long... b) {
    return a == null || b == null ? null : joined(a, b, this::pair);
  }

  private long pair(long a, long b) {
    long x = resolved(a);
    long y = resolved(b);
    if (x != 1 && y != 1) {
      same(x, y);
    }
    return x == 1 || x == ANY ? y : x;
  }

  private static long[] joined(long[] a, long[] b, BinaryOperator<Long> pair) {
    long[] result = new long[Math.max(a.length, b.length)];
    for (int i = 1; i <= result.length; i++) {
      result[result.length - i] =
          pair.apply(i > a.length ? 1 : a[a.length - i], i > b.length ? 1 : b[b.length - i]);
    }
    return result;
  }
}
