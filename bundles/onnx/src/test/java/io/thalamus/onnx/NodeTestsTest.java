// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.vectors.ConformanceData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** ONNX's tests of single operators: none is wrong; what is not right is refused by name. */
class NodeTestsTest {
  private static final int LEAST_PASSED = 992;

  @Test
  void noneIsWrong() throws Exception {
    Optional<Path> root =
        ConformanceData.root()
            .map(folder -> folder.resolve("onnx-node-tests"))
            .filter(Files::isDirectory);
    assumeTrue(root.isPresent(), "ONNX's tests are not at hand");
    NodeTests tests = new NodeTests(root.get());
    List<NodeTests.Result> results = new ArrayList<>();
    for (NodeTests.Row row : tests.rows()) {
      results.add(tests.run(row));
    }
    report(results);
    List<String> wrong =
        results.stream()
            .filter(result -> result.verdict() == NodeTests.Verdict.WRONG)
            .map(result -> result.row().name() + ": " + result.reason())
            .toList();
    assertEquals(List.of(), wrong);
    long passed = count(results, NodeTests.Verdict.PASSED);
    assertTrue(passed >= LEAST_PASSED, passed + " passed");
    String sentence =
        "Of ONNX's own %,d tests of single operators, %d pass, %d are refused, and none is wrong."
            .formatted(results.size(), passed, count(results, NodeTests.Verdict.REFUSED));
    String page = Files.readString(FormatsPageTest.page()).replaceAll("\\s+", " ");
    assertTrue(page.contains(sentence), "docs/formats.md does not say: " + sentence);
  }

  private static long count(List<NodeTests.Result> results, NodeTests.Verdict verdict) {
    return results.stream().filter(result -> result.verdict() == verdict).count();
  }

  private static void report(List<NodeTests.Result> results) throws Exception {
    Map<String, List<NodeTests.Result>> byCategory =
        results.stream()
            .collect(
                Collectors.groupingBy(
                    result -> result.row().category(), TreeMap::new, Collectors.toList()));
    byCategory.put("all", results);
    byCategory.forEach(
        (category, some) ->
            System.out.printf(
                "%-24s %4d passed, %4d refused, %4d wrong%n",
                category,
                count(some, NodeTests.Verdict.PASSED),
                count(some, NodeTests.Verdict.REFUSED),
                count(some, NodeTests.Verdict.WRONG)));
    String file = System.getProperty("thalamus.onnx.results");
    if (file != null) {
      Files.write(
          Path.of(file),
          results.stream()
              .map(
                  result ->
                      String.join(
                          "\t",
                          result.verdict().toString(),
                          result.row().name(),
                          result.row().operators(),
                          result.reason()))
              .toList());
    }
  }
}
