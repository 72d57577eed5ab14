// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.FixedPointFunctions;
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
import java.util.function.IntConsumer;

/**
 * Rows of stored bytes brought to length 1; a block is a row. The factor of a row is what {@link
 * FixedPointFunctions#inverseSquareRoot} says, by the same steps: these need all bits of products
 * of 31 bits, which no float has.
 *
 * @param count bytes of a row, {@link #MOST} at the most
 * @param isSigned whether bytes are
 * @param zeroPoint of what is read
 * @param resultZeroPoint of results, whose scale is 1/128
 */
public record ByteNorms(int count, boolean isSigned, int zeroPoint, int resultZeroPoint)
    implements FunctionSource {
  /** Bytes the sum of whose squares is less than 2^29, from which on factors are made otherwise. */
  public static final int MOST = (1 << 29) / (255 * 255);

  private static final int LANES = 8;

  /** Bits of fractions behind 3 bits of whole numbers. */
  private static final int FRACTION = 28;

  private static final int NEWTON_STEPS = 5;

  private static final int BIAS_OF_DOUBLES = 1023;
  private static final int MANTISSA_OF_DOUBLES = 52;

  /** With no bits of whole numbers. */
  private static final int ROOT_OF_HALF = (int) Math.round(Math.scalb(Math.sqrt(0.5), 31));

  /** Sums below have the factor of 1. */
  private static final int LEAST = 2;

  private static final Vector VALUE = ymm(0);
  private static final Vector OTHER = ymm(1);
  private static final Vector SUM = ymm(2);
  private static final Vector FACTOR = ymm(3);
  private static final Vector SHIFT = ymm(4);
  private static final Vector HALF = ymm(5);
  private static final Vector SIGN = ymm(6);
  private static final Vector X = ymm(7);
  private static final Vector CUBE = ymm(8);
  private static final Vector PAIRS = ymm(9);

  private static Vector ymm(int number) {
    return new Vector(Length.YMM, number);
  }

  /** Returns the function: o0 is the source, o1 the result. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    Label again = a.label();
    a.emit(Binary.VPXOR, SUM, SUM, SUM);
    pass(
        a,
        some -> {
          load(a, some);
          a.emit(Binary.VPMULLD, VALUE, VALUE, VALUE);
          a.emit(Binary.VPADDD, SUM, SUM, VALUE);
        });
    factor(a);
    pass(
        a,
        some -> {
          load(a, some);
          scale(a);
          store(a, some);
        });
    Extent row = new Extent(count, count);
    return emitter.endBlocks(again, row, row);
  }

  /** Moves rdi over the row of the source, and rsi over that of the result. */
  private void pass(Assembler a, IntConsumer body) {
    a.mov(Gpr.RDI, Gpr.RDX);
    a.mov(Gpr.RSI, Gpr.RCX);
    Loops.repeat(
        a,
        Gpr.RAX,
        count / LANES,
        () -> {
          body.accept(LANES);
          a.emit(Alu.ADD, Gpr.RDI, LANES);
          a.emit(Alu.ADD, Gpr.RSI, LANES);
        });
    if (count % LANES > 0) {
      body.accept(count % LANES);
    }
  }

  /** Loads distances from the zero point; elements behind a row become 0. */
  private void load(Assembler a, int bytes) {
    Unary widen = isSigned ? Unary.VPMOVSXBD : Unary.VPMOVZXBD;
    if (bytes == LANES) {
      a.emit(widen, VALUE, Address.at(Gpr.RDI, 0));
    } else {
      Bytes.load(a, VALUE.as(Length.XMM), Gpr.RDI, 0, bytes);
      a.emit(widen, VALUE, VALUE.as(Length.XMM));
    }
    a.emit(Binary.VPSUBD, VALUE, VALUE, BytesToFloats.ints(a, zeroPoint));
    if (bytes < LANES) {
      a.emit(Binary.VPAND, VALUE, VALUE, BytesToFloats.first(a, bytes));
    }
  }

  /** Makes the sum of squares a factor and a shift to the right, and what these are rounded by. */
  private static void factor(Assembler a) {
    Vector low = SUM.as(Length.XMM);
    Vector high = OTHER.as(Length.XMM);
    a.vextracti128(high, SUM, 1);
    a.emit(Binary.VPADDD, low, low, high);
    a.emit(Binary.VUNPCKHPD, high, low, low);
    a.emit(Binary.VPADDD, low, low, high);
    a.emit(Unary.VMOVSHDUP, high, low);
    a.emit(Binary.VPADDD, low, low, high);
    a.emit(Unary.VPBROADCASTD, SUM, low);
    // The exponent of a double is the place of the first bit, of which every two halve the result.
    a.emit(Unary.VCVTDQ2PD, PAIRS, low);
    a.emit(VectorShift.VPSRLQ, PAIRS, PAIRS, MANTISSA_OF_DOUBLES);
    a.emit(Unary.VPBROADCASTD, OTHER, PAIRS.as(Length.XMM));
    a.load(Move.VMOVUPS, PAIRS, BytesToFloats.ints(a, BIAS_OF_DOUBLES + 30));
    a.emit(Binary.VPSUBD, PAIRS, PAIRS, OTHER);
    a.emit(VectorShift.VPSRLD, PAIRS, PAIRS, 1);
    a.emit(Binary.VPADDD, OTHER, PAIRS, PAIRS);
    a.emit(Binary.VPSUBD, OTHER, OTHER, BytesToFloats.ints(a, 2));
    a.emit(Binary.VPSLLVD, HALF, SUM, OTHER);
    a.emit(VectorShift.VPSRLD, HALF, HALF, 1);
    a.emit(Binary.VPADDD, HALF, HALF, BytesToFloats.ints(a, 1));
    a.emit(VectorShift.VPSRLD, HALF, HALF, 1);
    root(a);
    // With shifts to the left the factor is shifted itself.
    a.emit(Binary.VPSUBD, OTHER, PAIRS, BytesToFloats.ints(a, 12));
    a.emit(Binary.VPXOR, CUBE, CUBE, CUBE);
    a.emit(Binary.VPSUBD, SHIFT, CUBE, OTHER);
    a.emit(Binary.VPMAXSD, SHIFT, SHIFT, CUBE);
    a.emit(Binary.VPMAXSD, OTHER, OTHER, CUBE);
    a.emit(Binary.VPSLLVD, FACTOR, X, OTHER);
    // A sum that is no more than 1 has the factor 1.
    a.load(Move.VMOVUPS, OTHER, BytesToFloats.ints(a, LEAST));
    a.emit(Binary.VPCMPGTD, OTHER, OTHER, SUM);
    a.emit(Binary.VANDNPS, FACTOR, OTHER, FACTOR);
    a.emit(Binary.VANDNPS, SHIFT, OTHER, SHIFT);
    int one = FixedPointFunctions.inverseSquareRoot(1).multiplier();
    a.emit(Binary.VPAND, OTHER, OTHER, BytesToFloats.ints(a, one));
    a.emit(Binary.VORPS, FACTOR, FACTOR, OTHER);
    a.load(Move.VMOVUPS, HALF, BytesToFloats.ints(a, 1));
    a.emit(Binary.VPSLLVD, HALF, HALF, SHIFT);
    a.emit(VectorShift.VPSRLD, HALF, HALF, 1);
    a.emit(Binary.VPCMPGTD, SIGN, SHIFT, CUBE);
  }

  /** Writes to X the inverse of the root of what HALF is the half of, times the root of 0.5. */
  private static void root(Assembler a) {
    a.load(Move.VMOVUPS, X, BytesToFloats.ints(a, 1 << FRACTION));
    for (int i = 0; i < NEWTON_STEPS; i++) {
      multiply(a, CUBE, X, X);
      multiply(a, CUBE, CUBE, X);
      a.emit(VectorShift.VPSLLQ, CUBE, CUBE, 6);
      multiply(a, CUBE, HALF, CUBE);
      a.load(Move.VMOVUPS, OTHER, BytesToFloats.ints(a, 3 << FRACTION - 1));
      multiply(a, X, X, OTHER);
      a.emit(Binary.VPSUBD, X, X, CUBE);
      a.emit(VectorShift.VPSLLQ, X, X, 3);
    }
    a.load(Move.VMOVUPS, OTHER, BytesToFloats.ints(a, ROOT_OF_HALF));
    multiply(a, X, X, OTHER);
  }

  /** Multiplies numbers of 31 bits that are not negative, in each 64 bits, and rounds. */
  private static void multiply(Assembler a, Vector to, Vector first, Vector second) {
    a.emit(Binary.VPMULDQ, to, first, second);
    a.emit(Binary.VPADDQ, to, to, longs(a, 1 << 30));
    a.emit(VectorShift.VPSRLQ, to, to, 31);
  }

  /** A vector of equal elements of 64 bits, the upper half of which is 0. */
  private static Address longs(Assembler a, int value) {
    int[] words = new int[LANES];
    for (int i = 0; i < LANES; i += 2) {
      words[i] = value;
    }
    return Address.at(a.constant(words));
  }

  /** Multiplies by 128 and by the factor, rounds, shifts to the right, and rounds again. */
  private static void scale(Assembler a) {
    a.emit(VectorShift.VPSLLD, VALUE, VALUE, 7);
    a.emit(VectorShift.VPSRLQ, OTHER, VALUE, Integer.SIZE);
    for (Vector part : new Vector[] {VALUE, OTHER}) {
      a.emit(Binary.VPMULDQ, part, part, FACTOR);
      a.emit(Binary.VPADDQ, part, part, part);
      a.emit(Binary.VPADDQ, part, part, longs(a, 1 << 31));
    }
    a.emit(Unary.VMOVSHDUP, VALUE, VALUE);
    a.vpblendd(VALUE, VALUE, OTHER, 0xAA);
    a.emit(VectorShift.VPSRAD, OTHER, VALUE, Integer.SIZE - 1);
    a.emit(Binary.VPAND, OTHER, OTHER, SIGN);
    a.emit(Binary.VPADDD, VALUE, VALUE, HALF);
    a.emit(Binary.VPADDD, VALUE, VALUE, OTHER);
    a.emit(Binary.VPSRAVD, VALUE, VALUE, SHIFT);
  }

  private void store(Assembler a, int bytes) {
    a.emit(Binary.VPADDD, VALUE, VALUE, BytesToFloats.ints(a, resultZeroPoint));
    Vector words = VALUE.as(Length.XMM);
    a.vextracti128(OTHER.as(Length.XMM), VALUE, 1);
    a.emit(Binary.VPACKSSDW, words, words, OTHER.as(Length.XMM));
    a.emit(isSigned ? Binary.VPACKSSWB : Binary.VPACKUSWB, words, words, words);
    Bytes.store(a, words, Gpr.RSI, 0, bytes);
  }
}
