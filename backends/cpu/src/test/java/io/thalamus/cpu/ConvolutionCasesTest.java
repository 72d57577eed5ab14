// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Convolution. */
class ConvolutionCasesTest extends FamilyCases {
  ConvolutionCasesTest() {
    super(
        "Convolution",
        OperationCode.CONV_2D,
        OperationCode.DEPTHWISE_CONV_2D,
        OperationCode.GROUPED_CONV_2D,
        OperationCode.TRANSPOSE_CONV_2D);
  }
}
