// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Elementwise. */
class ElementwiseCasesTest extends FamilyCases {
  ElementwiseCasesTest() {
    super(
        "Elementwise",
        OperationCode.ADD,
        OperationCode.SUB,
        OperationCode.MUL,
        OperationCode.DIV,
        OperationCode.MAXIMUM,
        OperationCode.MINIMUM,
        OperationCode.POW);
  }
}
