// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks;

import io.thalamus.benchmarks.engine.Engine;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * All engines over one model, in turn: A B C, B C A, ... Each engine is a process of its own and
 * idle while another one runs. A turn is one untimed run and then some timed ones. Used once.
 */
final class Contest {
  /** A turn of an engine that is slower than this many times the first one is a single run. */
  private static final double SLOW = 8;

  /** And it takes part in no more rounds than this. */
  private static final int ROUNDS_OF_SLOW = 5;

  private static final double MICROS = 1000;

  private final Subject subject;
  private final int threads;
  private final Settings settings;
  private final Map<String, String> refusals = new LinkedHashMap<>();
  private final List<Remote> engines = new ArrayList<>();
  private final Map<Remote, List<Double>> turns = new LinkedHashMap<>();
  private final Map<Remote, List<Double>> runs = new LinkedHashMap<>();

  /**
   * The durations of a contest.
   *
   * @param seconds of all rounds
   * @param warmUpSeconds of each engine
   * @param turnMillis of one turn
   * @param pauseMillis between turns, so that spinning threads come to rest
   * @param log what the processes say beside their answers
   */
  record Settings(long seconds, long warmUpSeconds, long turnMillis, long pauseMillis, Path log) {}

  /**
   * The result of one engine.
   *
   * @param latencyMillis all timed runs
   * @param ratios the first engine's median of a turn divided by this one's of the same round
   * @param overheadMicros this one's median of a turn less the first engine's of the same round
   * @param difference the largest difference from the first engine's outputs, as a share of the
   *     largest value
   */
  record Result(
      String engine,
      Remote.Start start,
      Samples latencyMillis,
      Samples ratios,
      Samples overheadMicros,
      double difference,
      Remote.About about) {}

  Contest(Subject subject, int threads, Settings settings) {
    this.subject = subject;
    this.threads = threads;
    this.settings = settings;
  }

  /**
   * Runs the contest; the first engine that takes the model is the one the others are held to.
   *
   * @return one for each engine that takes the model
   */
  List<Result> run(List<String> wanted) throws Exception {
    try {
      for (String engine : wanted) {
        open(engine);
      }
      if (engines.isEmpty()) {
        return List.of();
      }
      for (Remote remote : engines) {
        warmUp(remote);
      }
      rounds();
      return results();
    } finally {
      for (Remote remote : engines) {
        remote.close();
      }
    }
  }

  /** Engines that do not run the model, with their reasons. */
  Map<String, String> refusals() {
    return Collections.unmodifiableMap(refusals);
  }

  private void open(String engine) throws IOException {
    String format = Engine.find(engine).orElseThrow().format();
    Path file = subject.files().get(format);
    if (file == null) {
      return;
    }
    try {
      List<Path> inputs = subject.inputs().get(format);
      Remote remote = Remote.start(engine, file, inputs, threads, settings.log());
      engines.add(remote);
      turns.put(remote, new ArrayList<>());
      runs.put(remote, new ArrayList<>());
    } catch (Remote.RefusedException e) {
      refusals.put(engine, e.getMessage());
    }
  }

  private void warmUp(Remote remote) throws Exception {
    long end = System.nanoTime() + settings.warmUpSeconds() * 1_000_000_000L;
    do {
      remote.once();
    } while (System.nanoTime() < end);
  }

  private void rounds() throws Exception {
    long end = System.nanoTime() + settings.seconds() * 1_000_000_000L;
    for (int round = 0; round < ROUNDS_OF_SLOW || System.nanoTime() < end; round++) {
      for (int i = 0; i < engines.size(); i++) {
        Remote remote = engines.get((round + i) % engines.size());
        boolean slow = isSlow(remote);
        long start = System.nanoTime();
        turn(remote, slow, round);
        end += slow ? System.nanoTime() - start : 0; // the others keep their share
      }
    }
  }

  private void turn(Remote remote, boolean slow, int round) throws Exception {
    Thread.sleep(settings.pauseMillis());
    List<Double> times;
    if (slow) {
      times = round < ROUNDS_OF_SLOW ? List.of(remote.once()) : List.of();
    } else {
      times = remote.run(settings.turnMillis());
    }
    runs.get(remote).addAll(times);
    turns.get(remote).add(times.isEmpty() ? Double.NaN : Samples.of(times).median());
  }

  private boolean isSlow(Remote remote) {
    List<Double> first = runs.get(engines.getFirst());
    List<Double> own = runs.get(remote);
    return !first.isEmpty()
        && !own.isEmpty()
        && Samples.of(own).low() > SLOW * Samples.of(first).low();
  }

  private List<Result> results() throws Exception {
    Remote first = engines.getFirst();
    List<byte[]> expected = first.outputs();
    List<Result> results = new ArrayList<>();
    for (Remote remote : engines) {
      List<Double> ratios = new ArrayList<>();
      List<Double> overheads = new ArrayList<>();
      for (int round = 0; round < turns.get(first).size(); round++) {
        double least = turns.get(first).get(round);
        double own = turns.get(remote).get(round);
        if (!Double.isNaN(least / own)) {
          ratios.add(least / own);
          overheads.add((own - least) * MICROS);
        }
      }
      results.add(
          new Result(
              remote.engine(),
              remote.start(),
              Samples.of(runs.get(remote)),
              Samples.of(ratios),
              Samples.of(overheads),
              difference(expected, remote.outputs()),
              remote.about()));
    }
    return results;
  }

  /** Infinite where the two cannot be compared at all. */
  private double difference(List<byte[]> expected, List<byte[]> actual) {
    if (expected.size() != actual.size()) {
      return Double.POSITIVE_INFINITY;
    }
    double worst = 0;
    for (int i = 0; i < expected.size(); i++) {
      if (expected.get(i).length != actual.get(i).length) {
        return Double.POSITIVE_INFINITY;
      }
      MemorySegment a = MemorySegment.ofArray(actual.get(i));
      MemorySegment e = MemorySegment.ofArray(expected.get(i));
      long elements = e.byteSize() / subject.outputs().get(i).size();
      double largest = 0;
      double difference = 0;
      for (long k = 0; k < elements; k++) {
        double value = subject.outputs().get(i).getDouble(e, k);
        double off = Math.abs(value - subject.outputs().get(i).getDouble(a, k));
        largest = Math.max(largest, Math.abs(value));
        difference = Math.max(difference, Double.isNaN(off) ? Double.POSITIVE_INFINITY : off);
      }
      worst = Math.max(worst, largest == 0 ? difference : difference / largest);
    }
    return worst;
  }
}
