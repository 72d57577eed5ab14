// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** IF and WHILE as operations of the device. */
class ControlFlowCasesTest extends FamilyCases {
  ControlFlowCasesTest() {
    super("ControlFlow", OperationCode.IF, OperationCode.WHILE);
  }
}
