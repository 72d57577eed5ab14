// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks;

import io.thalamus.benchmarks.engine.Engine;
import io.thalamus.benchmarks.network.Zoo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The entry of {@code integration-tests/run benchmarks}: the engines that are here over some
 * models, as one table and as {@code name = value} lines. Fails where outputs do not agree.
 */
public final class Main {
  private static final String USAGE =
      """
      usage: integration-tests/run benchmarks [--option VALUE]...
        --models LIST    networks %s, or models of the shared folder (those
                         of the literature, and all of the folder that are TensorFlow Lite's)
        --engines LIST   of %s; the others are held against the first one;
                         x86-onnx: x86 with the files of ONNX;
                         NAME@DIR: the engine of another checkout, with built benchmarks
        --threads LIST   numbers of threads (1,2)
        --seconds N      of rounds for each model and number of threads (20)
        --warmup N       seconds for each engine before that (5)
        --turn N         milliseconds of one turn (200)
        --pause N        milliseconds between turns (20)
        --folder DIR     where generated files are kept
      """;

  private static final double MEBI = 1 << 20;

  private final List<String> table = new ArrayList<>();
  private final Map<String, List<Double>> ratios = new TreeMap<>();
  private int broken;

  private Main() {}

  /** Runs the benchmarks; status 0 where outputs agree, 1 where not, 2 for a wrong option. */
  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = new LinkedHashMap<>();
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i], arguments[i + 1]);
    }
    List<String> engines = new ArrayList<>();
    String folder = System.getProperty("thalamus.root") + "/integration-tests/benchmarks/target";
    Path networks = Path.of(take(options, "--folder", folder + "/networks"));
    List<String> usual = new ArrayList<>(Zoo.literature());
    usual.addAll(Subject.stored());
    String[] models = take(options, "--models", String.join(",", usual)).split(",");
    String[] threads = take(options, "--threads", "1,2").split(",");
    String all = String.join(",", Engine.all().stream().map(Engine::name).toList());
    for (String name : take(options, "--engines", all).split(",")) {
      if (Engine.find(name).isEmpty()) {
        options.put("engine " + name, "");
      } else {
        engines.add(name);
      }
    }
    Files.createDirectories(networks);
    Contest.Settings settings =
        new Contest.Settings(
            Long.parseLong(take(options, "--seconds", "20")),
            Long.parseLong(take(options, "--warmup", "5")),
            Long.parseLong(take(options, "--turn", "200")),
            Long.parseLong(take(options, "--pause", "20")),
            networks.resolve("processes.log"));
    if (!options.isEmpty() || arguments.length % 2 != 0) {
      System.err.println("unknown: " + String.join(" ", options.keySet()));
      System.err.printf(USAGE, Zoo.names(), all);
      System.exit(2);
    }
    Main main = new Main();
    for (String model : models) {
      for (String count : threads) {
        main.contest(Subject.of(model, networks), Integer.parseInt(count), engines, settings);
      }
    }
    main.summary();
    System.exit(main.broken == 0 ? 0 : 1);
  }

  private static String take(Map<String, String> options, String name, String otherwise) {
    String value = options.remove(name);
    return value == null ? otherwise : value;
  }

  private void contest(
      Subject subject, int threads, List<String> engines, Contest.Settings settings)
      throws Exception {
    Contest contest = new Contest(subject, threads, settings);
    List<Contest.Result> results = contest.run(engines);
    String key = subject.name() + "." + threads + "t.";
    contest.refusals().forEach((engine, why) -> figure(key + engine + ".refused", why));
    for (Contest.Result result : results) {
      String name = key + result.engine();
      figure(name + ".p10Millis", decimal(result.latencyMillis().low()));
      figure(name + ".medianMillis", decimal(result.latencyMillis().median()));
      figure(name + ".runs", result.latencyMillis().sorted().length);
      figure(name + ".firstMillis", decimal(result.start().firstMillis()));
      figure(name + ".firstProcessorMillis", decimal(result.start().firstProcessorMillis()));
      figure(name + ".openMillis", decimal(result.start().openMillis()));
      figure(name + ".openProcessorMillis", decimal(result.start().openProcessorMillis()));
      figure(name + ".peakBytes", result.about().peakBytes());
      figure(name + ".note", result.about().note());
      figure(name + ".difference", String.format(Locale.ROOT, "%.2g", result.difference()));
      if (result != results.getFirst()) {
        figure(name + ".ratio", decimal(result.ratios().median()));
        figure(name + ".overheadMicros", decimal(result.overheadMicros().median()));
        ratios
            .computeIfAbsent(result.engine() + "." + threads + "t", absent -> new ArrayList<>())
            .add(result.ratios().median());
      }
      if (!(result.difference() <= subject.difference())) {
        broken++;
        System.out.println("broken = " + name + ": its outputs are not those of the first engine");
      }
      table.add(row(subject, threads, result, result == results.getFirst()));
    }
  }

  private static String row(Subject subject, int threads, Contest.Result result, boolean first) {
    return String.format(
        Locale.ROOT,
        "%-28s %7d  %-16s %9.4f %9.4f  %-22s %9.1f %9.1f %7.0f  %8.1e",
        subject.name(),
        threads,
        result.engine(),
        result.latencyMillis().low(),
        result.latencyMillis().median(),
        first
            ? "-"
            : String.format(
                Locale.ROOT,
                "%.2f (%.2f to %.2f)",
                result.ratios().median(),
                result.ratios().low(),
                result.ratios().high()),
        result.start().firstMillis(),
        result.start().openMillis(),
        result.about().peakBytes() / MEBI,
        result.difference());
  }

  private void summary() {
    System.out.println();
    System.out.printf(
        Locale.ROOT,
        "%-28s %7s  %-16s %9s %9s  %-22s %9s %9s %7s  %8s%n",
        "model",
        "threads",
        "engine",
        "p10 ms",
        "median ms",
        "first engine / it",
        "first ms",
        "open ms",
        "RSS MiB",
        "differs");
    table.forEach(System.out::println);
    System.out.println();
    ratios.forEach(
        (engine, values) ->
            figure(
                "geometricMean." + engine,
                decimal(
                    Math.exp(
                        values.stream().mapToDouble(Math::log).average().orElse(Double.NaN)))));
  }

  private static void figure(String name, Object value) {
    System.out.println(name + " = " + value);
  }

  private static String decimal(double value) {
    return String.format(Locale.ROOT, "%.4f", value);
  }
}
