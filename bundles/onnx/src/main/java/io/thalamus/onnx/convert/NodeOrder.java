// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.OnnxAttribute;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxNode;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The order in which nodes are computed. ONNX wants a file to have it, but tools that add casts put
 * them at the end, and other engines sort them.
 */
final class NodeOrder {
  private NodeOrder() {}

  /** The numbers of a graph's nodes, each after those whose results it reads. */
  static int[] of(OnnxGraph graph) {
    List<OnnxNode> nodes = graph.nodes();
    Map<String, Integer> makers = new HashMap<>();
    for (int i = 0; i < nodes.size(); i++) {
      for (String output : nodes.get(i).outputs()) {
        makers.putIfAbsent(output, i);
      }
    }
    return isSorted(nodes, makers) ? Dims.range(nodes.size()) : sorted(nodes, makers);
  }

  private static boolean isSorted(List<OnnxNode> nodes, Map<String, Integer> makers) {
    for (int i = 0; i < nodes.size(); i++) {
      for (String name : reads(nodes.get(i))) {
        if (makers.getOrDefault(name, -1) >= i) {
          return false;
        }
      }
    }
    return true;
  }

  /** Nodes that read each other's results stay behind, where the first of them is refused. */
  private static int[] sorted(List<OnnxNode> nodes, Map<String, Integer> makers) {
    Set<Integer> order = new LinkedHashSet<>();
    Set<Integer> entered = new HashSet<>();
    Deque<Integer> stack = new ArrayDeque<>();
    for (int i = 0; i < nodes.size(); i++) {
      stack.push(i);
      while (!stack.isEmpty()) {
        int next = stack.peek();
        if (!entered.add(next)) {
          order.add(stack.pop());
          continue;
        }
        for (String name : reads(nodes.get(next))) {
          int maker = makers.getOrDefault(name, next);
          if (!entered.contains(maker)) {
            stack.push(maker);
          }
        }
      }
    }
    return order.stream().mapToInt(Integer::intValue).toArray();
  }

  /** What a node reads, also by the graphs within it; an input that is left out has no name. */
  static Set<String> reads(OnnxNode node) {
    Set<String> names = new LinkedHashSet<>(node.inputs());
    names.remove("");
    for (OnnxAttribute attribute : node.attributes().values()) {
      if (attribute.graph() != null) {
        attribute.graph().nodes().forEach(inner -> names.addAll(reads(inner)));
        attribute.graph().outputs().forEach(output -> names.add(output.name()));
      }
    }
    return names;
  }
}
