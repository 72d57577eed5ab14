// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.onnx.convert.Converters;
import io.thalamus.operations.OperationCatalog;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * The page on formats lists the operators that the reader knows. With the property {@code
 * thalamus.docs.write} the lists are written instead.
 */
class FormatsPageTest {
  private static final String START = "<!-- operators of ONNX -->";
  private static final String END = "<!-- end -->";
  private static final int WIDTH = 118;

  static Path page() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("mvnw"))) {
      folder = folder.getParent();
    }
    return folder.resolve("docs/formats.md");
  }

  private static List<String> lines() {
    Set<String> known = new Converters(OperationCatalog.standard()).operators();
    List<String> own = known.stream().filter(name -> !name.contains(".")).toList();
    List<String> others = known.stream().filter(name -> name.contains(".")).toList();
    List<String> lines = new ArrayList<>(List.of(START, own.size() + " of ONNX itself:", ""));
    lines.addAll(wrapped(String.join(", ", own) + "."));
    lines.addAll(List.of("", others.size() + " of others:", ""));
    lines.addAll(wrapped(String.join(", ", others) + "."));
    lines.add(END);
    return lines;
  }

  private static List<String> wrapped(String text) {
    List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String word : text.split(" ")) {
      if (line.length() + 1 + word.length() > WIDTH) {
        lines.add(line.toString());
        line.setLength(0);
      }
      line.append(line.isEmpty() ? "" : " ").append(word);
    }
    lines.add(line.toString());
    return lines;
  }

  @Test
  void allOperatorsAreNamed() throws Exception {
    List<String> page = Files.readAllLines(page());
    int start = page.indexOf(START);
    List<String> rest = page.subList(start, page.size());
    List<String> named = rest.subList(0, rest.indexOf(END) + 1);
    if (Boolean.getBoolean("thalamus.docs.write")) {
      named.clear();
      page.addAll(start, lines());
      Files.write(page(), page);
      return;
    }
    assertEquals(lines(), named, "to write it: ./mvnw test -pl bundles/onnx -Dthalamus.docs.write");
  }
}
