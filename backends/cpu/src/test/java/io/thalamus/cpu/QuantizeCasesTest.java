// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Quantize. */
class QuantizeCasesTest extends FamilyCases {
  QuantizeCasesTest() {
    super("Quantize", OperationCode.QUANTIZE, OperationCode.DEQUANTIZE, OperationCode.CAST);
  }
}
