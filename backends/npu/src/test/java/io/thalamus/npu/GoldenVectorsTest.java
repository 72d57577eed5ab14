// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.timing.ArrayTiming;
import io.thalamus.npu.timing.Dataflow;
import io.thalamus.tck.junit.GoldenVectors;
import io.thalamus.vectors.RunOptions.Outputs;
import org.junit.jupiter.api.Test;

class GoldenVectorsTest {
  private static final int LEAST = 780;

  /** Hardware so small that nearly everything is cut into tiles, by tilings found at random. */
  static final NpuConfig SMALL =
      NpuConfig.standard()
          .with(
              new Architecture(
                  new ArrayTiming(4, 4, Dataflow.OUTPUT_STATIONARY),
                  4,
                  4096,
                  256,
                  1 << 22,
                  1e9,
                  1e-8))
          .withSearch(5, true, 11);

  @Test
  void claimedOperationsComputeWhatIsExpected() throws Exception {
    run(NpuConfig.standard().withSearch(0, false, 1), Outputs.values());
  }

  @Test
  void smallHardwareComputesTheSame() throws Exception {
    run(SMALL, Outputs.FULLY_SPECIFIED);
  }

  private static void run(NpuConfig config, Outputs... modes) throws Exception {
    try (NpuDevice device = new NpuDevice("1.0.0", config)) {
      GoldenVectors.assertPass(device, LEAST, modes);
    }
  }
}
