// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family MatrixMultiply. */
class MatrixMultiplyCasesTest extends FamilyCases {
  MatrixMultiplyCasesTest() {
    super("MatrixMultiply", OperationCode.FULLY_CONNECTED);
  }
}
