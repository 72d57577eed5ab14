// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

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
import io.thalamus.x86.asm.Level;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The time of an operation is reported as its own, and with it the peaks, which the kit cannot
 * know.
 */
class ProfileTest {
  @ParameterizedTest
  @EnumSource
  void eachOperationThatIsWorkHasATime(Level level) throws Exception {
    Levels.assume(level);
    try (X86Device device = Levels.device(level);
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
        assertTrue(profile.floatPeak() > 0 && profile.bytePeak() > 0, profile.toString());
      }
    }
  }
}
