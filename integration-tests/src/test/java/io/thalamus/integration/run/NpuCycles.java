// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.npu.timing.ArrayTiming;
import io.thalamus.npu.timing.Dataflow;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** The table of cycles of layers on arrays, as the model of time and as SCALE-Sim count them. */
final class NpuCycles {
  private static final double MEAN = 1.10;
  private static final double WORST = 1.25;

  /** A layer on an array, and what two versions of SCALE-Sim say, the later one first. */
  record Row(String layer, long m, long k, long n, ArrayTiming array, long[] published) {
    static Row of(String line) {
      String[] cells = line.split(",");
      long[] numbers = new long[cells.length];
      for (int i = 1; i < cells.length; i++) {
        numbers[i] = i == 6 ? 0 : Long.parseLong(cells[i]);
      }
      Dataflow dataflow =
          cells[6].equals("ws") ? Dataflow.WEIGHT_STATIONARY : Dataflow.OUTPUT_STATIONARY;
      return new Row(
          cells[0],
          numbers[1],
          numbers[2],
          numbers[3],
          new ArrayTiming((int) numbers[4], (int) numbers[5], dataflow),
          new long[] {numbers[7], numbers[8]});
    }

    long cycles() {
      return array.cycles(m, k, n);
    }

    double ratio(int version) {
      return (double) cycles() / published[version];
    }

    boolean isBound() {
      return array.dataflow() == Dataflow.WEIGHT_STATIONARY;
    }

    /** Returns the reason why a row of another dataflow is off, or nothing. */
    String cause() {
      if (isBound()) {
        return "";
      }
      long drained = cycles() - array.folds(m, k, n) * array.rows() - 1;
      return drained == published[0]
          ? "v2 drains sums under the next fold, v1 overlaps folds"
          : "unexplained";
    }
  }

  private NpuCycles() {}

  /** Prints the tables, and returns those whose bound is promised. */
  static Map<String, List<Row>> run(Path file, Figures figures) throws IOException {
    Map<String, List<Row>> tables = new TreeMap<>();
    for (String line : Files.readAllLines(file)) {
      if (!line.startsWith("#") && !line.startsWith("layer,")) {
        Row row = Row.of(line);
        String key =
            (row.isBound() ? "weightStationary." : "outputStationary.")
                + row.array().rows()
                + "x"
                + row.array().columns();
        tables.computeIfAbsent(key, absent -> new ArrayList<>()).add(row);
      }
    }
    figures.figure("published", file);
    tables.forEach((key, rows) -> print(key, rows));
    tables.forEach((key, rows) -> judge(key, rows, figures));
    tables.keySet().removeIf(key -> !key.startsWith("weight"));
    figures.promise(
        "20 layers on 3 arrays are compared",
        tables.values().stream().filter(rows -> rows.size() >= 20).count() >= 3);
    return tables;
  }

  private static void print(String key, List<Row> rows) {
    System.out.println();
    System.out.printf(
        Locale.ROOT,
        "%-37s %6s %6s %5s %10s %10s %6s %10s %6s  %s%n",
        key,
        "m",
        "k",
        "n",
        "npu",
        "SCALE-Sim2",
        "npu/it",
        "SCALE-Sim1",
        "npu/it",
        "cause");
    for (Row row : rows) {
      System.out.println(
          String.format(
                  Locale.ROOT,
                  "%-37s %6d %6d %5d %10d %10d %6.3f %10d %6.3f  %s",
                  row.layer(),
                  row.m(),
                  row.k(),
                  row.n(),
                  row.cycles(),
                  row.published()[0],
                  row.ratio(0),
                  row.published()[1],
                  row.ratio(1),
                  row.cause())
              .stripTrailing());
    }
  }

  private static void judge(String key, List<Row> rows, Figures figures) {
    figures.figure(key + ".layers", rows.size());
    for (int version = 0; version < 2; version++) {
      double sum = 0;
      double worst = 0;
      for (Row row : rows) {
        double off = Math.abs(Math.log(row.ratio(version)));
        sum += off;
        worst = Math.max(worst, off);
      }
      String name = key + ".v" + (2 - version);
      double mean = Math.exp(sum / rows.size());
      figures.decimal(name + ".geometricMean", mean);
      figures.decimal(name + ".worst", Math.exp(worst));
      if (rows.getFirst().isBound()) {
        figures.promise(name + " is within 10 % in geometric mean", mean <= MEAN);
        figures.promise(name + " is within 25 % at worst", Math.exp(worst) <= WORST);
      }
    }
    figures.promise(
        key + ": every difference has its cause",
        rows.stream().noneMatch(row -> row.cause().equals("unexplained")));
  }
}
