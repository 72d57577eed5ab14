// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Activation. */
class ActivationCasesTest extends FamilyCases {
  ActivationCasesTest() {
    super(
        "Activation",
        OperationCode.RELU,
        OperationCode.RELU1,
        OperationCode.RELU6,
        OperationCode.LOGISTIC,
        OperationCode.TANH,
        OperationCode.ELU,
        OperationCode.HARD_SWISH,
        OperationCode.PRELU);
  }
}
