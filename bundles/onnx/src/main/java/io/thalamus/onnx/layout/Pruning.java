// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;

/** Leaves out operations whose results nothing reads, and operands that nothing uses. */
final class Pruning {
  private Pruning() {}

  static Subgraph prune(Subgraph graph) {
    BitSet wanted = new BitSet();
    graph.outputIndexes().forEach(wanted::set);
    List<Operation> kept = new ArrayList<>();
    for (int i = graph.operations().size() - 1; i >= 0; i--) {
      Operation operation = graph.operations().get(i);
      if (isWanted(operation, wanted)) {
        kept.add(operation);
        operation.inputs().forEach(wanted::set);
        operation.outputs().forEach(wanted::set);
      }
    }
    graph.inputIndexes().forEach(wanted::set);
    int[] place = new int[graph.operands().size()];
    List<Operand> operands = new ArrayList<>();
    for (int i = wanted.nextSetBit(0); i >= 0; i = wanted.nextSetBit(i + 1)) {
      place[i] = operands.size();
      operands.add(graph.operands().get(i));
    }
    List<Operation> operations = new ArrayList<>(kept.size());
    for (int i = kept.size() - 1; i >= 0; i--) {
      Operation operation = kept.get(i);
      operations.add(
          new Operation(
              operation.type(),
              moved(operation.inputs(), place),
              moved(operation.outputs(), place)));
    }
    return new Subgraph(
        operands,
        operations,
        moved(graph.inputIndexes(), place),
        moved(graph.outputIndexes(), place));
  }

  private static boolean isWanted(Operation operation, BitSet wanted) {
    for (int output : operation.outputs()) {
      if (wanted.get(output)) {
        return true;
      }
    }
    return false;
  }

  /** A model of a graph and those that it refers to, or that these do; others are left out. */
  static Model model(Subgraph main, List<Subgraph> referenced) {
    List<Integer> kept = new ArrayList<>();
    List<Subgraph> graphs = new ArrayList<>();
    graphs.add(main);
    for (int i = 0; i < graphs.size(); i++) {
      for (Operand operand : graphs.get(i).operands()) {
        if (operand.lifetime() instanceof SubgraphReference reference
            && !kept.contains(reference.index())) {
          kept.add(reference.index());
          graphs.add(referenced.get(reference.index()));
        }
      }
    }
    Collections.sort(kept);
    return new Model(
        renamed(main, kept),
        kept.stream().map(index -> renamed(referenced.get(index), kept)).toList(),
        false);
  }

  private static Subgraph renamed(Subgraph graph, List<Integer> order) {
    List<Operand> operands = new ArrayList<>();
    for (Operand operand : graph.operands()) {
      operands.add(
          operand.lifetime() instanceof SubgraphReference reference
              ? operand.with(new SubgraphReference(order.indexOf(reference.index())))
              : operand);
    }
    return new Subgraph(operands, graph.operations(), graph.inputIndexes(), graph.outputIndexes());
  }

  private static List<Integer> moved(List<Integer> operands, int[] place) {
    List<Integer> moved = new ArrayList<>(operands.size());
    for (int index : operands) {
      moved.add(place[index]);
    }
    return moved;
  }
}
