// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.RawSubgraph;
import io.thalamus.vectors.Values;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * Makes a failing graph small: whatever can be left out or made smaller while it still fails, is.
 * Immutable and thread-safe.
 */
public final class GraphShrinker {
  private static final int MOST_STEPS = 2_000;

  private final Function<Example, Outcome> check;
  private final Evaluator evaluator = new Evaluator();

  /**
   * @param check runs a graph; anything but a failure means that the graph has become too small
   */
  public GraphShrinker(Function<Example, Outcome> check) {
    this.check = check;
  }

  /** The smallest graph that was found to fail; the given one where nothing can go. */
  public Example shrink(Example failing) {
    Example best = failing;
    int steps = 0;
    boolean smaller = true;
    while (smaller && steps < MOST_STEPS) {
      smaller = false;
      for (RawSubgraph candidate : candidates(best)) {
        steps++;
        Optional<Example> example = evaluated(failing.name(), candidate);
        if (example.isPresent() && check.apply(example.get()) instanceof Outcome.Failed) {
          best = example.get();
          smaller = true;
          break;
        }
      }
    }
    return best;
  }

  private Optional<Example> evaluated(String name, RawSubgraph graph) {
    try {
      Example example = Graphs.example(name, withInput(graph), evaluator);
      return example.inputs().isEmpty() || example.expectedOutputs().isEmpty()
          ? Optional.empty()
          : Optional.of(example);
    } catch (RuntimeException e) {
      // Parts that no longer fit together are no smaller graph, but none.
      return Optional.empty();
    }
  }

  /** Makes the first tensor that is read an input, if nothing is left that a request gives. */
  private static RawSubgraph withInput(RawSubgraph graph) {
    Set<Integer> read = new TreeSet<>();
    graph.operations().forEach(operation -> read.addAll(operation.inputs()));
    for (int index : read) {
      if (graph.operands().get(index).lifetime().equals("SUBGRAPH_INPUT")) {
        return graph;
      }
    }
    for (int index : read) {
      RawOperand operand = graph.operands().get(index);
      if (isGiven(operand) && !isArgument(operand)) {
        return graph.withOperand(index, operand.withLifetime("SUBGRAPH_INPUT"));
      }
    }
    // RANK reads vectors of integers as data.
    int first = graph.operations().getFirst().inputs().getFirst();
    RawOperand operand = graph.operands().get(first);
    return isGiven(operand)
        ? graph.withOperand(first, operand.withLifetime("SUBGRAPH_INPUT"))
        : graph;
  }

  private static boolean isGiven(RawOperand operand) {
    return operand.values().isPresent() && operand.type().startsWith("TENSOR_");
  }

  /** Vectors of integers are mostly arguments, as long as the rank of a tensor. */
  private static boolean isArgument(RawOperand operand) {
    return operand.type().equals("TENSOR_INT32") && operand.dims().rank() == 1;
  }

  /** Graphs that are smaller by one step, those first that are smaller by much. */
  private List<RawSubgraph> candidates(Example example) {
    RawSubgraph graph = Graphs.withValues(example);
    List<Tensor> values = evaluator.evaluate(example);
    List<RawSubgraph> candidates = new ArrayList<>();
    int last = graph.operations().size() - 1;
    for (int i = 0; i <= last; i++) {
      if (i < last || example.expectedOutputs().size() > 1) {
        graph.operations().get(i).outputs().forEach(o -> candidates.add(onlyFor(graph, o)));
      }
    }
    for (int i = graph.operations().size() - 1; i >= 0; i--) {
      if (graph.operations().size() > 1) {
        candidates.add(withoutOperation(graph, i, values));
      }
    }
    for (int size : sizes(graph)) {
      candidates.add(resized(graph, size, 1));
      candidates.add(resized(graph, size, size / 2));
      candidates.add(resized(graph, size, size - 1));
    }
    return candidates;
  }

  /** Only what one operand depends on, which becomes the only output. */
  private static RawSubgraph onlyFor(RawSubgraph graph, int output) {
    Set<Integer> needed = new HashSet<>(Set.of(output));
    List<RawOperation> operations = new ArrayList<>();
    for (RawOperation operation : graph.operations().reversed()) {
      if (operation.outputs().stream().anyMatch(needed::contains)) {
        needed.addAll(operation.inputs());
        operations.addFirst(operation);
      }
    }
    List<RawOperand> operands = new ArrayList<>(graph.operands());
    for (int i = 0; i < operands.size(); i++) {
      String lifetime = operands.get(i).lifetime();
      if (i == output) {
        operands.set(i, operands.get(i).withLifetime("SUBGRAPH_OUTPUT"));
      } else if (lifetime.equals("SUBGRAPH_OUTPUT")) {
        operands.set(i, operands.get(i).withLifetime("TEMPORARY_VARIABLE"));
      }
    }
    return new RawSubgraph(operands, operations, List.of(), List.of());
  }

  /** Gives from outside what the operation computed. */
  private static RawSubgraph withoutOperation(RawSubgraph graph, int removed, List<Tensor> values) {
    List<RawOperation> operations = new ArrayList<>(graph.operations());
    List<RawOperand> operands = new ArrayList<>(graph.operands());
    for (int output : operations.remove(removed).outputs()) {
      operands.set(
          output,
          operands
              .get(output)
              .withLifetime("SUBGRAPH_INPUT")
              .withValues(Optional.of(Graphs.stored(values.get(output)))));
    }
    return new RawSubgraph(operands, operations, List.of(), List.of());
  }

  private static Set<Integer> sizes(RawSubgraph graph) {
    Set<Integer> sizes = new TreeSet<>();
    for (RawOperand operand : graph.operands()) {
      for (int size : operand.dims().toArray()) {
        if (size > 1) {
          sizes.add(size);
        }
      }
    }
    return sizes;
  }

  /** All dimensions of one size made smaller, in everything that is given from outside. */
  private static RawSubgraph resized(RawSubgraph graph, int from, int to) {
    List<RawOperand> operands = new ArrayList<>();
    for (RawOperand operand : graph.operands()) {
      int[] dims = operand.dims().toArray();
      if (operand.values().isEmpty() || isArgument(operand)) {
        operands.add(operand);
        continue;
      }
      int[] smaller = dims.clone();
      for (int axis = 0; axis < dims.length; axis++) {
        smaller[axis] = dims[axis] == from ? to : dims[axis];
      }
      operands.add(
          operand
              .withDims(smaller)
              .withValues(operand.values().map(values -> corner(values, dims, smaller))));
    }
    return graph.withOperands(operands);
  }

  /** The values in the corner of a tensor. */
  private static Values corner(Values values, int[] dims, int[] smaller) {
    int size = 1;
    for (int dim : smaller) {
      size *= dim;
    }
    double[] numbers = new double[size];
    int[] position = new int[dims.length];
    for (int i = 0; i < size; i++) {
      int element = 0;
      for (int axis = 0; axis < dims.length; axis++) {
        element = element * dims[axis] + position[axis];
      }
      numbers[i] = values.get(element);
      for (int axis = dims.length - 1; axis >= 0; axis--) {
        if (++position[axis] < smaller[axis]) {
          break;
        }
        position[axis] = 0;
      }
    }
    return Values.of(numbers);
  }
}
