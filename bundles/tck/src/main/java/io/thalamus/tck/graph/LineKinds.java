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
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Operations along axes: reductions, choices, normalizations, FULLY_CONNECTED. */
final class LineKinds {
  private LineKinds() {}

  static void register(Kinds kinds) {
    kinds.add("MEAN", NUMBERS, LineKinds::reduce);
    for (String op : List.of("REDUCE_SUM", "REDUCE_PROD")) {
      kinds.add(op, FLOATS, LineKinds::reduce);
    }
    for (String op : List.of("REDUCE_MAX", "REDUCE_MIN")) {
      kinds.add(op, NUMBERS, LineKinds::reduce);
    }
    for (String op : List.of("REDUCE_ALL", "REDUCE_ANY")) {
      kinds.add(op, BOOLS, LineKinds::reduce);
    }
    for (String op : List.of("ARGMAX", "ARGMIN")) {
      kinds.add(op, union(NUMBERS, INTS), LineKinds::arg);
    }
    kinds.add("TOPK_V2", union(NUMBERS, INTS), LineKinds::topK);
    kinds.add("SOFTMAX", NUMBERS, LineKinds::softmax);
    kinds.add(
        "LOG_SOFTMAX",
        FLOATS,
        g -> {
          int in = g.pick();
          return g.add(in, g.quarters(1, 6), axis(g, in));
        });
    kinds.add("L2_NORMALIZATION", NUMBERS, LineKinds::l2Normalization);
    kinds.add("LOCAL_RESPONSE_NORMALIZATION", FLOATS, LineKinds::localResponse);
    kinds.add(ThalamusExtension.FULLY_CONNECTED, NUMBERS, LineKinds::fullyConnected);
    kinds.add(
        Evaluator.name(ThalamusExtension.MATMUL_INTEGER), QUANTIZED, LineKinds::matmulInteger);
    kinds.add(
        Evaluator.name(ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR),
        Set.of(OperandCode.TENSOR_FLOAT32),
        LineKinds::dynamicQuantize);
  }

  /** An axis of a tensor, as an argument. */
  private static int axis(Growth g, int tensor) {
    return g.graph().int32(g.axis(g.tensor(tensor).rank()));
  }

  private static boolean reduce(Growth g) {
    int in = g.pick();
    int rank = g.tensor(in).rank();
    List<Integer> axes = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      if (g.random().nextBoolean()) {
        axes.add(g.oneIn(4) ? axis - rank : axis);
      }
    }
    if (axes.isEmpty()) {
      axes.add(0);
    }
    return g.addLike(
        in,
        in,
        g.graph().ints(axes.stream().mapToInt(Integer::intValue).toArray()),
        g.operation().equals("MEAN") ? g.number(0, 1) : g.graph().bool(g.random().nextBoolean()));
  }

  private static boolean arg(Growth g) {
    int in = g.pick();
    return g.add(List.of(in, axis(g, in)), new Out(OperandCode.TENSOR_INT32));
  }

  private static boolean topK(Growth g) {
    int in = g.pick();
    int[] shape = g.tensor(in).shape();
    return g.add(
        List.of(in, g.number(1, shape[shape.length - 1])),
        g.like(in),
        new Out(OperandCode.TENSOR_INT32));
  }

  /** The inputs with an axis, where the rank demands one, or now and then. */
  private static List<Integer> withAxis(Growth g, boolean isDemanded, Integer... inputs) {
    List<Integer> all = new ArrayList<>(List.of(inputs));
    if (isDemanded || g.random().nextBoolean()) {
      all.add(axis(g, inputs[0]));
    }
    return all;
  }

  private static boolean softmax(Growth g) {
    int in = g.pick();
    int rank = g.tensor(in).rank();
    return g.addUnit(withAxis(g, rank != 2 && rank != 4, in, g.quarters(1, 6)), 256, 0);
  }

  private static boolean l2Normalization(Growth g) {
    int in = g.pick();
    return g.addUnit(withAxis(g, g.tensor(in).rank() < 4, in), 128, 128);
  }

  private static boolean localResponse(Growth g) {
    int in = g.pick();
    return g.add(
        withAxis(
            g,
            g.tensor(in).rank() < 4,
            in,
            g.number(0, 3),
            g.graph().scalarFor(g.type(), g.between(1, 4)),
            g.quarters(1, 4),
            g.quarters(1, 4)),
        new Out(g.type()));
  }

  private static boolean fullyConnected(Growth g) {
    int in = g.pick(2, 4);
    int[] shape = g.tensor(in).shape();
    int units = g.between(1, 6);
    int weights =
        g.graph().leaf(g.type(), new int[] {units, shape[shape.length - 1]}, new Range(-1, 1));
    return g.addFitting(List.of(in, weights, g.graph().bias(in, weights, units), g.number(0, 3)));
  }

  private static boolean matmulInteger(Growth g) {
    int in = g.pick(1, 4);
    int[] shape = g.tensor(in).shape();
    OperandCode type =
        g.random().nextBoolean()
            ? OperandCode.TENSOR_QUANT8_ASYMM
            : OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    int[] weights = {shape[shape.length - 1], g.between(1, 40)};
    return g.add(
        List.of(in, g.graph().leaf(type, weights, Range.USUAL)), new Out(OperandCode.TENSOR_INT32));
  }

  private static boolean dynamicQuantize(Growth g) {
    Out plain = new Out(OperandCode.TENSOR_QUANT8_ASYMM, new Quant(1, 0));
    return g.add(List.of(g.pick()), plain, new Out(OperandCode.TENSOR_FLOAT32), plain);
  }
}
