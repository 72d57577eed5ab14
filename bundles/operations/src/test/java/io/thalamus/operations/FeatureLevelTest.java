// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.VectorFile;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * AOSP's compliance test: each model of the golden vectors that names a HAL version is legal in
 * that version and in none before.
 */
class FeatureLevelTest {
  private final ModelValidator validator = OperationCatalog.standard().validator();

  @Test
  void everyGoldenModelHasExactlyTheLevelThatItNames() throws IOException, VectorFormatException {
    Optional<Path> vectors = ConformanceData.vectors();
    assumeTrue(vectors.isPresent(), "there are no golden vectors here");
    Map<String, Integer> counts = new TreeMap<>();
    List<String> wrong = new ArrayList<>();
    try (Stream<Path> walk = Files.walk(vectors.get())) {
      for (Path path : (Iterable<Path>) walk.sorted()::iterator) {
        if (path.getParent().getFileName().toString().startsWith("V1_")) {
          for (Example example : VectorFile.read(path).examples()) {
            if (example.halVersion().isPresent() && !example.expectFailure()) {
              counts.merge(example.halVersion().get(), 1, Integer::sum);
              check(example).ifPresent(wrong::add);
            }
          }
        }
      }
    }
    assertFalse(counts.isEmpty(), "no example names a version");
    System.out.println("feature levels of golden vectors of " + vectors.get() + ": " + counts);
    assertEquals(List.of(), wrong);
  }

  private Optional<String> check(Example example) throws VectorFormatException {
    String wanted = example.halVersion().orElseThrow();
    String found;
    try (DecodedExample decoded = example.decode()) {
      found = validator.validate(decoded.model()).name();
    } catch (ValidationException e) {
      found = "refused: " + e.getMessage();
    }
    return found.equals(wanted)
        ? Optional.empty()
        : Optional.of(example.name() + " is " + wanted + ", found " + found);
  }
}
