// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/**
 * The encoding of an instruction on vectors. Immutable.
 *
 * @param map the opcode map: 1 for 0F, 2 for 0F38, 3 for 0F3A
 * @param prefix 0 for none, 1 for 66, 2 for F3, 3 for F2
 * @param opcode within the map
 * @param isWide the bit W
 * @param tuple what it accesses in memory
 * @param kind which prefixes it exists with
 * @param shortest the shortest vector that it takes
 */
record Encoding(
    int map, int prefix, int opcode, boolean isWide, Tuple tuple, Kind kind, Length shortest) {
  /** The prefixes that an instruction exists with. */
  enum Kind {
    VEX,
    EVEX,
    BOTH
  }

  /** Returns an encoding with both prefixes, for whole vectors of any length. */
  static Encoding of(int map, int prefix, int opcode) {
    return new Encoding(map, prefix, opcode, false, Tuple.FULL, Kind.BOTH, Length.XMM);
  }

  Encoding with(Tuple other) {
    return new Encoding(map, prefix, opcode, isWide, other, kind, shortest);
  }

  Encoding with(Kind other) {
    return new Encoding(map, prefix, opcode, isWide, tuple, other, shortest);
  }

  Encoding with(Length other) {
    return new Encoding(map, prefix, opcode, isWide, tuple, kind, other);
  }

  Encoding withOpcode(int other) {
    return new Encoding(map, prefix, other, isWide, tuple, kind, shortest);
  }

  Encoding wide() {
    return new Encoding(map, prefix, opcode, true, tuple, kind, shortest);
  }

  /** Returns whether vectors of a length can be given in registers up to a number. */
  boolean takes(Length length, int largestRegister) {
    boolean needsEvex = length == Length.ZMM || largestRegister > 15;
    return length.compareTo(shortest) >= 0 && !(needsEvex && kind == Kind.VEX);
  }
}
