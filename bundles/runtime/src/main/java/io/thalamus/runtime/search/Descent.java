// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.search;

import java.util.ArrayList;
import java.util.Arrays;
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
      for (int[] part : parts(choices)) {
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
    }
    for (int i = 0; i < part.length; i++) {
      choices[part[i]] = old[i];
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
  private List<int[]> parts(int[] choices) {
    int[] group = new int[costs.operations];
    Arrays.setAll(group, operation -> operation);
    for (int operation = 0; operation < costs.operations; operation++) {
      for (int value : costs.reads[operation]) {
        int writer = costs.writer[value];
        if (writer >= 0 && cost.stepOf(writer) == cost.stepOf(operation)) {
          group[root(group, operation)] = root(group, writer);
        }
      }
    }
    List<List<Integer>> steps = new ArrayList<>();
    List<List<Integer>> connected = new ArrayList<>();
    for (int i = 0; i < Math.max(cost.steps(), costs.operations); i++) {
      steps.add(new ArrayList<>());
      connected.add(new ArrayList<>());
    }
    for (int operation = 0; operation < costs.operations; operation++) {
      steps.get(cost.stepOf(operation)).add(operation);
      connected.get(root(group, operation)).add(operation);
    }
    List<int[]> parts = new ArrayList<>();
    for (List<Integer> part : steps) {
      if (part.size() > 1) {
        parts.add(part.stream().mapToInt(Integer::intValue).toArray());
      }
    }
    for (List<Integer> part : connected) {
      if (part.size() > 1 && part.size() < steps.get(cost.stepOf(part.getFirst())).size()) {
        parts.add(part.stream().mapToInt(Integer::intValue).toArray());
      }
    }
    return parts;
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
