// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.queue;

import io.thalamus.memory.EventFlag;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;

/**
 * The entry of {@code integration-tests/run round-trips}: how long a message takes there and back
 * between two threads, through our queues, Agrona's, JCTools' and a socket, spinning and sleeping.
 * They take turns: A B C D, B C D A, ... Fails where a message comes back with other contents.
 */
public final class RoundTrips {
  private static final String USAGE =
      """
      usage: integration-tests/run round-trips [--option VALUE]...
        --rounds N    turns of each (40)
        --turn N      milliseconds of one turn (100)
        --warmup N    milliseconds of each before that (2000)
      """;

  /** Times of fewer messages would be those of the clock. */
  private static final int BATCH = 50;

  private static final long NANOS_PER_MILLI = 1_000_000;

  private final long turnNanos;
  private int wrong;

  private RoundTrips(long turnNanos) {
    this.turnNanos = turnNanos;
  }

  /** Runs the contests; status 0 where all messages came back, 1 where not, 2 for wrong options. */
  public static void main(String[] arguments) throws Exception {
    Map<String, Integer> options =
        new TreeMap<>(Map.of("--rounds", 40, "--turn", 100, "--warmup", 2000));
    for (int i = 0; i < arguments.length; i += 2) {
      if (i + 1 == arguments.length
          || !options.containsKey(arguments[i])
          || !arguments[i + 1].matches("[1-9][0-9]{0,8}")) {
        System.err.print(USAGE);
        System.exit(2);
      }
      options.put(arguments[i], Integer.parseInt(arguments[i + 1]));
    }
    int rounds = options.get("--rounds");
    long warmUpNanos = options.get("--warmup") * NANOS_PER_MILLI;
    RoundTrips trips = new RoundTrips(options.get("--turn") * NANOS_PER_MILLI);
    figure("processors", Runtime.getRuntime().availableProcessors());
    figure("waiting", EventFlag.implementation());
    figure("bytes", Echo.BYTES);
    Map<String, double[]> spinning = trips.contest("spinning", true, rounds, warmUpNanos);
    Map<String, double[]> sleeping = trips.contest("sleeping", false, rounds, warmUpNanos);
    ratio("spinning", spinning, "agrona", 1.2);
    ratio("spinning", spinning, "jctools", Double.NaN);
    ratio("sleeping", sleeping, "socket", 1);
    figure("wrong", trips.wrong);
    System.exit(trips.wrong == 0 ? 0 : 1);
  }

  /** Returns the medians of all turns of each, in nanoseconds. */
  private Map<String, double[]> contest(
      String name, boolean isSpinning, int rounds, long warmUpNanos) throws Exception {
    List<Echo> echoes =
        List.of(
            new QueueEcho(isSpinning),
            new AgronaEcho(isSpinning),
            new JcToolsEcho(isSpinning),
            new SocketEcho(isSpinning));
    Map<String, double[]> medians = new LinkedHashMap<>();
    Map<Echo, Integer> batches = new LinkedHashMap<>();
    for (Echo echo : echoes) {
      batches.put(echo, warmUp(echo, warmUpNanos));
      medians.put(echo.name(), new double[rounds]);
    }
    List<Echo> order = new ArrayList<>(echoes);
    for (int round = 0; round < rounds; round++) {
      for (Echo echo : order) {
        medians.get(echo.name())[round] = turn(echo, batches.get(echo));
      }
      Collections.rotate(order, -1);
    }
    for (Echo echo : echoes) {
      echo.close();
    }
    medians.forEach(
        (echo, values) -> {
          figure(name + "." + echo + ".medianNanos", decimal(quantile(values, 0.5)));
          figure(name + "." + echo + ".bestNanos", decimal(quantile(values, 0)));
          figure(name + "." + echo + ".p10Nanos", decimal(quantile(values, 0.1)));
          figure(name + "." + echo + ".p90Nanos", decimal(quantile(values, 0.9)));
        });
    return medians;
  }

  /** Returns how many batches take as long as a turn. */
  private int warmUp(Echo echo, long nanos) throws Exception {
    long end = System.nanoTime() + nanos;
    int batches = 1;
    while (true) {
      double perTrip = turn(echo, batches);
      int fitting = (int) Math.clamp(turnNanos / (perTrip * BATCH), 1, 1_000_000);
      if (System.nanoTime() - end >= 0) {
        return fitting;
      }
      batches = Math.min(fitting, 2 * batches);
    }
  }

  /** Returns the median time of a round trip. */
  private double turn(Echo echo, int batches) throws Exception {
    FutureTask<Void> answering =
        new FutureTask<>(
            () -> {
              // One more, by which both threads are under way before the clock starts.
              echo.answer(BATCH * (batches + 1));
              return null;
            });
    Thread.ofPlatform().daemon().name("answering").start(answering);
    wrong += echo.ask(BATCH);
    double[] times = new double[batches];
    for (int i = 0; i < batches; i++) {
      times[i] = time(echo);
    }
    answering.get();
    return quantile(times, 0.5);
  }

  private double time(Echo echo) throws IOException {
    long start = System.nanoTime();
    wrong += echo.ask(BATCH);
    return (double) (System.nanoTime() - start) / BATCH;
  }

  /** Tells the median of our share of another one's time in the same round. */
  private static void ratio(String name, Map<String, double[]> medians, String other, double goal) {
    double[] ours = medians.get("thalamus");
    double[] others = medians.get(other);
    double[] ratios = new double[ours.length];
    Arrays.setAll(ratios, i -> ours[i] / others[i]);
    double median = quantile(ratios, 0.5);
    String key = name + ".thalamusOver" + other.substring(0, 1).toUpperCase(Locale.ROOT);
    figure(key + other.substring(1), decimal(median));
    if (!Double.isNaN(goal)) {
      figure(name + ".goal", "at most " + goal + (median <= goal ? ", kept" : ", not kept"));
    }
  }

  private static double quantile(double[] values, double share) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[(int) Math.round(share * (sorted.length - 1))];
  }

  private static String decimal(double value) {
    return String.format(Locale.ROOT, "%.3f", value);
  }

  private static void figure(String name, Object value) {
    System.out.println(name + " = " + value);
  }
}
