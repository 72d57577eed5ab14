// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Vector;

/** Accesses to fewer bytes than a vector has, and to none besides, with AVX2 alone. */
final class Bytes {
  private Bytes() {}

  /** Stores the first 1 to 16 bytes of a vector of 16. */
  static void store(Assembler a, Vector from, Gpr to, int displacement, int count) {
    if (count == 16) {
      a.store(Move.VMOVUPS, Address.at(to, displacement), from);
      return;
    }
    int at = 0;
    if (count >= 8) {
      a.vmovq(Address.at(to, displacement), from);
      at = 8;
    }
    for (; at + 2 <= count; at += 2) {
      a.vpextrw(Address.at(to, displacement + at), from, at / 2);
    }
    if (at < count) {
      a.vpextrb(Address.at(to, displacement + at), from, at);
    }
  }

  /** Loads 1 to 16 bytes into a vector of 16, whose others become 0. */
  static void load(Assembler a, Vector to, Gpr from, int displacement, int count) {
    if (count == 16) {
      a.load(Move.VMOVUPS, to, Address.at(from, displacement));
      return;
    }
    a.emit(Binary.VXORPS, to, to, to);
    for (int at = 0; at < count; at++) {
      a.vpinsrb(to, to, Address.at(from, displacement + at), at);
    }
  }
}
