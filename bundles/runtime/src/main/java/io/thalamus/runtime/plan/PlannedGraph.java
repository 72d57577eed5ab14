// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.model.Subgraph;
import java.util.List;

/**
 * One use of a graph, cut into nodes. Immutable; distinguished by identity, since a graph that two
 * operations refer to is planned once for each.
 *
 * @param subgraph 0 for the main graph, else 1 plus the index among the referenced ones
 * @param nodes in the order of execution
 */
public record PlannedGraph(int subgraph, Subgraph graph, List<PlanNode> nodes) {
  public PlannedGraph {
    nodes = List.copyOf(nodes);
  }
}
