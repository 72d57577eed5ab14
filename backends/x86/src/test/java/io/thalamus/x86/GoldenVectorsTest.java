// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.tck.junit.GoldenVectors;
import io.thalamus.vectors.RunOptions.Outputs;
import io.thalamus.x86.asm.Level;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Order(2)
class GoldenVectorsTest {
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void claimedOperationsComputeWhatIsExpected(Level level) throws Exception {
    try (X86Device device = Levels.device(level)) {
      GoldenVectors.assertPass(device, 100, Outputs.values());
    }
  }
}
