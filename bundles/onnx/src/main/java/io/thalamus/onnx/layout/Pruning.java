// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** Leaves out operations whose results nothing reads, and operands that nothing uses. */
final class Pruning {
  private Pruning() {}

  static Subgraph prune(Subgraph graph) {
    BitSet wanted = new BitSet();
    graph.outputIndexes().forEach(wanted::set);
    List<Operation> kept = new ArrayList<>();
    for (Operation operation : graph.operations().reversed()) {
      if (operation.outputs().stream().anyMatch(wanted::get)) {
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
    List<Operation> operations =
        kept.reversed().stream()
            .map(
                operation ->
                    new Operation(
                        operation.type(),
                        moved(operation.inputs(), place),
                        moved(operation.outputs(), place)))
            .toList();
    return new Subgraph(
        operands,
        operations,
        moved(graph.inputIndexes(), place),
        moved(graph.outputIndexes(), place));
  }

  private static List<Integer> moved(List<Integer> operands, int[] place) {
    return operands.stream().map(index -> place[index]).toList();
  }
}
