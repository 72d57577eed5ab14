// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Length;

/**
 * Panels of equal sizes that are multiplied together, and stand one behind the other. Weights that
 * each result needs but once come from the second cache, which gives half as much again if lines
 * from two places are asked for in turn (Zen 5: 200 bytes a nanosecond in place of 130).
 *
 * @param vectors of all panels, in each of their rows
 * @param panels one or two
 * @param rows of a panel
 */
record Streams(Length length, int vectors, int panels, long rows) {
  /** Returns where a vector of a row is if a register points to the same row of the first panel. */
  Address at(Gpr base, int row, int vector) {
    int own = vectors / panels;
    return Address.at(
        base,
        Math.toIntExact(vector / own * rows * step())
            + row * step()
            + vector % own * length.bytes());
  }

  /** Returns the bytes of a row of a panel. */
  int step() {
    return vectors / panels * length.bytes();
  }

  /** Returns the bytes of all panels. */
  long bytes() {
    return panels * rows * step();
  }
}
