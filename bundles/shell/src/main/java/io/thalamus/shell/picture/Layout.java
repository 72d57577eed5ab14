// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.picture;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Places the nodes of a graph after Sugiyama: layers by longest path, a bend for each layer that an
 * edge passes, orders by barycenter, columns of layers side by side. Immutable once made.
 */
final class Layout {
  static final double NODE_WIDTH = 168;
  static final double NODE_HEIGHT = 42;
  private static final double BEND_WIDTH = 10;
  private static final double GAP = 22;
  private static final double PITCH = 68;
  private static final double GUTTER = 54;
  private static final int SWEEPS = 12;

  /** Width to height that suits a screen or a page. */
  private static final double ASPECT = 1.5;

  /** The farthest that a column may end from its ideal place, to cut few lines. */
  private static final double SLACK = 0.2;

  /** A node, or a bend of an edge. */
  static final class Place {
    private final int node;
    private final int layer;
    private final List<Place> above = new ArrayList<>();
    private final List<Place> below = new ArrayList<>();
    private double order;
    private double x;
    private double y;
    private int column;

    private Place(int node, int layer) {
      this.node = node;
      this.layer = layer;
    }

    /** The middle. */
    double x() {
      return x;
    }

    /** The upper edge. */
    double y() {
      return y;
    }

    int column() {
      return column;
    }

    int layer() {
      return layer;
    }

    boolean isBend() {
      return node < 0;
    }

    private double width() {
      return isBend() ? BEND_WIDTH : NODE_WIDTH;
    }
  }

  private final Place[] nodes;
  private final List<List<Place>> edges = new ArrayList<>();
  private final List<List<Place>> layers = new ArrayList<>();
  private final List<double[]> columns = new ArrayList<>();
  private double width;
  private double height;

  Layout(Graph graph) {
    nodes = new Place[graph.nodes().size()];
    layer(graph);
    order();
    align();
    wrap();
  }

  Place node(int index) {
    return nodes[index];
  }

  /** The places that an edge runs through, its ends included. */
  List<Place> edge(int index) {
    return edges.get(index);
  }

  /** Left and right end of a column. */
  double[] column(int index) {
    return columns.get(index);
  }

  double width() {
    return width;
  }

  double height() {
    return height;
  }

  private void layer(Graph graph) {
    int[] depth = new int[nodes.length];
    for (Graph.Edge edge : graph.edges()) {
      // Edges lead forward and are listed by the node they lead to: one pass does.
      depth[edge.to()] = Math.max(depth[edge.to()], depth[edge.from()] + 1);
    }
    int deepest = Arrays.stream(depth).max().orElse(0);
    for (int i = 0; i < nodes.length; i++) {
      // Outputs stand together at the end.
      boolean last = graph.nodes().get(i).kind() == Graph.Kind.OUTPUT;
      nodes[i] = add(new Place(i, last ? deepest : depth[i]));
    }
    for (Graph.Edge edge : graph.edges()) {
      List<Place> path = new ArrayList<>();
      Place from = nodes[edge.from()];
      path.add(from);
      for (int layer = from.layer + 1; layer < nodes[edge.to()].layer; layer++) {
        path.add(add(new Place(-1, layer)));
      }
      path.add(nodes[edge.to()]);
      for (int i = 1; i < path.size(); i++) {
        path.get(i - 1).below.add(path.get(i));
        path.get(i).above.add(path.get(i - 1));
      }
      edges.add(path);
    }
  }

  private Place add(Place place) {
    while (layers.size() <= place.layer) {
      layers.add(new ArrayList<>());
    }
    List<Place> layer = layers.get(place.layer);
    place.order = layer.size();
    layer.add(place);
    return place;
  }

