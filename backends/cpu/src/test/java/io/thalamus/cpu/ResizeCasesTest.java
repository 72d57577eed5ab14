// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Resize. */
class ResizeCasesTest extends FamilyCases {
  ResizeCasesTest() {
    super("Resize", OperationCode.RESIZE_BILINEAR, OperationCode.RESIZE_NEAREST_NEIGHBOR);
  }
}
