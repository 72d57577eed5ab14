// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Plan;
import io.thalamus.hal.Device;
import io.thalamus.model.DeviceType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A device that speaks an older version gets what that version can say, in its words. */
class OlderDeviceTest {
  /** SOFTMAX with the axis that came with 1.2. */
  private static Model softmax(int axis) {
    SubgraphBuilder builder = new SubgraphBuilder();
    int x = builder.input("x", OperandCode.TENSOR_FLOAT32, Shape.of(2, 3), Quantization.NONE);
    int y = builder.output("y", OperandCode.TENSOR_FLOAT32, Shape.of(2, 3), Quantization.NONE);
    builder.operation(
        OperationCode.SOFTMAX, List.of(x, builder.float32(1), builder.int32(axis)), List.of(y));
    return Model.of(builder.build());
  }

  @Test
  void argumentsThatEqualTheirDefaultsAreTakenOffFirst() throws Exception {
    List<Integer> counts = new ArrayList<>();
    Device old =
        new LimitedDevice(
            LimitedDevice.info("test-old", DeviceType.ACCELERATOR, 0.1)
                .featureLevel(FeatureLevel.V1_0)
                .build(),
            (graph, operation) -> counts.add(operation.inputs().size()));
    try (TestRuntime runtime = TestRuntime.of(old, LimitedDevice.cpu())) {
      assertEquals(List.of("old"), devices(runtime, softmax(-1)));
      assertEquals(List.of("cpu"), devices(runtime, softmax(1)));
      assertEquals(List.of(2, 3), counts);
      assertEquals(
          1, runtime.networks().supportedOperations(softmax(-1), List.of("old")).cardinality());
      assertEquals(
          0, runtime.networks().supportedOperations(softmax(1), List.of("old")).cardinality());
    }
  }

  private static List<String> devices(TestRuntime runtime, Model model) throws Exception {
    Plan plan = runtime.networks().plan(model, CompilationOptions.DEFAULT);
    return plan.steps().stream().map(Plan.Step::device).toList();
  }
}
