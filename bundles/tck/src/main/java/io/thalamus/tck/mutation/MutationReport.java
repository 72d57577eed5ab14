// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.tck.mutation.Verdict.Layer;
import io.thalamus.vectors.Example;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;

/** The results of all mutations and mutated requests of a run. Thread-safe while it is filled. */
public final class MutationReport {
  /** More are counted only: the first ones tell what is wrong. */
  private static final int MOST_KEPT = 10_000;

  private final Map<MutationFamily, long[]> counts = new EnumMap<>(MutationFamily.class);

  /** Refused and accepted requests. */
  private final Map<RequestFamily, long[]> requests = new EnumMap<>(RequestFamily.class);

  private final List<Accepted> accepted = new ArrayList<>();
  private int models;

  MutationReport() {
    for (MutationFamily family : MutationFamily.values()) {
      counts.put(family, new long[Layer.values().length]);
    }
    for (RequestFamily family : RequestFamily.values()) {
      requests.put(family, new long[2]);
    }
  }

  synchronized void addModel() {
    models++;
  }

  synchronized void add(Mutation mutation, String file, Verdict verdict) {
    counts.get(mutation.family())[verdict.layer().ordinal()]++;
    if (!verdict.isRefused() && accepted.size() < MOST_KEPT) {
      accepted.add(
          new Accepted(
              file,
              mutation.original(),
              mutation.family().aospName(),
              mutation.description(),
              verdict.message()));
    }
  }

  synchronized void add(
      RequestFamily family, String file, Example example, String fault, Optional<String> message) {
    requests.get(family)[message.isPresent() ? 1 : 0]++;
    if (message.isPresent() && accepted.size() < MOST_KEPT) {
      accepted.add(new Accepted(file, example, family.aospName(), fault, message.get()));
    }
  }

  /** Returns how many examples were mutated. */
  public synchronized int models() {
    return models;
  }

  /** Returns how many mutations of a family were tried. */
  public synchronized long tried(MutationFamily family) {
    return Arrays.stream(counts.get(family)).sum();
  }

  /** Returns how many mutations of a family a layer was the first to refuse. */
  public synchronized long count(MutationFamily family, Layer layer) {
    return counts.get(family)[layer.ordinal()];
  }

  /** Returns how many mutated requests of a family were executed. */
  public synchronized long tried(RequestFamily family) {
    return requests.get(family)[0] + requests.get(family)[1];
  }

  /** Returns how many mutated requests were not refused. */
  public synchronized long acceptedRequests() {
    return requests.values().stream().mapToLong(count -> count[1]).sum();
  }

  /** Returns how many mutations a layer was the first to refuse. */
  public long count(Layer layer) {
    return Arrays.stream(MutationFamily.values()).mapToLong(family -> count(family, layer)).sum();
  }

  /** Returns how many mutations were tried. */
  public long tried() {
    return Arrays.stream(MutationFamily.values()).mapToLong(this::tried).sum();
  }

  /** Faults that nobody refused; the first ones where there are very many. */
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
    long aosp = 0;
    for (MutationFamily family : MutationFamily.values()) {
      aosp += family.aospCount();
      lines.add(
          line(
              family.aospName(),
              tried(family),
              count(family, Layer.DECODING),
              count(family, Layer.VALIDATION),
              count(family, Layer.DEVICE),
              count(family, Layer.NOBODY),
              family.aospCount()));
    }
    lines.add(
        line(
            "all",
            tried(),
            count(Layer.DECODING),
            count(Layer.VALIDATION),
            count(Layer.DEVICE),
            count(Layer.NOBODY),
            aosp));
    for (RequestFamily family : RequestFamily.values()) {
      long[] count = requests.get(family);
      lines.add(
          line(
              "request: " + family.aospName(),
              tried(family),
              0,
              0,
              count[0],
              count[1],
              family.aospCount()));
    }
    return lines;
  }

  private static String line(Object... cells) {
    return String.format(Locale.ROOT, "%-34s %9s %9s %10s %8s %8s %9s", cells);
  }

  /**
   * A fault that nobody refused.
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
