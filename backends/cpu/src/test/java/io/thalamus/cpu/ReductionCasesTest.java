// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.FlatMeans;
import org.junit.jupiter.api.Test;

/** The family Reduction. */
class ReductionCasesTest extends FamilyCases {
  ReductionCasesTest() {
    super(
        "Reduction",
        OperationCode.MEAN,
        OperationCode.REDUCE_SUM,
        OperationCode.REDUCE_PROD,
        OperationCode.REDUCE_MAX,
        OperationCode.REDUCE_MIN,
        OperationCode.REDUCE_ALL,
        OperationCode.REDUCE_ANY);
  }

  @Test
  void flatImagesHaveTheirMeans() throws DeviceException {
    try (CpuDevice device = new CpuDevice("1.0.0")) {
      FlatMeans.checkMeans(device);
      FlatMeans.checkInstances(device);
    }
  }
}
