// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.runtime.domain.MemoryBinding;
import io.thalamus.runtime.plan.PlannedGraph;
import io.thalamus.runtime.plan.TemporariesLayout;
import java.util.List;

/**
 * The places of the operands of one use of a graph. Used by the one thread that executes; values
 * between nodes stand in the block of temporaries, constants where the model has them.
 */
final class Frame {
  private final PlannedGraph graph;
  private final TemporariesLayout layout;
  private final Pool temporaries;
  private final Value[] values;

  Frame(PlannedGraph graph, TemporariesLayout layout, Pool temporaries) {
    this.graph = graph;
    this.layout = layout;
    this.temporaries = temporaries;
    this.values = new Value[graph.graph().operands().size()];
  }

  PlannedGraph graph() {
    return graph;
  }

  /** Returns whether no place depends on what an execution computes. */
  boolean isFixed() {
    return graph.graph().operands().stream().allMatch(Operand::isSizeKnown);
  }

  /** Returns a frame for a graph that a node of this one executes. */
  Frame inner(PlannedGraph innerGraph) {
    return new Frame(innerGraph, layout, temporaries);
  }

  Operand operand(int index) {
    return graph.graph().operands().get(index);
  }

  /** Returns the shape that a device is given: none if the model states all of it. */
  Shape givenShape(int index) {
    return operand(index).isSizeKnown() ? Shape.NONE : get(index).shape();
  }

  Value get(int index) {
    Value known = values[index];
    if (known == null) {
      known = find(index);
      values[index] = known;
    }
    return known;
  }

  /** The memory made for an argument that an operand stands in; null where there is none. */
  MemoryBinding use(int index) {
    return get(index).use();
  }

  private Value find(int index) {
    Operand operand = operand(index);
    if (operand.lifetime() instanceof ConstantReference constant) {
      return new Value(
          new Pool(constant.pool()), constant.offset(), constant.length(), operand.shape());
    }
    long offset = layout.offset(graph, index);
    return offset < 0 ? Value.OMITTED : temporary(index, offset);
  }

  /** The second place of a value of a loop's state; the first is what {@link #get} finds. */
  Value second(int index) {
    return temporary(index, layout.secondOffset(graph, index));
  }

  private Value temporary(int index, long offset) {
    Operand operand = operand(index);
    return new Value(temporaries, offset, operand.byteSize(), operand.shape());
  }

  void set(int index, Value value) {
    values[index] = value;
  }

  /** Sets several operands to the same places as several of another frame. */
  void setAll(List<Integer> indexes, Frame other, List<Integer> otherIndexes) {
    for (int i = 0; i < indexes.size(); i++) {
      set(indexes.get(i), other.get(otherIndexes.get(i)));
    }
  }
}
