// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The tests that pages of {@code docs/internals} name in place of AOSP's exist. */
class ConformanceTableTest {
  private static final Path ROOT = Path.of(System.getProperty("thalamus.root"));
  private static final Pattern NAME = Pattern.compile("`(\\w+(?:Test|IT))\\.(\\w+)`");
  private static final int FEWEST = 30;

  @Test
  void everyNamedTestExists() throws IOException {
    String page = Files.readString(ROOT.resolve("docs/internals/conformance-aosp.md"));
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

  /** Each point of AOSP's pages names a test of some module, or says why it has none. */
  @Test
  void everyPointOfCachingAndMemoryHasATest() throws IOException {
    Map<String, String> sources = allTests();
    List<String> rows =
        Files.readAllLines(ROOT.resolve("docs/internals/caching-and-memory.md")).stream()
            .filter(line -> line.startsWith("| ") && !line.startsWith("| AOSP's "))
            .toList();
    assertTrue(rows.size() >= FEWEST, "only " + rows.size() + " points");
    List<String> missing = new ArrayList<>();
    for (String row : rows) {
      List<MatchResult> names = NAME.matcher(row).results().toList();
      if (names.isEmpty() && !row.endsWith("| - |")) {
        missing.add(row);
      }
      for (MatchResult name : names) {
        String source = sources.getOrDefault(name.group(1), "");
        if (!source.contains("  void " + name.group(2) + "(")) {
          missing.add(name.group());
        }
      }
    }
    assertEquals(List.of(), missing);
  }

  /** Returns the sources of all test classes; those of one name together. */
  private static Map<String, String> allTests() throws IOException {
    Map<String, String> sources = new HashMap<>();
    for (String part : List.of("bundles", "backends", "integration-tests")) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(part))) {
        for (Path file : files.filter(ConformanceTableTest::isTest).toList()) {
          String name = file.getFileName().toString().replace(".java", "");
          sources.merge(name, Files.readString(file), String::concat);
        }
      }
    }
    return sources;
  }

  private static boolean isTest(Path file) {
    String name = file.getFileName().toString();
    return name.endsWith("Test.java") || name.endsWith("IT.java");
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
