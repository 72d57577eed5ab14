// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.timing.ArrayTiming;
import io.thalamus.npu.timing.Dataflow;
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

  /** Hardware so small that nearly everything is cut into tiles, by tilings found at random. */
  static final NpuConfig SMALL =
      NpuConfig.DEFAULT
          .with(
              new Architecture(
                  new ArrayTiming(4, 4, Dataflow.OUTPUT_STATIONARY),
                  4,
                  4096,
                  256,
                  1 << 22,
                  1e9,
                  1e-8))
          .withSearch(5, true, 11);

  @Test
  void claimedOperationsComputeWhatIsExpected() throws IOException, VectorFormatException {
    run(NpuConfig.DEFAULT.withSearch(0, false, 1), Outputs.values());
  }

  @Test
  void smallHardwareComputesTheSame() throws IOException, VectorFormatException {
    run(SMALL, Outputs.FULLY_SPECIFIED);
  }

  private static void run(NpuConfig config, Outputs... modes)
      throws IOException, VectorFormatException {
    Optional<Path> vectors = ConformanceData.vectors();
    assumeTrue(vectors.isPresent(), "there are no golden vectors here");
    List<String> failures = new ArrayList<>();
    TreeMap<String, Integer> passed = new TreeMap<>();
    try (NpuDevice device = new NpuDevice("1.0.0", config)) {
      for (Path path : files(vectors.get())) {
        for (Example example : VectorFile.read(path).examples()) {
          for (Outputs outputs : modes) {
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
    System.out.println("npu on golden vectors of " + vectors.get() + ": " + passed);
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
