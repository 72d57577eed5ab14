// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.search;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.runtime.partition.Dependencies;
import io.thalamus.runtime.partition.NnapiPolicy;
import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.policy.PartitionProblem;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.osgi.service.component.annotations.Component;

/**
 * Searches for the cut that is expected to take the least time, or with LOW_POWER the least energy:
 * operations as measured where they were, a charge for every step, and one for every byte that
 * crosses a boundary. Stateless; the same problem gives the same cut.
 *
 * <p>Never worse by its own reckoning than NNAPI's cut, which it begins with. A power budget is
 * kept where any cut found keeps it. Control flow goes where NNAPI sends it.
 */
@Component(service = PartitionPolicy.class)
public final class SearchPolicy implements PartitionPolicy {
  /** The name of this policy. */
  public static final String NAME = "search";

  private static final int WIDTH = 96;

  /** Operations looked at in all evaluations of one descent: tens of milliseconds. */
  private static final int EFFORT = 4_000_000;

  private static final int FEWEST_EVALUATIONS = 300;
  private static final int MOST_EVALUATIONS = 20_000;

  /** Weights of the energy from 1/16 of the time's to 4096 times as much. */
  private static final int WEIGHTS = 9;

  private static final int BISECTIONS = 6;

  /** No two measurements of the same thing agree better than to some percents. */
  private static final double NOISE = 0.05;

  private final NnapiPolicy nnapi = new NnapiPolicy();
  private final double noise;

  /** With the usual idea of noise. */
  public SearchPolicy() {
    this(NOISE);
  }

  /**
   * A policy that takes this for noise.
   *
   * @param noise the share of the whole that a cut must save to be worth more than NNAPI's
   */
  SearchPolicy(double noise) {
    this.noise = noise;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public int[] assign(PartitionProblem problem) {
    int[] usual = nnapi.assign(problem);
    for (int choice : usual) {
      if (choice == UNASSIGNED) {
        return usual;
      }
    }
    if (problem.candidates().size() + 1 > FrontierSearch.MOST_CHOICES) {
      return usual;
    }
    int[] found = new Search(problem, usual, noise).run();
    for (int operation = 0; operation < found.length; operation++) {
      if (found[operation] == problem.candidates().size()) {
        found[operation] = INTERPRETER;
      }
    }
    return found;
  }

  /** The search of one problem. */
  private static final class Search {
    private final PartitionProblem problem;
    private final GraphCosts costs;
    private final CutCost cost;
    private final int[] usual;
    private final double noise;

    Search(PartitionProblem problem, int[] nnapis, double noise) {
      this.problem = problem;
      this.noise = noise;
      this.costs = new GraphCosts(problem, nnapis);
      this.cost = new CutCost(costs, new Dependencies(problem.graph()));
      this.usual = nnapis.clone();
      for (int i = 0; i < usual.length; i++) {
        usual[i] = usual[i] == INTERPRETER ? costs.choices - 1 : usual[i];
      }
    }

    int[] run() {
      Goal goal = problem.preference() == ExecutionPreference.LOW_POWER ? Goal.FRUGAL : Goal.FAST;
      int[] best = cheapest(goal);
      if (problem.powerBudget().isEmpty()) {
        return withoutTrifles(best, goal);
      }
      double limit = problem.powerBudget().getAsDouble() * problem.referenceEnergy();
      cost.of(best, goal);
      return cost.energy() <= limit
          ? withoutTrifles(best, goal.within(limit))
          : within(limit, goal);
    }

    /** As near to NNAPI's cut as noise allows: what costs less than could be measured goes back. */
    private int[] withoutTrifles(int[] found, Goal goal) {
      return noise == 0 ? found : nearerToNnapis(found, goal, noise);
    }

    /**
     * Parts that were moved go back to where NNAPI has them, as long as all of that costs no more
     * than this share of the cheapest cut met on the way.
     */
    private int[] nearerToNnapis(int[] found, Goal goal, double share) {
      double least = cost.of(found, goal);
      if (cost.of(usual, goal) <= least * (1 + share)) {
        return usual;
      }
      int[] kept = found;
      for (int[] part : Parts.thatDiffer(costs, found, usual)) {
        int[] without = kept.clone();
        for (int operation : part) {
          without[operation] = usual[operation];
        }
        double now = cost.of(without, goal);
        if (now <= least * (1 + share)) {
          kept = without;
          least = Math.min(least, now);
        }
      }
      return kept;
    }

    /** The cheapest of what several beginnings lead to. */
    private int[] cheapest(Goal goal) {
      List<int[]> beginnings = new ArrayList<>();
      beginnings.add(usual);
      int[] found = costs.isOrdered() ? new FrontierSearch(costs, goal, WIDTH).search() : null;
      if (found != null) {
        beginnings.add(found);
      }
      for (int choice = 0; choice < costs.choices; choice++) {
        beginnings.add(asMuchAsPossible(choice));
      }
      beginnings.sort(Comparator.comparingDouble(choices -> cost.of(choices, goal)));
      Descent descent = new Descent(costs, cost, evaluations());
      int[] best = beginnings.getFirst().clone();
      double least = descent.improve(best, goal);
      for (int[] beginning : beginnings.subList(1, beginnings.size())) {
        int[] other = beginning.clone();
        double now = descent.improve(other, goal);
        if (now < least) {
          least = now;
          best = other;
        }
      }
      // Going back can save something too, and then the descent goes on from there.
      double before;
      do {
        before = least;
        best = nearerToNnapis(best, goal, 0).clone();
        least = descent.improve(best, goal);
      } while (least < before);
      return best;
    }

    private int evaluations() {
      return Math.clamp(EFFORT / (costs.operations + 1), FEWEST_EVALUATIONS, MOST_EVALUATIONS);
    }

    private int[] asMuchAsPossible(int choice) {
      int[] choices = usual.clone();
      for (int operation = 0; operation < choices.length; operation++) {
        if (costs.isAllowed(choice, operation)) {
          choices[operation] = choice;
        }
      }
      return choices;
    }

    /**
     * The fastest cut found within a limit of energy, or the most frugal one where none is: the
     * price of energy is raised until the limit is kept, lowered again as far as it stays so, and
     * what is left of the limit is then spent on time.
     */
    private int[] within(double limit, Goal goal) {
      double low = 0;
      double high = 1.0 / 16;
      int[] best = null;
      for (int i = 0; i < WEIGHTS && best == null; i++) {
        best = kept(high, limit, goal);
        if (best == null) {
          low = high;
          high *= 4;
        }
      }
      if (best == null) {
        int[] frugal = cheapest(Goal.FRUGAL);
        cost.of(frugal, goal);
        if (cost.energy() > limit) {
          return frugal;
        }
        best = frugal;
      }
      for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        int[] found = kept(middle, limit, goal);
        if (found == null) {
          low = middle;
        } else {
          high = middle;
          best = faster(best, found, goal);
        }
      }
      new Descent(costs, cost, evaluations()).improve(best, goal.within(limit));
      return best;
    }

    private int[] faster(int[] a, int[] b, Goal goal) {
      return cost.of(b, goal) < cost.of(a, goal) ? b : a;
    }

    /** The cheapest cut where energy has a price, or null where it needs more than the limit. */
    private int[] kept(double price, double limit, Goal goal) {
      int[] found = cheapest(goal.withEnergy(price));
      cost.of(found, goal);
      return cost.energy() <= limit ? found : null;
    }
  }
}
