// SPDX-License-Identifier: Apache-2.0
package io.thalamus.dashboard;

import io.thalamus.dashboard.Activity.Minute;
import java.util.Arrays;
import java.util.stream.IntStream;

/** The diagrams of the last minute. */
final class Charts {
  private static final int TOP = 14;

  private Charts() {}

  /** Returns answered requests by their time, over a logarithmic axis. */
  static Markup latency(Minute minute, int width, int height, int base) {
    Markup markup = begin(width, height, base, "time from arrival to answer");
    long most = Arrays.stream(minute.classes()).max().orElse(0);
    double step = (double) width / Activity.CLASSES;
    for (int i = 0; i < Activity.CLASSES; i++) {
      long count = minute.classes()[i];
      if (count > 0) {
        double tall = Math.max(1.5, (base - TOP) * (double) count / most);
        markup.add(
            "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                + "<title>%d up to %s</title></rect>",
            i * step + 0.5, base - tall, step - 1, tall, count, View.time(Activity.upperNanos(i)));
      }
      // The end of each factor of ten is labelled.
      if (i % 8 == 7 && i + 1 < Activity.CLASSES) {
        label(markup, (i + 1) * step, base, View.time(Activity.upperNanos(i)).replace(".0 ", " "));
      }
    }
    quantile(markup, minute, 0.5, "50 %", step, base);
    quantile(markup, minute, 0.99, "99 %", step, base);
    return markup.add("</svg>");
  }

  private static void quantile(
      Markup markup, Minute minute, double part, String name, double step, int base) {
    double nanos = minute.quantileNanos(part);
    if (nanos > 0) {
      double x = (Activity.classOf((long) (nanos * 0.99)) + 1) * step;
      markup.add(
          "<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
              + "<text class=\"mark\" x=\"%.1f\" y=\"10\" text-anchor=\"%s\">%s</text>",
          x, x, TOP - 2, base, x + (part < 0.9 ? -3 : 3), part < 0.9 ? "end" : "start", name);
    }
  }

  /** Returns requests by second, failed ones on top. */
  static Markup rate(Minute minute, int width, int height, int base) {
    Markup markup = begin(width, height, base, "requests of each second");
    int most =
        IntStream.range(0, Activity.SECONDS)
            .map(i -> minute.answered()[i] + minute.failed()[i])
            .max()
            .orElse(0);
    double step = (double) width / Activity.SECONDS;
    for (int i = 0; i < Activity.SECONDS && most > 0; i++) {
      double answered = (base - TOP) * (double) minute.answered()[i] / most;
      double failed = (base - TOP) * (double) minute.failed()[i] / most;
      bar(markup, "bar", i * step, base - answered, step, answered, minute.answered()[i]);
      bar(
          markup,
          "bar failed",
          i * step,
          base - answered - failed,
          step,
          failed,
          minute.failed()[i]);
    }
    if (most > 0) {
      markup.add("<text class=\"axis\" x=\"2\" y=\"10\">%d / s</text>", most);
    }
    label(markup, step * (Activity.SECONDS - 30), base, "30 s ago");
    return markup.add("</svg>");
  }

  private static void bar(
      Markup markup, String kind, double x, double y, double step, double tall, int count) {
    if (count > 0) {
      markup.add(
          "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
              + "<title>%d</title></rect>",
          kind, x + 0.5, y, step - 1, tall, count);
    }
  }

  private static Markup begin(int width, int height, int base, String what) {
    return new Markup()
        .add("<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">", width, height, what)
        .add("<line class=\"base\" x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>", width, base, base);
  }

  private static void label(Markup markup, double x, int base, String text) {
    markup.add(
        "<line class=\"base\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
            + "<text class=\"axis\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
        x, x, base, base + 4, x, base + 16, text);
  }
}
