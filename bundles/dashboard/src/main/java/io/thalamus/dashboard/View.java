// SPDX-License-Identifier: Apache-2.0
package io.thalamus.dashboard;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.dashboard.Activity.Execution;
import io.thalamus.dashboard.Activity.Minute;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.OpenBurst;
import io.thalamus.serving.ServingException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** The parts of the page as they are now. Thread-safe. */
final class View {
  private static final int WIDTH = 560;
  private static final int HEIGHT = 150;
  private static final int BASE = 128;

  /** The executions that are listed one by one. */
  private static final int LISTED = 12;

  /** The widths of the page's whole row, and of the names of devices in front of it. */
  private static final int ROW = 1140;

  private static final int NAMES = 80;

  private final NeuralNetworks networks;
  private final Supplier<Optional<InferenceServer>> server;
  private final Activity activity;
  private final Colours colours = new Colours();

  View(NeuralNetworks networks, Supplier<Optional<InferenceServer>> server, Activity activity) {
    this.networks = networks;
    this.server = server;
    this.activity = activity;
  }

  /** Returns the parts by the ids of their places on the page. */
  Map<String, String> parts() {
    Minute minute = activity.minute();
    List<ModelStatistics> statistics = server.get().map(View::statistics).orElse(List.of());
    // The devices first: they take their colours in their own order.
    String devices = devices().toString();
    Map<String, String> parts = new LinkedHashMap<>();
    parts.put("state", state(minute, statistics).toString());
    parts.put("latency", Charts.latency(minute, WIDTH, HEIGHT, BASE).toString());
    parts.put("rate", Charts.rate(minute, WIDTH, HEIGHT, BASE).toString());
    parts.put("models", models(statistics).toString());
    parts.put("bursts", bursts().toString());
    parts.put("devices", devices);
    List<Execution> executions = activity.executions();
    parts.put("timeline", timeline(executions).toString());
    parts.put("executions", executions(executions).toString());
    return parts;
  }

  private static List<ModelStatistics> statistics(InferenceServer server) {
    try {
      return server.statistics(Optional.empty(), Optional.empty());
    } catch (ServingException e) {
      throw new IllegalStateException("the server finds none of its models", e);
    }
  }

  private Markup state(Minute minute, List<ModelStatistics> statistics) {
    boolean isReady = server.get().map(InferenceServer::isReady).orElse(false);
    long pending = statistics.stream().mapToLong(ModelStatistics::pending).sum();
    int last = minute.answered()[Activity.SECONDS - 2];
    long failed = Arrays.stream(minute.failed()).sum();
    Markup markup = new Markup();
    markup.add(
        "<span class=\"badge %s\">%s</span>",
        isReady ? "good" : "bad", isReady ? "ready" : "not ready");
    figure(markup, Integer.toString(last), "requests / s");
    figure(markup, time(minute.quantileNanos(0.5)), "median");
    figure(markup, time(minute.quantileNanos(0.99)), "99 %");
    figure(markup, Long.toString(pending), "pending");
    figure(markup, Long.toString(failed), "failed in a minute");
    return markup;
  }

  private static void figure(Markup markup, String value, String what) {
    markup.add("<span class=\"figure\"><b>%s</b> %s</span>", value, what);
  }

  /** Returns a time in the unit that people would take. */
  static String time(double nanos) {
    if (nanos <= 0) {
      return "–";
    }
    if (nanos < 1e6) {
      return String.format(Locale.ROOT, "%.0f µs", nanos / 1e3);
    }
    return nanos < 1e9
        ? String.format(Locale.ROOT, nanos < 1e7 ? "%.1f ms" : "%.0f ms", nanos / 1e6)
        : String.format(Locale.ROOT, "%.1f s", nanos / 1e9);
  }

