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
import io.thalamus.x86.kernel.StoredProduct.Form;

/**
 * The results of {@link StoredProduct} for a single place and a few channels: vectors lie along the
 * source, where those of a panel would hold few channels and the panel many zeros. A panel is the
 * numbers of {@link Rescale} for two vectors, then for each whole vector of the source the weights
 * of one channel after another, then for each group behind those a group for each channel.
 *
 * @param form of elements and weights
 * @param isFlipped whether bytes are signed, and made unsigned by adding 128
 * @param channels results; {@link #MOST_CHANNELS} at most
 * @param run elements that a result sees
 * @param rescale from sums to bytes
 */
public record StoredDots(Form form, boolean isFlipped, int channels, int run, Rescale rescale)
    implements FunctionSource {
  /** The results of one function: as many sums as there are registers for. */
  public static final int MOST_CHANNELS = 8;

  /** Vectors of 32 bytes: longer ones have more lanes to be added in the end. */
  public static final Length LENGTH = Length.YMM;

  /** The vectors whose lower halves have the sums. */
  public static final int VECTORS = 2;

  private static final int QUARTER = 4;
  private static final Vector SEEN = new Vector(LENGTH, 0);
  private static final Vector PRODUCT = new Vector(LENGTH, 1);
  private static final Vector FLIP = new Vector(LENGTH, 2);
  private static final Vector ONES = new Vector(LENGTH, 3);
  private static final int FIRST_SUM = 4;

  /** Returns the groups of 32 bits that fill a vector. */
  public static int groups() {
    return LENGTH.bytes() / Integer.BYTES;
  }

  /** Returns the function: o0 is the source, o1 the results, o2 the panel, of which one is read. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(true);
    if (isFlipped) {
      a.emit(Unary.VBROADCASTSS, FLIP, Address.at(a.constant(0x80808080)));
    }
    if (form == Form.PAIRS) {
      a.emit(Unary.VBROADCASTSS, ONES, Address.at(a.constant(0x00010001)));
    }
    for (int c = 0; c < channels; c++) {
      a.emit(Binary.VPXOR, sum(c), sum(c), sum(c));
    }
    int numbers = rescale.arrays() * VECTORS * LENGTH.bytes();
    a.lea(Gpr.RAX, Address.at(Gpr.R8, numbers));
    int all = Math.ceilDiv(run, form.group());
    Loops.repeat(a, Gpr.R10, all / groups(), () -> step(emitter, LENGTH));
    for (int i = 0; i < all % groups(); i++) {
      step(emitter, Length.XMM);
    }
    Vector first = total(a, 0);
    Vector second = total(a, QUARTER);
    store(emitter, first, second);
    a.vzeroupper();
    return emitter.end(
        new Extent((long) all * Integer.BYTES, 0),
        new Extent(channels, 0),
        new Extent(numbers + (long) all * channels * Integer.BYTES, 0),
        true);
  }

  /** Multiplies a vector of the source, or for shorter ones a group, with weights of all. */
  private void step(Emitter emitter, Length length) {
    Assembler a = emitter.assembler();
    boolean isWhole = length == LENGTH;
    int bytes = isWhole ? LENGTH.bytes() : Integer.BYTES;
    Vector seen = SEEN.as(length);
    load(a, seen, Address.at(Gpr.RDX, 0), isWhole);
    if (isFlipped) {
      a.emit(Binary.VPXOR, seen, seen, FLIP.as(length));
    }
    Vector product = PRODUCT.as(length);
    for (int c = 0; c < channels; c++) {
      // What a short vector has behind its group meets weights of 0.
      load(a, product, Address.at(Gpr.RAX, c * bytes), isWhole);
      Vector sum = sum(c);
      switch (form) {
        case WORDS -> a.emit(Binary.VPMADDWD, product, seen, product);
        case PAIRS -> {
          a.emit(Binary.VPMADDUBSW, product, seen, product);
          a.emit(Binary.VPMADDWD, product, product, ONES.as(length));
        }
        case BYTES -> {
          // A short one would clear the upper half of the sum.
          a.emit(emitter.level().dot().orElseThrow(), sum, SEEN, PRODUCT);
          continue;
        }
      }
      a.emit(Binary.VPADDD, sum, sum, PRODUCT);
    }
    a.emit(Alu.ADD, Gpr.RDX, bytes);
    a.emit(Alu.ADD, Gpr.RAX, channels * bytes);
  }

  private static void load(Assembler a, Vector to, Address from, boolean isWhole) {
    if (isWhole) {
      a.load(Move.VMOVUPS, to, from);
    } else {
      a.vmovss(to, from);
    }
  }

  /** Adds all lanes of up to four sums, and returns the vector that has them in its first four. */
  private Vector total(Assembler a, int first) {
    if (first >= channels) {
      a.emit(Binary.VPXOR, sum(first), sum(first), sum(first));
      return sum(first);
    }
    for (int c = first; c < first + QUARTER; c++) {
      Vector half = sum(c).as(Length.XMM);
      if (c < channels) {
        a.vextracti128(SEEN.as(Length.XMM), sum(c), 1);
        a.emit(Binary.VPADDD, half, half, SEEN.as(Length.XMM));
      } else {
        a.emit(Binary.VPXOR, half, half, half);
      }
    }
    Vector even = added(a, sum(first), sum(first + 1), Binary.VUNPCKLPS, Binary.VUNPCKHPS);
    Vector odd = added(a, sum(first + 2), sum(first + 3), Binary.VUNPCKLPS, Binary.VUNPCKHPS);
    return added(a, even, odd, Binary.VUNPCKLPD, Binary.VUNPCKHPD).as(LENGTH);
  }

  /** Adds the lower and the upper elements of two, which alternate then; returns the first. */
  private static Vector added(Assembler a, Vector one, Vector two, Binary lower, Binary upper) {
    Vector first = one.as(Length.XMM);
    Vector second = two.as(Length.XMM);
    Vector low = SEEN.as(Length.XMM);
    a.emit(lower, low, first, second);
    a.emit(upper, second, first, second);
    a.emit(Binary.VPADDD, first, low, second);
    return first;
  }

  private void store(Emitter emitter, Vector first, Vector second) {
    Assembler a = emitter.assembler();
    Rescale.Place place = rescale.in(emitter, Gpr.R8, LENGTH, VECTORS);
    Vector[] both = {first, second};
    for (int v = 0; v < VECTORS; v++) {
      a.emit(Binary.VPADDD, both[v], both[v], Address.at(Gpr.R8, v * LENGTH.bytes()));
      rescale.round(emitter, place, v, both[v], SEEN, PRODUCT);
    }
    rescale.store(emitter, first, second, Gpr.RCX, 0, channels);
  }

  private static Vector sum(int channel) {
    return new Vector(LENGTH, FIRST_SUM + channel);
  }
}
