// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.search;

import java.util.ArrayList;
import java.util.List;

/**
 * Betters a cut by moving parts of it as long as that makes it cheaper: steps, what hangs together
 * within a step, and single operations. Not thread-safe. It goes by the true cost, and ends after a
 * number of evaluations, not a time: the same problem gives the same cut.
 */
final class Descent {
  private final GraphCosts costs;
  private final CutCost cost;
  private int evaluations;

  /**
   * A descent.
   *
   * @param evaluations how many there may be in all of its calls
   */
  Descent(GraphCosts costs, CutCost cost, int evaluations) {
    this.costs = costs;
    this.cost = cost;
    this.evaluations = evaluations;
  }

  /** Betters the choices in place; returns what they cost then. */
  double improve(int[] choices, Goal goal) {
    double best = cost.of(choices, goal);
    boolean isBetter = true;
    while (isBetter && evaluations > 0) {
      double before = best;
      cost.of(choices, goal);
      for (int[] part : parts()) {
        best = move(choices, part, goal, best);
      }
      int[] single = new int[1];
      for (int operation = 0; operation < costs.operations; operation++) {
        single[0] = operation;
        best = move(choices, single, goal, best);
      }
      isBetter = best < before;
    }
    return best;
  }

  /** Gives a part to whichever choice makes the whole cheapest. */
  private double move(int[] choices, int[] part, Goal goal, double before) {
    double best = before;
    int[] old = new int[part.length];
    for (int i = 0; i < part.length; i++) {
      old[i] = choices[part[i]];
    }
    int bestChoice = -1;
    for (int choice = 0; choice < costs.choices && evaluations > 0; choice++) {
      if (!set(choices, part, choice)) {
        continue;
      }
      evaluations--;
      double now = cost.of(choices, goal);
      if (now < best) {
        best = now;
        bestChoice = choice;
      }
      // At once: the next choice may not be allowed for all of the part.
      for (int i = 0; i < part.length; i++) {
        choices[part[i]] = old[i];
      }
    }
    if (bestChoice >= 0) {
      set(choices, part, bestChoice);
    }
    return best;
  }

  /** Moves those of a part that can; false where nothing changed. */
  private boolean set(int[] choices, int[] part, int choice) {
    boolean changed = false;
    for (int operation : part) {
      if (choices[operation] != choice && costs.isAllowed(choice, operation)) {
        choices[operation] = choice;
        changed = true;
      }
    }
    return changed;
  }

  /** The steps of the cut evaluated last, and their connected parts where there are several. */
  private List<int[]> parts() {
    List<List<Integer>> steps = new ArrayList<>();
    for (int step = 0; step < cost.steps(); step++) {
      steps.add(new ArrayList<>());
    }
    for (int operation = 0; operation < costs.operations; operation++) {
      steps.get(cost.stepOf(operation)).add(operation);
    }
    List<int[]> parts = new ArrayList<>();
    for (List<Integer> step : steps) {
      if (step.size() > 1) {
        parts.add(step.stream().mapToInt(Integer::intValue).toArray());
      }
    }
    for (int[] part : Parts.connected(costs, (a, b) -> cost.stepOf(a) == cost.stepOf(b) ? 1 : 0)) {
      if (part.length > 1 && part.length < steps.get(cost.stepOf(part[0])).size()) {
        parts.add(part);
      }
    }
    return parts;
  }
}
