// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Bars;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import io.thalamus.shell.trace.QosWindow;
import io.thalamus.shell.trace.QosWindow.Row;
import java.util.List;

/**
 * The answer of {@code nn:qos}: what devices and compilations did in the last seconds. Immutable.
 */
public record QosResult(QosWindow.Figures figures, Style style) implements Result {
  private static final int BAR = 10;

  @Override
  public String text() {
    if (figures.devices().isEmpty() && figures.compilations().isEmpty()) {
      return "nothing ran in the last " + seconds();
    }
    Table devices =
        new Table(
            style, "device", ">steps/s", ">p50", ">p99", ">failed", ">fallbacks", ">busy", "");
    for (Row row : figures.devices()) {
      devices.row(
          Table.painted(row.name(), style::bold),
          rate(row),
          Units.time(row.median()),
          Units.time(row.p99()),
          bad(row.failed()),
          bad(row.fallbacks()),
          Math.round(100 * row.busy()) + " %",
          Table.painted(Bars.bar(row.busy(), BAR), text -> style.hue(4, text)));
    }
    Table compilations =
        new Table(
            style,
            "model",
            "application",
            "priority",
            ">runs/s",
            ">p50",
            ">p99",
            ">failed",
            ">misses",
            ">refused");
    for (Row row : figures.compilations()) {
      compilations.row(
          Table.painted(row.name(), style::bold),
          row.application(),
          row.priority(),
          rate(row),
          Units.time(row.median()),
          Units.time(row.p99()),
          bad(row.failed()),
          bad(row.misses()),
          bad(row.refusals()));
    }
    return new Lines()
        .add(devices.text())
        .add("")
        .add(compilations.text())
        .add("")
        .add(style.dim("over the last " + seconds()))
        .toString();
  }

  private String seconds() {
    return Units.number(Math.round(figures.seconds() * 10) / 10.0) + " s";
  }

  private static String rate(Row row) {
    return Units.number(Math.round(row.perSecond() * 10) / 10.0);
  }

  private Object bad(long count) {
    String text = Units.count(count);
    return count == 0 ? text : Table.painted(text, style::bad);
  }

  @Override
  public Object data() {
    return Json.object(
        "seconds",
        figures.seconds(),
        "devices",
        rows(figures.devices(), true),
        "compilations",
        rows(figures.compilations(), false));
  }

  private static List<Object> rows(List<Row> rows, boolean isDevice) {
    return rows.stream().map(row -> isDevice ? device(row) : compilation(row)).toList();
  }

  private static Object device(Row row) {
    return Json.object(
        "device", row.name(),
        "steps", row.done(),
        "perSecond", row.perSecond(),
        "busy", row.busy(),
        "median", row.median(),
        "p99", row.p99(),
        "failed", row.failed(),
        "fallbacks", row.fallbacks());
  }

  private static Object compilation(Row row) {
    return Json.object(
        "model", row.name(),
        "application", row.application(),
        "priority", row.priority(),
        "executions", row.done(),
        "perSecond", row.perSecond(),
        "median", row.median(),
        "p99", row.p99(),
        "failed", row.failed(),
        "fallbacks", row.fallbacks(),
        "misses", row.misses(),
        "refusals", row.refusals());
  }
}
