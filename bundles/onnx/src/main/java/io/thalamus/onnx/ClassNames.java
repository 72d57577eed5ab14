// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import io.thalamus.onnx.file.OnnxAttribute;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxNode;
import java.util.ArrayList;
import java.util.List;

/** The names of classes that are texts: results hold their numbers. */
final class ClassNames {
  /** The setting of classifiers and ZipMap that lists them. */
  private static final String SETTING = "classlabels_strings";

  private static final int MOST_SHOWN = 100;

  private ClassNames() {}

  /** A sentence that names them, for the model's description; empty where there are none. */
  static String of(OnnxGraph graph) {
    for (OnnxNode node : graph.nodes()) {
      OnnxAttribute names = node.attributes().get(SETTING);
      if (names != null && !names.strings().isEmpty()) {
        return text(names.strings());
      }
    }
    return "";
  }

  private static String text(List<String> names) {
    List<String> shown = new ArrayList<>();
    for (int i = 0; i < names.size() && i < MOST_SHOWN; i++) {
      shown.add(i + " " + names.get(i).replaceAll("\\p{Cntrl}", "?"));
    }
    String more = names.size() > MOST_SHOWN ? " and " + (names.size() - MOST_SHOWN) + " more" : "";
    return "Classes: " + String.join(", ", shown) + more + ".";
  }
}
