// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.operations.OperationCatalog;
import io.thalamus.tflite.convert.Converters;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The page on formats lists the operators that the reader knows. With the property {@code
 * thalamus.docs.write} the list is written instead.
 */
class FormatsPageTest {
  private static final String START = "<!-- operators of TensorFlow Lite -->";
  private static final String END = "<!-- end of TensorFlow Lite -->";
  private static final int WIDTH = 118;

  private static List<String> lines() {
    List<String> known = new Converters(OperationCatalog.standard()).operators();
    List<String> lines = new ArrayList<>(List.of(START, known.size() + ":", ""));
    String line = "";
    for (String name : known) {
      String word = name + (name.equals(known.getLast()) ? "." : ",");
      if (line.length() + 1 + word.length() > WIDTH) {
        lines.add(line);
        line = "";
      }
      line += line.isEmpty() ? word : " " + word;
    }
    lines.addAll(List.of(line, END));
    return lines;
  }

  @Test
  void allOperatorsAreNamed() throws Exception {
    Path file = TestFiles.projectRoot().resolve("docs/formats.md");
    List<String> page = Files.readAllLines(file);
    int start = page.indexOf(START);
    List<String> named = page.subList(start, page.indexOf(END) + 1);
    if (Boolean.getBoolean("thalamus.docs.write")) {
      named.clear();
      page.addAll(start, lines());
      Files.write(file, page);
      return;
    }
    assertEquals(
        lines(), named, "to write it: ./mvnw test -pl bundles/tflite -Dthalamus.docs.write");
  }
}
