// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Slice. */
class SliceCasesTest extends FamilyCases {
  SliceCasesTest() {
    super(
        "Slice",
        OperationCode.SLICE,
        OperationCode.STRIDED_SLICE,
        OperationCode.GATHER,
        OperationCode.EMBEDDING_LOOKUP,
        OperationCode.HASHTABLE_LOOKUP);
  }
}
