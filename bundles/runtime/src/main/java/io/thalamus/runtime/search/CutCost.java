// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.search;

import io.thalamus.runtime.partition.Dependencies;
import io.thalamus.runtime.partition.ReadyQueues;
import java.util.Arrays;

/**
 * The cost of a choice for each operation once the runtime has made steps of it: the steps are made
 * here as they are there. Not thread-safe; evaluates without allocating.
 */
final class CutCost {
  private final GraphCosts costs;
  private final ReadyQueues queues;
  private final int[] stepOf;
  private final int[] choiceOf;
  private final int[] seen;
  private int steps;
  private double energy;

  CutCost(GraphCosts costs, Dependencies dependencies) {
    this.costs = costs;
    this.queues = new ReadyQueues(dependencies, costs.choices);
    this.stepOf = new int[costs.operations];
    this.choiceOf = new int[costs.operations];
    this.seen = new int[costs.operations];
  }

  /** Evaluates; infinite where the cut cannot be. */
  double of(int[] choices, Goal goal) {
    double nanos = 0;
    energy = 0;
    steps = 0;
    queues.begin(choices);
    // Control flow operations are steps of their own, but the interpreter charges for none.
    for (int queue = queues.highest(); queue >= 0; queue = queues.highest()) {
      choiceOf[steps] = queue;
      nanos += costs.startNanos[queue];
      for (int next = queues.take(queue); next >= 0; next = queues.take(queue)) {
        stepOf[next] = steps;
        nanos += costs.nanos[queue][next];
        energy += costs.energy[queue][next];
      }
      steps++;
    }
    double boundary = boundaries();
    nanos += boundary;
    energy += boundary;
    return goal.of(nanos, energy);
  }

  private double boundaries() {
    Arrays.fill(seen, -1);
    double sum = 0;
    for (int value = 0; value < costs.writer.length; value++) {
      int from = costs.writer[value] < 0 ? -1 : stepOf[costs.writer[value]];
      boolean crosses = false;
      for (int reader : costs.readers[value]) {
        int to = stepOf[reader];
        if (to != from && seen[to] != value) {
          seen[to] = value;
          crosses = true;
          sum += costs.bytes[value] * costs.byteNanos[choiceOf[to]];
        }
      }
      if (from < 0) {
        continue;
      }
      if (crosses && !costs.canCross[value]) {
        return Double.POSITIVE_INFINITY;
      }
      if (crosses || costs.isReturned[value]) {
        sum += costs.bytes[value] * costs.byteNanos[choiceOf[from]];
      }
    }
    return sum;
  }

  /** The energy of the cut evaluated last. */
  double energy() {
    return energy;
  }

  /** Returns the number of steps of the partition evaluated last. */
  int steps() {
    return steps;
  }

  /** The step of an operation in the cut evaluated last. */
  int stepOf(int operation) {
    return stepOf[operation];
  }
}
