// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.tensor;

import io.thalamus.api.Answer;
import io.thalamus.api.Answer.Scored;
import io.thalamus.api.Tensor;
import io.thalamus.console.Json;
import io.thalamus.console.text.Bars;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The best of a model's classes. Scores are the model's own, as real numbers: nothing is done to
 * make probabilities of them. Immutable.
 *
 * @param best the best first
 * @param probabilities whether the scores of all classes look like probabilities
 * @param least the least score of all classes
 */
public record Classification(List<Scored> best, boolean probabilities, double least) {
  private static final int MOST_CLASSES = 10_000;
  private static final double SUM_TOLERANCE = 0.02;
  private static final double MOST_TOLERANCE = 0.25;
  private static final int MOST_BAR = 40;
  private static final int LEAST_BAR = 10;
  private static final int LONGEST_LABEL = 40;

  /**
   * Returns true if a value looks like one score for each class, [1, N] or [N], and not like the
   * inputs, as an autoencoder's does.
   */
  public static boolean fits(Tensor output, List<Tensor> inputs) {
    int rank = output.shape().rank();
    boolean vector = rank == 1 || rank == 2 && output.shape().dimension(0) == 1;
    return vector
        && output.isNumeric()
        && output.count() > 1
        && output.count() <= MOST_CLASSES
        && inputs.stream().noneMatch(input -> input.shape().equals(output.shape()));
  }

  /**
   * Ranks the classes.
   *
   * @param labels one for each class, or none
   */
  public static Classification of(Tensor scores, List<String> labels, int top) {
    int count = (int) scores.count();
    List<Scored> best = Answer.top(scores, labels, top);
    double least =
        IntStream.range(0, count)
            .mapToDouble(scores::real)
            .filter(score -> !Double.isNaN(score))
            .min()
            .orElse(0);
    return new Classification(best, areProbabilities(scores), least);
  }

  private static boolean areProbabilities(Tensor scores) {
    double sum = 0;
    for (long i = 0; i < scores.count(); i++) {
      double score = scores.real(i);
      if (!(score >= 0 && score <= 1 + SUM_TOLERANCE)) {
        return false;
      }
      sum += score;
    }
    // Each quantized score may be off by half a step.
    double steps = scores.isQuantized() ? scores.count() * scores.quantization().scale() / 2.0 : 0;
    return Math.abs(sum - 1) <= SUM_TOLERANCE + Math.min(MOST_TOLERANCE, steps);
  }

  /** Labels, scores and bars. */
  public String text(Style style) {
    double range = probabilities ? 1 : best.getFirst().score() - least;
    double from = probabilities ? 0 : least;
    List<String> names = new ArrayList<>();
    for (Scored scored : best) {
      names.add(scored.label().isEmpty() ? "class " + scored.index() : cut(scored.label()));
    }
    int longest = names.stream().mapToInt(String::length).max().orElse(0);
    int bar = Math.clamp(style.width() - longest - 12, LEAST_BAR, MOST_BAR);
    Table table = new Table(style, "", ">", "");
    for (int i = 0; i < best.size(); i++) {
      double score = best.get(i).score();
      double fraction = range == 0 ? 1 : (score - from) / range;
      boolean first = i == 0;
      table.row(
          Table.painted(names.get(i), text -> first ? style.bold(text) : text),
          probabilities ? String.format(Locale.ROOT, "%.1f %%", 100 * score) : Units.number(score),
          Table.painted(Bars.bar(fraction, bar), text -> first ? style.good(text) : text));
    }
    return table.text();
  }

  private static String cut(String label) {
    return label.length() <= LONGEST_LABEL ? label : label.substring(0, LONGEST_LABEL - 1) + "…";
  }

  /** Returns the best classes for JSON. */
  public List<Object> fields() {
    List<Object> fields = new ArrayList<>();
    for (Scored scored : best) {
      Optional<String> label = Optional.of(scored.label()).filter(known -> !known.isEmpty());
      fields.add(Json.object("index", scored.index(), "label", label, "score", scored.score()));
    }
    return fields;
  }
}
