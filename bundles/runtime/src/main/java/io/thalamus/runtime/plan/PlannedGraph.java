// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.model.Subgraph;
import java.util.List;

/**
 * One use of a graph, cut into nodes. Immutable; compared by identity, since a graph that two
 * operations refer to is planned once for each.
 */
public final class PlannedGraph {
  private final int subgraph;
  private final Subgraph graph;
  private final List<PlanNode> nodes;

  /**
   * A planned graph.
   *
   * @param subgraph 0 for the main graph, else 1 plus the index among the referenced ones
   * @param nodes in the order of execution
   */
  public PlannedGraph(int subgraph, Subgraph graph, List<PlanNode> nodes) {
    this.subgraph = subgraph;
    this.graph = graph;
    this.nodes = List.copyOf(nodes);
  }

  public int subgraph() {
    return subgraph;
  }

  public Subgraph graph() {
    return graph;
  }

  public List<PlanNode> nodes() {
    return nodes;
  }
}
