// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.asm.VectorShift;
import java.util.Arrays;
import java.util.Optional;

/**
 * One stored byte for each window and channel: the largest, or a mean. Sums are divided as floats:
 * below 2^24 the quotient, rounded once, lies on the same side of every integer as the real one.
 *
 * @param kind of result
 * @param isSigned whether bytes are
 * @param height cells of a window below each other
 * @param heightStep bytes from one to the next
 * @param width cells beside each other
 * @param widthStep bytes from one to the next
 * @param channels bytes of a cell that are used
 * @param windowStep bytes from one window to the next
 * @param resultStep bytes from one result to the next
 * @param origin the stored value that ties of means go away from
 * @param low the least result
 * @param high the largest result
 */
public record BytePool(
    Kind kind,
    boolean isSigned,
    int height,
    int heightStep,
    int width,
    int widthStep,
    int channels,
    int windowStep,
    int resultStep,
    int origin,
    int low,
    int high)
    implements FunctionSource {
  /** The results. */
  public enum Kind {
    MAXIMUM,
    MEAN
  }

  /** Cells of a window, so that sums stay below 2^24. */
  public static final int MOST_CELLS = 60_000;

  private static final int AT_ONCE = 16;
  private static final Vector SUM = new Vector(Length.YMM, 0);
  private static final Vector UPPER = new Vector(Length.YMM, 1);
  private static final Vector SEEN = new Vector(Length.YMM, 2);
  private static final Vector WORDS = new Vector(Length.YMM, 3);
  private static final Vector ZERO = new Vector(Length.YMM, 4);

  /** Returns the function: o0 is the source, o1 the result; a block is a window. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    a.emit(Binary.VXORPS, ZERO, ZERO, ZERO);
    Label again = a.label();
    a.mov(Gpr.R10, Gpr.RDX);
    a.mov(Gpr.R11, Gpr.RCX);
    if (channels >= AT_ONCE) {
      a.mov(Gpr.RSI, channels / AT_ONCE);
      Label next = a.label();
      part(emitter, AT_ONCE);
      a.emit(Alu.ADD, Gpr.R10, AT_ONCE);
      a.emit(Alu.ADD, Gpr.R11, AT_ONCE);
      a.countDown(Gpr.RSI, next);
    }
    if (channels % AT_ONCE > 0) {
      part(emitter, channels % AT_ONCE);
    }
    long seen = (height - 1L) * heightStep + (width - 1L) * widthStep + channels;
    return emitter.endBlocks(again, new Extent(seen, windowStep), new Extent(channels, resultStep));
  }

  /** Walks over a window with rdi. */
  private void part(Emitter emitter, int bytes) {
    Assembler a = emitter.assembler();
    boolean isMaximum = kind == Kind.MAXIMUM;
    if (isMaximum) {
      a.load(Move.VMOVUPS, SUM.as(Length.XMM), bytes(a, isSigned ? Byte.MIN_VALUE : 0));
    } else {
      a.emit(Binary.VXORPS, SUM, SUM, SUM);
      a.emit(Binary.VXORPS, UPPER, UPPER, UPPER);
    }
    a.mov(Gpr.RDI, Gpr.R10);
    Loops.window(
        a,
        Gpr.RDI,
        Gpr.RAX,
        height,
        heightStep,
        Gpr.R8,
        width,
        widthStep,
        0,
        () -> add(emitter, bytes));
    if (isMaximum) {
      storeMaximum(a, bytes);
    } else {
      storeMean(emitter, bytes);
    }
  }

  /** Adds the bytes at rdi, or keeps the larger ones. */
  private void add(Emitter emitter, int bytes) {
    Assembler a = emitter.assembler();
    Vector seen = SEEN.as(Length.XMM);
    Bytes.load(a, seen, Gpr.RDI, 0, bytes);
    if (kind == Kind.MAXIMUM) {
      Vector maximum = SUM.as(Length.XMM);
      a.emit(isSigned ? Binary.VPMAXSB : Binary.VPMAXUB, maximum, maximum, seen);
    } else {
      a.emit(isSigned ? Unary.VPMOVSXBW : Unary.VPMOVZXBW, SEEN, seen);
      Address ones = Rescale.words(emitter, Length.YMM, 1);
      a.emit(Binary.VPUNPCKLWD, WORDS, SEEN, ZERO);
      a.emit(Binary.VPMADDWD, WORDS, WORDS, ones);
      a.emit(Binary.VPADDD, SUM, SUM, WORDS);
      a.emit(Binary.VPUNPCKHWD, WORDS, SEEN, ZERO);
      a.emit(Binary.VPMADDWD, WORDS, WORDS, ones);
      a.emit(Binary.VPADDD, UPPER, UPPER, WORDS);
    }
  }

  private void storeMaximum(Assembler a, int bytes) {
    Vector maximum = SUM.as(Length.XMM);
    a.emit(isSigned ? Binary.VPMAXSB : Binary.VPMAXUB, maximum, maximum, bytes(a, low));
    a.emit(isSigned ? Binary.VPMINSB : Binary.VPMINUB, maximum, maximum, bytes(a, high));
    Bytes.store(a, maximum, Gpr.R11, 0, bytes);
  }

  private static Address bytes(Assembler a, int value) {
    int[] words = new int[4];
    Arrays.fill(words, (value & 0xFF) * 0x01010101);
    return Address.at(a.constant(words));
  }

  private void storeMean(Emitter emitter, int bytes) {
    Assembler a = emitter.assembler();
    int cells = height * width;
    for (Vector sum : new Vector[] {SUM, UPPER}) {
      a.emit(Binary.VPADDD, sum, sum, ints(a, -origin * cells));
      a.emit(VectorShift.VPSRAD, SEEN, sum, Integer.SIZE - 1);
      a.load(Move.VMOVUPS, WORDS, ints(a, cells / 2));
      a.emit(Binary.VPXOR, WORDS, WORDS, SEEN);
      a.emit(Binary.VPSUBD, WORDS, WORDS, SEEN);
      a.emit(Binary.VPADDD, sum, sum, WORDS);
      a.emit(Unary.VCVTDQ2PS, sum, sum);
      a.emit(Binary.VDIVPS, sum, sum, ints(a, Float.floatToRawIntBits(cells)));
      a.emit(Unary.VCVTTPS2DQ, sum, sum);
    }
    new Rescale(false, false, false, false, false, false, origin, low, high, Optional.empty())
        .store(emitter, SUM, UPPER, Gpr.R11, 0, bytes);
  }

  private static Address ints(Assembler a, int value) {
    int[] words = new int[Length.YMM.bytes() / Integer.BYTES];
    Arrays.fill(words, value);
    return Address.at(a.constant(words));
  }
}
