// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import static io.thalamus.tck.graph.Kinds.BOOLS;
import static io.thalamus.tck.graph.Kinds.FLOATS;
import static io.thalamus.tck.graph.Kinds.INTS;
import static io.thalamus.tck.graph.Kinds.NUMBERS;
import static io.thalamus.tck.graph.Kinds.QUANTIZED;
import static io.thalamus.tck.graph.Kinds.union;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.graph.GraphDraft.Out;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import java.util.Arrays;
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
    kinds.add("EXP", FLOATS, g -> g.add(g.pick(t -> isIn(t, -EXPONENT, EXPONENT), Range.USUAL)));
    for (String op : List.of("LOG", "SQRT", "RSQRT")) {
      kinds.add(
          op, FLOATS, g -> g.add(g.pick(t -> isIn(t, SMALL, Double.MAX_VALUE), Range.POSITIVE)));
    }
    for (String op : List.of("RELU", "RELU1", "RELU6")) {
      kinds.add(op, NUMBERS, ElementKinds::same);
    }
    kinds.add("LOGICAL_NOT", BOOLS, ElementKinds::same);
    kinds.add("TANH", NUMBERS, g -> g.addUnit(List.of(g.pick()), 128, 128));
    kinds.add("LOGISTIC", NUMBERS, g -> g.addUnit(List.of(g.pick()), 256, 0));
    kinds.add("HARD_SWISH", NUMBERS, g -> g.addFitting(List.of(g.pick())));
    kinds.add("ELU", FLOATS, g -> g.add(g.pick(), g.graph().scalarFor(g.type(), 1)));
    for (var op : List.of(ThalamusExtension.ADD, ThalamusExtension.SUB)) {
      kinds.add(op, union(NUMBERS, INTS), g -> g.addFitting(withActivation(g, pair(g))));
    }
    kinds.add(ThalamusExtension.MUL, union(NUMBERS, INTS), ElementKinds::product);
    kinds.add("DIV", union(FLOATS, INTS), ElementKinds::quotient);
    for (String op : List.of("MAXIMUM", "MINIMUM")) {
      kinds.add(op, union(NUMBERS, INTS), g -> g.addFitting(pair(g)));
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
    kinds.add(
        Evaluator.name(ThalamusExtension.ATAN2), FLOATS, g -> g.add(pair(g), new Out(g.type())));
    for (var op : List.of(ThalamusExtension.BITWISE_XOR, ThalamusExtension.RIGHT_SHIFT)) {
      kinds.add(Evaluator.name(op), INTS, g -> g.add(pair(g), new Out(g.type())));
    }
    kinds.add(
        Evaluator.name(ThalamusExtension.RESCALE), union(INTS, QUANTIZED), ElementKinds::rescale);
    kinds.add("SELECT", union(NUMBERS, INTS), ElementKinds::select);
    kinds.add(ThalamusExtension.QUANTIZE, FLOATS, ElementKinds::quantize);
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
  private static boolean same(Growth g) {
    int in = g.pick();
    return g.addLike(in, in);
  }

  /** A second tensor that is broadcast with the first. */
  private static int partner(
      Growth g, int first, int mostRank, Predicate<Tensor> fits, Range range) {
    Tensor tensor = g.tensor(first);
    if (!g.oneIn(3)) {
      var found =
          g.graph()
              .existing(
                  t ->
                      t.type() == tensor.type()
                          && t.rank() <= mostRank
                          && isBroadcast(t.shape(), tensor.shape())
                          && fits.test(t));
      if (found.isPresent()) {
        return found.get();
      }
    }
    int drop = g.oneIn(3) ? g.between(0, tensor.rank() - 1) : 0;
    int[] shape = new int[tensor.rank() - drop];
    Arrays.setAll(shape, axis -> g.oneIn(4) ? 1 : tensor.shape()[axis + drop]);
    return g.graph().leaf(tensor.type(), shape, range);
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

  private static List<Integer> pair(Growth g) {
    int first = g.pick();
    int second = partner(g, first, 4, t -> true, Range.USUAL);
    return g.random().nextBoolean() ? List.of(first, second) : List.of(second, first);
  }

  private static List<Integer> withActivation(Growth g, List<Integer> pair) {
    // A fused activation of integers is of no use to anyone.
    int activation = g.type() == OperandCode.TENSOR_INT32 ? 0 : g.between(0, 3);
    return List.of(pair.get(0), pair.get(1), g.graph().int32(activation));
  }

  private static boolean product(Growth g) {
    List<Integer> inputs = withActivation(g, pair(g));
    double scales = g.tensor(inputs.get(0)).scale() * g.tensor(inputs.get(1)).scale();
    return g.add(inputs, g.graph().fitting(g.operation(), g.type(), inputs, scales));
  }

  private static boolean quotient(Growth g) {
    int first = g.pick();
    int second =
        partner(
            g,
            first,
            4,
            t -> isIn(t, SMALL, Double.MAX_VALUE) || isIn(t, -Double.MAX_VALUE, -SMALL),
            Range.NOT_ZERO);
    return g.add(withActivation(g, List.of(first, second)), new Out(g.type()));
  }

  private static boolean power(Growth g) {
    int base = g.pick(t -> isIn(t, SMALL, EXPONENT), Range.POSITIVE);
    return g.add(base, partner(g, base, 4, t -> isIn(t, -3, 3), Range.USUAL));
  }

  private static boolean prelu(Growth g) {
    int in = g.pick();
    return g.addFitting(List.of(in, partner(g, in, g.tensor(in).rank(), t -> true, Range.USUAL)));
  }

  private static boolean comparison(Growth g) {
    return g.add(pair(g), new Out(OperandCode.TENSOR_BOOL8));
  }

  /** Any integers are moved to the right until they are small, and small ones either way. */
  private static boolean rescale(Growth g) {
    boolean isAny = g.type() == OperandCode.TENSOR_INT32 && g.oneIn(2);
    int in =
        isAny ? g.graph().leaf(g.type(), g.graph().shape(g.between(1, 4)), Range.WHOLE) : g.pick();
    int multiplier = g.oneIn(16) ? 0 : g.between(1 << 30, Integer.MAX_VALUE);
    List<Integer> inputs =
        List.of(in, g.graph().int32(multiplier), g.number(-31, isAny ? -11 : 14));
    List<OperandCode> to =
        List.of(
            OperandCode.TENSOR_INT32,
            OperandCode.TENSOR_QUANT8_ASYMM,
            OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);
    OperandCode target = to.get(g.random().nextInt(to.size()));
    return g.add(inputs, new Out(target, Quant.random(target, g.random())));
  }

  private static boolean select(Growth g) {
    int condition = g.graph().pick(OperandCode.TENSOR_BOOL8, 1, 4);
    int[] shape = g.tensor(condition).shape();
    Predicate<Tensor> fits = t -> t.type() == g.type() && Arrays.equals(t.shape(), shape);
    int first =
        g.graph().existing(fits).orElseGet(() -> g.graph().leaf(g.type(), shape, Range.USUAL));
    int second =
        g.random().nextBoolean()
            ? g.graph().leaf(g.type(), shape, Range.USUAL)
            : g.graph().existing(fits).orElseThrow();
    return g.addFitting(List.of(condition, first, second));
  }

  private static boolean quantize(Growth g) {
    List<Integer> inputs = List.of(g.pick());
    OperandCode to =
        g.random().nextBoolean()
            ? OperandCode.TENSOR_QUANT8_ASYMM
            : OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    return g.add(inputs, g.graph().fitting(g.operation(), to, inputs));
  }

  private static boolean dequantize(Growth g) {
    OperandCode to =
        g.random().nextBoolean() ? OperandCode.TENSOR_FLOAT32 : OperandCode.TENSOR_FLOAT16;
    return g.add(List.of(g.pick()), new Out(to));
  }

  private static boolean cast(Growth g) {
    List<OperandCode> to =
        List.of(
            OperandCode.TENSOR_FLOAT32,
            OperandCode.TENSOR_FLOAT16,
            OperandCode.TENSOR_INT32,
            OperandCode.TENSOR_QUANT8_ASYMM);
    OperandCode target = to.get(g.random().nextInt(to.size()));
    return g.add(List.of(g.pick()), new Out(target, Quant.random(target, g.random())));
  }
}
