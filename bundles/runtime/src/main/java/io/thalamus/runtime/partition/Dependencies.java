// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.model.Lifetime.SubgraphOutput;
import io.thalamus.model.Lifetime.TemporaryVariable;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Dependencies between the operations of a graph. Immutable. */
public final class Dependencies {
  private final int[] missing;
  private final int[][] readers;

  /** Creates the dependencies of a graph. */
  public Dependencies(Subgraph graph) {
    int operations = graph.operations().size();
    missing = new int[operations];
    readers = new int[operations][];
    Map<Integer, List<Integer>> readersOf = new HashMap<>();
    for (int operation = 0; operation < operations; operation++) {
      for (int operand : graph.operations().get(operation).inputs()) {
        if (isComputed(graph.operands().get(operand))) {
          missing[operation]++;
          readersOf.computeIfAbsent(operand, key -> new ArrayList<>()).add(operation);
        }
      }
    }
    for (int operation = 0; operation < operations; operation++) {
      readers[operation] =
          graph.operations().get(operation).outputs().stream()
              .flatMap(operand -> readersOf.getOrDefault(operand, List.of()).stream())
              .mapToInt(Integer::intValue)
              .toArray();
    }
  }

  private static boolean isComputed(Operand operand) {
    return operand.lifetime() instanceof TemporaryVariable
        || operand.lifetime() instanceof SubgraphOutput;
  }

  /** The number of operations. */
  public int operations() {
    return missing.length;
  }

  /** Returns the number of computed inputs of an operation, each counted as often as it is read. */
  int missing(int operation) {
    return missing[operation];
  }

  /** Returns the readers of an operation's outputs, each as often as it reads one. */
  int[] readers(int operation) {
    return readers[operation];
  }
}
