// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Rearrange. */
class RearrangeCasesTest extends FamilyCases {
  RearrangeCasesTest() {
    super(
        "Rearrange",
        OperationCode.CONCATENATION,
        OperationCode.SPLIT,
        OperationCode.TILE,
        OperationCode.PAD,
        OperationCode.PAD_V2,
        OperationCode.TRANSPOSE,
        OperationCode.CHANNEL_SHUFFLE,
        OperationCode.DEPTH_TO_SPACE,
        OperationCode.SPACE_TO_DEPTH,
        OperationCode.BATCH_TO_SPACE_ND,
        OperationCode.SPACE_TO_BATCH_ND);
  }
}
