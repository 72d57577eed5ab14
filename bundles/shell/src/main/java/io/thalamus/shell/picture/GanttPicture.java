// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.picture;

import io.thalamus.console.text.Units;
import io.thalamus.shell.trace.Lanes;
import io.thalamus.shell.trace.Lanes.Lane;
import io.thalamus.shell.trace.TraceEvent;
import io.thalamus.shell.trace.Window;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Draws a trace as a Gantt chart: a lane for each device with its steps, and one for each
 * compilation with its executions. A compilation has one colour everywhere; what failed is red, and
 * grey where it waited for a device (light) or stood back for another (dark). Stateless.
 */
public final class GanttPicture {
  private static final double MARGIN = 36;
  private static final double HEAD = 120;
  private static final double NAMES = 250;
  private static final double CHART = 960;
  private static final double LANE = 34;
  private static final double BAR = 24;
  private static final double NESTED = 4;
  private static final double LETTER = 6.3;
  private static final double NARROWEST = 0.8;
  private static final int TICKS = 8;
  private static final int LONGEST_NAME = 38;
  private static final String INK = "#1f2937";
  private static final String FAINT = "#6b7280";
  private static final String LINE = "#e5e7eb";
  private static final Palette.Tone WAITING = new Palette.Tone("#f3f4f6", "#9ca3af", "#4b5563");
  private static final Palette.Tone PAUSED = new Palette.Tone("#4b5563", "#1f2937", "#ffffff");
  private static final Palette.Tone FAILED = new Palette.Tone("#fecaca", "#dc2626", "#7f1d1d");

  private final Window window;
  private final List<Lane> lanes;
  private final Map<String, Palette.Tone> tones = new LinkedHashMap<>();
  private final Svg svg = new Svg();

  private GanttPicture(List<TraceEvent> trace) {
    window = Window.of(trace);
    lanes = new Lanes(window.events()).all();
    window
        .events()
        .forEach(
            event ->
                tones.computeIfAbsent(
                    event.compilation(), name -> Palette.ofCompilation(tones.size())));
  }

  /** Returns the picture of the last steps of a trace. */
  public static String of(List<TraceEvent> trace, String title) {
    return new GanttPicture(trace).draw(title);
  }

  private String draw(String title) {
    double width = 2 * MARGIN + NAMES + CHART;
    double bottom = HEAD + lanes.size() * LANE;
    double height = bottom + MARGIN + 12;
    svg.openPage(title, width, height);
    svg.words(title, MARGIN, 38, 20, INK);
    long steps = window.events().stream().filter(event -> event.is("Step")).count();
    long executions = window.events().stream().filter(event -> event.is("Execution")).count();
    svg.words(
        Units.plural(executions, "execution")
            + ", "
            + Units.plural(steps, "step")
            + ", "
            + time(window.nanos()),
        MARGIN,
        60,
        12.5,
        FAINT);
    legend();
    axis(bottom);
    for (int i = 0; i < lanes.size(); i++) {
      lane(lanes.get(i), HEAD + i * LANE, i);
    }
    return svg.close("svg").toString();
  }

  private void legend() {
    double x = MARGIN;
    Map<String, Palette.Tone> entries = new LinkedHashMap<>(tones);
    if (window.events().stream().anyMatch(event -> event.is("Wait"))) {
      entries.put("waits", WAITING);
    }
    if (window.events().stream().anyMatch(event -> event.is("Preempt"))) {
      entries.put("stands back", PAUSED);
    }
    for (Map.Entry<String, Palette.Tone> entry : entries.entrySet()) {
      Palette.Tone tone = entry.getValue();
      svg.rect(x, 76.0, 14.0, 14.0, 4.0, tone);
      svg.words(entry.getKey(), x + 20, 87.5, 12.5, INK);
      x += 44 + entry.getKey().length() * LETTER;
    }
  }

  private void axis(double bottom) {
    double left = MARGIN + NAMES;
    long step = step(window.nanos());
    for (long tick = 0; tick <= window.nanos(); tick += step) {
      double x = left + CHART * tick / window.nanos();
      svg.line(x, HEAD - 6, x, bottom + 4, LINE);
      svg.words(time(tick), x, bottom + 20, 11.0, FAINT, "text-anchor", "middle");
    }
  }

  /** Returns the time between two ticks: 1, 2 or 5 times a power of ten. */
  private static long step(long nanos) {
    long power = 1;
    while (nanos / power > TICKS * 10) {
      power *= 10;
    }
    for (long factor : new long[] {1, 2, 5}) {
      if (nanos / (factor * power) <= TICKS) {
        return factor * power;
      }
    }
    return 10 * power;
  }

  private void lane(Lane lane, double y, int index) {
    if (index > 0 && !lane.isDevice() && lanes.get(index - 1).isDevice()) {
      svg.line(MARGIN, y - 2, MARGIN + NAMES + CHART, y - 2, FAINT, "stroke-dasharray", "2 4");
    }
    String label = lane.label();
    svg.words(
        label.length() > LONGEST_NAME ? label.substring(0, LONGEST_NAME - 1) + "…" : label,
        MARGIN + NAMES - 12,
        y + LANE / 2 + 4,
        12.5,
        INK,
        "font-weight",
        lane.isDevice() ? "600" : "400",
        "text-anchor",
        "end");
    long outer = Long.MIN_VALUE;
    for (int i = 0; i < lane.bars().size(); i++) {
      TraceEvent bar = lane.bars().get(i);
      boolean isNested = bar.end() <= outer;
      outer = Math.max(outer, bar.end());
      boolean isCovered = i + 1 < lane.bars().size() && lane.bars().get(i + 1).start() < bar.end();
      bar(
          bar,
          y + (LANE - BAR) / 2 + (isNested ? NESTED : 0),
          isNested ? BAR - 2 * NESTED : BAR,
          !isCovered);
    }
  }

  private void bar(TraceEvent event, double y, double height, boolean isLabelled) {
    double x = MARGIN + NAMES + CHART * window.place(event.start());
    double length = MARGIN + NAMES + CHART * window.place(event.end()) - x;
    Palette.Tone tone = tone(event);
    svg.open("g");
    svg.text("title", event.name() + ": " + time(event.nanos()) + " " + event.text("code"));
    svg.rect(
        x,
        y,
        Math.max(NARROWEST, length),
        height,
        length > 8 ? 3.0 : 0.0,
        tone,
        "stroke-width",
        length > 3 ? 1.0 : 0.4);
    String name = event.is("Step") ? event.text("step").split(" ")[0] : event.name();
    String time = time(event.nanos());
    String label =
        fits(name + "  " + time, length) ? name + "  " + time : fits(name, length) ? name : "";
    if (isLabelled && !label.isEmpty()) {
      svg.words(label, x + 6, y + height / 2 + 3.8, 10.5, tone.text());
    }
    svg.close("g");
  }

  private Palette.Tone tone(TraceEvent event) {
    return switch (event.type()) {
      case "Wait" -> WAITING;
      case "Preempt" -> PAUSED;
      default -> event.isFailure() ? FAILED : tones.get(event.compilation());
    };
  }

  private static boolean fits(String text, double length) {
    return text.length() * LETTER + 8 < length;
  }

  private static String time(long nanos) {
    return nanos == 0 ? "0" : Units.time(Duration.ofNanos(nanos));
  }
}