  private Markup models(List<ModelStatistics> statistics) {
    Map<String, ModelStatistics> byVersion = new HashMap<>();
    statistics.forEach(each -> byVersion.put(each.name() + "/" + each.version(), each));
    Markup markup = new Markup();
    markup.add(
        "<table><thead><tr><th>model</th><th>version</th><th>state</th><th class=\"n\">answered"
            + "</th><th class=\"n\">failed</th><th class=\"n\">mean</th><th>plan</th></tr></thead>"
            + "<tbody>");
    List<IndexEntry> index = server.get().map(InferenceServer::index).orElse(List.of());
    for (IndexEntry entry : index) {
      ModelStatistics counts = byVersion.get(entry.name() + "/" + entry.version());
      long answered = counts == null ? 0 : counts.success().count();
      markup
          .add("<tr><td>%s</td><td>%s</td>", entry.name(), entry.version())
          .add(
              "<td><span class=\"badge %s\">%s</span></td>",
              badge(entry.state()), entry.state().name().toLowerCase(Locale.ROOT))
          .add("<td class=\"n\">%d</td>", answered)
          .add("<td class=\"n\">%d</td>", counts == null ? 0 : counts.fail().count())
          .add(
              "<td class=\"n\">%s</td><td>",
              time(answered == 0 ? 0 : (double) counts.success().nanos() / answered))
          .add(plan(entry))
          .add("</td></tr>");
      if (!entry.reason().isEmpty()) {
        markup.add("<tr class=\"reason\"><td colspan=\"7\">%s</td></tr>", entry.reason());
      }
    }
    if (index.isEmpty()) {
      markup.add("<tr><td colspan=\"7\" class=\"none\">no models</td></tr>");
    }
    return markup.add("</tbody></table>");
  }

  private static String badge(ModelState state) {
    return switch (state) {
      case READY -> "good";
      case LOADING, UNLOADING -> "busy";
      case UNAVAILABLE -> "bad";
    };
  }

  /** Returns the steps of the plan in order, as wide as they have operations. */
  private Markup plan(IndexEntry entry) {
    Markup markup = new Markup();
    Optional<Plan> plan = entry.state() == ModelState.READY ? find(entry) : Optional.empty();
    if (plan.isEmpty()) {
      return markup;
    }
    double all = plan.get().steps().stream().mapToInt(step -> step.operations().size()).sum();
    markup.add("<svg class=\"plan\" viewBox=\"0 0 200 16\" role=\"img\">");
    double x = 0;
    for (Plan.Step step : plan.get().steps()) {
      double width = 200 * step.operations().size() / Math.max(1, all);
      markup.add(
          "<rect class=\"%s\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"16\" rx=\"2\">"
              + "<title>%s: %d operations</title></rect>",
          colours.of(step.device()),
          x,
          Math.max(1, width - 1),
          step.device(),
          step.operations().size());
      if (width > 8 * step.device().length()) {
        markup.add(
            "<text class=\"on\" x=\"%.1f\" y=\"12\" text-anchor=\"middle\">%s</text>",
            x + width / 2, step.device());
      }
      x += width;
    }
    return markup.add("</svg>");
  }

  private Optional<Plan> find(IndexEntry entry) {
    try {
      return server.get().isPresent()
          ? Optional.of(
              server.get().get().compilation(entry.name(), Optional.of(entry.version())).plan())
          : Optional.empty();
    } catch (ServingException | IllegalStateException replaced) {
      // It was ready in the index, and is closed now.
      return Optional.empty();
    }
  }

  /** Returns the bursts that are open, and how the requests went by them. */
  private Markup bursts() {
    List<OpenBurst> bursts = server.get().map(InferenceServer::bursts).orElse(List.of());
    Markup markup = new Markup();
    if (bursts.isEmpty()) {
      return markup.add("<p class=\"none\">no stream sends requests</p>");
    }
    markup.add(
        "<table><thead><tr><th>model</th><th>version</th><th class=\"n\">executions</th>"
            + "<th class=\"n\">steps by burst</th><th class=\"n\">others</th></tr></thead><tbody>");
    for (OpenBurst burst : bursts) {
      markup.add(
          "<tr><td>%s</td><td>%s</td><td class=\"n\">%d</td><td class=\"n\">%d</td>"
              + "<td class=\"n\">%d</td></tr>",
          burst.model(),
          burst.version(),
          burst.info().executions(),
          burst.info().sent(),
          burst.info().fallbackCount());
    }
    return markup.add("</tbody></table>");
  }

