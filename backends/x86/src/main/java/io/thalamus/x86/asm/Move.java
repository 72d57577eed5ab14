// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

import io.thalamus.x86.asm.Encoding.Kind;

/** Instructions that move a vector from or to memory, or between registers. */
public enum Move {
  VMOVUPS(Encoding.of(1, 0, 0x10), 0x11),
  /** Faults where the address is not a multiple of the vector's length. */
  VMOVAPS(Encoding.of(1, 0, 0x28), 0x29),
  VMOVDQU(Encoding.of(1, 2, 0x6F).with(Kind.VEX), 0x7F),
  VMOVDQU32(Encoding.of(1, 2, 0x6F).with(Kind.EVEX), 0x7F);

  private final Encoding load;
  private final Encoding store;

  Move(Encoding load, int storeOpcode) {
    this.load = load;
    this.store = load.withOpcode(storeOpcode);
  }

  Encoding load() {
    return load;
  }

  Encoding store() {
    return store;
  }
}
