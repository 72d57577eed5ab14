// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.api.ExecutionReport.StepReport;
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
    private static final double MOST_ROUNDED = 1e9;

    /** Returns label, or else index, and score, as in {@code cat 0.973}. */
    @Override
    public String toString() {
      String name = label.isEmpty() ? Integer.toString(index) : label;
      if (!(Math.abs(score) < MOST_ROUNDED)) {
        return String.format(Locale.ROOT, "%s %.3f", name, score);
      }
      // Not by a Formatter, for which a new process loads what it knows of languages.
      long thousandths = Math.round(Math.abs(score) * 1000);
      String sign = score < 0 && thousandths > 0 ? "-" : "";
      String fraction = Long.toString(1000 + thousandths % 1000).substring(1);
      return name + " " + sign + thousandths / 1000 + "." + fraction;
    }

    private static int compare(Scored a, Scored b) {
      int byNumber = Boolean.compare(Double.isNaN(a.score), Double.isNaN(b.score));
      return byNumber != 0 ? byNumber : Double.compare(b.score, a.score);
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

  /**
   * Returns the best classes of the first output, the best first; NaN is worst.
   *
   * @param most at least 0; all where there are fewer
   */
  public List<Scored> top(int most) {
    return top(output(), labels, most);
  }

  /**
   * Returns the best elements of a tensor, the best first; NaN is worst.
   *
   * @param labels one for each element, or fewer
   * @param most at least 0; all where there are fewer
   */
  public static List<Scored> top(Tensor scores, List<String> labels, int most) {
    if (most < 0) {
      throw new IllegalArgumentException("most must be at least 0, not " + most);
    }
    return IntStream.range(0, Math.toIntExact(scores.count()))
        .mapToObj(i -> new Scored(i, i < labels.size() ? labels.get(i) : "", scores.real(i)))
        .sorted(Scored::compare)
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
