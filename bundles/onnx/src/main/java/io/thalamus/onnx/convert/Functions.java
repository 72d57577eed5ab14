// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.OnnxAttribute;
import io.thalamus.onnx.file.OnnxFunction;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The operators of a function with the settings of the operator that calls it. */
final class Functions {
  private Functions() {}

  static List<OnnxNode> nodes(OnnxFunction function, Map<String, OnnxAttribute> given) {
    Map<String, OnnxAttribute> settings = new LinkedHashMap<>(function.defaults());
    settings.putAll(given);
    return nodes(function.nodes(), settings);
  }

  private static List<OnnxNode> nodes(List<OnnxNode> nodes, Map<String, OnnxAttribute> settings) {
    List<OnnxNode> result = new ArrayList<>();
    for (OnnxNode node : nodes) {
      Map<String, OnnxAttribute> attributes = new LinkedHashMap<>();
      node.attributes()
          .forEach(
              (name, attribute) -> {
                OnnxAttribute meant =
                    attribute.ref().isEmpty() ? attribute : settings.get(attribute.ref());
                // A setting that the caller leaves out is left out within the function too.
                if (meant != null) {
                  attributes.put(name, with(meant, name, settings));
                }
              });
      result.add(
          new OnnxNode(
              node.name(), node.type(), node.domain(), node.inputs(), node.outputs(), attributes));
    }
    return result;
  }

  private static OnnxAttribute with(
      OnnxAttribute attribute, String name, Map<String, OnnxAttribute> settings) {
    OnnxGraph graph = attribute.graph();
    OnnxGraph meant =
        graph == null
            ? null
            : new OnnxGraph(
                graph.name(),
                nodes(graph.nodes(), settings),
                graph.constants(),
                graph.inputs(),
                graph.outputs(),
                graph.values());
    return new OnnxAttribute(
        name,
        attribute.f(),
        attribute.i(),
        attribute.s(),
        attribute.tensor(),
        meant,
        attribute.floats(),
        attribute.ints(),
        attribute.strings(),
        "");
  }
}
