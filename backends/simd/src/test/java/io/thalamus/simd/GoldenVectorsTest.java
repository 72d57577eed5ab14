// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.simd.program.WarmUp;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.DeviceTarget;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.RunOptions.Outputs;
import io.thalamus.vectors.VectorFile;
import io.thalamus.vectors.VectorFormatException;
import io.thalamus.vectors.VectorRunner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Runs the golden vectors of which the device claims all operations. */
class GoldenVectorsTest {
  /** Fewer would mean that something is not claimed any more. */
  private static final int LEAST = 400;

  @Test
  void claimedOperationsComputeWhatIsExpected() throws IOException, VectorFormatException {
    Optional<Path> vectors = ConformanceData.vectors();
    assumeTrue(vectors.isPresent(), "there are no golden vectors here");
    List<String> failures = new ArrayList<>();
    TreeMap<String, Integer> passed = new TreeMap<>();
    try (SimdDevice device = Twins.device("vectors", WarmUp.Stage.ALWAYS_WARM)) {
      for (Path path : files(vectors.get())) {
        for (Example example : VectorFile.read(path).examples()) {
          for (Outputs outputs : Outputs.values()) {
            VectorRunner runner =
                new VectorRunner(new DeviceTarget(device), RunOptions.DEFAULT.with(outputs));
            switch (runner.run(example)) {
              case Outcome.Failed failed ->
                  failures.add(path.getFileName() + " " + example.name() + ": " + failed.reason());
              case Outcome.Passed _ -> {
                if (outputs == Outputs.FULLY_SPECIFIED) {
                  passed.merge(
                      example.subgraphs().findFirst().orElseThrow().operations().get(0).type(),
                      1,
                      Integer::sum);
                }
              }
              case Outcome.Skipped _ -> {}
            }
          }
        }
      }
    }
    System.out.println("simd on golden vectors of " + vectors.get() + ": " + passed);
    assertEquals(List.of(), failures);
    assertTrue(
        passed.values().stream().mapToInt(Integer::intValue).sum() >= LEAST, () -> passed + "");
  }

  private static List<Path> files(Path vectors) throws IOException {
    try (Stream<Path> walk = Files.walk(vectors)) {
      return walk.filter(path -> path.getParent().getFileName().toString().startsWith("V1_"))
          .filter(path -> path.toString().endsWith(".json"))
          .sorted()
          .toList();
    }
  }
}
