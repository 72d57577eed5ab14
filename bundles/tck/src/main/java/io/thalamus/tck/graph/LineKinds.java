// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import static io.thalamus.tck.graph.Kinds.BOOLS;
import static io.thalamus.tck.graph.Kinds.FLOATS;
import static io.thalamus.tck.graph.Kinds.INTS;
import static io.thalamus.tck.graph.Kinds.NUMBERS;
import static io.thalamus.tck.graph.Kinds.union;

import io.thalamus.model.OperandCode;
import io.thalamus.tck.graph.GraphDraft.Out;
import java.util.ArrayList;
import java.util.List;

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
    kinds.add("LOG_SOFTMAX", FLOATS, LineKinds::logSoftmax);
    kinds.add("L2_NORMALIZATION", NUMBERS, LineKinds::l2Normalization);
    kinds.add("LOCAL_RESPONSE_NORMALIZATION", FLOATS, LineKinds::localResponse);
    kinds.add("FULLY_CONNECTED", NUMBERS, LineKinds::fullyConnected);
  }

  private static boolean reduce(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int rank = graph.tensor(in).rank();
    List<Integer> axes = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      if (graph.random().nextBoolean()) {
        axes.add(graph.random().nextInt(4) == 0 ? axis - rank : axis);
      }
    }
    if (axes.isEmpty()) {
      axes.add(0);
    }
    return graph.add(
        operation,
        List.of(
            in,
            graph.ints(axes.stream().mapToInt(Integer::intValue).toArray()),
            type == OperandCode.TENSOR_BOOL8 || !operation.equals("MEAN")
                ? graph.bool(graph.random().nextBoolean())
                : graph.int32(graph.between(0, 1))),
        new Out(type, Quant.of(graph.tensor(in))));
  }

  private static boolean arg(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    return graph.add(
        operation,
        List.of(in, graph.int32(MoveKinds.axis(graph, graph.tensor(in).rank()))),
        new Out(OperandCode.TENSOR_INT32));
  }

  private static boolean topK(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int[] shape = graph.tensor(in).shape();
    return graph.add(
        operation,
        List.of(in, graph.int32(graph.between(1, shape[shape.length - 1]))),
        new Out(type, Quant.of(graph.tensor(in))),
        new Out(OperandCode.TENSOR_INT32));
  }

  private static boolean softmax(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int rank = graph.tensor(in).rank();
    List<Integer> inputs =
        new ArrayList<>(List.of(in, graph.scalarFor(type, graph.between(1, 6) / 4.0)));
    if (rank != 2 && rank != 4 || graph.random().nextBoolean()) {
      inputs.add(graph.int32(MoveKinds.axis(graph, rank)));
    }
    return graph.add(
        operation,
        inputs,
        new Out(type, Quant.isQuantized(type) ? Quant.unit(type, 256, 0) : Quant.NONE));
  }

  private static boolean logSoftmax(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    return graph.add(
        operation,
        List.of(
            in,
            graph.scalarFor(type, graph.between(1, 6) / 4.0),
            graph.int32(MoveKinds.axis(graph, graph.tensor(in).rank()))),
        new Out(type));
  }

  private static boolean l2Normalization(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int rank = graph.tensor(in).rank();
    List<Integer> inputs = new ArrayList<>(List.of(in));
    if (rank < 4 || graph.random().nextBoolean()) {
      inputs.add(graph.int32(MoveKinds.axis(graph, rank)));
    }
    return graph.add(
        operation,
        inputs,
        new Out(type, Quant.isQuantized(type) ? Quant.unit(type, 128, 128) : Quant.NONE));
  }

  private static boolean localResponse(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 1, 4);
    int rank = graph.tensor(in).rank();
    List<Integer> inputs =
        new ArrayList<>(
            List.of(
                in,
                graph.int32(graph.between(0, 3)),
                graph.scalarFor(type, graph.between(1, 4)),
                graph.scalarFor(type, graph.between(1, 4) / 4.0),
                graph.scalarFor(type, graph.between(1, 4) / 4.0)));
    if (rank < 4 || graph.random().nextBoolean()) {
      inputs.add(graph.int32(MoveKinds.axis(graph, rank)));
    }
    return graph.add(operation, inputs, new Out(type));
  }

  private static boolean fullyConnected(GraphDraft graph, String operation, OperandCode type) {
    int in = graph.pick(type, 2, 4);
    int[] shape = graph.tensor(in).shape();
    int depth = shape[shape.length - 1];
    int units = graph.between(1, 6);
    int weights = graph.leaf(type, new int[] {units, depth}, new Range(-1, 1));
    List<Integer> inputs =
        List.of(in, weights, graph.bias(in, weights, units), graph.int32(graph.between(0, 3)));
    return graph.add(operation, inputs, graph.fitting(operation, type, inputs));
  }
}
