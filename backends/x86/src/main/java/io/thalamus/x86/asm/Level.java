// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

import java.util.Optional;

/** The instructions that code may use, the slowest first. Each level has those of AVX2 and FMA. */
public enum Level {
  AVX2(Length.YMM, null),
  AVX_VNNI(Length.YMM, Binary.VPDPBUSD_VEX),
  /** With the extensions F, DQ, BW and VL. */
  AVX512(Length.ZMM, null),
  AVX512_VNNI(Length.ZMM, Binary.VPDPBUSD);

  private final Length length;
  private final Optional<Binary> dot;

  Level(Length length, Binary dot) {
    this.length = length;
    this.dot = Optional.ofNullable(dot);
  }

  /** Returns the longest vectors. */
  public Length length() {
    return length;
  }

  /** Returns the instruction that adds four products of bytes, the first unsigned. */
  public Optional<Binary> dot() {
    return dot;
  }
}
