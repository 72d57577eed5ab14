// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.picture;

import io.thalamus.console.text.Units;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.shell.picture.Layout.Place;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.IntFunction;

/**
 * Draws a graph of operations. Similar operations have one colour: all that goes to one device, or
 * all of one family. A line between two devices is heavy and says how many bytes it carries.
 * Stateless.
 */
public final class GraphPicture {
  private static final double MARGIN = 36;
  private static final double HEAD = 84;
  private static final double RADIUS = 9;
  private static final int LONGEST_TITLE = 21;
  private static final int LONGEST_DETAIL = 27;
  private static final String INK = "#1f2937";
  private static final String FAINT = "#6b7280";
  private static final String LINE = "#9ca3af";
  private static final String CROSSING = "#b45309";

  private final Subgraph subgraph;
  private final Graph graph;
  private final Layout layout;
  private final IntFunction<String> group;
  private final Map<String, Palette.Tone> tones;
  private final boolean crossings;
  private final Map<Integer, String> times;

  private GraphPicture(
      Subgraph subgraph,
      IntFunction<String> group,
      Map<String, Palette.Tone> tones,
      boolean crossings,
      Map<Integer, String> times) {
    this.subgraph = subgraph;
    this.graph = Graph.of(subgraph);
    this.layout = new Layout(graph);
    this.group = group;
    this.tones = tones;
    this.crossings = crossings;
    this.times = times;
  }

  /**
   * The graph with a colour for each device.
   *
   * @param title one line
   * @param subtitle one line
   * @param devices the id of the device of each operation, by its index
   * @param times what an operation is expected to take there, by its index, where that is known
   */
  public static String ofDevices(
      Subgraph subgraph,
      String title,
      String subtitle,
      Map<Integer, String> devices,
      Map<Integer, String> times) {
    IntFunction<String> group = index -> devices.getOrDefault(index, "");
    return new GraphPicture(subgraph, group, Palette.ofDevices(devices.values()), true, times)
        .draw(title, subtitle);
  }

  /** The graph with a colour for each family of operations. */
  public static String ofFamilies(Subgraph subgraph, String title, String subtitle) {
    IntFunction<String> group =
        index -> Palette.family(subgraph.operations().get(index).type().text());
    return new GraphPicture(subgraph, group, Palette.families(), false, Map.of())
        .draw(title, subtitle);
  }

  private String draw(String title, String subtitle) {
    Map<String, Integer> counts = new LinkedHashMap<>();
    for (int i = 0; i < subgraph.operations().size(); i++) {
      counts.merge(group.apply(i), 1, Integer::sum);
    }
    double legend = counts.keySet().stream().mapToDouble(GraphPicture::legendWidth).sum();
    double width = Math.max(Math.max(layout.width(), legend), 420) + 2 * MARGIN;
    double height = layout.height() + HEAD + 2 * MARGIN;
    Svg svg = new Svg();
    svg.openPage(title, width, height);
    svg.words(title, MARGIN, 38.0, 20, INK, "font-weight", 600);
    svg.words(subtitle, MARGIN, 60.0, 12.5, FAINT);
    legend(svg, counts);
    svg.open("g", "transform", "translate(" + Svg.number(MARGIN) + "," + (HEAD + MARGIN) + ")");
    for (int i = 0; i < graph.edges().size(); i++) {
      edge(svg, graph.edges().get(i), layout.edge(i));
    }
    for (int i = 0; i < graph.nodes().size(); i++) {
      node(svg, graph.nodes().get(i), layout.node(i));
    }
    labels(svg);
    return svg.close("g").close("svg").toString();
  }

  private static double legendWidth(String name) {
    return 62 + 6.6 * name.length();
  }

  private void legend(Svg svg, Map<String, Integer> counts) {
    double x = MARGIN;
    for (Map.Entry<String, Integer> entry : counts.entrySet()) {
      Palette.Tone tone = tones.get(entry.getKey());
      svg.rect(x, 76.0, 14, 14, 4, tone);
      svg.words(entry.getKey() + "  " + Units.count(entry.getValue()), x + 20, 87.5, 12.5, INK);
      x += legendWidth(entry.getKey());
    }
  }

  private void node(Svg svg, Graph.Node node, Place place) {
    boolean operation = node.kind() == Graph.Kind.OPERATION;
    double left = place.x() - Layout.NODE_WIDTH / 2;
    Palette.Tone tone = operation ? tones.get(group.apply(node.index())) : Palette.PLAIN;
    String name =
        operation
            ? subgraph.operations().get(node.index()).type().text()
            : node.operand().name().isEmpty()
                ? node.kind().name().toLowerCase(java.util.Locale.ROOT)
                : node.operand().name();
    svg.open("g");
    svg.text("title", tooltip(node, name));
    svg.rect(
        left,
        place.y(),
        Layout.NODE_WIDTH,
        Layout.NODE_HEIGHT,
        operation ? RADIUS : Layout.NODE_HEIGHT / 2,
        tone,
        "stroke-width",
        1.2);
    svg.words(
        cut(name, LONGEST_TITLE),
        place.x(),
        place.y() + 18,
        11.5,
        tone.text(),
        "font-weight",
        600,
        "text-anchor",
        "middle");
    svg.words(
        cut(detail(node), LONGEST_DETAIL),
        place.x(),
        place.y() + 33,
        10.5,
        tone.text(),
        "text-anchor",
        "middle",
        "fill-opacity",
        0.75);
    svg.close("g");
  }

  private String detail(Graph.Node node) {
    if (node.operand() == null) {
      return "";
    }
    String shape = shape(node);
    if (node.kind() == Graph.Kind.OPERATION && times.containsKey(node.index())) {
      return shape + " · " + times.get(node.index());
    }
    OptionalLong macs = macs(node);
    return macs.isPresent() && macs.getAsLong() > 0
        ? shape + " · " + millions(macs.getAsLong())
        : shape;
  }

