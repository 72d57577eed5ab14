// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The table of causes in the documentation is that of the code, and each row has its test. */
class CauseTableTest {
  private static final Path ROOT = Path.of(System.getProperty("thalamus.root"));
  private static final int COLUMNS = 5;

  private static List<List<String>> rows() throws IOException {
    try (Stream<String> lines = Files.lines(ROOT.resolve("docs/quality-of-service.md"))) {
      return lines
          .dropWhile(line -> !line.startsWith("| cause | code |"))
          .skip(2)
          .takeWhile(line -> line.startsWith("|"))
          .map(line -> line.substring(1, line.length() - 1))
          .map(line -> Arrays.stream(line.split("\\|")).map(String::strip).toList())
          .toList();
    }
  }

  @Test
  void theTableHoldsEachCauseWithItsCodeAndItsMeaning() throws IOException {
    List<String> documented =
        rows().stream().map(row -> String.join(" ", row.subList(0, 3))).toList();
    List<String> coded =
        Arrays.stream(Cause.values())
            .map(cause -> cause.name() + " " + cause.code() + " " + cause.message())
            .toList();
    assertEquals(coded, documented);
  }

  @Test
  void eachRowSaysWhatToDoAndNamesATestThatExists() throws IOException {
    for (List<String> row : rows()) {
      assertEquals(COLUMNS, row.size(), row.getFirst());
      assertFalse(row.get(3).isEmpty(), row.getFirst());
      String[] test = row.get(4).split("\\.");
      Path tests = ROOT.resolve("bundles/runtime/src/test/java");
      try (Stream<Path> files = Files.walk(tests)) {
        List<Path> found = files.filter(file -> file.endsWith(test[0] + ".java")).toList();
        assertEquals(1, found.size(), test[0]);
        assertTrue(
            Files.readString(found.getFirst()).contains("  void " + test[1] + "("),
            row.getFirst() + ": there is no " + row.get(4));
      }
    }
  }
}
