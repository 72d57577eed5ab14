// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.machine.Architecture;
import io.thalamus.operations.OperandView;
import java.lang.foreign.ValueLayout;

/**
 * The target that layers are made for. Immutable.
 *
 * @param architecture of the device
 * @param isTrial whether the layers are only asked whether they fit: then constants are not copied
 */
record LoweringContext(Architecture architecture, boolean isTrial) {
  private static final byte[] NONE = {};

  /** A copy of a constant's bytes. */
  byte[] bytes(OperandView constant) {
    return isTrial ? NONE : constant.value().orElseThrow().toArray(ValueLayout.JAVA_BYTE);
  }
}
