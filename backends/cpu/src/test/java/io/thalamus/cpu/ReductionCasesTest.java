// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

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
}
