// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.StaticGraph;
import io.thalamus.model.Operation;
import io.thalamus.model.Shape;
import io.thalamus.x86.kernel.ElementFunction;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.IntFunction;

/**
 * Operations on single elements that one pass over memory computes: one of them, and those before
 * it whose results have the same shape and are read within the pass alone. Used once.
 */
final class Chains {
  private final StaticGraph graph;
  private final IntFunction<Optional<ElementFunction>> elements;
  private final Uses uses;

  /** By operand, what stands for it while there is no program. */
  private final Place[] places;

  /**
   * The chains of a graph.
   *
   * @param elements by operation, its function of single elements; empty where it has none, or
   *     where others do its work
   */
  Chains(StaticGraph graph, IntFunction<Optional<ElementFunction>> elements, Uses uses) {
    this.graph = graph;
    this.elements = elements;
    this.uses = uses;
    places = new Place[graph.shapes().size()];
    Arrays.setAll(places, _ -> new Place(0));
  }

  /**
   * Returns the operations of the pass that ends with one, in their order.
   *
   * @param last which has a function of single elements
   */
  List<Integer> endingWith(int last) {
    TreeSet<Integer> members = new TreeSet<>(List.of(last));
    ElementChain chain = chain(members);
    TreeSet<Integer> candidates = writers(last);
    while (!candidates.isEmpty()) {
      // The last one first: whatever reads it has been looked at.
      int candidate = candidates.removeLast();
      Optional<ElementChain> longer = joined(candidate, members, chain);
      if (longer.isPresent()) {
        members.add(candidate);
        chain = longer.get();
        candidates.addAll(writers(candidate));
      }
    }
    return List.copyOf(members);
  }

  private TreeSet<Integer> writers(int operation) {
    TreeSet<Integer> writers = new TreeSet<>();
    for (int input : graph.graph().operations().get(operation).inputs()) {
      if (uses.writer(input) >= 0) {
        writers.add(uses.writer(input));
      }
    }
    return writers;
  }

  /**
   * Returns the pass that does a candidate's work too; empty if there is none.
   *
   * @param chain of the members
   */
  private Optional<ElementChain> joined(
      int candidate, TreeSet<Integer> members, ElementChain chain) {
    int result = output(candidate);
    Shape shape = graph.shapes().get(output(members.last()));
    if (elements.apply(candidate).isEmpty()
        || !graph.shapes().get(result).equals(shape)
        || !members.containsAll(uses.readers(result))) {
      return Optional.empty();
    }
    TreeSet<Integer> all = new TreeSet<>(members);
    all.add(candidate);
    ElementChain together = chain(all);
    boolean isWorthIt =
        together.isPossible()
            && together.isAsLongAs(chain, shape)
            && together.isAsLongAs(chain(new TreeSet<>(List.of(candidate))), shape);
    return isWorthIt ? Optional.of(together) : Optional.empty();
  }

  private int output(int operation) {
    return graph.graph().operations().get(operation).outputs().getFirst();
  }

  private ElementChain chain(SortedSet<Integer> members) {
    ElementChain chain = new ElementChain();
    for (int member : members) {
      Operation operation = graph.graph().operations().get(member);
      chain.add(
          graph.operations().get(member),
          elements.apply(member).orElseThrow(),
          Lowering.Operands.of(operation, operand -> places[operand]));
    }
    return chain;
  }
}
