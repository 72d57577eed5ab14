// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Bars;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Units;
import io.thalamus.shell.execution.BurstRun;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;
import org.HdrHistogram.Histogram;

/** The answer of {@code nn:burst}: the latencies of one burst as a picture. Immutable. */
public record BurstResult(String model, BurstRun.Figures figures, Style style) implements Result {
  private static final int ROWS = 12;
  private static final int LABEL = 42;
  private static final double LOW = 0.1;
  private static final double HIGH = 99.9;
  private static final double[] PERCENTILES = {50, 90, 99, 99.9, 100};

  @Override
  public String text() {
    Histogram latency = figures.latency();
    Lines lines =
        new Lines()
            .add(
                style.bold(figures.device())
                    + ": "
                    + Units.number(Math.rint(figures.throughput()))
                    + " per second"
                    + (figures.rate().isPresent()
                        ? " of " + Units.number(figures.rate().getAsDouble()) + " wanted"
                        : "")
                    + ", "
                    + Units.count(latency.getTotalCount())
                    + " executions in "
                    + Units.time(Duration.ofMillis(Math.round(figures.seconds() * 1e3))))
            .add("");
    if (latency.getTotalCount() > 0) {
      picture(lines, latency);
    }
    StringBuilder percentiles = new StringBuilder();
    for (double percentile : PERCENTILES) {
      percentiles
          .append(percentiles.isEmpty() ? "" : "   ")
          .append(percentile == 100 ? "worst" : "p" + Units.number(percentile))
          .append(' ')
          .append(Units.time(latency.getValueAtPercentile(percentile)));
    }
    lines.add("").add(percentiles.toString());
    long fallbacks = figures.burst().fallbackCount();
    lines.add(
        Units.plural(figures.burst().sent(), "request")
            + " sent by burst, "
            + (fallbacks == 0 ? "none executed synchronously" : "synchronously instead: "));
    figures
        .burst()
        .fallbacks()
        .forEach((reason, count) -> lines.add("  " + Units.count(count) + ": " + reason));
    return lines.toString();
  }

  /**
   * Draws a row for each class of latency. Classes grow by a constant factor, from the fastest to
   * the slowest but for one in a thousand at each end, which the first and the last row take in.
   */
  private void picture(Lines lines, Histogram latency) {
    double low = Math.max(1, latency.getValueAtPercentile(LOW));
    double high = Math.max(low + 1, latency.getValueAtPercentile(HIGH));
    double factor = Math.pow(high / low, 1.0 / ROWS);
    long[] counts = new long[ROWS];
    for (var value : latency.recordedValues()) {
      double place = Math.log(value.getValueIteratedTo() / low) / Math.log(factor);
      counts[Math.clamp((int) place, 0, ROWS - 1)] += value.getCountAtValueIteratedTo();
    }
    long most = 1;
    for (long count : counts) {
      most = Math.max(most, count);
    }
    int room = style.width() - LABEL;
    for (int row = 0; row < ROWS; row++) {
      lines.add(
          "%10s to %-10s %10s  %s"
              .formatted(
                  Units.time((long) (low * Math.pow(factor, row))),
                  Units.time((long) (low * Math.pow(factor, row + 1))),
                  Units.count(counts[row]),
                  style.hue(row < ROWS / 2 ? 4 : 2, bar((double) counts[row] / most, room)))
              .stripTrailing());
    }
  }

  /** Whatever there is shows. */
  private static String bar(double share, int room) {
    return Bars.bar(share > 0 ? Math.max(share, 1.0 / (8 * room)) : 0, room);
  }

  @Override
  public Object data() {
    Histogram latency = figures.latency();
    OptionalDouble rate = figures.rate();
    return Json.object(
        "model", model,
        "device", figures.device(),
        "rate", rate.isPresent() ? rate.getAsDouble() : Optional.empty(),
        "seconds", figures.seconds(),
        "executions", latency.getTotalCount(),
        "throughput", figures.throughput(),
        "median", Duration.ofNanos(latency.getValueAtPercentile(50)),
        "p90", Duration.ofNanos(latency.getValueAtPercentile(90)),
        "p99", Duration.ofNanos(latency.getValueAtPercentile(99)),
        "p999", Duration.ofNanos(latency.getValueAtPercentile(99.9)),
        "worst", Duration.ofNanos(latency.getMaxValue()),
        "sent", figures.burst().sent(),
        "fallbacks", figures.burst().fallbackCount());
  }
}
