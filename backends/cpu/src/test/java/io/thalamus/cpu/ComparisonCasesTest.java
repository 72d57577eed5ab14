// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Comparison. */
class ComparisonCasesTest extends FamilyCases {
  ComparisonCasesTest() {
    super(
        "Comparison",
        OperationCode.EQUAL,
        OperationCode.NOT_EQUAL,
        OperationCode.LESS,
        OperationCode.LESS_EQUAL,
        OperationCode.GREATER,
        OperationCode.GREATER_EQUAL,
        OperationCode.LOGICAL_AND,
        OperationCode.LOGICAL_OR);
  }
}
