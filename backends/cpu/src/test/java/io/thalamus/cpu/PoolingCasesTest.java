// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Pooling. */
class PoolingCasesTest extends FamilyCases {
  PoolingCasesTest() {
    super(
        "Pooling",
        OperationCode.AVERAGE_POOL_2D,
        OperationCode.MAX_POOL_2D,
        OperationCode.L2_POOL_2D);
  }
}
