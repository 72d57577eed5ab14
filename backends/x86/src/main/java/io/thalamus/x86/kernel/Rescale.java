// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.Requantization;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Mask;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Narrow;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.asm.VectorShift;
import java.util.Arrays;
import java.util.Optional;

/**
 * The way from sums of 32 bits to stored bytes, by factors of each channel: floats, or {@code ((x
 * << first) * mantissa + rounding) >> 32}, then, where ties go away from zero, a second rounding,
 * then a shift to the right. Products have 64 bits, so that even and odd elements are multiplied
 * apart. The packing code chooses the numbers that make this the reference's result.
 *
 * <p>Two vectors of sums become one vector of words, which interleaves their quarters: a pair's
 * elements stand for channels as {@link #position} says. A single vector keeps its order.
 *
 * @param isEven whether factors are floats, whose products are rounded to the nearest whole number,
 *     of two that are as near to the even one; nothing is shifted then
 * @param isShiftedFirst whether there are shifts to the left
 * @param isDoubled whether products are doubled, where no sum of 32 bits is too large for that
 * @param isAway whether there is a second rounding
 * @param hasWhole whether some channels go without the second rounding
 * @param isShiftedLast whether there are shifts to the right
 * @param zeroPoint added at the end
 * @param low the least result
 * @param high the largest result
 * @param factor of all channels where they have the same one: its numbers are in the code, and no
 *     panel has any but what sums begin with
 */
