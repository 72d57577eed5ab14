// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.operations.OperationCatalog;
import io.thalamus.vectors.VectorFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every operation has a case of the project's own. */
class CompletenessTest {
  @Test
  void noOperationIsWithoutACase() throws Exception {
    Set<String> missing = new TreeSet<>();
    OperationCatalog.standard().types().forEach(type -> missing.add(type.text()));
    Path cases = Path.of(CompletenessTest.class.getResource("/cases").toURI());
    List<Path> files;
    try (Stream<Path> list = Files.list(cases)) {
      files = list.toList();
    }
    for (Path file : files) {
      VectorFile.read(file).examples().stream()
          .filter(example -> !example.expectFailure())
          .flatMap(example -> example.main().operations().stream())
          // An extension's operation is written with its number.
          .forEach(operation -> missing.remove(operation.type().replaceAll("#.*", "")));
    }
    assertEquals(Set.of(), missing);
  }
}
