// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The tests that {@code docs/internals/conformance.md} names in place of AOSP's exist. */
class ConformanceTableTest {
  private static final Path ROOT = Path.of(System.getProperty("thalamus.root"));
  private static final Pattern NAME = Pattern.compile("`(\\w+Test)\\.(\\w+)`");
  private static final int FEWEST = 30;

  @Test
  void everyNamedTestExists() throws IOException {
    String page = Files.readString(ROOT.resolve("docs/internals/conformance.md"));
    List<MatchResult> names =
        Stream.of(
                "\n## Partitioning\n",
                "\n## Compilation caching in the runtime\n",
                "\n## Memory domains\n")
            .flatMap(title -> NAME.matcher(chapter(page, title)).results())
            .toList();
    assertTrue(names.size() >= FEWEST, "only " + names.size() + " tests are named");
    List<String> missing = new ArrayList<>();
    for (MatchResult name : names) {
      if (!source(name.group(1)).contains("  void " + name.group(2) + "(")) {
        missing.add(name.group());
      }
    }
    assertEquals(List.of(), missing);
  }

  private static String chapter(String page, String title) {
    String rest = page.substring(page.indexOf(title) + 1);
    int end = rest.indexOf("\n## ");
    return end < 0 ? rest : rest.substring(0, end);
  }

  private static String source(String testClass) throws IOException {
    Path tests = ROOT.resolve("bundles/runtime/src/test/java");
    try (Stream<Path> files = Files.walk(tests)) {
      List<Path> found = files.filter(file -> file.endsWith(testClass + ".java")).toList();
      assertEquals(1, found.size(), testClass);
      return Files.readString(found.getFirst());
    }
  }
}