public record Rescale(
    boolean isEven,
    boolean isShiftedFirst,
    boolean isDoubled,
    boolean isAway,
    boolean hasWhole,
    boolean isShiftedLast,
    int zeroPoint,
    int low,
    int high,
    Optional<Factor> factor) {
  /** The arrays of numbers by channel, each as long as the sums are, in the order of a panel. */
  public enum Numbers {
    /** The value that sums begin with. */
    BIAS,
    /** Or the factor, where it is a float. */
    MANTISSA,
    /** Mantissas of odd elements in the places of the even ones before them. */
    MANTISSA_ODD,
    /** 64 bits for each even element. */
    ROUNDING_EVEN,
    /** 64 bits for each odd element. */
    ROUNDING_ODD,
    FIRST_SHIFT,
    HALF,
    /** -1 where there is a second rounding. */
    SIGN,
    LAST_SHIFT
  }

  /** The place of the numbers of a vector. */
  @FunctionalInterface
  interface Place {
    Address of(Numbers numbers, int vector);
  }

  private static final Mask EVEN = new Mask(2);
  private static final Mask TAIL = new Mask(3);

  /** Returns whether the numbers are part of a panel. */
  public boolean has(Numbers numbers) {
    if (factor.isPresent()) {
      return numbers == Numbers.BIAS;
    }
    return switch (numbers) {
      case BIAS, MANTISSA -> true;
      case FIRST_SHIFT -> isShiftedFirst;
      case HALF -> isAway;
      case SIGN -> isAway && hasWhole;
      case LAST_SHIFT -> isShiftedLast;
      case MANTISSA_ODD, ROUNDING_EVEN, ROUNDING_ODD -> !isEven;
    };
  }

  /** Returns how many arrays of numbers there are. */
  public int arrays() {
    return (int) Arrays.stream(Numbers.values()).filter(this::has).count();
  }

  /** Returns the element of a pair of vectors that a channel of the pair stands in. */
  public static int position(Length length, int channel) {
    int lanes = length.bytes() / Integer.BYTES;
    return (channel % 8 < 4 ? 0 : lanes) + channel / 8 * 4 + channel % 4;
  }

  /**
   * Returns the element of some vectors, pairs but for the last of an odd number, for a channel.
   */
  public static int element(Length length, int vectors, int channel) {
    int within = channel % pair(length);
    boolean isPaired = channel / pair(length) < vectors / 2;
    return channel - within + (isPaired ? position(length, within) : within);
  }

  /** Returns the channels of a pair of vectors. */
  public static int pair(Length length) {
    return length.bytes() / Short.BYTES;
  }

  /** Returns where numbers of the factor of all channels stand. */
  Place constants(Emitter emitter, Length length) {
    return (numbers, _) -> factor.orElseThrow().at(numbers, emitter, length);
  }

  /** Returns where numbers stand, those of a panel if a register points to it. */
  Place in(Emitter emitter, Gpr panel, Length length, int vectors) {
    return (numbers, vector) -> {
      if (!has(numbers)) {
        return factor.orElseThrow().at(numbers, emitter, length);
      }
      int arrays = 0;
      for (Numbers other : Numbers.values()) {
        if (other == numbers) {
          break;
        }
        arrays += has(other) ? 1 : 0;
      }
      return Address.at(panel, (arrays * vectors + vector) * length.bytes());
    };
  }

  /**
   * Prepares what {@link #round} and {@link #store} need all along; changes rax.
   *
   * @param channels of the pair that is not whole; 0 where there is none
   */
  void prepare(Emitter emitter, Length length, int channels) {
    Assembler a = emitter.assembler();
    if (length == Length.ZMM) {
      a.mov(Gpr.RAX, 0x5555);
      a.kmovw(EVEN, Gpr.RAX);
      if (channels > 0) {
        a.mov(Gpr.RAX, (1L << channels) - 1);
        a.kmovd(TAIL, Gpr.RAX);
      }
    }
  }

  /** Rescales a vector of sums; changes two others. */
  void round(Emitter emitter, Place place, int vector, Vector x, Vector even, Vector odd) {
    Assembler a = emitter.assembler();
    if (isEven) {
      a.emit(Unary.VCVTDQ2PS, x, x);
      a.emit(Binary.VMULPS, x, x, place.of(Numbers.MANTISSA, vector));
      nearest(emitter, x);
      return;
    }
    if (isShiftedFirst) {
      a.emit(Binary.VPSLLVD, x, x, place.of(Numbers.FIRST_SHIFT, vector));
    }
    a.emit(VectorShift.VPSRLQ, odd, x, Integer.SIZE);
    a.emit(Binary.VPMULDQ, even, x, place.of(Numbers.MANTISSA, vector));
    a.emit(Binary.VPMULDQ, odd, odd, place.of(Numbers.MANTISSA_ODD, vector));
    if (isDoubled) {
      a.emit(Binary.VPADDQ, even, even, even);
      a.emit(Binary.VPADDQ, odd, odd, odd);
    }
    a.emit(Binary.VPADDQ, even, even, place.of(Numbers.ROUNDING_EVEN, vector));
    a.emit(Binary.VPADDQ, odd, odd, place.of(Numbers.ROUNDING_ODD, vector));
    if (x.length() == Length.ZMM) {
      a.emit(Unary.VMOVSHDUP, odd, EVEN, even);
    } else {
      a.emit(Unary.VMOVSHDUP, even, even);
      a.vpblendd(odd, even, odd, 0xAA);
    }
    if (isAway) {
      a.emit(VectorShift.VPSRAD, even, odd, Integer.SIZE - 1);
      if (hasWhole) {
        a.emit(Binary.VANDPS, even, even, place.of(Numbers.SIGN, vector));
      }
      a.emit(Binary.VPADDD, odd, odd, place.of(Numbers.HALF, vector));
      a.emit(Binary.VPADDD, odd, odd, even);
    }
    if (isShiftedLast) {
      a.emit(Binary.VPSRAVD, x, odd, place.of(Numbers.LAST_SHIFT, vector));
    } else {
      a.emit(Move.VMOVUPS, x, odd);
    }
  }

  /** Makes floats the nearest integers, the largest of which are beyond all stored values. */
  static void nearest(Emitter emitter, Vector x) {
    emitter.assembler().emit(Binary.VMINPS, x, x, emitter.all(Requantization.LARGEST));
    emitter.assembler().emit(Unary.VCVTPS2DQ, x, x);
  }

  /**
   * Stores a pair of rescaled vectors as bytes; changes both.
   *
   * @param channels of the pair that are stored
   */
  void store(Emitter emitter, Vector lower, Vector upper, Gpr to, int displacement, int channels) {
    Assembler a = emitter.assembler();
    a.emit(Binary.VPACKSSDW, lower, lower, upper);
    a.emit(Binary.VPADDSW, lower, lower, words(emitter, lower.length(), zeroPoint));
    a.emit(Binary.VPMAXSW, lower, lower, words(emitter, lower.length(), low));
    a.emit(Binary.VPMINSW, lower, lower, words(emitter, lower.length(), high));
    if (lower.length() == Length.ZMM) {
      if (channels == pair(Length.ZMM)) {
        a.store(Narrow.VPMOVWB, Address.at(to, displacement), lower);
      } else {
        a.store(Narrow.VPMOVWB, Address.at(to, displacement), TAIL, lower);
      }
      return;
    }
    Vector bytes = lower.as(Length.XMM);
    a.vextracti128(upper.as(Length.XMM), lower, 1);
    Binary pack = low < 0 ? Binary.VPACKSSWB : Binary.VPACKUSWB;
    a.emit(pack, bytes, bytes, upper.as(Length.XMM));
    Bytes.store(a, bytes, to, displacement, channels);
  }

  /** Stores those elements of a rescaled single vector that are channels; changes it: AVX-512. */
  void storeSingle(Emitter emitter, Vector value, Gpr to, int displacement) {
    Assembler a = emitter.assembler();
    a.emit(Binary.VPMAXSD, value, value, emitter.all(Float.intBitsToFloat(low - zeroPoint)));
    a.emit(Binary.VPMINSD, value, value, emitter.all(Float.intBitsToFloat(high - zeroPoint)));
    a.emit(Binary.VPADDD, value, value, emitter.all(Float.intBitsToFloat(zeroPoint)));
    a.store(Narrow.VPMOVDB, Address.at(to, displacement), TAIL, value);
  }

  /** A vector of equal words in the code. */
  static Address words(Emitter emitter, Length length, int value) {
    int[] words = new int[length.bytes() / Integer.BYTES];
    Arrays.fill(words, value << Short.SIZE | value & 0xFFFF);
    return Address.at(emitter.assembler().constant(words));
  }
}
