// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Sums over all files, from the notes of the processes that run them. A note is a line: a mark, its
 * kind and its words. Used by one thread.
 */
final class Tally {
  private static final double WANTED = 0.95;
  private static final int MOST_LINE = 300;
  private static final String MARK = "\u0001";
  private static final String BETWEEN = "\u0002";

  /** A kind of note. */
  enum Note {
    /** The engine at work from here on, in case that it ends the process; ours is nameless. */
    ENGINE,
    /** A ratio by name. */
    RATIO,
    /** The name, verdict and text of a file that is done. */
    FILE;

    /** Prints a note. */
    void print(String... words) {
      String line = MARK + this + BETWEEN + String.join(BETWEEN, words);
      System.out.println(line.lines().findFirst().orElse(""));
    }
  }

  private final Map<String, Integer> verdicts = new TreeMap<>();
  private final Map<String, List<Double>> ratios = new TreeMap<>();
  private String engine = "";
  private int files;

  /** Takes a line of a process; others than notes are printed. */
  void take(String line) {
    if (!line.startsWith(MARK)) {
      System.out.println(line);
      return;
    }
    String[] words = line.substring(MARK.length()).split(BETWEEN, -1);
    switch (Note.valueOf(words[0])) {
      case ENGINE -> engine = words[1];
      case RATIO ->
          ratios
              .computeIfAbsent(words[1], _ -> new ArrayList<>())
              .add(Double.parseDouble(words[2]));
      case FILE -> file(words[1], words[2], words[3]);
    }
  }

  /** Takes the end of the process while it ran a file. */
  void ended(String name, int status) {
    file(
        name,
        engine.isEmpty() ? "crashed" : "unmeasured",
        "%s ended the process with status %d"
            .formatted(engine.isEmpty() ? "this" : engine, status));
  }

  private void file(String name, String verdict, String text) {
    files++;
    verdicts.merge(name.substring(name.lastIndexOf('.') + 1) + "." + verdict, 1, Integer::sum);
    System.out.printf(
        "%-34s %-10s %s%n", name, verdict, text.substring(0, Math.min(MOST_LINE, text.length())));
  }

  /** Returns how many files are done. */
  int files() {
    return files;
  }

  static double median(List<Double> values) {
    return values.stream().sorted().toList().get(values.size() / 2);
  }

  /** Prints the sums; returns whether the promise of {@link ZooRun} is kept. */
  boolean summary() {
    verdicts.forEach((name, count) -> System.out.println(name + " = " + count));
    ratios.forEach(
        (name, values) -> {
          double logarithm = values.stream().mapToDouble(Math::log).average().orElse(0);
          System.out.printf(
              Locale.ROOT,
              "%s.medianRatio = %.2f%n%s.geometricMean = %.2f%n",
              name,
              median(values),
              name,
              Math.exp(logarithm));
        });
    boolean isKept = true;
    for (String format : List.of("onnx", "tflite")) {
      int right = count(format, "right");
      int bad = count(format, "wrong") + count(format, "crashed");
      int all = right + bad + count(format, "refused");
      if (all > 0) {
        System.out.printf(Locale.ROOT, "%s.rightShare = %.3f%n", format, right / (double) all);
        isKept &= bad == 0 && right >= WANTED * all;
      }
    }
    return isKept;
  }

  private int count(String format, String verdict) {
    return verdicts.getOrDefault(format + "." + verdict, 0);
  }
}
