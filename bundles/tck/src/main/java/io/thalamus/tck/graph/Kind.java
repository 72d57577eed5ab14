// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.model.OperandCode;
import java.util.Objects;

/**
 * One operation on one type, and how a graph grows by it. Immutable.
 *
 * @param operation NNAPI's name
 * @param type of the operation's data
 */
record Kind(String operation, OperandCode type, Grower grower) {
  Kind {
    Objects.requireNonNull(operation, "operation");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(grower, "grower");
  }

  /**
   * Adds the operation with arguments chosen at random.
   *
   * @return false where they did not fit, or the results are of no use; the graph is as it was
   */
  boolean grow(GraphDraft graph) {
    int mark = graph.mark();
    int count = graph.operationCount();
    try {
      if (grower.grow(new Growth(graph, operation, type))) {
        return true;
      }
    } catch (UnsupportedOperationException | IllegalArgumentException | ArithmeticException e) {
      // The arguments do not fit each other: others may.
      if (graph.operationCount() != count) {
        throw e;
      }
    }
    graph.backTo(mark);
    return false;
  }

  /** Chooses arguments and adds the operation. */
  @FunctionalInterface
  interface Grower {
    boolean grow(Growth growth);
  }
}
