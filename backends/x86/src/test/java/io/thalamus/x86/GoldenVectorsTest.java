// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.tck.junit.GoldenVectors;
import io.thalamus.vectors.RunOptions.Outputs;
import io.thalamus.x86.asm.Length;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class GoldenVectorsTest {
  @ParameterizedTest
  @EnumSource(names = {"YMM", "ZMM"})
  void claimedOperationsComputeWhatIsExpected(Length length) throws Exception {
    try (X86Device device = Lengths.device(length)) {
      GoldenVectors.assertPass(device, 100, Outputs.values());
    }
  }
}
