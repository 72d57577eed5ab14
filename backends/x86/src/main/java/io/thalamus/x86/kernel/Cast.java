// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Rounding;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * Elements of one type made elements of another. Towards integers, fractions are cut off, what is
 * out of range becomes the nearest in range, and NaN 0.
 *
 * @param from type of the source
 * @param to type of the result
 * @param isTruncated whether integers that are out of range keep their lower bits instead
 * @param count elements
 */
public record Cast(Type from, Type to, boolean isTruncated, int count) implements FunctionSource {
  private static final int LANES = 8;
  private static final Vector VALUE = new Vector(Length.YMM, 0);
  private static final Vector ARGUMENT = new Vector(Length.YMM, 1);
  private static final Vector BOUND = new Vector(Length.YMM, 2);
  private static final Vector OTHER = new Vector(Length.YMM, 3);
  private static final Vector SCRATCH = new Vector(Length.YMM, 4);

  /** Types of elements. */
  public enum Type {
    FLOAT32(4),
    FLOAT16(2),
    INT32(4),
    UINT16(2),
    INT16(2),
    UINT8(1),
    INT8(1);

    private final int size;

    Type(int size) {
      this.size = size;
    }

    /** Returns the bytes of an element. */
    public int size() {
      return size;
    }

    /** Returns whether elements are floating-point numbers. */
    public boolean isFloat() {
      return this == FLOAT32 || this == FLOAT16;
    }

    /** Returns the least number of a type of integers that are smaller than 32 bits. */
    private int least() {
      return this == INT8 || this == INT16 ? -1 << (Byte.SIZE * size - 1) : 0;
    }

    /** Returns how many numbers such a type has, less one: all bits of an element. */
    private int bits() {
      return (1 << Byte.SIZE * size) - 1;
    }
  }

  /** Returns the function: o0 is the source, o1 the result. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    Loops.convert(a, count, LANES, from.size, to.size, elements -> some(emitter, elements));
    a.vzeroupper();
    return emitter.end(
        new Extent((long) count * from.size, 0), new Extent((long) count * to.size, 0));
  }

  private void some(Emitter emitter, int elements) {
    Assembler a = emitter.assembler();
    load(a, elements);
    if (from.isFloat() && !to.isFloat()) {
      toInt(emitter);
    } else if (!from.isFloat() && to.isFloat()) {
      a.emit(Unary.VCVTDQ2PS, VALUE, VALUE);
    }
    store(a, elements);
  }

  private void load(Assembler a, int elements) {
    Vector narrow = VALUE.as(Length.XMM);
    if (from.size < Float.BYTES) {
      int bytes = elements * from.size;
      if (elements == LANES && from.size == 1) {
        a.emit(from == Type.INT8 ? Unary.VPMOVSXBD : Unary.VPMOVZXBD, VALUE, at(Gpr.RDX));
        return;
      }
      Bytes.load(a, narrow, Gpr.RDX, 0, bytes);
    }
    switch (from) {
      case FLOAT32, INT32 -> {
        if (elements == LANES) {
          a.load(Move.VMOVUPS, VALUE, at(Gpr.RDX));
        } else {
          a.load(Move.VMOVUPS, OTHER, BytesToFloats.first(a, elements));
          a.vmaskmovps(VALUE, OTHER, at(Gpr.RDX));
        }
      }
      case FLOAT16 -> a.emit(Unary.VCVTPH2PS, VALUE, narrow);
      case UINT16 -> a.emit(Unary.VPMOVZXWD, VALUE, narrow);
      case INT16 -> a.emit(Unary.VPMOVSXWD, VALUE, narrow);
      case UINT8 -> a.emit(Unary.VPMOVZXBD, VALUE, narrow);
      case INT8 -> a.emit(Unary.VPMOVSXBD, VALUE, narrow);
    }
  }

  /** The instruction gives the least integer for all that it cannot represent. */
  private static void toInt(Emitter emitter) {
    Assembler a = emitter.assembler();
    a.emit(Move.VMOVUPS, ARGUMENT, VALUE);
    a.emit(Unary.VCVTTPS2DQ, VALUE, VALUE);
    a.load(Move.VMOVUPS, BOUND, BytesToFloats.ints(a, Float.floatToRawIntBits(0x1p31f)));
    a.load(Move.VMOVUPS, OTHER, BytesToFloats.ints(a, Integer.MAX_VALUE));
    emitter.replace(Predicate.GREATER_OR_EQUAL, ARGUMENT, BOUND, VALUE, OTHER, SCRATCH);
    a.emit(Binary.VXORPS, OTHER, OTHER, OTHER);
    emitter.replace(Predicate.UNORDERED, ARGUMENT, ARGUMENT, VALUE, OTHER, SCRATCH);
  }

  private void store(Assembler a, int elements) {
    Vector narrow = VALUE.as(Length.XMM);
    switch (to) {
      case FLOAT32, INT32 -> {
        if (elements == LANES) {
          a.store(Move.VMOVUPS, at(Gpr.RCX), VALUE);
        } else {
          a.load(Move.VMOVUPS, OTHER, BytesToFloats.first(a, elements));
          a.vmaskmovps(at(Gpr.RCX), OTHER, VALUE);
        }
        return;
      }
      case FLOAT16 -> a.vcvtps2ph(narrow, VALUE, Rounding.NEAREST);
      case UINT16, INT16, UINT8, INT8 -> {
        if (isTruncated) {
          a.emit(Binary.VPAND, VALUE, VALUE, BytesToFloats.ints(a, to.bits()));
        } else {
          a.emit(Binary.VPMAXSD, VALUE, VALUE, BytesToFloats.ints(a, to.least()));
          a.emit(Binary.VPMINSD, VALUE, VALUE, BytesToFloats.ints(a, to.least() + to.bits()));
        }
        pack(a, narrow, !isTruncated && to.least() < 0);
      }
    }
    Bytes.store(a, narrow, Gpr.RCX, 0, elements * to.size);
  }

  private void pack(Assembler a, Vector narrow, boolean isSigned) {
    Vector upper = OTHER.as(Length.XMM);
    a.vextracti128(upper, VALUE, 1);
    if (to.size == Short.BYTES) {
      a.emit(isSigned ? Binary.VPACKSSDW : Binary.VPACKUSDW, narrow, narrow, upper);
    } else {
      a.emit(Binary.VPACKSSDW, narrow, narrow, upper);
      a.emit(isSigned ? Binary.VPACKSSWB : Binary.VPACKUSWB, narrow, narrow, narrow);
    }
  }

  private static Address at(Gpr pointer) {
    return Address.at(pointer, 0);
  }
}
