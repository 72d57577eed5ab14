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
import java.util.stream.IntStream;

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
        "RANK", union(withInts, BOOLS), g -> g.add(List.of(g.pick()), new Out(OperandCode.INT32)));
  }

  private static int ints(Growth g, List<Integer> numbers) {
    return g.graph().ints(numbers.stream().mapToInt(Integer::intValue).toArray());
  }

  private static boolean reshape(Growth g) {
    int in = g.pick();
    int rest = g.tensor(in).size();
    List<Integer> shape = new ArrayList<>();
    for (int divisor = 2; divisor <= rest && shape.size() < 3; divisor++) {
      if (rest % divisor == 0 && g.random().nextBoolean()) {
        shape.add(divisor);
        rest /= divisor;
      }
    }
    shape.add(rest);
    Collections.shuffle(shape, g.random());
    if (g.oneIn(3)) {
      shape.set(g.random().nextInt(shape.size()), -1);
    }
    return g.addLike(in, in, ints(g, shape));
  }

  private static boolean squeeze(Growth g) {
    int in =
        g.graph()
            .pick(
                g.type(),
                2,
                4,
                t -> Arrays.stream(t.shape()).anyMatch(dimension -> dimension == 1),
                Range.USUAL);
    int[] shape = g.tensor(in).shape();
    int[] ones = IntStream.range(0, shape.length).filter(a -> shape[a] == 1).toArray();
    return ones.length > 0 && ones.length < shape.length && g.addLike(in, in, g.graph().ints(ones));
  }

  private static boolean expandDims(Growth g) {
    int in = g.pick(1, 3);
    return g.addLike(in, in, g.graph().int32(g.axis(g.tensor(in).rank() + 1)));
  }

  private static boolean transpose(Growth g) {
    int in = g.pick();
    List<Integer> order = new ArrayList<>(IntStream.range(0, g.tensor(in).rank()).boxed().toList());
    Collections.shuffle(order, g.random());
    return g.addLike(in, in, ints(g, order));
  }

  private static boolean concatenation(Growth g) {
    int first = g.pick();
    Tensor tensor = g.tensor(first);
    int axis = g.between(0, tensor.rank() - 1);
    List<Integer> inputs = new ArrayList<>(List.of(first));
    for (int more = g.between(1, 2); more > 0; more--) {
      int[] shape = tensor.shape().clone();
      shape[axis] = g.between(1, 4);
      // Equal quantization takes another path than different ones.
      Quant quant =
          g.random().nextBoolean() ? Quant.of(tensor) : Quant.random(g.type(), g.random());
      inputs.add(g.oneIn(3) ? first : g.graph().leaf(g.type(), shape, Range.USUAL, quant));
    }
    inputs.add(g.graph().int32(axis));
    return g.random().nextBoolean() ? g.addLike(first, inputs) : g.addFitting(inputs);
  }

  private static boolean split(Growth g) {
    int in =
        g.pick(t -> Arrays.stream(t.shape()).anyMatch(d -> d % 2 == 0 || d % 3 == 0), Range.USUAL);
    int[] shape = g.tensor(in).shape();
    int axis = g.between(0, shape.length - 1);
    int parts = factor(shape[axis]);
    return g.add(
        List.of(in, g.graph().int32(axis), g.graph().int32(parts)),
        Collections.nCopies(parts, g.like(in)).toArray(Out[]::new));
  }

  /** A small number that divides another. */
  static int factor(int number) {
    return number % 2 == 0 ? 2 : number % 3 == 0 ? 3 : 1;
  }

  private static boolean slice(Growth g) {
    int in = g.pick();
    int[] shape = g.tensor(in).shape();
    int[] begin = new int[shape.length];
    int[] size = new int[shape.length];
    for (int axis = 0; axis < shape.length; axis++) {
      begin[axis] = g.between(0, shape[axis] - 1);
      size[axis] = g.oneIn(4) ? -1 : g.between(1, shape[axis] - begin[axis]);
    }
    return g.addLike(in, in, g.graph().ints(begin), g.graph().ints(size));
  }

  private static boolean stridedSlice(Growth g) {
    int in = g.pick();
    int[] shape = g.tensor(in).shape();
    int[] begin = new int[shape.length];
    int[] end = new int[shape.length];
    int[] stride = new int[shape.length];
    int shrink = 0;
    for (int axis = 0; axis < shape.length; axis++) {
      begin[axis] = g.between(0, shape[axis] - 1);
      end[axis] = g.between(begin[axis] + 1, shape[axis]);
      stride[axis] = g.between(1, 2);
      if (shape.length > 1 && shrink == 0 && g.oneIn(6)) {
        end[axis] = begin[axis] + 1;
        stride[axis] = 1;
        shrink = 1 << axis;
      }
    }
    int masks = (1 << shape.length) - 1 & ~shrink;
    return g.addLike(
        in,
        in,
        g.graph().ints(begin),
        g.graph().ints(end),
        g.graph().ints(stride),
        mask(g, masks),
        mask(g, masks),
        g.graph().int32(shrink));
  }

  /** Now and then some of these bits. */
  private static int mask(Growth g, int bits) {
    return g.graph().int32(g.oneIn(4) ? g.between(0, bits) & bits : 0);
  }

  private static int paddings(Growth g, int tensor) {
    int rank = g.tensor(tensor).rank();
    int[] paddings = new int[2 * rank];
    Arrays.setAll(paddings, i -> g.between(0, 2));
    return g.graph().ints(new int[] {rank, 2}, paddings);
  }

  private static boolean pad(Growth g) {
    int in = g.pick();
    return g.addLike(in, in, paddings(g, in));
  }

  private static boolean padV2(Growth g) {
    int in = g.pick();
    int value =
        Quant.isQuantized(g.type())
            ? g.graph().int32(Quant.least(g.type()) + g.between(0, 255))
            : g.quarters(-8, 8);
    return g.addLike(in, in, paddings(g, in), value);
  }

  private static boolean tile(Growth g) {
    int in = g.pick(t -> t.size() <= 256, Range.USUAL);
    int[] multiples = new int[g.tensor(in).rank()];
    Arrays.setAll(multiples, axis -> g.between(1, 2));
    return g.addLike(in, in, g.graph().ints(multiples));
  }

  private static boolean gather(Growth g) {
    int in = g.pick();
    int rank = g.tensor(in).rank();
    int axis = g.axis(rank);
    int dimension = g.tensor(in).shape()[Math.floorMod(axis, rank)];
    int[] indexShape = g.graph().shape(rank < 4 ? g.between(1, 2) : 1);
    int[] indexes = new int[Arrays.stream(indexShape).reduce(1, (a, b) -> a * b)];
    Arrays.setAll(indexes, i -> g.between(0, dimension - 1));
    return g.addLike(in, in, g.graph().int32(axis), g.graph().ints(indexShape, indexes));
  }

  private static boolean embeddingLookup(Growth g) {
    int in = g.pick(2, 4);
    int[] rows = new int[g.between(1, 6)];
    Arrays.setAll(rows, i -> g.between(0, g.tensor(in).shape()[0] - 1));
    return g.addLike(in, g.graph().ints(rows), in);
  }

  private static boolean channelShuffle(Growth g) {
    int in = g.pick();
    int rank = g.tensor(in).rank();
    int axis = g.axis(rank);
    int groups = factor(g.tensor(in).shape()[Math.floorMod(axis, rank)]);
    return g.addLike(in, in, g.graph().int32(groups), g.graph().int32(axis));
  }

  private static boolean fill(Growth g) {
    int[] dimensions = g.graph().shape(g.between(1, 4));
    // May come from outside: then only executing determines how large the result is.
    int shape =
        g.graph()
            .tensor(
                OperandCode.TENSOR_INT32,
                new int[] {dimensions.length},
                Quant.NONE,
                Arrays.stream(dimensions).asDoubleStream().toArray());
    return g.add(shape, g.type() == OperandCode.TENSOR_INT32 ? g.number(-9, 9) : g.quarters(-8, 8));
  }
}
