// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.tck.graph.GraphReport;
import io.thalamus.tck.graph.GraphSuite;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Random graphs over all that the device supports, against the conformance kit's oracle. */
class RandomGraphTest {
  private static final int COUNT = 1_000;
  private static final long SEED = 1;

  @Test
  void everyResultIsWithinItsBounds() throws Exception {
    GraphReport report = GraphSuite.of(new CpuDevice("1.0.0")).run(COUNT, SEED);
    System.out.println(
        "random graphs from seed "
            + SEED
            + ": "
            + report.passed()
            + " passed, "
            + report.operations().size()
            + " operations, "
            + report.elements()
            + " elements");
    List<String> failures = report.failures().stream().map(GraphReport.Result::text).toList();
    assertEquals(List.of(), failures);
    assertEquals(COUNT, report.passed(), () -> report.skipped().toString());
    assertTrue(report.operations().size() > 70, () -> report.operations().toString());
  }
}
