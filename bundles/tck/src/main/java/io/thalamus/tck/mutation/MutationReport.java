// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.tck.mutation.Verdict.Layer;
import io.thalamus.vectors.Example;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/** The results of all mutations and mutated requests of a run. Thread-safe while it is filled. */
public final class MutationReport {
  /** More are counted only: the first ones say what is wrong. */
  private static final int MOST_KEPT = 10_000;

  /** By family and layer. */
  private final Map<Family, long[]> counts = new LinkedHashMap<>();

  private final List<Accepted> accepted = new ArrayList<>();
  private int models;

  MutationReport() {
    Stream.<Family[]>of(MutationFamily.values(), RequestFamily.values())
        .flatMap(Arrays::stream)
        .forEach(family -> counts.put(family, new long[Layer.values().length]));
  }

  synchronized void addModel() {
    models++;
  }

  synchronized void add(
      Family family, String file, Example example, String fault, Verdict verdict) {
    counts.get(family)[verdict.layer().ordinal()]++;
    if (!verdict.isRefused() && accepted.size() < MOST_KEPT) {
      accepted.add(new Accepted(file, example, family.aospName(), fault, verdict.message()));
    }
  }

  /** Returns how many examples were mutated. */
  public synchronized int models() {
    return models;
  }

  /** Returns how many mutations of a family were tried. */
  public synchronized long tried(Family family) {
    return Arrays.stream(counts.get(family)).sum();
  }

  /** Returns how many mutations of a family a layer was the first to refuse. */
  public synchronized long count(Family family, Layer layer) {
    return counts.get(family)[layer.ordinal()];
  }

  /** Returns how many mutated requests were not refused. */
  public long acceptedRequests() {
    return sum(RequestFamily.values(), family -> count(family, Layer.NOBODY));
  }

  /** Returns how many mutations of models a layer was the first to refuse. */
  public long count(Layer layer) {
    return sum(MutationFamily.values(), family -> count(family, layer));
  }

  /** Returns how many mutations of models were tried. */
  public long tried() {
    return sum(MutationFamily.values(), this::tried);
  }

  private static long sum(Family[] families, ToLongFunction<Family> count) {
    return Arrays.stream(families).mapToLong(count).sum();
  }

  /** Faults that no layer refused; the first ones where there are very many. */
  public synchronized List<Accepted> accepted() {
    return List.copyOf(accepted);
  }

  /** Returns how many mutations were accepted, by {@linkplain Accepted#kind kind}. */
  public Map<String, Integer> acceptedByKind() {
    Map<String, Integer> by = new TreeMap<>();
    accepted().forEach(one -> by.merge(one.kind(), 1, Integer::sum));
    return by;
  }

  /** The families beside AOSP's counts, a line each, with a heading and a sum. */
  public synchronized List<String> table() {
    List<String> lines = new ArrayList<>();
    lines.add(line("family", "tried", "decoding", "validation", "device", "accepted", "AOSP"));
    for (MutationFamily family : MutationFamily.values()) {
      lines.add(
          line(
              family.aospName(), tried(family), layer -> count(family, layer), family.aospCount()));
    }
    lines.add(line("all", tried(), this::count, sum(MutationFamily.values(), Family::aospCount)));
    for (RequestFamily family : RequestFamily.values()) {
      lines.add(
          line(
              "request: " + family.aospName(),
              tried(family),
              layer -> count(family, layer),
              family.aospCount()));
    }
    return lines;
  }

  private static String line(String name, long tried, ToLongFunction<Layer> count, long aosp) {
    return line(
        name,
        tried,
        count.applyAsLong(Layer.DECODING),
        count.applyAsLong(Layer.VALIDATION),
        count.applyAsLong(Layer.DEVICE),
        count.applyAsLong(Layer.NOBODY),
        aosp);
  }

  private static String line(Object... cells) {
    return String.format(Locale.ROOT, "%-34s %9s %9s %10s %8s %8s %9s", cells);
  }

  /**
   * A fault that no layer refused.
   *
   * @param file where its example stands; empty where it stands in no file
   * @param example what was mutated
   * @param family the name of the fault's family
   * @param description where the fault is and what
   * @param message what was not refused
   */
  public record Accepted(
      String file, Example example, String family, String description, String message) {
    public Accepted {
      Objects.requireNonNull(file, "file");
      Objects.requireNonNull(example, "example");
      Objects.requireNonNull(family, "family");
      Objects.requireNonNull(description, "description");
      Objects.requireNonNull(message, "message");
    }

    /** The family, and the operations of the example, each once. */
    public String kind() {
      return family
          + " "
          + String.join(
              "+",
              example.main().operations().stream()
                  .map(operation -> operation.type())
                  .distinct()
                  .toList());
    }

    /** All of it in one line. */
    public String text() {
      return file + " " + example.name() + ": " + family + ": " + description + ": " + message;
    }
  }
}
