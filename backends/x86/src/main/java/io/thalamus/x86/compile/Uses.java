// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The operations that write and read each operand of a graph. Immutable. */
final class Uses {
  /** The reader of the graph's outputs. */
  static final int CALLER = -1;

  private final int[] writers;
  private final List<List<Integer>> readers = new ArrayList<>();

  Uses(Subgraph graph) {
    writers = new int[graph.operands().size()];
    Arrays.fill(writers, -1);
    for (int i = 0; i < writers.length; i++) {
      readers.add(new ArrayList<>());
    }
    for (int i = 0; i < graph.operations().size(); i++) {
      Operation operation = graph.operations().get(i);
      for (int output : operation.outputs()) {
        writers[output] = i;
      }
      for (int input : operation.inputs()) {
        readers.get(input).add(i);
      }
    }
    graph.outputIndexes().forEach(output -> readers.get(output).add(CALLER));
  }

  /** Returns the operation that writes an operand; -1 for inputs and constants. */
  int writer(int operand) {
    return writers[operand];
  }

  /** Returns the operations that read an operand, each as often as it does. */
  List<Integer> readers(int operand) {
    return readers.get(operand);
  }
}
