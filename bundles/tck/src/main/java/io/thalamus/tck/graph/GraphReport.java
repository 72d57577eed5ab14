// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.RawOperation;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The results of all graphs of a run. Immutable.
 *
 * @param results by seed
 */
public record GraphReport(List<Result> results) {
  public GraphReport {
    results = List.copyOf(results);
  }

  /**
   * The result of one graph.
   *
   * @param outcome of the smallest graph that fails, where the graph does
   * @param smallest the smallest graph found that fails as well; the graph itself where it does not
   */
  public record Result(long seed, Example graph, Outcome outcome, Example smallest) {
    public Result {
      Objects.requireNonNull(graph, "graph");
      Objects.requireNonNull(outcome, "outcome");
      Objects.requireNonNull(smallest, "smallest");
    }

    /** The operations of the smallest graph, and what is wrong with it. */
    public String text() {
      String operations =
          String.join("+", smallest.main().operations().stream().map(RawOperation::type).toList());
      return "seed " + seed + ": " + operations + Outcome.suffix(outcome);
    }
  }

  private Stream<Result> ending(Class<? extends Outcome> kind) {
    return results.stream().filter(result -> kind.isInstance(result.outcome()));
  }

  public int passed() {
    return (int) ending(Outcome.Passed.class).count();
  }

  public List<Result> failures() {
    return ending(Outcome.Failed.class).toList();
  }

  /** Returns why graphs were not run, with counts. */
  public Map<String, Integer> skipped() {
    return Outcome.skipReasons(results.stream().map(Result::outcome));
  }

  /** Returns how often each operation occurs in the graphs that passed. */
  public Map<String, Integer> operations() {
    Map<String, Integer> operations = new TreeMap<>();
    ending(Outcome.Passed.class)
        .flatMap(result -> result.graph().main().operations().stream())
        .forEach(operation -> operations.merge(operation.type(), 1, Integer::sum));
    return operations;
  }

  /** The expected outputs of the graphs that passed. */
  private Stream<Tensor> outputs() {
    Evaluator evaluator = new Evaluator();
    return ending(Outcome.Passed.class)
        .map(Result::graph)
        .flatMap(
            graph -> {
              List<Tensor> values = evaluator.evaluate(graph);
              return graph.expectedOutputs().stream().map(output -> values.get(output.operand()));
            });
  }

  /** Returns how many output elements were compared. */
  public long elements() {
    return outputs().mapToLong(Tensor::size).sum();
  }

  /** Returns how many of them had bounds narrow enough to tell right from wrong. */
  public long narrow() {
    return outputs().mapToLong(BoundTightness::narrow).sum();
  }
}
