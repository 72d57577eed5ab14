// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Selection. */
class SelectionCasesTest extends FamilyCases {
  SelectionCasesTest() {
    super(
        "Selection",
        OperationCode.SELECT,
        OperationCode.ARGMAX,
        OperationCode.ARGMIN,
        OperationCode.TOPK_V2,
        OperationCode.LSH_PROJECTION,
        OperationCode.RANDOM_MULTINOMIAL);
  }
}
