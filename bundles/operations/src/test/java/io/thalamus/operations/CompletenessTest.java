// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.OperationCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every operation of NNAPI 1.3 is defined, and nobody else keeps lists of operations. */
class CompletenessTest {
  private static final int MOST_NAMED = 6;

  @Test
  void noDefinitionIsMissing() {
    Set<OperationCode> missing = EnumSet.allOf(OperationCode.class);
    missing.removeIf(code -> OperationCatalog.standard().find(code).isPresent());
    assertEquals(Set.of(), missing);
  }

  @Test
  void eachDefinitionIsFoundUnderItsOwnName() {
    for (OperationCode code : OperationCode.values()) {
      assertEquals(code, OperationCatalog.standard().find(code).orElseThrow().type());
    }
  }

  /**
   * A file that names many operations is a list which a new operation would have to be added to.
   * Converters name what they emit, and the kit has formulas and generators of its own.
   */
  @Test
  void noOtherBundleListsOperations() throws IOException {
    Path bundles = Path.of(System.getProperty("thalamus.root"), "bundles");
    Pattern name = Pattern.compile("\\b[A-Z][A-Z0-9_]+\\b");
    Set<String> names =
        Stream.of(OperationCode.values()).map(Enum::name).collect(Collectors.toSet());
    Set<String> lists = new TreeSet<>();
    int read = 0;
    try (Stream<Path> walk = Files.walk(bundles)) {
      for (Path file : (Iterable<Path>) walk::iterator) {
        String path = bundles.relativize(file).toString().replace('\\', '/');
        if (path.contains("/src/main/")
            && path.endsWith(".java")
            && !path.matches(
                "(operations/.*|.*/OperationCode.java|(onnx|tflite)/.*/(convert|layout)/.*|tck/.*/(reference|graph|mutation)/.*)")) {
          read++;
          String source = Files.readString(file);
          Set<String> named =
              name.matcher(source)
                  .results()
                  .map(MatchResult::group)
                  .filter(names::contains)
                  .collect(Collectors.toCollection(TreeSet::new));
          if (named.size() > MOST_NAMED && source.contains("OperationCode")) {
            lists.add(path + " " + named);
          }
        }
      }
    }
    assertTrue(read > 100, "only " + read + " files are read");
    assertEquals(Set.of(), lists);
  }
}
