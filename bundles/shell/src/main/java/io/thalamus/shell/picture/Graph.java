// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.picture;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Inputs, operations and outputs of a subgraph, and the values that go from one to the other.
 * Constants are left out. Immutable.
 *
 * @param nodes in an order in which every edge leads forward
 */
record Graph(List<Node> nodes, List<Edge> edges) {

  /** The meaning of a node. */
  enum Kind {
    INPUT,
    OPERATION,
    OUTPUT
  }

  /**
   * A node.
   *
   * @param index of the operation, else of the operand
   * @param operand whose dimensions say most of it; null where an operation has no output
   */
  record Node(Kind kind, int index, Operand operand) {}

  /** A value between two nodes, by their places in the list. */
  record Edge(int from, int to, Operand operand) {
    /** Its bytes; 0 where they are not known. */
    long bytes() {
      return operand.isSizeKnown() ? operand.byteSize() : 0;
    }
  }

  static Graph of(Subgraph subgraph) {
    List<Node> nodes = new ArrayList<>();
    Map<Integer, Integer> makers = new HashMap<>();
    for (int index : subgraph.inputIndexes()) {
      makers.put(index, nodes.size());
      nodes.add(new Node(Kind.INPUT, index, subgraph.operands().get(index)));
    }
    // One edge for each pair of nodes: a square of a value is still one line.
    Map<Long, Edge> edges = new LinkedHashMap<>();
    for (int i = 0; i < subgraph.operations().size(); i++) {
      Operation operation = subgraph.operations().get(i);
      int node = nodes.size();
      for (int index : operation.inputs()) {
        connect(edges, makers, subgraph, index, node);
      }
      Operand first =
          operation.outputs().isEmpty()
              ? null
              : subgraph.operands().get(operation.outputs().getFirst());
      nodes.add(new Node(Kind.OPERATION, i, first));
      for (int index : operation.outputs()) {
        makers.putIfAbsent(index, node);
      }
    }
    for (int index : subgraph.outputIndexes()) {
      connect(edges, makers, subgraph, index, nodes.size());
      nodes.add(new Node(Kind.OUTPUT, index, subgraph.operands().get(index)));
    }
    return new Graph(List.copyOf(nodes), List.copyOf(edges.values()));
  }

  private static void connect(
      Map<Long, Edge> edges, Map<Integer, Integer> makers, Subgraph subgraph, int operand, int to) {
    Integer from = makers.get(operand);
    Operand value = subgraph.operands().get(operand);
    if (from != null && !(value.lifetime() instanceof Lifetime.Constant)) {
      edges.putIfAbsent((long) from << 32 | to, new Edge(from, to, value));
    }
  }
}
