// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.search;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntBinaryOperator;

/** Takes operations apart into those that hang together. Stateless. */
final class Parts {
  private Parts() {}

  /**
   * Returns the parts on which two partitions differ, where values join them and both choose alike.
   */
  static List<int[]> thatDiffer(GraphCosts costs, int[] a, int[] b) {
    return connected(
            costs,
            (writer, reader) ->
                a[writer] != b[writer] && a[writer] == a[reader] && b[writer] == b[reader] ? 1 : 0)
        .stream()
        .filter(part -> a[part[0]] != b[part[0]])
        .toList();
  }

  /**
   * The parts of a graph.
   *
   * @param joins not 0 where an operation hangs together with one that reads what it writes
   */
  static List<int[]> connected(GraphCosts costs, IntBinaryOperator joins) {
    int[] group = new int[costs.operations];
    Arrays.setAll(group, operation -> operation);
    for (int operation = 0; operation < costs.operations; operation++) {
      for (int value : costs.reads[operation]) {
        int writer = costs.writer[value];
        if (writer >= 0 && joins.applyAsInt(writer, operation) != 0) {
          group[root(group, operation)] = root(group, writer);
        }
      }
    }
    List<List<Integer>> parts = new ArrayList<>();
    for (int i = 0; i < costs.operations; i++) {
      parts.add(new ArrayList<>());
    }
    for (int operation = 0; operation < costs.operations; operation++) {
      parts.get(root(group, operation)).add(operation);
    }
    return parts.stream()
        .filter(part -> !part.isEmpty())
        .map(part -> part.stream().mapToInt(Integer::intValue).toArray())
        .toList();
  }

  private static int root(int[] group, int operation) {
    int at = operation;
    while (group[at] != at) {
      group[at] = group[group[at]];
      at = group[at];
    }
    return at;
  }
}
