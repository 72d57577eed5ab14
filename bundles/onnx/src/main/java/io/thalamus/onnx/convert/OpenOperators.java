// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Operators that are other steps on values of which only an execution tells a size, or have results
 * of such sizes. Those that are not here take known sizes alone, unless they ask for {@link
 * Node#openIn}.
 */
final class OpenOperators {
  private static final Map<String, Consumer<Node>> TABLE = table();

  /** Operators that are told a size by an input that may be computed. */
  private static final Map<String, int[]> TOLD =
      Map.of(
          "Range", new int[] {0, 1, 2},
          "ConstantOfShape", new int[] {0},
          "Expand", new int[] {1},
          "TopK", new int[] {1},
          "Slice", new int[] {1, 2},
          "Pad", new int[] {1},
          "Tile", new int[] {1},
          "Reshape", new int[] {1});

  private OpenOperators() {}

  private static Map<String, Consumer<Node>> table() {
    Map<String, Consumer<Node>> table = new HashMap<>();
    table.put("Reshape", OpenMoves::reshape);
    table.put("Slice", OpenMoves::slice);
    table.put("GatherND", OpenMoves::gatherNd);
    table.put("Range", OpenMoves::range);
    table.put("ConstantOfShape", OpenMoves::constantOfShape);
    table.put("Expand", OpenMoves::expand);
    table.put("TopK", OpenMoves::topK);
    table.put("Pad", OpenMoves::pad);
    table.put("Tile", OpenMoves::tile);
    table.put("ScatterElements", OpenIndexes::scatterElements);
    table.put("ScatterND", OpenIndexes::scatterNd);
    table.put("RoiAlign", RegionAlign::align);
    table.put("MaxRoiPool", RegionAlign::pool);
    table.put("Resize", Sampling::resize);
    return Map.copyOf(table);
  }

  /** Returns whether an operator is one for here, and converts it then. */
  static boolean convert(Node node) {
    String name = node.onnx().type();
    Consumer<Node> converter = node.onnx().domain().isEmpty() ? TABLE.get(name) : null;
    if (converter == null || !isOpen(node) && !isToldLater(node, name)) {
      return false;
    }
    converter.accept(node);
    return true;
  }

  private static boolean isOpen(Node node) {
    for (int i = 0; i < node.inputs(); i++) {
      if (node.has(i) && node.any(i).isOpen()) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether a size is computed that the file does not state. */
  private static boolean isToldLater(Node node, String name) {
    for (int input : TOLD.getOrDefault(name, new int[0])) {
      boolean isNew =
          switch (name) {
            case "Slice" -> node.opset() >= 10;
            case "Pad" -> node.opset() >= 11 && node.text("mode", "constant").equals("constant");
            case "Tile" -> node.opset() >= 6;
            default -> true;
          };
      boolean isTold = input < node.inputs() && isNew;
      if (isTold && node.has(input) && !node.isKnown(input)) {
        return node.declared(0) == null;
      }
    }
    return false;
  }
}
