// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import static io.thalamus.tck.graph.Kinds.BOOLS;
import static io.thalamus.tck.graph.Kinds.FLOATS;
import static io.thalamus.tck.graph.Kinds.INTS;
import static io.thalamus.tck.graph.Kinds.NUMBERS;
import static io.thalamus.tck.graph.Kinds.QUANTIZED;
import static io.thalamus.tck.graph.Kinds.union;

import io.thalamus.model.OperandCode;
import io.thalamus.tck.graph.GraphDraft.Out;
import io.thalamus.tck.reference.Tensor;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** Functions of single elements, and of two or three at the same place. */
final class ElementKinds {
  private static final double SMALL = 0.05;
  private static final double EXPONENT = 6;

  private ElementKinds() {}

  static void register(Kinds kinds) {
    kinds.add("ABS", union(FLOATS, INTS), ElementKinds::same);
    kinds.add("NEG", union(FLOATS, INTS), ElementKinds::same);
    kinds.add("FLOOR", FLOATS, ElementKinds::same);
    kinds.add("SIN", FLOATS, ElementKinds::same);
    kinds.add(
        "EXP",
        FLOATS,
        (g, op, type) -> function(g, op, type, t -> isIn(t, -EXPONENT, EXPONENT), Range.USUAL));
    for (String op : List.of("LOG", "SQRT", "RSQRT")) {
      kinds.add(
          op,
          FLOATS,
          (g, name, type) ->
              function(g, name, type, t -> isIn(t, SMALL, Double.MAX_VALUE), Range.POSITIVE));
    }
    for (String op : List.of("RELU", "RELU1", "RELU6")) {
      kinds.add(op, NUMBERS, ElementKinds::same);
    }
    kinds.add("LOGICAL_NOT", BOOLS, ElementKinds::same);
    kinds.add("TANH", NUMBERS, (g, op, type) -> squashed(g, op, type, 128, 128));
    kinds.add("LOGISTIC", NUMBERS, (g, op, type) -> squashed(g, op, type, 256, 0));
    kinds.add("HARD_SWISH", NUMBERS, ElementKinds::fitted);
    kinds.add(
        "ELU",
        FLOATS,
        (g, op, type) -> {
          int in = g.pick(type, 1, 4);
          return g.add(op, List.of(in, g.scalarFor(type, 1)), new Out(type));
        });
    for (String op : List.of("ADD", "SUB")) {
      kinds.add(op, union(NUMBERS, INTS), ElementKinds::arithmetic);
    }
    kinds.add("MUL", union(NUMBERS, INTS), ElementKinds::product);
    kinds.add("DIV", union(FLOATS, INTS), ElementKinds::quotient);
    for (String op : List.of("MAXIMUM", "MINIMUM")) {
      kinds.add(op, union(NUMBERS, INTS), ElementKinds::extreme);
    }
    kinds.add("POW", FLOATS, ElementKinds::power);
    kinds.add("PRELU", NUMBERS, ElementKinds::prelu);
    for (String op :
        List.of("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")) {
      kinds.add(op, union(union(NUMBERS, INTS), BOOLS), ElementKinds::comparison);
    }
    for (String op : List.of("LOGICAL_AND", "LOGICAL_OR")) {
      kinds.add(op, BOOLS, ElementKinds::comparison);
    }
    kinds.add("SELECT", union(NUMBERS, INTS), ElementKinds::select);
    kinds.add("QUANTIZE", FLOATS, ElementKinds::quantize);
    kinds.add("DEQUANTIZE", QUANTIZED, ElementKinds::dequantize);
    kinds.add(
        "CAST",
        union(FLOATS, union(INTS, Set.of(OperandCode.TENSOR_QUANT8_ASYMM))),
        ElementKinds::cast);
  }

  private static boolean isIn(Tensor tensor, double low, double high) {
    return GraphDraft.isWithin(tensor.real(), low, high);
  }

  /** One input, and an output that is quantized as it is. */
  private static boolean same(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    return graph.add(operation, List.of(in), new Out(type, Quant.of(graph.tensor(in))));
  }

  private static boolean function(
      GraphDraft graph, String operation, OperandCode type, Predicate<Tensor> fits, Range range) {
    return graph.add(operation, List.of(graph.pick(type, 1, 4, fits, range)), new Out(type));
  }

  /** One input, and an output with the one quantization that NNAPI prescribes. */
  private static boolean squashed(
      GraphDraft graph, String operation, OperandCode type, int denominator, int zero) {
    int in = graph.pick(type, 1, 4);
    Quant quant = Quant.isQuantized(type) ? Quant.unit(type, denominator, zero) : Quant.NONE;
    return graph.add(operation, List.of(in), new Out(type, quant));
  }

