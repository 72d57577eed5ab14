// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console.text;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Columns two spaces apart under optional headings. If a line would be too long, the last column is
 * wrapped between words where the style wraps. Not thread-safe; used once.
 */
public final class Table {
  private static final int GAP = 2;
  private static final int NARROWEST_LAST = 20;

  private final Style style;
  private final List<String> headings;
  private final boolean[] right;
  private final List<Row> rows = new ArrayList<>();
  private String indent = "";

  private record Row(List<String> cells, List<UnaryOperator<String>> paints) {}

  /**
   * A table with these headings; one that starts with {@code >} is a column aligned right. None are
   * printed where all are empty.
   */
  public Table(Style style, String... headings) {
    this.style = style;
    this.right = new boolean[headings.length];
    List<String> bare = new ArrayList<>();
    for (int i = 0; i < headings.length; i++) {
      right[i] = headings[i].startsWith(">");
      bare.add(right[i] ? headings[i].substring(1) : headings[i]);
    }
    this.headings = bare;
  }

  /** Sets every line in by this many columns. */
  public Table indent(int columns) {
    indent = " ".repeat(columns);
    return this;
  }

  /** Adds a row; missing cells are empty. */
  public Table row(Object... cells) {
    List<String> texts = new ArrayList<>();
    List<UnaryOperator<String>> paints = new ArrayList<>();
    for (int i = 0; i < headings.size(); i++) {
      Object cell = i < cells.length ? cells[i] : "";
      texts.add(cell instanceof Painted painted ? painted.text() : String.valueOf(cell));
      paints.add(cell instanceof Painted painted ? painted.paint() : UnaryOperator.identity());
    }
    rows.add(new Row(texts, paints));
    return this;
  }

  /** A cell whose colour does not count for its width. */
  public static Object painted(String text, UnaryOperator<String> paint) {
    return new Painted(text, paint);
  }

  private record Painted(String text, UnaryOperator<String> paint) {}

  /** The lines, without a line end after the last. */
  public String text() {
    int[] widths = widths();
    List<String> lines = new ArrayList<>();
    if (headings.stream().anyMatch(heading -> !heading.isEmpty())) {
      List<UnaryOperator<String>> paints = new ArrayList<>();
      headings.forEach(heading -> paints.add(style::dim));
      add(lines, new Row(headings, paints), widths);
    }
    rows.forEach(row -> add(lines, row, widths));
    return String.join("\n", lines);
  }

  private int[] widths() {
    int[] widths = new int[headings.size()];
    for (int i = 0; i < widths.length; i++) {
      widths[i] = columns(headings.get(i));
      for (Row row : rows) {
        widths[i] = Math.max(widths[i], columns(row.cells().get(i)));
      }
    }
    int last = widths.length - 1;
    int before = indent.length() + GAP * last + Arrays.stream(widths).limit(last).sum();
    if (style.wraps()) {
      widths[last] = Math.min(widths[last], Math.max(NARROWEST_LAST, style.width() - before));
    }
    return widths;
  }

  private void add(List<String> lines, Row row, int[] widths) {
    int last = widths.length - 1;
    StringBuilder line = new StringBuilder(indent);
    int before = indent.length();
    for (int i = 0; i < last; i++) {
      String cell = row.cells().get(i);
      String pad = " ".repeat(widths[i] - columns(cell));
      String painted = row.paints().get(i).apply(cell);
      line.append(right[i] ? pad + painted : painted + pad).append(" ".repeat(GAP));
      before += widths[i] + GAP;
    }
    UnaryOperator<String> paint = row.paints().get(last);
    List<String> wrapped = wrap(row.cells().get(last), widths[last]);
    if (right[last]) {
      line.append(" ".repeat(Math.max(0, widths[last] - columns(wrapped.getFirst()))));
    }
    lines.add((line + paint.apply(wrapped.getFirst())).stripTrailing());
    for (String more : wrapped.subList(1, wrapped.size())) {
      lines.add(" ".repeat(before) + paint.apply(more));
    }
  }

  /** Cuts between words; a word that is too long stands over. At least one line. */
  static List<String> wrap(String text, int width) {
    List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String word : text.split(" ", -1)) {
      if (!line.isEmpty() && columns(line.toString()) + 1 + columns(word) > width) {
        lines.add(line.toString());
        line.setLength(0);
      } else if (!line.isEmpty()) {
        line.append(' ');
      }
      line.append(word);
    }
    lines.add(line.toString());
    return lines;
  }

  private static int columns(String text) {
    return text.codePointCount(0, text.length());
  }
}
