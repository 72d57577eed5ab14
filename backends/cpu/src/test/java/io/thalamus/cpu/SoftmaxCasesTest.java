// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Softmax. */
class SoftmaxCasesTest extends FamilyCases {
  SoftmaxCasesTest() {
    super("Softmax", OperationCode.SOFTMAX, OperationCode.LOG_SOFTMAX);
  }
}
