// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import static io.thalamus.tck.graph.Kinds.BOOLS;
import static io.thalamus.tck.graph.Kinds.FLOATS;
import static io.thalamus.tck.graph.Kinds.INTS;
import static io.thalamus.tck.graph.Kinds.NUMBERS;
import static io.thalamus.tck.graph.Kinds.union;

import io.thalamus.model.OperandCode;
import io.thalamus.tck.graph.GraphDraft.Out;
import io.thalamus.tck.reference.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Operations that only move elements. */
final class MoveKinds {
  private MoveKinds() {}

  static void register(Kinds kinds) {
    var withInts = union(NUMBERS, INTS);
    kinds.add("RESHAPE", NUMBERS, MoveKinds::reshape);
    kinds.add("SQUEEZE", NUMBERS, MoveKinds::squeeze);
    kinds.add("EXPAND_DIMS", withInts, MoveKinds::expandDims);
    kinds.add("TRANSPOSE", NUMBERS, MoveKinds::transpose);
    kinds.add("CONCATENATION", NUMBERS, MoveKinds::concatenation);
    kinds.add("SPLIT", withInts, MoveKinds::split);
    kinds.add("SLICE", withInts, MoveKinds::slice);
    kinds.add("STRIDED_SLICE", NUMBERS, MoveKinds::stridedSlice);
    kinds.add("PAD", NUMBERS, MoveKinds::pad);
    kinds.add("PAD_V2", NUMBERS, MoveKinds::padV2);
    kinds.add("TILE", withInts, MoveKinds::tile);
    kinds.add("GATHER", withInts, MoveKinds::gather);
    kinds.add("EMBEDDING_LOOKUP", withInts, MoveKinds::embeddingLookup);
    kinds.add("CHANNEL_SHUFFLE", NUMBERS, MoveKinds::channelShuffle);
    kinds.add("FILL", union(FLOATS, INTS), MoveKinds::fill);
    kinds.add(
        "RANK",
        union(withInts, BOOLS),
        (g, op, type) -> g.add(op, List.of(g.pick(type, 1, 4)), new Out(OperandCode.INT32)));
  }

  private static Out like(GraphDraft graph, int in) {
    Tensor tensor = graph.tensor(in);
    return new Out(tensor.type(), Quant.of(tensor));
  }

  /** An axis, now and then counted from behind. */
  static int axis(GraphDraft graph, int rank) {
    int axis = graph.between(0, rank - 1);
    return graph.random().nextInt(4) == 0 ? axis - rank : axis;
  }

  private static boolean reshape(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int rest = graph.tensor(in).size();
    List<Integer> shape = new ArrayList<>();
    for (int divisor = 2; divisor <= rest && shape.size() < 3; divisor++) {
      if (rest % divisor == 0 && graph.random().nextBoolean()) {
        shape.add(divisor);
        rest /= divisor;
      }
    }
    shape.add(rest);
    Collections.shuffle(shape, graph.random());
    if (graph.random().nextInt(3) == 0) {
      shape.set(graph.random().nextInt(shape.size()), -1);
    }
    int target = graph.ints(shape.stream().mapToInt(Integer::intValue).toArray());
    return graph.add(operation, List.of(in, target), like(graph, in));
  }

  private static boolean squeeze(GraphDraft graph, String operation, OperandCode type) {
    int in =
        graph.pick(
            type,
            2,
            4,
            t -> Arrays.stream(t.shape()).anyMatch(dimension -> dimension == 1),
            Range.USUAL);
    int[] shape = graph.tensor(in).shape();
    int[] ones =
        java.util.stream.IntStream.range(0, shape.length).filter(a -> shape[a] == 1).toArray();
    if (ones.length == 0 || ones.length == shape.length) {
      return false;
    }
    return graph.add(operation, List.of(in, graph.ints(ones)), like(graph, in));
  }

