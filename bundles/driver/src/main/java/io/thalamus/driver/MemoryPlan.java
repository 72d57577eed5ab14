// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The places of the intermediate values of a graph in one block of memory. The scratch memory of
 * the hungriest kernel stands behind them.
 *
 * @param offsets by operand; -1 for what does not stand in the block
 * @param scratchOffset where the scratch memory begins
 * @param size of the whole block
 */
record MemoryPlan(long[] offsets, long scratchOffset, long size) {
  static final int ALIGNMENT = 64;

  static MemoryPlan of(Subgraph graph, List<Step> steps, Shape[] shapes) {
    List<Integer> operands = new ArrayList<>();
    LifetimePlan plan = LifetimePlan.of(values(graph, steps, shapes, operands));
    long[] offsets = new long[shapes.length];
    Arrays.fill(offsets, -1);
    for (int i = 0; i < operands.size(); i++) {
      offsets[operands.get(i)] = plan.offsets()[i];
    }
    long scratch = 0;
    for (Step step : steps) {
      scratch = Math.max(scratch, align(step.scratchSize()));
    }
    return new MemoryPlan(offsets, plan.size(), plan.size() + scratch);
  }

  static long align(long size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  private static List<LifetimePlan.Value> values(
      Subgraph graph, List<Step> steps, Shape[] shapes, List<Integer> operands) {
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
    List<LifetimePlan.Value> values = new ArrayList<>();
    for (int i = 0; i < shapes.length; i++) {
      Operand operand = graph.operands().get(i);
      if (operand.lifetime() instanceof Lifetime.TemporaryVariable
          && shapes[i] != null
          && first[i] >= 0) {
        long bytes = shapes[i].elementCount() * operand.type().elementSize();
        operands.add(i);
        values.add(new LifetimePlan.Value(align(bytes), first[i], last[i]));
      }
    }
    return values;
  }
}
