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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The answer of {@code nn:qos}: what devices, applications and models do now, and did in the last
 * seconds. Immutable.
 */
public record QosResult(QosWindow.Figures figures, Style style) implements Result {
  private static final int BAR = 10;

  @Override
  public String text() {
    if (figures.devices().isEmpty() && figures.applications().isEmpty()) {
      return "nothing ran in the last " + seconds();
    }
    Table devices =
        new Table(
            style,
            "device",
            ">running",
            ">waiting",
            ">preempted",
            ">steps/s",
            ">p50",
            ">p99",
            ">failed",
            ">fallbacks",
            ">busy",
            "");
    for (Row row : figures.devices()) {
      devices.row(
          Table.painted(row.name(), style::bold),
          row.running(),
          row.waiting(),
          Units.count(row.preemptions()),
          rate(row),
          Units.time(row.median()),
          Units.time(row.p99()),
          bad(row.failed()),
          bad(row.fallbacks()),
          Math.round(100 * row.busy()) + " %",
          Table.painted(Bars.bar(row.busy(), BAR), text -> style.hue(4, text)));
    }
    Table applications = owners("application");
    figures.applications().forEach(row -> owner(applications, row, party(row)));
    Table models = owners("model", "of", "priority");
    figures.models().forEach(row -> owner(models, row, row.name(), party(row), row.priority()));
    return new Lines()
        .add(devices.text())
        .add("")
        .add(applications.text())
        .add("")
        .add(models.text())
        .add("")
        .add(style.dim("running and waiting now; all else over the last " + seconds()))
        .toString();
  }

  private Table owners(String... names) {
    List<String> headings = new ArrayList<>(List.of(names));
    headings.addAll(
        List.of(
            ">running",
            ">waiting",
            ">preempted",
            ">done",
            ">runs/s",
            ">p50",
            ">p99",
            ">failed",
            ">missed",
            ">refused",
            ">share",
            ""));
    return new Table(style, headings.toArray(String[]::new));
  }

  private void owner(Table table, Row row, String name, String... more) {
    List<Object> cells = new ArrayList<>();
    cells.add(Table.painted(name, style::bold));
    cells.addAll(List.of(more));
    cells.addAll(
        List.of(
            row.running(),
            row.waiting(),
            Units.count(row.preemptions()),
            Units.count(row.done()),
            rate(row),
            Units.time(row.median()),
            Units.time(row.p99()),
            bad(row.failed()),
            bad(row.misses()),
            bad(row.refusals()),
            Math.round(100 * row.share()) + " %",
            Table.painted(Bars.bar(row.share(), BAR), text -> style.hue(3, text))));
    table.row(cells.toArray());
  }

  /** Returns the application, with its client if it has named one. */
  private static String party(Row row) {
    return row.client().isEmpty() ? row.application() : row.application() + ": " + row.client();
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
        "seconds", figures.seconds(),
        "devices", figures.devices().stream().map(QosResult::device).toList(),
        "applications", figures.applications().stream().map(QosResult::owner).toList(),
        "models", figures.models().stream().map(QosResult::model).toList());
  }

  private static Object device(Row row) {
    return Json.object(
        "device", row.name(),
        "steps", row.done(),
        "running", row.running(),
        "waiting", row.waiting(),
        "preemptions", row.preemptions(),
        "perSecond", row.perSecond(),
        "busy", row.busy(),
        "median", row.median(),
        "p99", row.p99(),
        "failed", row.failed(),
        "fallbacks", row.fallbacks());
  }

  private static Object model(Row row) {
    Map<String, Object> fields = Json.object("model", row.name(), "priority", row.priority());
    fields.putAll(owner(row));
    return fields;
  }

  private static Map<String, Object> owner(Row row) {
    return Json.object(
        "application", row.application(),
        "client", row.client(),
        "running", row.running(),
        "waiting", row.waiting(),
        "preemptions", row.preemptions(),
        "executions", row.done(),
        "perSecond", row.perSecond(),
        "median", row.median(),
        "p99", row.p99(),
        "share", row.share(),
        "failed", row.failed(),
        "fallbacks", row.fallbacks(),
        "misses", row.misses(),
        "refusals", row.refusals());
  }
}
