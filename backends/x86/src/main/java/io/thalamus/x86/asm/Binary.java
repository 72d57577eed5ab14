// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

import io.thalamus.x86.asm.Encoding.Kind;

/** Instructions that compute a vector from two: the second may stand in memory. */
public enum Binary {
  VADDPS(Encoding.of(1, 0, 0x58)),
  VSUBPS(Encoding.of(1, 0, 0x5C)),
  VMULPS(Encoding.of(1, 0, 0x59)),
  VDIVPS(Encoding.of(1, 0, 0x5E)),
  VDIVPD(Encoding.of(1, 1, 0x5E).wide()),
  /** The second where either is NaN, or both are zeros. */
  VMAXPS(Encoding.of(1, 0, 0x5F)),
  /** The second where either is NaN, or both are zeros. */
  VMINPS(Encoding.of(1, 0, 0x5D)),
  /** With EVEX this and the next three need AVX512DQ. */
  VANDPS(Encoding.of(1, 0, 0x54)),
  VANDNPS(Encoding.of(1, 0, 0x55)),
  VORPS(Encoding.of(1, 0, 0x56)),
  VXORPS(Encoding.of(1, 0, 0x57)),
  VUNPCKLPS(Encoding.of(1, 0, 0x14)),
  VUNPCKHPS(Encoding.of(1, 0, 0x15)),
  VUNPCKLPD(Encoding.of(1, 1, 0x14).wide()),
  VUNPCKHPD(Encoding.of(1, 1, 0x15).wide()),
  VPERMPS(Encoding.of(2, 1, 0x16).with(Length.YMM)),
  VPERMD(Encoding.of(2, 1, 0x36).with(Length.YMM)),
  /** Adds the product of the two to the result. */
  VFMADD231PS(Encoding.of(2, 1, 0xB8)),
  /** Multiplies the result by the first and adds the second. */
  VFMADD213PS(Encoding.of(2, 1, 0xA8)),
  /** Subtracts the product of the two from the result. */
  VFNMADD231PS(Encoding.of(2, 1, 0xBC)),
  VPADDD(Encoding.of(1, 1, 0xFE)),
  VPSUBD(Encoding.of(1, 1, 0xFA)),
  VPMULLD(Encoding.of(2, 1, 0x40)),
  VPMAXSD(Encoding.of(2, 1, 0x3D)),
  VPMINSD(Encoding.of(2, 1, 0x39)),
  /** Multiplies the signed lower halves of 64 bits. */
  VPMULDQ(Encoding.of(2, 1, 0x28).wide()),
  VPADDQ(Encoding.of(1, 1, 0xD4).wide()),
  VPAND(Encoding.of(1, 1, 0xDB).with(Kind.VEX)),
  VPXOR(Encoding.of(1, 1, 0xEF).with(Kind.VEX)),
  /** Shifts each element by the second's, filling with its sign. */
  VPSRAVD(Encoding.of(2, 1, 0x46)),
  /** Shifts each element by the second's to the left. */
  VPSLLVD(Encoding.of(2, 1, 0x47)),
  /** Shifts each 64 bits by the second's, filling with zeros. */
  VPSRLVQ(Encoding.of(2, 1, 0x45).wide().with(Kind.VEX)),
  VPMAXUB(Encoding.of(1, 1, 0xDE)),
  VPMAXSB(Encoding.of(2, 1, 0x3C)),
  VPMINUB(Encoding.of(1, 1, 0xDA)),
  VPMINSB(Encoding.of(2, 1, 0x38)),
  /** -1 where the first is greater, else 0. */
  VPCMPGTD(Encoding.of(1, 1, 0x66).with(Kind.VEX)),
  /** -1 where both are the same, else 0. */
  VPCMPEQD(Encoding.of(1, 1, 0x76).with(Kind.VEX)),
  VPADDW(Encoding.of(1, 1, 0xFD)),
  VPSUBW(Encoding.of(1, 1, 0xF9)),
  VPADDSW(Encoding.of(1, 1, 0xED)),
  VPMAXSW(Encoding.of(1, 1, 0xEE)),
  VPMINSW(Encoding.of(1, 1, 0xEA)),
  /** Interleaves the lower halves of each 16 bytes. */
  VPUNPCKLWD(Encoding.of(1, 1, 0x61)),
  /** Interleaves the upper halves of each 16 bytes. */
  VPUNPCKHWD(Encoding.of(1, 1, 0x69)),
  VPMADDWD(Encoding.of(1, 1, 0xF5)),
  /** Unsigned bytes of the first times signed ones of the second; sums of pairs saturate. */
  VPMADDUBSW(Encoding.of(2, 1, 0x04)),
  VPACKSSDW(Encoding.of(1, 1, 0x6B)),
  VPACKUSDW(Encoding.of(2, 1, 0x2B)),
  VPACKSSWB(Encoding.of(1, 1, 0x63)),
  VPACKUSWB(Encoding.of(1, 1, 0x67)),
  /** AVX512_VNNI: sums of four products of bytes, unsigned ones of the first, are added. */
  VPDPBUSD(Encoding.of(2, 1, 0x50).with(Kind.EVEX)),
  /** AVX_VNNI: the same. */
  VPDPBUSD_VEX(Encoding.of(2, 1, 0x50).with(Kind.VEX));

  private final Encoding encoding;

  Binary(Encoding encoding) {
    this.encoding = encoding;
  }

  Encoding encoding() {
    return encoding;
  }
}
