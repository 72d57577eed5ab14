// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.api.ExecutionReport.StepReport;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The outputs of a successful execution. Immutable, but for the bytes of its tensors.
 *
 * @param outputs one for each output of the model
 * @param report what ran where
 * @param labels names of the classes of the first output; empty if none are known
 */
public record Answer(List<Tensor> outputs, ExecutionReport report, List<String> labels) {
  public Answer {
    outputs = List.copyOf(outputs);
    Objects.requireNonNull(report, "report");
    labels = List.copyOf(labels);
  }

  /**
   * A class with its score.
   *
   * @param index its place in the output
   * @param label its name; empty if none is known
   * @param score the model's own, as a real number
   */
  public record Scored(int index, String label, double score) {
    /** Returns label, or else index, and score, as in {@code cat 0.973}. */
    @Override
    public String toString() {
      return String.format(Locale.ROOT, "%s %.3f", label.isEmpty() ? index : label, score);
    }
  }

  /** Returns the first output. */
  public Tensor output() {
    return outputs.getFirst();
  }

  /** Returns an output by its place. */
  public Tensor output(int index) {
    return outputs.get(index);
  }

  /**
   * Returns an output by its name in the model.
   *
   * @throws NeuralNetworksException with BAD_DATA if there is none of this name
   */
  public Tensor output(String name) throws NeuralNetworksException {
    for (Tensor output : outputs) {
      if (output.name().equals(name)) {
        return output;
      }
    }
    throw NeuralNetworksException.badData(
        "no output is named "
            + name
            + ", but "
            + outputs.stream().map(Tensor::name).collect(Collectors.joining(", ")));
  }

  /** Returns the best classes of the first output, the best first; NaN is worst. */
  public List<Scored> top(int most) {
    return top(output(), labels, most);
  }

  /**
   * Returns the best elements of a tensor, the best first; NaN is worst.
   *
   * @param labels one for each element, or fewer
   */
  public static List<Scored> top(Tensor scores, List<String> labels, int most) {
    return IntStream.range(0, Math.toIntExact(scores.count()))
        .mapToObj(i -> new Scored(i, i < labels.size() ? labels.get(i) : "", scores.real(i)))
        .sorted(
            Comparator.comparing((Scored scored) -> Double.isNaN(scored.score()))
                .thenComparing(Comparator.comparingDouble(Scored::score).reversed()))
        .limit(most)
        .toList();
  }

  /** Returns the devices that computed it, in the order of their first step. */
  public List<String> devices() {
    return report.steps().stream()
        .filter(step -> step.code() == ResultCode.NO_ERROR)
        .map(StepReport::device)
        .distinct()
        .toList();
  }
}
