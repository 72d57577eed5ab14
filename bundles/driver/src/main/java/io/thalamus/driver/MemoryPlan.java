// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Where the intermediate values of a graph stand in one block of memory. Values whose lives do not
 * overlap share bytes: the largest are placed first, each at the lowest offset that is free. The
 * scratch memory of the hungriest kernel stands behind them.
 *
 * @param offsets by operand; -1 for what does not stand in the block
 * @param scratchOffset where the scratch memory begins
 * @param size of the whole block
 */
record MemoryPlan(long[] offsets, long scratchOffset, long size) {
  static final int ALIGNMENT = 64;

  static MemoryPlan of(Subgraph graph, List<GraphProgram.Step> steps, Shape[] shapes) {
    List<Value> values = values(graph, steps, shapes);
    values.sort(Comparator.comparingLong(Value::size).reversed());
    long[] offsets = new long[shapes.length];
    Arrays.fill(offsets, -1);
    List<Value> placed = new ArrayList<>();
    long end = 0;
    for (Value value : values) {
      long offset = lowestFree(value, placed, offsets);
      offsets[value.operand()] = offset;
      placed.add(value);
      placed.sort(Comparator.comparingLong(other -> offsets[other.operand()]));
      end = Math.max(end, offset + value.size());
    }
    long scratch = 0;
    for (GraphProgram.Step step : steps) {
      if (step.kernel() != null) {
        scratch = Math.max(scratch, align(step.kernel().scratchSize()));
      }
    }
    return new MemoryPlan(offsets, end, end + scratch);
  }

  static long align(long size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  private static List<Value> values(Subgraph graph, List<GraphProgram.Step> steps, Shape[] shapes) {
    int[] first = new int[shapes.length];
    int[] last = new int[shapes.length];
    Arrays.fill(first, -1);
    for (int i = 0; i < steps.size(); i++) {
      for (int output : steps.get(i).operation().outputs()) {
        first[output] = i;
        last[output] = i;
      }
      for (int input : steps.get(i).operation().inputs()) {
        last[input] = i;
      }
    }
    List<Value> values = new ArrayList<>();
    for (int i = 0; i < shapes.length; i++) {
      Operand operand = graph.operands().get(i);
      if (operand.lifetime() instanceof Lifetime.TemporaryVariable
          && shapes[i] != null
          && first[i] >= 0) {
        long bytes = shapes[i].elementCount() * operand.type().elementSize();
        values.add(new Value(i, align(bytes), first[i], last[i]));
      }
    }
    return values;
  }

  private static long lowestFree(Value value, List<Value> placed, long[] offsets) {
    long offset = 0;
    for (Value other : placed) {
      boolean livesTogether = other.first() <= value.last() && value.first() <= other.last();
      long start = offsets[other.operand()];
      if (livesTogether && start < offset + value.size() && offset < start + other.size()) {
        offset = start + other.size();
      }
    }
    return offset;
  }

  /** A value and the steps from the one that writes it to the last one that reads it. */
  private record Value(int operand, long size, int first, int last) {}
}
