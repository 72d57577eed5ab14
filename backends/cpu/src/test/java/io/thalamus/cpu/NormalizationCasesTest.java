// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Normalization. */
class NormalizationCasesTest extends FamilyCases {
  NormalizationCasesTest() {
    super(
        "Normalization",
        OperationCode.L2_NORMALIZATION,
        OperationCode.LOCAL_RESPONSE_NORMALIZATION,
        OperationCode.INSTANCE_NORMALIZATION);
  }
}
