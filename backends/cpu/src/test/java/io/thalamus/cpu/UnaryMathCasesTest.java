// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family UnaryMath. */
class UnaryMathCasesTest extends FamilyCases {
  UnaryMathCasesTest() {
    super(
        "UnaryMath",
        OperationCode.ABS,
        OperationCode.NEG,
        OperationCode.EXP,
        OperationCode.LOG,
        OperationCode.SQRT,
        OperationCode.RSQRT,
        OperationCode.SIN,
        OperationCode.FLOOR,
        OperationCode.LOGICAL_NOT);
  }
}
