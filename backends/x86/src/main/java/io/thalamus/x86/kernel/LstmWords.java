// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.asm.VectorShift;
import java.util.Arrays;
import java.util.function.IntConsumer;

/**
 * The steps of an LSTM of integers that are no products of matrices and no tables, on 16 units at a
 * time. Units behind the last one mean nothing.
 *
 * <p>Of each function, o0 is the first tensor, o1 the result, o2 the second, in memory.
 */
public sealed interface LstmWords extends FunctionSource {
  /** Units of a vector of words: the number of units must be a multiple. */
  int AT_ONCE = 16;

  /**
   * Arguments of a gate, as words: integers in floats, both rescaled, of which the first is cut to
   * a word before the second is added.
   */
  record Arguments(int units, Rescale input, Rescale recurrent) implements LstmWords {
    @Override
    public Function write(Emitter emitter) {
      Assembler a = emitter.begin(false);
      loop(
          emitter,
          units,
          Float.BYTES,
          Short.BYTES,
          Float.BYTES,
          half -> {
            Vector sum = HALVES[half];
            a.emit(Unary.VCVTPS2DQ, sum, Address.at(Gpr.RDX, half * Length.YMM.bytes()));
            rescale(emitter, input, sum);
            a.emit(Binary.VPMINSD, sum, sum, integers(emitter, Short.MAX_VALUE));
            a.emit(Binary.VPMAXSD, sum, sum, integers(emitter, Short.MIN_VALUE));
            a.emit(Unary.VCVTPS2DQ, OTHER, Address.at(Gpr.R8, half * Length.YMM.bytes()));
            rescale(emitter, recurrent, OTHER);
            a.emit(Binary.VPADDD, sum, sum, OTHER);
          },
          () -> a.store(Move.VMOVUPS, Address.at(Gpr.RCX, 0), HALVES[0]));
      return emitter.end(
          extent(units, Float.BYTES), extent(units, Short.BYTES), extent(units, 4), false);
    }
  }

  /**
   * New cell states, of activated forget, input, output and cell gates one after the other, and of
   * the old states.
   *
   * @param stateBits integer bits of states
   * @param clip limit of states; 0 for none
   */
  record States(int units, int stateBits, int clip) implements LstmWords {
    @Override
    public Function write(Emitter emitter) {
      Assembler a = emitter.begin(false);
      int gate = units * Short.BYTES;
      loop(
          emitter,
          units,
          Short.BYTES,
          Short.BYTES,
          Short.BYTES,
          half -> {
            int at = half * Length.XMM.bytes();
            Vector sum = HALVES[half];
            a.emit(Unary.VPMOVSXWD, sum, Address.at(Gpr.RDX, at));
            a.emit(Unary.VPMOVSXWD, OTHER, Address.at(Gpr.R8, at));
            a.emit(Binary.VPMULLD, sum, sum, OTHER);
            divide(emitter, sum, 15);
            a.emit(Unary.VPMOVSXWD, OTHER, Address.at(Gpr.RDX, gate + at));
            a.emit(Unary.VPMOVSXWD, ODD, Address.at(Gpr.RDX, 3 * gate + at));
            a.emit(Binary.VPMULLD, OTHER, OTHER, ODD);
            divide(emitter, OTHER, 15 + stateBits);
            a.emit(Binary.VPADDD, sum, sum, OTHER);
          },
          () -> {
            Vector words = HALVES[0];
            if (clip > 0) {
              a.emit(Binary.VPMINSW, words, words, Rescale.words(emitter, Length.YMM, clip));
              a.emit(Binary.VPMAXSW, words, words, Rescale.words(emitter, Length.YMM, -clip));
            }
            a.store(Move.VMOVUPS, Address.at(Gpr.RCX, 0), words);
          });
      return emitter.end(
          extent(4 * units, Short.BYTES),
          extent(units, Short.BYTES),
          extent(units, Short.BYTES),
          false);
    }
  }

