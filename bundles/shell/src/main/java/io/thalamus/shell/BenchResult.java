// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.api.ExecutionReport.CopiedBytes;
import io.thalamus.shell.format.Json;
import io.thalamus.shell.format.Lines;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import io.thalamus.shell.format.Units;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The answer of {@code nn:bench}: one contender, or two to compare. */
record BenchResult(String model, int threads, List<Bench.Figures> figures, Style style)
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
          time(one.quantile(0.5)),
          time(one.quantile(P90)),
          time(one.quantile(P99)),
          Units.number(one.throughput()),
          time(one.coldNanos()),
          time(one.warmNanos()),
          Units.count(one.nanos().length));
    }
    Lines lines = new Lines().add(table.text());
    for (Bench.Figures one : figures) {
      lines.add(one.name() + ": " + copies(one.copied()));
      if (!one.caching().isEmpty()) {
        lines.add(one.name() + ": warm is " + CacheFolder.describe(one.caching()));
      }
    }
    if (figures.size() == 2) {
      double ratio = ratio();
      boolean faster = ratio >= 1;
      lines
          .gap()
          .add(
              figures.get(0).name()
                  + " is "
                  + Units.number(faster ? ratio : 1 / ratio)
                  + " times as "
                  + (faster ? "fast" : "slow")
                  + " as "
                  + figures.get(1).name()
                  + " by median");
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

  /** How many times as fast the first is. */
  private double ratio() {
    return (double) figures.get(1).quantile(0.5) / figures.get(0).quantile(0.5);
  }

  private static String time(long nanos) {
    return Units.time(Duration.ofNanos(nanos));
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeStringField("model", model);
    fields(json, figures.getFirst());
    if (figures.size() == 2) {
      json.writeObjectFieldStart("vs");
      fields(json, figures.get(1));
      json.writeEndObject();
      json.writeFieldName("ratio");
      Json.number(json, ratio());
    }
  }

  private void fields(JsonGenerator json, Bench.Figures one) throws IOException {
    json.writeStringField("device", one.device());
    if (one.policy().isPresent()) {
      json.writeStringField("policy", one.policy().get());
    }
    json.writeNumberField("threads", threads);
    Json.millis(json, "medianMillis", one.quantile(0.5));
    Json.millis(json, "p90Millis", one.quantile(P90));
    Json.millis(json, "p99Millis", one.quantile(P99));
    json.writeFieldName("throughput");
    Json.number(json, one.throughput());
    Json.millis(json, "coldCompileMillis", one.coldNanos());
    Json.millis(json, "warmCompileMillis", one.warmNanos());
    json.writeNumberField("argumentsInBytes", one.copied().argumentsIn());
    json.writeNumberField("argumentsOutBytes", one.copied().argumentsOut());
    json.writeNumberField("deviceInBytes", one.copied().deviceIn());
    json.writeNumberField("deviceOutBytes", one.copied().deviceOut());
    json.writeNumberField("temporariesBytes", one.copied().temporaries());
    if (!one.caching().isEmpty()) {
      json.writeStringField("warmCompile", CacheFolder.describe(one.caching()));
    }
    json.writeNumberField("executions", one.nanos().length);
  }
}