  private Markup devices() {
    Markup markup = new Markup();
    for (DeviceDescription device : networks.devices()) {
      boolean isGood = device.state() == DeviceDescription.State.AVAILABLE;
      markup
          .add(
              "<div class=\"device\"><svg viewBox=\"0 0 10 10\" class=\"dot\"><rect class=\"%s\""
                  + " width=\"10\" height=\"10\" rx=\"3\"/></svg> <b>%s</b>",
              colours.of(device.id()), device.id())
          .add(
              " <span class=\"badge %s\">%s</span>",
              isGood ? "good" : "bad",
              device.state().name().toLowerCase(Locale.ROOT).replace('_', ' '))
          .add(
              "<div class=\"small\">%s %s, %s</div>",
              device.info().name(),
              device.info().version(),
              device.info().type().name().toLowerCase(Locale.ROOT));
      if (device.health().failures() > 0) {
        markup.add(
            "<div class=\"small\">%d failed calls, %d times in quarantine</div>",
            device.health().failures(), device.health().quarantines());
      }
      if (!device.reason().isEmpty()) {
        markup.add("<div class=\"small reason\">%s</div>", device.reason());
      }
      markup.add("</div>");
    }
    return markup;
  }

  /**
   * Returns the last executions in time, a line for each device. The steps of one are drawn without
   * the waits between them.
   */
  private Markup timeline(List<Execution> executions) {
    Markup markup = new Markup();
    if (executions.isEmpty()) {
      return nothing(markup);
    }
    long end = executions.stream().mapToLong(Execution::endNanos).max().orElse(0);
    long begin =
        executions.stream().mapToLong(each -> each.endNanos() - each.nanos()).min().orElse(0);
    double scale = (double) (ROW - NAMES) / Math.max(1, end - begin);
    List<String> lines =
        executions.stream()
            .flatMap(each -> each.steps().stream())
            .map(StepReport::device)
            .distinct()
            .sorted()
            .toList();
    int height = 20 * lines.size() + 18;
    markup.add("<svg viewBox=\"0 0 %d %d\" role=\"img\">", ROW, height);
    for (int i = 0; i < lines.size(); i++) {
      markup.add("<text class=\"axis\" x=\"0\" y=\"%d\">%s</text>", 20 * i + 13, lines.get(i));
    }
    for (Execution execution : executions) {
      double x = NAMES + (execution.endNanos() - execution.nanos() - begin) * scale;
      for (StepReport step : execution.steps()) {
        int y = 20 * lines.indexOf(step.device()) + 2;
        x += bar(markup, step, x, y, scale, execution.model() + " on ");
      }
    }
    return markup.add(
        "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text></svg>",
        ROW, height - 4, "the last " + executions.size() + " in " + time(end - begin));
  }

  /** Draws a step, and returns how wide it is. */
  private double bar(Markup markup, StepReport step, double x, int y, double scale, String what) {
    double width = Math.max(1, step.duration().toNanos() * scale);
    markup.add(
        "<rect class=\"%s%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"14\" rx=\"2\">"
            + "<title>%s%s: %s</title></rect>",
        colours.of(step.device()),
        step.code() == ResultCode.NO_ERROR ? "" : " failed",
        x,
        y,
        width,
        what,
        step.device(),
        time(step.duration().toNanos()) + (step.byBurst() ? " by burst" : ""));
    return width;
  }

  private static Markup nothing(Markup markup) {
    return markup.add("<p class=\"none\">nothing was executed yet</p>");
  }

  /** Returns the last executions, each with its steps one after another. */
  private Markup executions(List<Execution> all) {
    List<Execution> executions = all.subList(0, Math.min(LISTED, all.size()));
    Markup markup = new Markup();
    if (executions.isEmpty()) {
      return nothing(markup);
    }
    double longest = executions.stream().mapToLong(Execution::nanos).max().orElse(1);
    int height = 18 * executions.size() + 20;
    markup.add("<svg viewBox=\"0 0 %d %d\" role=\"img\">", WIDTH, height);
    double scale = (WIDTH - 190) / Math.max(1, longest);
    int y = 2;
    for (Execution execution : executions) {
      markup.add(
          "<text class=\"axis\" x=\"112\" y=\"%d\" text-anchor=\"end\">%s</text>",
          y + 11, cut(execution.model()));
      double x = 120;
      for (StepReport step : execution.steps()) {
        x += bar(markup, step, x, y, scale, "");
      }
      markup.add(
          "<text class=\"axis\" x=\"%.1f\" y=\"%d\">%s</text>",
          x + 6, y + 11, time(execution.nanos()) + (execution.isAnswered() ? "" : ", failed"));
      y += 18;
    }
    return markup.add("</svg>");
  }

  private static String cut(String model) {
    return model.length() <= 16 ? model : "…" + model.substring(model.length() - 15);
  }
}
