// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.tck.coupling.CouplingReport;
import io.thalamus.tck.coupling.CouplingSuite;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.VectorFile;
import io.thalamus.vectors.VectorSuite;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Operations that take TENSOR_QUANT8_ASYMM take the signed type too, and give equal results. */
class CouplingTest {
  /** The operations that have no twin by moving stored values, as in AOSP. */
  private static final Set<String> WITHOUT_TWIN =
      Set.of(
          "CAST", // converts the stored value itself
          "PAD_V2", // has its value in a scalar
          "RANK", // has no quantized result; its definition takes any tensor
          "io.thalamus/CAST", // as CAST
          "io.thalamus/GATHER_ND",
          "io.thalamus/MIRROR_PAD");

  private final CpuDevice device = new CpuDevice("1.0.0");

  /** The list comes from the definitions, so that no operation can be forgotten. */
  @Test
  void everyOperationOnTheTypeIsCoupled() throws Exception {
    OperationCatalog catalog = OperationCatalog.standard();
    Set<String> wanted = new TreeSet<>();
    for (OperationType operation : catalog.types()) {
      Set<OperandCode> types = catalog.find(operation).orElseThrow().types().types();
      if (types.contains(OperandCode.TENSOR_QUANT8_ASYMM)
          && types.contains(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)) {
        wanted.add(operation.text());
      }
    }
    wanted.removeAll(WITHOUT_TWIN);
    List<Example> examples = new ArrayList<>(GraphGenerator.over(device).singles(4, 1));
    Path cases = Path.of(CouplingTest.class.getResource("/cases").toURI());
    for (Path file : VectorSuite.of(cases).files()) {
      examples.addAll(VectorFile.read(file).examples());
    }
    CouplingReport report = new CouplingSuite(device).run(examples);
    assertEquals(List.of(), failures(report));
    Set<String> coupled = new TreeSet<>();
    // An extension's operation is written with its number.
    report.coupled().keySet().forEach(name -> coupled.add(name.replaceAll("#.*", "")));
    wanted.removeAll(coupled);
    assertEquals(Set.of(), wanted, "no example of these has a signed twin: add one to cases");
  }

  @Test
  void signedTwinsGiveEqualResults() throws Exception {
    Optional<Path> vectors = ConformanceData.vectors();
    Assumptions.assumeTrue(vectors.isPresent(), "no golden vectors beside the project");
    CouplingReport report = new CouplingSuite(device).run(vectors.get());
    assertEquals(List.of(), failures(report));
    System.out.println("coupled in " + vectors.get() + ": " + report.coupled());
    assertTrue(report.coupled().size() > 40, () -> report.coupled().toString());
  }

  private static List<String> failures(CouplingReport report) {
    return report.failures().stream().map(CouplingReport.Pair::text).toList();
  }
}
