// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

import io.thalamus.x86.asm.Encoding.Kind;

/**
 * Instructions that compute a vector from one, which may stand in memory and be shorter than the
 * result.
 */
public enum Unary {
  VSQRTPS(Encoding.of(1, 0, 0x51)),
  VRCPPS(Encoding.of(1, 0, 0x53).with(Kind.VEX)),
  VRSQRTPS(Encoding.of(1, 0, 0x52).with(Kind.VEX)),
  VCVTDQ2PS(Encoding.of(1, 0, 0x5B)),
  /** Rounds as the mode says: to nearest, half to even. */
  VCVTPS2DQ(Encoding.of(1, 1, 0x5B)),
  /** Rounds towards zero. */
  VCVTTPS2DQ(Encoding.of(1, 2, 0x5B)),
  VCVTPS2PD(Encoding.of(1, 0, 0x5A).with(Tuple.HALF)),
  /** Integers of 32 bits made floats of 64. */
  VCVTDQ2PD(Encoding.of(1, 2, 0xE6).with(Tuple.HALF)),
  /** Copies each odd element of 32 bits over the even one before it. */
  VMOVSHDUP(Encoding.of(1, 2, 0x16)),
  VPABSD(Encoding.of(2, 1, 0x1E)),
  VPMOVSXBW(Encoding.of(2, 1, 0x20).with(Tuple.HALF)),
  VPMOVZXBW(Encoding.of(2, 1, 0x30).with(Tuple.HALF)),
  VPMOVSXBD(Encoding.of(2, 1, 0x21).with(Tuple.QUARTER)),
  VPMOVZXBD(Encoding.of(2, 1, 0x31).with(Tuple.QUARTER)),
  VPMOVSXWD(Encoding.of(2, 1, 0x23).with(Tuple.HALF)),
  VPMOVZXWD(Encoding.of(2, 1, 0x33).with(Tuple.HALF)),
  /** With VEX this needs F16C. */
  VCVTPH2PS(Encoding.of(2, 1, 0x13).with(Tuple.HALF)),
  VBROADCASTSS(Encoding.of(2, 1, 0x18).with(Tuple.SINGLE)),
  VPBROADCASTB(Encoding.of(2, 1, 0x78).with(Tuple.BYTE)),
  VPBROADCASTD(Encoding.of(2, 1, 0x58).with(Tuple.SINGLE));

  private final Encoding encoding;

  Unary(Encoding encoding) {
    this.encoding = encoding;
  }

  Encoding encoding() {
    return encoding;
  }

  /** Returns the length of a source in a register: the shortest that holds what is read. */
  Length source(Length result) {
    return switch (encoding.tuple()) {
      case FULL -> result;
      case HALF -> result == Length.ZMM ? Length.YMM : Length.XMM;
      case QUARTER, SINGLE, BYTE -> Length.XMM;
    };
  }
}