  /**
   * Hidden states, as bytes: products of words, rescaled, less a zero point.
   *
   * @param factor of products
   */
  record Hidden(int units, Rescale factor, int zeroPoint) implements LstmWords {
    @Override
    public Function write(Emitter emitter) {
      Assembler a = emitter.begin(false);
      loop(
          emitter,
          units,
          Short.BYTES,
          1,
          Short.BYTES,
          half -> {
            int at = half * Length.XMM.bytes();
            Vector product = HALVES[half];
            a.emit(Unary.VPMOVSXWD, product, Address.at(Gpr.RDX, at));
            a.emit(Unary.VPMOVSXWD, OTHER, Address.at(Gpr.R8, at));
            a.emit(Binary.VPMULLD, product, product, OTHER);
            rescale(emitter, factor, product);
          },
          () -> {
            Vector words = HALVES[0];
            Address zero = Rescale.words(emitter, Length.YMM, -zeroPoint);
            a.emit(Binary.VPADDSW, words, words, zero);
            a.emit(Binary.VPACKSSWB, words, words, words);
            a.vpermq(words, words, EVEN_QUARTERS);
            a.store(Move.VMOVUPS, Address.at(Gpr.RCX, 0), words.as(Length.XMM));
          });
      return emitter.end(
          extent(units, Short.BYTES), extent(units, 1), extent(units, Short.BYTES), false);
    }
  }

  /** The vectors of 32 bits that become one of words. */
  Vector[] HALVES = {new Vector(Length.YMM, 4), new Vector(Length.YMM, 5)};

  Vector EVEN = new Vector(Length.YMM, 1);
  Vector ODD = new Vector(Length.YMM, 2);
  Vector OTHER = new Vector(Length.YMM, 3);

  /** Brings what packing interleaves by halves of a vector into order. */
  int IN_ORDER = 0b11011000;

  int EVEN_QUARTERS = 0b1000;

  private static Extent extent(int units, int size) {
    return new Extent((long) units * size, 0);
  }

  /**
   * Writes the loop over all units.
   *
   * @param half makes eight units a vector of 32 bits
   * @param store stores the words of 16, which have been packed
   */
  private static void loop(
      Emitter emitter,
      int units,
      int readSize,
      int writtenSize,
      int otherSize,
      IntConsumer half,
      Runnable store) {
    Assembler a = emitter.assembler();
    Loops.repeat(
        a,
        Gpr.RAX,
        units / AT_ONCE,
        () -> {
          half.accept(0);
          half.accept(1);
          a.emit(Binary.VPACKSSDW, HALVES[0], HALVES[0], HALVES[1]);
          a.vpermq(HALVES[0], HALVES[0], IN_ORDER);
          store.run();
          a.emit(Alu.ADD, Gpr.RDX, AT_ONCE * readSize);
          a.emit(Alu.ADD, Gpr.RCX, AT_ONCE * writtenSize);
          a.emit(Alu.ADD, Gpr.R8, AT_ONCE * otherSize);
        });
    a.vzeroupper();
  }

  private static void rescale(Emitter emitter, Rescale rescale, Vector value) {
    rescale.round(emitter, rescale.constants(emitter, Length.YMM), 0, value, EVEN, ODD);
  }

  /** Divides by a power of two, ties away from zero; changes a register. */
  private static void divide(Emitter emitter, Vector value, int exponent) {
    Assembler a = emitter.assembler();
    a.emit(VectorShift.VPSRAD, EVEN, value, Integer.SIZE - 1);
    a.emit(Binary.VPADDD, value, value, integers(emitter, 1 << (exponent - 1)));
    a.emit(Binary.VPADDD, value, value, EVEN);
    a.emit(VectorShift.VPSRAD, value, value, exponent);
  }

  private static Address integers(Emitter emitter, int value) {
    int[] words = new int[Length.YMM.bytes() / Integer.BYTES];
    Arrays.fill(words, value);
    return Address.at(emitter.assembler().constant(words));
  }
}
