// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/** The elements of one vector combined: halves with each other, until one is left. Stateless. */
final class Across {
  private Across() {}

  /**
   * Sets all elements of a register to what becomes of all.
   *
   * @param other a register that changes, as do the two behind it
   */
  static void emit(Emitter emitter, Reducing kind, Vector value, Vector other) {
    Assembler a = emitter.assembler();
    // Below the stack's end: a function that calls none owns 128 bytes there.
    int below = -Length.ZMM.bytes();
    Vector zero = new Vector(value.length(), other.number() + 1);
    Vector scratch = new Vector(value.length(), other.number() + 2);
    for (int bytes = value.length().bytes() / 2; bytes >= Float.BYTES; bytes /= 2) {
      a.store(Move.VMOVUPS, Address.at(Gpr.RSP, below), value);
      Address upper = Address.at(Gpr.RSP, below + bytes);
      if (bytes == Float.BYTES) {
        a.emit(Unary.VBROADCASTSS, other, upper);
      } else {
        // What is combined in the elements behind these is no matter.
        a.load(
            Move.VMOVUPS, other.as(bytes == Length.YMM.bytes() ? Length.YMM : Length.XMM), upper);
      }
      kind.combine(emitter, value, other, zero, scratch);
    }
    a.store(Move.VMOVUPS, Address.at(Gpr.RSP, below), value);
    a.emit(Unary.VBROADCASTSS, value, Address.at(Gpr.RSP, below));
  }
}
