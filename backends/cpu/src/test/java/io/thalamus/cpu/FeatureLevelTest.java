// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.operations.ModelValidator;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
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
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The least feature level that validation tells, against the one that AOSP's generator wrote beside
 * each golden vector, which is exact.
 */
class FeatureLevelTest {
  private static final ModelValidator VALIDATOR = OperationCatalog.standard().validator();

  @Test
  void isThatOfTheGoldenVectors() throws IOException, VectorFormatException {
    Optional<Path> vectors = ConformanceData.vectors();
    assumeTrue(vectors.isPresent(), "there are no golden vectors here");
    List<String> wrong = new ArrayList<>();
    TreeMap<String, Integer> counts = new TreeMap<>();
    for (Path path : files(vectors.get())) {
      for (Example example : VectorFile.read(path).examples()) {
        if (example.halVersion().isEmpty() || example.expectFailure()) {
          continue;
        }
        String wanted = example.halVersion().get().toString();
        counts.merge(wanted, 1, Integer::sum);
        String actual = level(example);
        if (!actual.equals(wanted)) {
          wrong.add(path.getFileName() + " " + example.name() + ": " + actual + ", not " + wanted);
        }
      }
    }
    System.out.println("levels of " + vectors.get() + ": " + counts);
    assertTrue(counts.size() == 4, counts.toString());
    assertEquals(List.of(), wrong);
  }

  private static List<Path> files(Path vectors) throws IOException {
    try (Stream<Path> walk = Files.walk(vectors)) {
      return walk.filter(path -> path.getParent().getFileName().toString().matches("V1_[0-3]"))
          .sorted()
          .toList();
    }
  }

  private static String level(Example example) throws VectorFormatException {
    try (DecodedExample decoded = example.decode()) {
      return VALIDATOR.validate(decoded.model()).toString();
    } catch (ValidationException e) {
      return "refused because " + e.getMessage();
    }
  }
}
