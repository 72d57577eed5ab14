// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.Quantization.NONE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.ExecutionProfile;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.tck.check.TestRequest;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The time of an operation is reported as its own, which the kit cannot know. */
class ProfileTest {
  @Test
  void eachOperationThatIsWorkHasATime() throws Exception {
    try (SimdDevice device = new SimdDevice("1.0.0", 2);
        TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, NONE, 2, 3);
      int between = graph.temporary(TENSOR_FLOAT32, NONE, 2, 3);
      int shaped = graph.temporary(TENSOR_FLOAT32, NONE, 6);
      graph.operation(OperationCode.ABS, List.of(input), between);
      graph.operation(OperationCode.RESHAPE, List.of(between, graph.int32Vector(6)), shaped);
      graph.operation(OperationCode.NEG, List.of(shaped), graph.output(TENSOR_FLOAT32, NONE, 6));
      try (PreparedModel prepared = device.prepare(graph.model(), PrepareConfig.DEFAULT);
          TestRequest request = TestRequest.of(graph.model().main())) {
        ExecutionProfile profile = prepared.profile(request.request()).orElseThrow();
        assertTrue(profile.nanos().get(0) > 0, profile.toString());
        assertEquals(0, profile.nanos().get(1));
        assertTrue(profile.nanos().get(2) > 0, profile.toString());
      }
    }
  }
}
