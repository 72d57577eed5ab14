// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.onnx.convert.Converters;
import io.thalamus.operations.OperationCatalog;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The page on formats names the operators that the reader knows. */
class FormatsPageTest {
  private static final String HEADING = "## ONNX's operators";

  private static Path projectRoot() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("mvnw"))) {
      folder = folder.getParent();
    }
    return folder;
  }

  @Test
  void allOperatorsAreNamed() throws Exception {
    List<String> named =
        Files.readAllLines(projectRoot().resolve("docs/formats.md")).stream()
            .dropWhile(line -> !line.equals(HEADING))
            .filter(line -> line.matches("([A-Z][A-Za-z0-9]*[,.] ?)+"))
            .flatMap(line -> List.of(line.split("[,. ]+")).stream())
            .toList();
    assertEquals(List.copyOf(Converters.all(OperationCatalog.standard()).operators()), named);
  }
}
