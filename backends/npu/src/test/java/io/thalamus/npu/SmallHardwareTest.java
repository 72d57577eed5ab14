// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Subgraph;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tck.coupling.CouplingReport;
import io.thalamus.tck.coupling.CouplingSuite;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.tck.graph.GraphReport;
import io.thalamus.tck.graph.GraphSuite;
import io.thalamus.tck.mutation.MutationReport;
import io.thalamus.tck.mutation.MutationSuite;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** The conformance kit's generated graphs, on hardware so small that everything is cut. */
@Order(Integer.MAX_VALUE)
class SmallHardwareTest {
  private static final long SEED = 20_260_101;

  private final NpuDevice device = new NpuDevice("1.0.0", GoldenVectorsTest.SMALL);

  @AfterEach
  void close() {
    device.close();
  }

  @Test
  void randomGraphsAreWithinTheirBounds() throws InterruptedException {
    GraphReport report = GraphSuite.of(device).run(300, SEED);
    System.out.println(
        "npu: "
            + report.passed()
            + " random graphs from seed "
            + SEED
            + ": "
            + report.operations());
    assertEquals(List.of(), report.failures().stream().map(GraphReport.Result::text).toList());
    assertTrue(report.passed() > 200, () -> report.skipped().toString());
  }

  @Test
  void storedResultsAreThoseOfTheReference() throws Exception {
    CpuDevice reference = new CpuDevice("1.0.0");
    GraphGenerator generator = GraphGenerator.over(device);
    int compared = 0;
    for (int i = 0; i < 300; i++) {
      try (DecodedExample example = generator.graph(SEED + i).decode()) {
        if (isStored(example.model().main()) && isSupported(example.model())) {
          compared++;
          assertArrayEquals(
              run(reference, example), run(device, example), "graph of seed " + (SEED + i));
        }
      }
    }
    System.out.println("npu: " + compared + " graphs equal to the reference, seed " + SEED);
    assertTrue(compared > 50, "only " + compared + " graphs have stored results");
  }

  private boolean isSupported(Model model) throws DeviceException {
    return device.supportedOperations(model).cardinality() == model.main().operations().size();
  }

  private static boolean isStored(Subgraph graph) {
    return graph.outputIndexes().stream()
        .map(index -> graph.operands().get(index).type())
        .allMatch(
            type ->
                type == OperandCode.TENSOR_QUANT8_ASYMM
                    || type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);
  }

  private static byte[] run(Device device, DecodedExample example) throws DeviceException {
    try (PreparedModel prepared = device.prepare(example.model(), PrepareConfig.DEFAULT);
        TestRequest request = TestRequest.of(example)) {
      assertInstanceOf(
          ExecutionResult.Completed.class,
          prepared.execute(request.request(), ExecutionConfig.DEFAULT));
      return request.allOutputs();
    }
  }

  @Test
  void signedTwinsGiveEqualResults() {
    List<Example> singles = GraphGenerator.over(device).singles(4, SEED);
    CouplingReport report = new CouplingSuite(device).run(singles);
    assertEquals(List.of(), report.failures().stream().map(CouplingReport.Pair::text).toList());
    assertTrue(report.coupled().size() > 12, () -> report.coupled().toString());
  }

  @Test
  void everySpoiledGraphIsRefused() throws Exception {
    List<Example> singles = GraphGenerator.over(device).singles(1, SEED);
    MutationReport report = MutationSuite.all(device).sampled(2, SEED).run(singles);
    assertEquals(List.of(), report.accepted().stream().map(MutationReport.Accepted::text).toList());
    assertEquals(0, report.acceptedRequests());
  }
}
