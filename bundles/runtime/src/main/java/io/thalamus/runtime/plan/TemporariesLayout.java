// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.TemporaryVariable;
import io.thalamus.model.Operand;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PlanNode.IfNode;
import io.thalamus.runtime.plan.PlanNode.WhileNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Places of the values between nodes in the one block of memory that an execution has for them.
 * Immutable once built.
 *
 * <p>Each temporary that crosses a boundary has a place of its own. A WHILE has a byte for its
 * condition and two places for each value of its state, which change roles at each round. Small
 * constants that control flow reads stand there too; branches of an IF write where the IF does.
 */
public final class TemporariesLayout {
  /** Places begin at multiples of this, the size of a cache line and of the widest vector. */
  public static final int ALIGNMENT = 64;

  private final Map<PlannedGraph, long[]> first = new IdentityHashMap<>();
  private final Map<PlannedGraph, long[]> second = new IdentityHashMap<>();
  private final List<BoundaryConstant> constants = new ArrayList<>();
  private long size;

  /** A small constant and where its copy stands. */
  public record BoundaryConstant(ConstantCopy value, long offset) {}

  /** The layout for a plan. */
  public TemporariesLayout(PlannedModel plan) {
    lay(plan.main());
  }

  /** The bytes of the block; 0 where nothing crosses. */
  public long size() {
    return size;
  }

  /** Returns the constants that must be copied into the block before an execution. */
  public List<BoundaryConstant> constants() {
    return constants;
  }

  /** Returns the place of an operand, or -1 when it has none here. */
  public long offset(PlannedGraph graph, int operand) {
    long[] offsets = first.get(graph);
    return offsets == null ? -1 : offsets[operand];
  }

  /** The second place of a value of a loop's state. */
  public long secondOffset(PlannedGraph body, int operand) {
    return second.get(body)[operand];
  }

  private void lay(PlannedGraph graph) {
    for (PlanNode node : graph.nodes()) {
      for (int output : node.outputs()) {
        if (operand(graph, output).lifetime() instanceof TemporaryVariable) {
          place(first, graph, output);
        }
      }
      switch (node) {
        case ExecutionStep _ -> {}
        case IfNode d -> {
          layConstants(graph, d.inputs());
          lay(d.thenGraph());
          lay(d.elseGraph());
        }
        case WhileNode d -> {
          layConstants(graph, d.inputs());
          place(first, d.condition(), d.condition().graph().outputIndexes().get(0));
          for (int output : d.body().graph().outputIndexes()) {
            place(first, d.body(), output);
            place(second, d.body(), output);
          }
          lay(d.condition());
          lay(d.body());
        }
      }
    }
  }

  private void layConstants(PlannedGraph graph, List<Integer> operands) {
    for (int operand : operands) {
      if (operand(graph, operand).lifetime() instanceof ConstantCopy copy
          && offset(graph, operand) < 0) {
        constants.add(new BoundaryConstant(copy, place(first, graph, operand)));
      }
    }
  }

  private long place(Map<PlannedGraph, long[]> places, PlannedGraph graph, int operand) {
    long[] offsets =
        places.computeIfAbsent(
            graph,
            key -> {
              long[] none = new long[key.graph().operands().size()];
              Arrays.fill(none, -1);
              return none;
            });
    if (offsets[operand] < 0) {
      offsets[operand] = size;
      size += align(operand(graph, operand).byteSize());
    }
    return offsets[operand];
  }

  /** The next multiple of the alignment. */
  public static long align(long bytes) {
    return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
  }

  private static Operand operand(PlannedGraph graph, int operand) {
    return graph.graph().operands().get(operand);
  }
}
