// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.tck.mutation.Verdict.Layer;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MutationSuiteTest {
  private final Example example = Samples.addThenRelu();

  private Model model() throws Exception {
    try (DecodedExample decoded = example.decode()) {
      return decoded.model();
    }
  }

  @Test
  void countsByLayerWhereTheDeviceRefuses() throws Exception {
    FakeDevice device = FakeDevice.refusingAllBut(model(), ErrorStatus.INVALID_ARGUMENT);
    MutationReport report = MutationSuite.all(device).run(List.of(example));
    assertEquals(1, report.models());
    assertEquals(0, report.count(Layer.NOBODY), () -> report.accepted().toString());
    assertEquals(20, report.count(MutationFamily.OPERAND_TYPE, Layer.DECODING));
    assertEquals(5, report.count(MutationFamily.OPERAND_SCALE, Layer.VALIDATION));
    assertEquals(report.tried(), report.count(Layer.DECODING) + report.count(Layer.VALIDATION));
    assertEquals(24 + RequestFamily.values().length, report.table().size());
  }

  @Test
  void whatADeviceAcceptsIsAccepted() throws Exception {
    MutationReport report = MutationSuite.all(FakeDevice.acceptingAll()).run(List.of(example));
    assertEquals(0, report.count(Layer.VALIDATION) + report.count(Layer.DEVICE));
    assertEquals(report.tried() - report.count(Layer.DECODING), report.count(Layer.NOBODY));
    assertEquals(3, report.acceptedRequests(), "one input, one output, one fence");
    assertTrue(
        report.accepted().stream().anyMatch(one -> one.text().contains("add_then_relu: removeIn")));
  }

  @Test
  void anotherStatusThanInvalidArgumentIsNoRefusal() throws Exception {
    FakeDevice device = FakeDevice.refusingAllBut(model(), ErrorStatus.GENERAL_FAILURE);
    MutationReport report = MutationSuite.all(device).run(List.of(example));
    assertTrue(report.count(Layer.NOBODY) > 50);
    assertTrue(report.accepted().getFirst().message().contains("GENERAL_FAILURE"));
  }

  @Test
  void aSampleIsTheSameForTheSameSeed() throws Exception {
    FakeDevice device = FakeDevice.acceptingAll();
    MutationSuite suite = MutationSuite.all(device).sampled(2, 7);
    List<String> once = texts(suite.run(List.of(example)));
    assertEquals(once, texts(suite.run(List.of(example))));
    MutationReport report = suite.run(List.of(example));
    for (MutationFamily family : MutationFamily.values()) {
      assertEquals(Math.min(2, family.of(example).size()), report.tried(family));
    }
  }

  private static List<String> texts(MutationReport report) {
    return report.accepted().stream().map(MutationReport.Accepted::text).toList();
  }

  @Test
  void leavesOutWhatAospLeavesOutAndWhatTheDeviceCannot(@TempDir Path folder) throws Exception {
    MutationSuite suite =
        MutationSuite.all(
            FakeDevice.refusingAllBut(
                new Model(model().main(), List.of(), false), ErrorStatus.INVALID_ARGUMENT));
    Example internal = example.withName("add_all_inputs_as_internal");
    Example unsupported =
        example
            .withName("other")
            .withMain(
                example.main().withOperand(2, example.main().operands().get(2).withName("x")));
    new io.thalamus.vectors.VectorFile(
            "add", "V1_0", java.util.Optional.empty(), List.of(internal, unsupported, example))
        .write(folder.resolve("add.json"));
    assertEquals(1, suite.run(folder).models());
  }
}
