// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.search;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Dynamic programming over the operations in their order. Not thread-safe; used once.
 *
 * <p>After each operation, all that matters of the choices so far is where the values stand that
 * are still to be read: for each, the choice of its writer and those that it was brought to. Of all
 * partial cuts that agree in this, only the cheapest is gone on with. In a chain there are as many
 * of them as choices, so that the result is the best there is; where many values are open at once,
 * only the cheapest {@code width} are gone on with, and it may not be.
 *
 * <p>A step is taken to begin where a value comes from another choice. The runtime can do better,
 * since it makes steps of several branches at once; {@link CutCost} knows.
 */
final class FrontierSearch {
  private static final int CHOICE_BITS = 5;

  /** Choices are bits of a mask beside the number of one. */
  static final int MOST_CHOICES = 26;

  private final GraphCosts costs;
  private final Goal goal;
  private final int width;
  private final int[] slotOf;
  private final int[] lastReader;
  private final int slots;

  /** A cut of the first operations. */
  private record State(double cost, int[] open, State before, int choice) {}

  /** Equal where the open values stand alike. */
  private record Key(int[] open) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Key that && Arrays.equals(open, that.open);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(open);
    }
  }

  /**
   * A search.
   *
   * @param width how many partial cuts are gone on with at most
   */
  FrontierSearch(GraphCosts costs, Goal goal, int width) {
    this.costs = costs;
    this.goal = goal;
    this.width = width;
    this.slotOf = new int[costs.writer.length];
    this.lastReader = new int[costs.writer.length];
    this.slots = assignSlots();
  }

  /** A value has a slot from its writer to its last reader; then another one gets it. */
  private int assignSlots() {
    Arrays.fill(slotOf, -1);
    List<Integer> free = new ArrayList<>();
    int count = 0;
    for (int operation = 0; operation < costs.operations; operation++) {
      for (int value : costs.writes[operation]) {
        if (costs.readers[value].length > 0) {
          slotOf[value] = free.isEmpty() ? count++ : free.removeLast();
          lastReader[value] = Arrays.stream(costs.readers[value]).max().getAsInt();
        }
      }
      for (int value : costs.reads[operation]) {
        if (costs.writer[value] >= 0 && lastReader[value] == operation) {
          free.add(slotOf[value]);
        }
      }
    }
    return count;
  }

  /** The choices found, or null where none can be: values that cannot cross may forbid it. */
  int[] search() {
    List<State> states = List.of(new State(0, new int[slots], null, -1));
    for (int operation = 0; operation < costs.operations; operation++) {
      Map<Key, State> next = new HashMap<>();
      for (State state : states) {
        for (int choice = 0; choice < costs.choices; choice++) {
          if (costs.isAllowed(choice, operation)) {
            State extended = extend(state, operation, choice);
            if (extended != null) {
              next.merge(
                  new Key(extended.open()), extended, (a, b) -> a.cost() <= b.cost() ? a : b);
            }
          }
        }
      }
      states = cheapest(next);
    }
    if (states.isEmpty()) {
      return null;
    }
    int[] choices = new int[costs.operations];
    State state = states.getFirst();
    for (int operation = costs.operations - 1; operation >= 0; operation--) {
      choices[operation] = state.choice();
      state = state.before();
    }
    return choices;
  }

  private List<State> cheapest(Map<Key, State> all) {
    // Equal costs are ordered by what is open: the result must not depend on a hash.
    return all.values().stream()
        .sorted(Comparator.comparingDouble(State::cost).thenComparing(State::open, Arrays::compare))
        .limit(width)
        .toList();
  }

  /** A cut with one operation more; null where a value would cross that cannot. */
  private State extend(State state, int operation, int choice) {
    int[] open = state.open().clone();
    double nanos = costs.nanos[choice][operation];
    double boundary = 0;
    boolean begins = operation == 0;
    for (int value : costs.reads[operation]) {
      if (costs.writer[value] < 0) {
        boundary += costs.bytes[value] * costs.byteNanos[choice];
        continue;
      }
      int slot = slotOf[value];
      int from = open[slot] & ((1 << CHOICE_BITS) - 1);
      int brought = open[slot] >>> CHOICE_BITS;
      if (from != choice && (brought & 1 << choice) == 0) {
        if (!costs.canCross[value]) {
          return null;
        }
        begins = true;
        boundary += costs.bytes[value] * costs.byteNanos[choice];
        if (brought == 0 && !costs.isReturned[value]) {
          boundary += costs.bytes[value] * costs.byteNanos[from];
        }
        open[slot] |= 1 << choice + CHOICE_BITS;
      }
    }
    for (int value : costs.reads[operation]) {
      if (costs.writer[value] >= 0 && lastReader[value] == operation) {
        open[slotOf[value]] = 0;
      }
    }
    for (int value : costs.writes[operation]) {
      if (slotOf[value] >= 0) {
        open[slotOf[value]] = choice;
      }
      if (costs.isReturned[value]) {
        boundary += costs.bytes[value] * costs.byteNanos[choice];
      }
    }
    nanos += boundary + (begins ? costs.startNanos[choice] : 0);
    double energy = costs.energy[choice][operation] + boundary;
    return new State(
        state.cost() + goal.time() * nanos + goal.energy() * energy, open, state, choice);
  }
}
