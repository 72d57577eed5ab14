// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.tck.coupling.CouplingReport;
import io.thalamus.tck.coupling.CouplingSuite;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.Example;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Each golden vector over TENSOR_QUANT8_ASYMM gives equal results in the signed type. */
class CouplingTest {
  @Test
  void signedTwinsOfGeneratedOperationsGiveEqualResults() {
    CpuDevice device = new CpuDevice("1.0.0");
    List<Example> singles = GraphGenerator.over(device).singles(4, 1);
    CouplingReport report = new CouplingSuite(device).run(singles);
    assertEquals(List.of(), report.failures().stream().map(CouplingReport.Failure::text).toList());
    System.out.println("coupled generated operations: " + report.coupled());
    assertTrue(report.coupled().size() > 40, () -> report.coupled().toString());
  }

  @Test
  void signedTwinsGiveEqualResults() throws Exception {
    Optional<Path> vectors = ConformanceData.vectors();
    Assumptions.assumeTrue(vectors.isPresent(), "no golden vectors beside the project");
    CouplingReport report = new CouplingSuite(new CpuDevice("1.0.0")).run(vectors.get());
    List<String> failures = report.failures().stream().map(CouplingReport.Failure::text).toList();
    assertEquals(List.of(), failures);
    System.out.println("coupled in " + vectors.get() + ": " + report.coupled());
    assertTrue(report.coupled().size() > 40, () -> report.coupled().toString());
  }
}