  private static boolean expandDims(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 3);
    int axis = graph.int32(axis(graph, graph.tensor(in).rank() + 1));
    return graph.add(operation, List.of(in, axis), like(graph, in));
  }

  private static boolean transpose(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    List<Integer> order = new ArrayList<>();
    for (int axis = 0; axis < graph.tensor(in).rank(); axis++) {
      order.add(axis);
    }
    Collections.shuffle(order, graph.random());
    int permutation = graph.ints(order.stream().mapToInt(Integer::intValue).toArray());
    return graph.add(operation, List.of(in, permutation), like(graph, in));
  }

  private static boolean concatenation(GraphDraft graph, String operation, OperandCode type) {
    int first = graph.pick(type, 1, 4);
    Tensor tensor = graph.tensor(first);
    int axis = graph.between(0, tensor.rank() - 1);
    List<Integer> inputs = new ArrayList<>(List.of(first));
    for (int more = graph.between(1, 2); more > 0; more--) {
      int[] shape = tensor.shape().clone();
      shape[axis] = graph.between(1, 4);
      // Equal quantization takes another path than different ones.
      Quant quant =
          graph.random().nextBoolean() ? Quant.of(tensor) : Quant.random(type, graph.random());
      inputs.add(
          graph.random().nextInt(3) == 0 ? first : graph.leaf(type, shape, Range.USUAL, quant));
    }
    inputs.add(graph.int32(axis));
    return graph.add(
        operation,
        inputs,
        graph.random().nextBoolean() ? like(graph, first) : graph.fitting(operation, type, inputs));
  }

  private static boolean split(GraphDraft graph, String operation, OperandCode type) {
    int in =
        graph.pick(
            type,
            1,
            4,
            t -> Arrays.stream(t.shape()).anyMatch(d -> d % 2 == 0 || d % 3 == 0),
            Range.USUAL);
    int[] shape = graph.tensor(in).shape();
    int axis = graph.between(0, shape.length - 1);
    int parts = shape[axis] % 2 == 0 ? 2 : shape[axis] % 3 == 0 ? 3 : 1;
    Out[] outputs = new Out[parts];
    Arrays.fill(outputs, like(graph, in));
    return graph.add(operation, List.of(in, graph.int32(axis), graph.int32(parts)), outputs);
  }

  private static boolean slice(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int[] shape = graph.tensor(in).shape();
    int[] begin = new int[shape.length];
    int[] size = new int[shape.length];
    for (int axis = 0; axis < shape.length; axis++) {
      begin[axis] = graph.between(0, shape[axis] - 1);
      size[axis] =
          graph.random().nextInt(4) == 0 ? -1 : graph.between(1, shape[axis] - begin[axis]);
    }
    return graph.add(operation, List.of(in, graph.ints(begin), graph.ints(size)), like(graph, in));
  }

  private static boolean stridedSlice(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int[] shape = graph.tensor(in).shape();
    int[] begin = new int[shape.length];
    int[] end = new int[shape.length];
    int[] stride = new int[shape.length];
    int shrink = 0;
    for (int axis = 0; axis < shape.length; axis++) {
      begin[axis] = graph.between(0, shape[axis] - 1);
      end[axis] = graph.between(begin[axis] + 1, shape[axis]);
      stride[axis] = graph.between(1, 2);
      if (shape.length > 1 && shrink == 0 && graph.random().nextInt(6) == 0) {
        end[axis] = begin[axis] + 1;
        stride[axis] = 1;
        shrink = 1 << axis;
      }
    }
    int masks = (1 << shape.length) - 1 & ~shrink;
    return graph.add(
        operation,
        List.of(
            in,
            graph.ints(begin),
            graph.ints(end),
            graph.ints(stride),
            graph.int32(graph.random().nextInt(4) == 0 ? graph.between(0, masks) & masks : 0),
            graph.int32(graph.random().nextInt(4) == 0 ? graph.between(0, masks) & masks : 0),
            graph.int32(shrink)),
        like(graph, in));
  }

  private static int paddings(GraphDraft graph, int rank) {
    int[] paddings = new int[2 * rank];
    Arrays.setAll(paddings, i -> graph.between(0, 2));
    return graph.ints(new int[] {rank, 2}, paddings);
  }

  private static boolean pad(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    return graph.add(
        operation, List.of(in, paddings(graph, graph.tensor(in).rank())), like(graph, in));
  }

  private static boolean padV2(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int value =
        Quant.isQuantized(type)
            ? graph.int32(Quant.least(type) + graph.between(0, 255))
            : graph.scalarFor(type, graph.between(-8, 8) / 4.0);
    return graph.add(
        operation, List.of(in, paddings(graph, graph.tensor(in).rank()), value), like(graph, in));
  }

  private static boolean tile(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4, t -> t.size() <= 256, Range.USUAL);
    int[] multiples = new int[graph.tensor(in).rank()];
    Arrays.setAll(multiples, axis -> graph.between(1, 2));
    return graph.add(operation, List.of(in, graph.ints(multiples)), like(graph, in));
  }

  private static boolean gather(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int rank = graph.tensor(in).rank();
    int axis = axis(graph, rank);
    int dimension = graph.tensor(in).shape()[axis < 0 ? axis + rank : axis];
    int[] indexShape = graph.shape(rank < 4 ? graph.between(1, 2) : 1);
    int[] indexes = new int[Arrays.stream(indexShape).reduce(1, (a, b) -> a * b)];
    Arrays.setAll(indexes, i -> graph.between(0, dimension - 1));
    return graph.add(
        operation,
        List.of(in, graph.int32(axis), graph.ints(indexShape, indexes)),
        like(graph, in));
  }

  private static boolean embeddingLookup(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 2, 4);
    int[] rows = new int[graph.between(1, 6)];
    Arrays.setAll(rows, i -> graph.between(0, graph.tensor(in).shape()[0] - 1));
    return graph.add(operation, List.of(graph.ints(rows), in), like(graph, in));
  }

  private static boolean channelShuffle(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int rank = graph.tensor(in).rank();
    int axis = axis(graph, rank);
    int channels = graph.tensor(in).shape()[axis < 0 ? axis + rank : axis];
    int groups = channels % 2 == 0 ? 2 : channels % 3 == 0 ? 3 : 1;
    return graph.add(
        operation, List.of(in, graph.int32(groups), graph.int32(axis)), like(graph, in));
  }

  private static boolean fill(GraphDraft graph, String operation, OperandCode type) {
    int[] dimensions = graph.shape(graph.between(1, 4));
    // May come from outside: then only executing tells how large the result is.
    int shape =
        graph.tensor(
            OperandCode.TENSOR_INT32,
            new int[] {dimensions.length},
            Quant.NONE,
            Arrays.stream(dimensions).asDoubleStream().toArray());
    int value =
        type == OperandCode.TENSOR_INT32
            ? graph.int32(graph.between(-9, 9))
            : graph.scalarFor(type, graph.between(-8, 8) / 4.0);
    return graph.add(operation, List.of(shape, value), new Out(type));
  }
}
