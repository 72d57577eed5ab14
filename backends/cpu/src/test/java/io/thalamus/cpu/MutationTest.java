// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.tck.mutation.MutationFamily;
import io.thalamus.tck.mutation.MutationReport;
import io.thalamus.tck.mutation.MutationSuite;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.Example;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** AOSP's 22 families of faults: one of each for each golden vector that the device can run. */
class MutationTest {
  private static final long SEED = 20_260_101;
  private static final int GRAPHS = 100;

  @Test
  void everySpoiledVectorIsRefused() throws Exception {
    Optional<Path> vectors = ConformanceData.vectors();
    Assumptions.assumeTrue(vectors.isPresent(), "no golden vectors beside the project");
    MutationReport report =
        MutationSuite.all(new CpuDevice("1.0.0")).sampled(1, SEED).run(vectors.get());
    System.out.println("mutations of " + vectors.get() + ", seed " + SEED);
    report.table().forEach(System.out::println);
    assertTrue(report.models() > 1_000, "models: " + report.models());
    assertAllRefused(report);
  }

  /** Mutations that need no data from outside: single operations, and graphs of several. */
  @Test
  void everySpoiledRandomGraphIsRefused() throws Exception {
    CpuDevice device = new CpuDevice("1.0.0");
    GraphGenerator generator = GraphGenerator.over(device);
    List<Example> examples = new ArrayList<>(generator.singles(1, SEED));
    for (int i = 0; i < GRAPHS; i++) {
      examples.add(generator.graph(SEED + i));
    }
    MutationReport report = MutationSuite.all(device).sampled(4, SEED).run(examples);
    System.out.println("mutations of " + examples.size() + " random graphs, seed " + SEED);
    report.table().forEach(System.out::println);
    for (MutationFamily family : MutationFamily.values()) {
      assertTrue(report.tried(family) > 0, family.aospName());
    }
    assertAllRefused(report);
  }

  private static void assertAllRefused(MutationReport report) {
    List<String> accepted =
        report.accepted().stream().map(MutationReport.Accepted::text).limit(20).toList();
    assertEquals(List.of(), accepted, () -> report.acceptedByKind().toString());
    assertEquals(0, report.acceptedRequests());
  }
}
