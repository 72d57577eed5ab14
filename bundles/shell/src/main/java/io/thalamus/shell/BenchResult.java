// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.shell.format.Json;
import io.thalamus.shell.format.Lines;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import io.thalamus.shell.format.Units;
import java.io.IOException;
import java.time.Duration;
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
    if (!one.caching().isEmpty()) {
      json.writeStringField("warmCompile", CacheFolder.describe(one.caching()));
    }
    json.writeNumberField("executions", one.nanos().length);
  }
}
