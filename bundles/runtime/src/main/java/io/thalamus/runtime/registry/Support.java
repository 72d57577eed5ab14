// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import java.util.BitSet;

/**
 * What a device promised of a model. A value, whose set nobody changes.
 *
 * @param operations the operations that it supports
 * @param reason why it does not support the others
 * @param isBroken whether it failed to answer
 */
public record Support(BitSet operations, String reason, boolean isBroken) {
  static Support none(String reason) {
    return new Support(new BitSet(), reason, false);
  }

  static Support broken(String reason) {
    return new Support(new BitSet(), reason, true);
  }
}
