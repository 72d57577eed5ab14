// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

/**
 * The work that is paid for by the piece. Immutable.
 *
 * @param intMacs multiplications of 8-bit integers with their addition to a 32-bit sum
 * @param floatMacs multiplications of 16-bit floats with their addition to a 32-bit sum
 * @param scratchpadBytes read from and written to the scratchpad
 * @param dramBytes read from and written to the memory outside
 */
public record Work(long intMacs, long floatMacs, long scratchpadBytes, long dramBytes) {
  public Work {
    if (intMacs < 0 || floatMacs < 0 || scratchpadBytes < 0 || dramBytes < 0) {
      throw new IllegalArgumentException("work is never negative");
    }
  }
}
