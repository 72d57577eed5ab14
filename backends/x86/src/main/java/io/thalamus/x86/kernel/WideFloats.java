// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * Floats of 32 bits made ones of 64, or the reverse, rounded to nearest.
 *
 * @param isNarrowed whether those of 64 bits are the source
 * @param count elements
 */
public record WideFloats(boolean isNarrowed, int count) implements FunctionSource {
  private static final int LANES = 4;
  private static final int HALF = 16;
  private static final Vector WIDE = new Vector(Length.YMM, 0);
  private static final Vector NARROW = new Vector(Length.XMM, 1);
  private static final Vector UPPER = new Vector(Length.XMM, 2);

  /** Returns the function: o0 is the source, o1 the result. There is one block. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    int read = isNarrowed ? Double.BYTES : Float.BYTES;
    int written = isNarrowed ? Float.BYTES : Double.BYTES;
    Loops.convert(a, count, LANES, read, written, elements -> some(a, elements));
    a.vzeroupper();
    return emitter.end(new Extent((long) count * read, 0), new Extent((long) count * written, 0));
  }

  private void some(Assembler a, int elements) {
    int bytes = elements * Double.BYTES;
    if (isNarrowed) {
      if (elements == LANES) {
        a.load(Move.VMOVUPS, WIDE, Address.at(Gpr.RDX, 0));
      } else {
        Bytes.load(a, WIDE.as(Length.XMM), Gpr.RDX, 0, Math.min(bytes, HALF));
        if (bytes > HALF) {
          Bytes.load(a, UPPER, Gpr.RDX, HALF, bytes - HALF);
          a.vinserti128(WIDE, WIDE, UPPER, 1);
        }
      }
      a.vcvtpd2ps(NARROW, WIDE);
      Bytes.store(a, NARROW, Gpr.RCX, 0, elements * Float.BYTES);
      return;
    }
    Bytes.load(a, NARROW, Gpr.RDX, 0, elements * Float.BYTES);
    a.emit(Unary.VCVTPS2PD, WIDE, NARROW);
    if (elements == LANES) {
      a.store(Move.VMOVUPS, Address.at(Gpr.RCX, 0), WIDE);
    } else {
      Bytes.store(a, WIDE.as(Length.XMM), Gpr.RCX, 0, Math.min(bytes, HALF));
      if (bytes > HALF) {
        a.vextracti128(UPPER, WIDE, 1);
        Bytes.store(a, UPPER, Gpr.RCX, HALF, bytes - HALF);
      }
    }
  }
}