  private void order() {
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
      boolean down = sweep % 2 == 0;
      for (int i = 0; i < layers.size(); i++) {
        List<Place> layer = layers.get(down ? i : layers.size() - 1 - i);
        for (Place place : layer) {
          List<Place> neighbours = down ? place.above : place.below;
          place.x =
              neighbours.stream().mapToDouble(other -> other.order).average().orElse(place.order);
        }
        layer.sort(Comparator.comparingDouble(Place::x));
        for (int j = 0; j < layer.size(); j++) {
          layer.get(j).order = j;
        }
      }
    }
  }

  private void align() {
    for (List<Place> layer : layers) {
      settle(layer, new double[layer.size()]);
    }
    for (int sweep = 0; sweep < 2 * SWEEPS; sweep++) {
      boolean down = sweep % 2 == 0;
      for (int i = 0; i < layers.size(); i++) {
        List<Place> layer = layers.get(down ? i : layers.size() - 1 - i);
        double[] wanted = new double[layer.size()];
        for (int j = 0; j < wanted.length; j++) {
          Place place = layer.get(j);
          List<Place> neighbours = down ? place.above : place.below;
          wanted[j] = neighbours.stream().mapToDouble(Place::x).average().orElse(place.x);
        }
        settle(layer, wanted);
      }
    }
  }

  /**
   * Moves the places of a layer as near to where they want to be as their order and widths allow:
   * least squares under distances is isotonic regression, by pooling adjacent violators.
   */
  private static void settle(List<Place> layer, double[] wanted) {
    int count = layer.size();
    double[] offset = new double[count];
    for (int i = 1; i < count; i++) {
      offset[i] = offset[i - 1] + (layer.get(i - 1).width() + layer.get(i).width()) / 2 + GAP;
    }
    double[] mean = new double[count];
    double[] weight = new double[count];
    int[] size = new int[count];
    int blocks = 0;
    for (int i = 0; i < count; i++) {
      // A straight long edge looks better than a centred node.
      double heavy = layer.get(i).isBend() ? 2 : 1;
      mean[blocks] = wanted[i] - offset[i];
      weight[blocks] = heavy;
      size[blocks++] = 1;
      while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
        double sum = weight[blocks - 2] + weight[blocks - 1];
        mean[blocks - 2] =
            (mean[blocks - 2] * weight[blocks - 2] + mean[blocks - 1] * weight[blocks - 1]) / sum;
        weight[blocks - 2] = sum;
        size[blocks - 2] += size[blocks - 1];
        blocks--;
      }
    }
    int i = 0;
    for (int block = 0; block < blocks; block++) {
      for (int k = 0; k < size[block]; k++, i++) {
        layer.get(i).x = mean[block] + offset[i];
      }
    }
  }

  /** Puts runs of layers side by side, so that the whole is about as wide as it should be. */
  private void wrap() {
    double widest = 0;
    for (List<Place> layer : layers) {
      widest = Math.max(widest, right(layer) - left(layer));
    }
    double wish = Math.sqrt(ASPECT * layers.size() * PITCH / (widest + GUTTER));
    int count = Math.max(1, (int) Math.round(wish));
    double left = 0;
    int start = 0;
    for (int column = 0; column < count && start < layers.size(); column++) {
      int end = column == count - 1 ? layers.size() : end(start, count - column);
      List<Place> places = layers.subList(start, end).stream().flatMap(List::stream).toList();
      double shift = left - left(places);
      for (Place place : places) {
        place.column = column;
        place.x += shift;
        place.y = (place.layer - start) * PITCH;
      }
      double right = right(places);
      columns.add(new double[] {left, right});
      height = Math.max(height, (end - 1 - start) * PITCH + NODE_HEIGHT);
      left = right + GUTTER;
      start = end;
    }
    width = left - GUTTER;
  }

  /**
   * Returns the end of a column that begins at a layer: near its share, where few lines are cut.
   */
  private int end(int start, int columnsLeft) {
    double share = (double) (layers.size() - start) / columnsLeft;
    int ideal = start + (int) Math.round(share);
    int reach = (int) (share * SLACK);
    int best = Math.min(layers.size(), Math.max(start + 1, ideal));
    double leastCost = Double.POSITIVE_INFINITY;
    for (int end = Math.max(start + 1, ideal - reach);
        end <= Math.min(layers.size() - 1, ideal + reach);
        end++) {
      int cut = layers.get(end - 1).stream().mapToInt(place -> place.below.size()).sum();
      double cost = cut + 1.2 * Math.abs(end - ideal) / (reach + 1);
      if (cost < leastCost) {
        leastCost = cost;
        best = end;
      }
    }
    return best;
  }

  private static double left(List<Place> places) {
    return places.stream().mapToDouble(place -> place.x - place.width() / 2).min().orElse(0);
  }

  private static double right(List<Place> places) {
    return places.stream().mapToDouble(place -> place.x + place.width() / 2).max().orElse(0);
  }
}
