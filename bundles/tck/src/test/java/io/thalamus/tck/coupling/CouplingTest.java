// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.coupling;

import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperand.Dims;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.RawSubgraph;
import io.thalamus.vectors.Values;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CouplingTest {
  private static final Set<io.thalamus.model.OperandCode> BOTH =
      EnumSet.of(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED);

  private static Example relu() {
    RawSubgraph graph =
        new RawSubgraph(
            List.of(
                RawOperand.of("in", "TENSOR_QUANT8_ASYMM", Dims.of(4), "SUBGRAPH_INPUT", 1)
                    .withScale(0.5)
                    .withZeroPoint(100),
                RawOperand.of("out", "TENSOR_QUANT8_ASYMM", Dims.of(4), "SUBGRAPH_OUTPUT", 0)
                    .withScale(0.5)
                    .withZeroPoint(100)),
            List.of(new RawOperation("RELU", List.of(0), List.of(1))),
            List.of(0),
            List.of(1));
    return Example.of(
        "relu_quant8",
        graph,
        List.of(new Example.Input(0, Values.of(0, 99, 101, 255))),
        List.of(new Example.ExpectedOutput(1, false, Values.of(100, 100, 101, 255))));
  }

  @Test
  void theTwinIsMovedBy128() {
    Example twin = SignedVariant.of(relu()).orElseThrow();
    assertEquals("TENSOR_QUANT8_ASYMM_SIGNED", twin.main().operands().get(0).type());
    assertEquals(-28, twin.main().operands().get(1).zeroPoint());
    assertEquals(Values.of(-128, -29, -27, 127), twin.inputs().getFirst().values());
    assertEquals(Values.of(-28, -28, -27, 127), twin.expectedOutputs().getFirst().values());
  }

  @Test
  void onlyOneOperationThatTakesTheTypeHasATwin() {
    Example relu = relu();
    RawSubgraph graph = relu.main();
    RawOperation operation = graph.operations().getFirst();
    assertEquals(
        Optional.empty(),
        SignedVariant.of(relu.withMain(graph.withOperations(List.of(operation, operation)))));
    assertEquals(
        Optional.empty(),
        SignedVariant.of(relu.withMain(graph.withOperation(0, operation.withType("CAST")))));
    assertEquals(
        Optional.empty(),
        SignedVariant.of(
            relu.withMain(
                graph.withOperands(
                    graph.operands().stream()
                        .map(o -> o.withType("TENSOR_QUANT8_ASYMM_SIGNED"))
                        .toList()))));
  }

  @Test
  void aDeviceThatTakesBothAndIsRightPasses() {
    CouplingReport report = new CouplingSuite(new ReluDevice(BOTH, 0, true)).run(List.of(relu()));
    assertEquals(List.of(), report.failures());
    assertEquals(Map.of("RELU", 1), report.coupled());
  }

  @Test
  void oneTypeAloneFails() {
    for (var type : BOTH) {
      CouplingReport report =
          new CouplingSuite(new ReluDevice(EnumSet.of(type), 0, true)).run(List.of(relu()));
      assertEquals(1, report.failures().size());
      assertTrue(report.failures().getFirst().text().contains("only the"));
    }
    CouplingReport neither =
        new CouplingSuite(new ReluDevice(Set.of(), 0, true)).run(List.of(relu()));
    assertEquals(Map.of("RELU", 1), neither.unsupported());
    assertEquals(List.of(), neither.failures());
  }

  @Test
  void anExactDeviceMustGiveEqualResultsAndAnyOtherRightOnes() {
    assertEquals(1, failures(new ReluDevice(BOTH, -1, true)), "within tolerance, but not equal");
    assertEquals(0, failures(new ReluDevice(BOTH, -1, false)));
    assertEquals(1, failures(new ReluDevice(BOTH, -2, false)), "beyond tolerance");
  }

  private static int failures(ReluDevice device) {
    return new CouplingSuite(device).run(List.of(relu())).failures().size();
  }
}
