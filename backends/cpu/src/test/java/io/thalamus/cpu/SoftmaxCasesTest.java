// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.EqualScores;
import org.junit.jupiter.api.Test;

/** The family Softmax. */
class SoftmaxCasesTest extends FamilyCases {
  SoftmaxCasesTest() {
    super("Softmax", OperationCode.SOFTMAX, OperationCode.LOG_SOFTMAX);
  }

  @Test
  void scoresThatHardlyDifferHaveSmallProbabilities() throws DeviceException {
    try (CpuDevice device = new CpuDevice("1.0.0")) {
      EqualScores.check(device, Integer.MAX_VALUE);
    }
  }
}
