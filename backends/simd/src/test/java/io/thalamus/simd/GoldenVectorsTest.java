// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.junit.GoldenVectors;
import io.thalamus.vectors.RunOptions.Outputs;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

@Order(2)
class GoldenVectorsTest {
  @Test
  void claimedOperationsComputeWhatIsExpected() throws Exception {
    try (SimdDevice device = Twins.device("vectors", WarmUp.Stage.ALWAYS_WARM)) {
      GoldenVectors.assertPass(device, 1100, Outputs.values());
    }
  }
}