  private static String shape(Graph.Node node) {
    return node.operand().type().isTensor()
        ? node.operand().shape().toString().replace('x', '×')
        : node.operand().type().text();
  }

  private OptionalLong macs(Graph.Node node) {
    return node.kind() == Graph.Kind.OPERATION
        ? OperationCatalog.standard().macs(subgraph, subgraph.operations().get(node.index()))
        : OptionalLong.empty();
  }

  private static String millions(long macs) {
    return macs >= 100_000 ? Units.number(macs / 1e6) + " M" : Units.count(macs);
  }

  private String tooltip(Graph.Node node, String name) {
    List<String> lines = new ArrayList<>();
    if (node.kind() == Graph.Kind.OPERATION) {
      Operation operation = subgraph.operations().get(node.index());
      lines.add("operation " + node.index() + ": " + operation.type().text());
      lines.add(group.apply(node.index()));
      if (times.containsKey(node.index())) {
        lines.add(times.get(node.index()));
      }
      macs(node).ifPresent(macs -> lines.add(millions(macs) + " MACs"));
      operation
          .outputs()
          .forEach(index -> lines.add("makes " + subgraph.operands().get(index).name()));
    } else {
      lines.add(name);
    }
    if (node.operand() != null) {
      lines.add(node.operand().type().text() + " " + shape(node));
    }
    return String.join(" | ", lines);
  }

  private boolean crosses(Graph.Edge edge) {
    Graph.Node from = graph.nodes().get(edge.from());
    Graph.Node to = graph.nodes().get(edge.to());
    return crossings
        && from.kind() == Graph.Kind.OPERATION
        && to.kind() == Graph.Kind.OPERATION
        && !group.apply(from.index()).equals(group.apply(to.index()));
  }

  private void edge(Svg svg, Graph.Edge edge, List<Place> path) {
    StringBuilder d = new StringBuilder();
    for (int i = 1; i < path.size(); i++) {
      segment(d, path.get(i - 1), path.get(i), i == 1);
    }
    boolean crosses = crosses(edge);
    svg.empty(
        "path",
        "d",
        d.toString(),
        "fill",
        "none",
        "stroke",
        crosses ? CROSSING : LINE,
        "stroke-width",
        crosses ? 2.4 : 1.4,
        "stroke-linejoin",
        "round");
  }

  /** From the lower end of one place to the upper end of the next, then through a bend. */
  private void segment(StringBuilder d, Place from, Place to, boolean first) {
    double x1 = from.x();
    double y1 = from.y() + Layout.NODE_HEIGHT;
    double x2 = to.x();
    double y2 = to.y();
    if (first) {
      d.append("M").append(point(x1, y1));
    }
    if (from.column() == to.column()) {
      double middle = (y1 + y2) / 2;
      d.append("C").append(point(x1, middle)).append(' ').append(point(x2, middle));
      d.append(' ').append(point(x2, y2));
    } else {
      // Down, into the gutter, up, and down into the next column; parallel lines keep apart.
      double apart = 5.0 * (Math.floorMod((long) x1, 5) - 2);
      double gutter = (layout.column(from.column())[1] + layout.column(to.column())[0]) / 2 + apart;
      double bottom = y1 + 13 + apart / 2;
      double top = y2 - 13 - apart / 2;
      d.append(corners(x1, bottom, gutter, top, x2, y2));
    }
    if (to.isBend()) {
      d.append("L").append(point(x2, y2 + Layout.NODE_HEIGHT));
    }
  }

  private static String corners(
      double x1, double bottom, double gutter, double top, double x2, double y2) {
    double r = 7;
    return "L%sQ%s %sL%sQ%s %sL%sQ%s %sL%sQ%s %sL%s"
        .formatted(
            point(x1, bottom - r),
            point(x1, bottom),
            point(x1 + r, bottom),
            point(gutter - r, bottom),
            point(gutter, bottom),
            point(gutter, bottom - r),
            point(gutter, top + r),
            point(gutter, top),
            point(gutter + r, top),
            point(x2 - r, top),
            point(x2, top),
            point(x2, top + r),
            point(x2, y2));
  }

  /** Writes the values from other devices at each node that reads them. */
  private void labels(Svg svg) {
    Map<Integer, List<Graph.Edge>> coming = new TreeMap<>();
    for (Graph.Edge edge : graph.edges()) {
      if (crosses(edge)) {
        coming.computeIfAbsent(edge.to(), node -> new ArrayList<>()).add(edge);
      }
    }
    coming.forEach((node, edges) -> label(svg, layout.node(node), edges));
  }

  private static void label(Svg svg, Place end, List<Graph.Edge> edges) {
    boolean open = edges.stream().anyMatch(edge -> edge.bytes() == 0);
    long bytes = edges.stream().mapToLong(Graph.Edge::bytes).sum();
    String text = open ? "size open" : Units.bytes(bytes);
    double width = 12 + 6.2 * text.length();
    double y = end.y() - 16;
    svg.rect(
        end.x() - width / 2, y - 9, width, 18, 9, new Palette.Tone("#fffbeb", CROSSING, CROSSING));
    svg.words(text, end.x(), y + 3.7, 10.5, CROSSING, "text-anchor", "middle");
  }

  private static String point(double x, double y) {
    return Svg.number(x) + "," + Svg.number(y);
  }

  /** Names are paths whose end says most. */
  private static String cut(String text, int most) {
    return text.length() <= most ? text : "…" + text.substring(text.length() - most + 1);
  }
}
