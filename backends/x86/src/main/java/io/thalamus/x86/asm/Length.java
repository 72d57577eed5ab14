// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/** The lengths of vectors. */
public enum Length {
  XMM(16),
  YMM(32),
  ZMM(64);

  private final int bytes;

  Length(int bytes) {
    this.bytes = bytes;
  }

  /** Returns the bytes of a vector. */
  public int bytes() {
    return bytes;
  }

  /** Returns how many vector registers instructions of this length can name. */
  public int registers() {
    return this == ZMM ? 32 : 16;
  }
}
