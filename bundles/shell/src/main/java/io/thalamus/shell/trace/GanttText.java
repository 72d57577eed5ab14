// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Units;
import io.thalamus.shell.trace.Lanes.Lane;
import java.util.List;

/**
 * A Gantt chart for a terminal: a line for each device and each compilation, in which the shade of
 * a column says how much of its time was busy, and a dot that an execution waited. Stateless.
 */
public final class GanttText {
  private static final String SHADES = " ░▒▓█";
  private static final char WAITS = '·';
  private static final int LONGEST_NAME = 32;
  private static final int BEHIND = 8;

  private GanttText() {}

  /** Returns the chart of the last steps of a trace. */
  public static String of(List<TraceEvent> trace, Style style) {
    Window window = Window.of(trace);
    List<Lane> lanes = new Lanes(window.events()).all();
    int names =
        Math.min(
            LONGEST_NAME, lanes.stream().mapToInt(lane -> lane.label().length()).max().orElse(0));
    int columns = Math.max(10, style.width() - names - BEHIND);
    Lines lines = new Lines();
    for (int i = 0; i < lanes.size(); i++) {
      List<TraceEvent> bars = lanes.get(i).bars();
      double[] busy = shares(bars.stream().filter(bar -> !bar.isWait()).toList(), window, columns);
      double[] waits = shares(bars.stream().filter(TraceEvent::isWait).toList(), window, columns);
      StringBuilder row = new StringBuilder();
      double sum = 0;
      for (int column = 0; column < columns; column++) {
        double share = Math.max(0, busy[column] - waits[column]);
        int shade = share <= 0 ? 0 : Math.clamp((int) Math.ceil(share * 4 - 0.01), 1, 4);
        row.append(waits[column] > share ? WAITS : SHADES.charAt(shade));
        sum += share;
      }
      String label = lanes.get(i).label();
      label = label.length() > names ? label.substring(0, names - 1) + "…" : label;
      lines.add(
          " ".repeat(names - label.length())
              + label
              + " "
              + style.hue(lanes.get(i).isDevice() ? 4 : 3, row.toString())
              + "%5d %%".formatted(Math.round(100 * sum / columns)));
    }
    String time = Units.time(window.nanos());
    return lines
        .add(" ".repeat(names) + " 0" + " ".repeat(Math.max(1, columns - 1 - time.length())) + time)
        .toString();
  }

  /** Returns the share of each column that bars cover; a bar within another counts once. */
  private static double[] shares(List<TraceEvent> bars, Window window, int columns) {
    double[] shares = new double[columns];
    long done = window.start();
    for (TraceEvent bar : bars) {
      double from = window.place(Math.max(bar.start(), done)) * columns;
      double to = window.place(bar.end()) * columns;
      for (int column = (int) from; column < to && column < columns; column++) {
        shares[column] += Math.max(0, Math.min(to, column + 1) - Math.max(from, column));
      }
      done = Math.max(done, bar.end());
    }
    return shares;
  }
}
