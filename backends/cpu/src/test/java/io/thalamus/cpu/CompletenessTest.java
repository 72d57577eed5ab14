// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.OperationCode;
import io.thalamus.vectors.VectorFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every operation has a case of the project's own; graphs as operands are tested by the driver. */
class CompletenessTest {
  @Test
  void noOperationIsWithoutACase() throws Exception {
    Set<OperationCode> missing =
        EnumSet.complementOf(EnumSet.of(OperationCode.IF, OperationCode.WHILE));
    Path cases = Path.of(CompletenessTest.class.getResource("/cases").toURI());
    List<Path> files;
    try (Stream<Path> list = Files.list(cases)) {
      files = list.toList();
    }
    for (Path file : files) {
      VectorFile.read(file).examples().stream()
          .filter(example -> !example.expectFailure())
          .flatMap(example -> example.main().operations().stream())
          .forEach(operation -> missing.remove(OperationCode.valueOf(operation.type())));
    }
    assertEquals(Set.of(), missing);
  }
}
