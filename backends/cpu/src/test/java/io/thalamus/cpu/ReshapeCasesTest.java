// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Reshape. */
class ReshapeCasesTest extends FamilyCases {
  ReshapeCasesTest() {
    super(
        "Reshape",
        OperationCode.RESHAPE,
        OperationCode.SQUEEZE,
        OperationCode.EXPAND_DIMS,
        OperationCode.RANK,
        OperationCode.FILL);
  }
}