  private static boolean fitted(GraphDraft graph, String operation, OperandCode type) {
    List<Integer> inputs = List.of(graph.pick(type, 1, 4));
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs));
  }

  /** A second tensor that is broadcast with the first. */
  static int partner(
      GraphDraft graph, int first, int mostRank, Predicate<Tensor> fits, Range range) {
    Tensor tensor = graph.tensor(first);
    if (graph.random().nextInt(3) > 0) {
      var found =
          graph.existing(
              t ->
                  t.type() == tensor.type()
                      && t.rank() <= mostRank
                      && isBroadcast(t.shape(), tensor.shape())
                      && fits.test(t));
      if (found.isPresent()) {
        return found.get();
      }
    }
    int drop = graph.random().nextInt(3) == 0 ? graph.between(0, tensor.rank() - 1) : 0;
    int[] shape = new int[tensor.rank() - drop];
    for (int axis = 0; axis < shape.length; axis++) {
      shape[axis] = graph.random().nextInt(4) == 0 ? 1 : tensor.shape()[axis + drop];
    }
    return graph.leaf(tensor.type(), shape, range);
  }

  private static boolean isBroadcast(int[] a, int[] b) {
    for (int i = 1; i <= Math.min(a.length, b.length); i++) {
      int x = a[a.length - i];
      int y = b[b.length - i];
      if (x != y && x != 1 && y != 1) {
        return false;
      }
    }
    return true;
  }

  private static List<Integer> pair(GraphDraft graph, OperandCode type) {
    int first = graph.pick(type, 1, 4);
    int second = partner(graph, first, 4, t -> true, Range.USUAL);
    return graph.random().nextBoolean() ? List.of(first, second) : List.of(second, first);
  }

  private static List<Integer> withActivation(
      GraphDraft graph, OperandCode type, List<Integer> pair) {
    // A fused activation of integers is of no use to anyone.
    int activation = type == OperandCode.TENSOR_INT32 ? 0 : graph.between(0, 3);
    return List.of(pair.get(0), pair.get(1), graph.int32(activation));
  }

  private static boolean arithmetic(GraphDraft graph, String operation, OperandCode type) {
    List<Integer> inputs = withActivation(graph, type, pair(graph, type));
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs));
  }

  private static boolean product(GraphDraft graph, String operation, OperandCode type) {
    List<Integer> inputs = withActivation(graph, type, pair(graph, type));
    double scales = graph.tensor(inputs.get(0)).scale() * graph.tensor(inputs.get(1)).scale();
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs, scales));
  }

  private static boolean quotient(GraphDraft graph, String operation, OperandCode type) {
    int first = graph.pick(type, 1, 4);
    int second =
        partner(
            graph,
            first,
            4,
            t -> isIn(t, SMALL, Double.MAX_VALUE) || isIn(t, -Double.MAX_VALUE, -SMALL),
            Range.NOT_ZERO);
    return graph.add(operation, withActivation(graph, type, List.of(first, second)), new Out(type));
  }

  private static boolean extreme(GraphDraft graph, String operation, OperandCode type) {
    List<Integer> inputs = pair(graph, type);
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs));
  }

  private static boolean power(GraphDraft graph, String operation, OperandCode type) {
    int base = graph.pick(type, 1, 4, t -> isIn(t, SMALL, EXPONENT), Range.POSITIVE);
    int exponent = partner(graph, base, 4, t -> isIn(t, -3, 3), Range.USUAL);
    return graph.add(operation, List.of(base, exponent), new Out(type));
  }

  private static boolean prelu(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    List<Integer> inputs =
        List.of(in, partner(graph, in, graph.tensor(in).rank(), t -> true, Range.USUAL));
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs));
  }

  private static boolean comparison(GraphDraft graph, String operation, OperandCode type) {
    return graph.add(operation, pair(graph, type), new Out(OperandCode.TENSOR_BOOL8));
  }

  private static boolean select(GraphDraft graph, String operation, OperandCode type) {
    int condition = graph.pick(OperandCode.TENSOR_BOOL8, 1, 4);
    int[] shape = graph.tensor(condition).shape();
    Predicate<Tensor> fits = t -> t.type() == type && java.util.Arrays.equals(t.shape(), shape);
    int first = graph.existing(fits).orElseGet(() -> graph.leaf(type, shape, Range.USUAL));
    int second =
        graph.random().nextBoolean()
            ? graph.leaf(type, shape, Range.USUAL)
            : graph.existing(fits).orElseThrow();
    List<Integer> inputs = List.of(condition, first, second);
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs));
  }

  private static boolean quantize(GraphDraft graph, String operation, OperandCode type) {
    List<Integer> inputs = List.of(graph.pick(type, 1, 4));
    OperandCode to =
        graph.random().nextBoolean()
            ? OperandCode.TENSOR_QUANT8_ASYMM
            : OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    return graph.add(operation, inputs, graph.fitting(operation, to, inputs));
  }

  private static boolean dequantize(GraphDraft graph, String operation, OperandCode type) {
    OperandCode to =
        graph.random().nextBoolean() ? OperandCode.TENSOR_FLOAT32 : OperandCode.TENSOR_FLOAT16;
    return graph.add(operation, List.of(graph.pick(type, 1, 4)), new Out(to));
  }

  private static boolean cast(GraphDraft graph, String operation, OperandCode type) {
    List<OperandCode> to =
        List.of(
            OperandCode.TENSOR_FLOAT32,
            OperandCode.TENSOR_FLOAT16,
            OperandCode.TENSOR_INT32,
            OperandCode.TENSOR_QUANT8_ASYMM);
    OperandCode target = to.get(graph.random().nextInt(to.size()));
    return graph.add(
        operation,
        List.of(graph.pick(type, 1, 4)),
        new Out(target, Quant.random(target, graph.random())));
  }
}
