// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.tck.mutation.MutationReport;
import io.thalamus.tck.mutation.MutationSuite;
import io.thalamus.vectors.ConformanceData;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** AOSP's 22 families of faults: one of each for each golden vector that the device can run. */
class MutationTest {
  private static final long SEED = 20_260_101;

  @Test
  void everySpoiledVectorIsRefused() throws Exception {
    Optional<Path> vectors = ConformanceData.vectors();
    Assumptions.assumeTrue(vectors.isPresent(), "no golden vectors beside the project");
    MutationReport report =
        MutationSuite.all(new CpuDevice("1.0.0")).sampled(1, SEED).run(vectors.get());
    System.out.println("mutations of " + vectors.get() + ", seed " + SEED);
    report.table().forEach(System.out::println);
    assertTrue(report.models() > 1_000, "models: " + report.models());
    List<String> accepted =
        report.accepted().stream().map(MutationReport.Accepted::text).limit(20).toList();
    assertEquals(List.of(), accepted, () -> report.acceptedByKind().toString());
  }
}
