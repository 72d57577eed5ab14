// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.ExecutionReport.CopiedBytes;
import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import io.thalamus.shell.execution.Bench;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The answer of {@code nn:bench}: one contender, or two to compare. Immutable. */
public record BenchResult(String model, int threads, List<Bench.Figures> figures, Style style)
    implements Result {
  private static final double P90 = 0.9;
  private static final double P99 = 0.99;

  @Override
  public String text() {
    Table table =
        new Table(
            style,
            "device",
            ">median",
            ">p90",
            ">p99",
            ">per second",
            ">compile cold",
            ">warm",
            ">executions");
    for (Bench.Figures one : figures) {
      table.row(
          Table.painted(one.name(), style::bold),
          Units.time(one.quantile(0.5)),
          Units.time(one.quantile(P90)),
          Units.time(one.quantile(P99)),
          Units.number(one.throughput()),
          Units.time(one.coldNanos()),
          Units.time(one.warmNanos()),
          Units.count(one.nanos().length));
    }
    Lines lines = new Lines().add(table.text());
    for (Bench.Figures one : figures) {
      if (one.isCold()) {
        lines.add(
            one.name() + ": cold, since it hardly warmed up; --seconds 1 or more warms it up");
      }
      lines.add(one.name() + ": " + copies(one.copied()));
      if (!one.caching().isEmpty()) {
        lines.add(one.name() + ": warm is " + CachePhrases.describe(one.caching()));
      }
    }
    if (figures.size() == 2) {
      double ratio = ratio();
      boolean faster = ratio >= 1;
      lines
          .gap()
          .add(
              "%s is %s times as %s as %s by median"
                  .formatted(
                      figures.get(0).name(),
                      Units.number(faster ? ratio : 1 / ratio),
                      faster ? "fast" : "slow",
                      figures.get(1).name()));
    }
    return lines.toString();
  }

  private static String copies(CopiedBytes copied) {
    if (copied.total() == 0) {
      return "an execution copies nothing";
    }
    List<String> causes = new ArrayList<>();
    cause(causes, "arguments in", copied.argumentsIn());
    cause(causes, "arguments out", copied.argumentsOut());
    cause(causes, "into the device", copied.deviceIn());
    cause(causes, "out of the device", copied.deviceOut());
    cause(causes, "between steps", copied.temporaries());
    return "an execution copies " + String.join(", ", causes);
  }

  private static void cause(List<String> causes, String name, long bytes) {
    if (bytes > 0) {
      causes.add(Units.bytes(bytes) + " " + name);
    }
  }

  /** Returns how many times as fast the first is. */
  private double ratio() {
    return (double) figures.get(1).quantile(0.5) / figures.get(0).quantile(0.5);
  }

  @Override
  public Object data() {
    Map<String, Object> fields = Json.object("model", model);
    fields.putAll(fields(figures.getFirst()));
    if (figures.size() == 2) {
      fields.put("vs", fields(figures.get(1)));
      fields.put("ratio", ratio());
    }
    return fields;
  }

  private Map<String, Object> fields(Bench.Figures one) {
    boolean isCached = !one.caching().isEmpty();
    return Json.object(
        "device", one.device(),
        "policy", one.policy(),
        "cold", one.isCold(),
        "threads", threads,
        "median", Duration.ofNanos(one.quantile(0.5)),
        "p90", Duration.ofNanos(one.quantile(P90)),
        "p99", Duration.ofNanos(one.quantile(P99)),
        "throughput", one.throughput(),
        "coldCompile", Duration.ofNanos(one.coldNanos()),
        "warmCompile", Duration.ofNanos(one.warmNanos()),
        "argumentsInBytes", one.copied().argumentsIn(),
        "argumentsOutBytes", one.copied().argumentsOut(),
        "deviceInBytes", one.copied().deviceIn(),
        "deviceOutBytes", one.copied().deviceOut(),
        "temporariesBytes", one.copied().temporaries(),
        "warmCompile", isCached ? CachePhrases.describe(one.caching()) : Optional.empty(),
        "executions", one.nanos().length);
  }
}
