// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Recurrent. */
class RecurrentCasesTest extends FamilyCases {
  RecurrentCasesTest() {
    super(
        "Recurrent",
        OperationCode.RNN,
        OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN,
        OperationCode.BIDIRECTIONAL_SEQUENCE_RNN,
        OperationCode.SVDF,
        OperationCode.LSTM,
        OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM,
        OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM,
        OperationCode.QUANTIZED_16BIT_LSTM,
        OperationCode.QUANTIZED_LSTM);
  }
}
