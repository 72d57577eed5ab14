// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

import java.nio.IntBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Writes machine code, instruction by instruction, in the order of the calls. An instruction that
 * does not exist as it is asked for, such as one with VEX and a register above 15, is an {@link
 * IllegalArgumentException}. Not thread-safe; used for one piece of code, which {@link #finish}
 * ends.
 *
 * <p>Operands come in Intel's order: the result first. Registers of vectors up to 15 and vectors up
 * to 32 bytes are encoded with VEX, others with EVEX, whose forms of 16 and 32 bytes need AVX512VL;
 * whether the processor has an instruction is the caller's business.
 */
public final class Assembler {
  /** Constants begin at a multiple of this, and so does the code when it runs. */
  public static final int ALIGNMENT = 64;

  /** By length, the instructions that do nothing which Intel recommends. */
  private static final int[][] NOPS = {
    {},
    {0x90},
    {0x66, 0x90},
    {0x0F, 0x1F, 0x00},
    {0x0F, 0x1F, 0x40, 0x00},
    {0x0F, 0x1F, 0x44, 0x00, 0x00},
    {0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00},
    {0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00},
    {0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
    {0x66, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}
  };

  private static final Encoding VMASKMOVPS_LOAD = Encoding.of(2, 1, 0x2C).with(Encoding.Kind.VEX);
  private static final Encoding VMASKMOVPS = Encoding.of(2, 1, 0x2E).with(Encoding.Kind.VEX);
  private static final Encoding VROUNDPS = Encoding.of(3, 1, 0x08);
  private static final Encoding VCVTPS2PH =
      Encoding.of(3, 1, 0x1D).with(Encoding.Kind.VEX).with(Tuple.HALF);
  private static final Encoding VCMPPS = Encoding.of(1, 0, 0xC2).with(Encoding.Kind.VEX);
  private static final Encoding VCMPPS_MASK = Encoding.of(1, 0, 0xC2).with(Encoding.Kind.EVEX);
  private static final Encoding VBLENDVPS = Encoding.of(3, 1, 0x4A).with(Encoding.Kind.VEX);
  private static final Encoding VPBLENDD = Encoding.of(3, 1, 0x02).with(Encoding.Kind.VEX);
  private static final Encoding VPERMQ =
      Encoding.of(3, 1, 0x00).wide().with(Encoding.Kind.VEX).with(Length.YMM);
  private static final Encoding VEXTRACTI128 =
      Encoding.of(3, 1, 0x39).with(Encoding.Kind.VEX).with(Length.YMM);
  private static final Encoding VINSERTI128 =
      Encoding.of(3, 1, 0x38).with(Encoding.Kind.VEX).with(Length.YMM);
  private static final Encoding VROUNDPD = Encoding.of(3, 1, 0x09).with(Encoding.Kind.VEX);
  private static final Encoding VCVTPD2PS = Encoding.of(1, 1, 0x5A).with(Encoding.Kind.VEX);
  private static final Encoding VCVTTPD2DQ = Encoding.of(1, 1, 0xE6).with(Encoding.Kind.VEX);
  private static final Encoding VPINSRB = Encoding.of(3, 1, 0x20).with(Encoding.Kind.VEX);
  private static final Encoding VPEXTRB = Encoding.of(3, 1, 0x14).with(Encoding.Kind.VEX);
  private static final Encoding VPEXTRW = Encoding.of(3, 1, 0x15).with(Encoding.Kind.VEX);
  private static final Encoding VMOVQ = Encoding.of(1, 1, 0xD6).with(Encoding.Kind.VEX);

  private static final Encoding VMOVSS_LOAD = Encoding.of(1, 2, 0x10).with(Encoding.Kind.VEX);
  private static final Encoding VMOVSS = Encoding.of(1, 2, 0x11).with(Encoding.Kind.VEX);

  private final Encoder encoder = new Encoder();

  /** By their words, the labels of what stands behind the code, in its order. */
  private final Map<IntBuffer, Label> constants = new LinkedHashMap<>();

  /** Returns the code, with the constants behind it. Nothing is written afterwards. */
  public byte[] finish() {
    constants.forEach(
        (words, label) -> {
          while (encoder.size() % ALIGNMENT != 0) {
            encoder.byte8(0xCC); // a breakpoint: nothing runs into it unnoticed
          }
          bind(label);
          for (int word : words.array()) {
            encoder.int32(word);
          }
        });
    return encoder.finish();
  }

  /** Returns the offset of the next instruction. */
  public int position() {
    return encoder.size();
  }

  /** Has a label stand for the next instruction. */
  public void bind(Label label) {
    label.bind(encoder.size());
  }

  /** Returns a label of the next instruction. */
  public Label label() {
    Label label = new Label();
    bind(label);
    return label;
  }

  /** Returns the label of words that will stand behind the code. */
  public Label constant(int... words) {
    return constants.computeIfAbsent(IntBuffer.wrap(words.clone()), _ -> new Label());
  }

  /** Has the next instruction begin at a multiple of some bytes, {@link #ALIGNMENT} at most. */
  public void align(int bytes) {
    int left = (bytes - encoder.size() % bytes) % bytes;
    while (left > 0) {
      int[] nop = NOPS[Math.min(left, NOPS.length - 1)];
      for (int value : nop) {
        encoder.byte8(value);
      }
      left -= nop.length;
    }
  }

  /** Copies a register. */
  public void mov(Gpr to, Gpr from) {
    encoder.general(0x89, from.number(), to);
  }

  /** Sets a register to a number, in the shortest form. */
  public void mov(Gpr to, long value) {
    int low = to.number() & 7;
    if (value >>> 32 == 0) {
      // The upper half becomes 0.
      if (to.number() > 7) {
        encoder.byte8(0x41);
      }
      encoder.byte8(0xB8 | low);
      encoder.int32((int) value);
    } else if (value == (int) value) {
      encoder.general(0xC7, 0, to);
      encoder.int32((int) value);
    } else {
      encoder.byte8(0x48 | to.number() >> 3);
      encoder.byte8(0xB8 | low);
      encoder.int64(value);
    }
  }

  /** Loads 64 bits. */
  public void load(Gpr to, Address from) {
    encoder.general(0x8B, to.number(), from);
  }

  /** Stores 64 bits. */
  public void store(Address to, Gpr from) {
    encoder.general(0x89, from.number(), to);
  }

  /** Loads a byte as an unsigned number. */
  public void loadByte(Gpr to, Address from) {
    encoder.general(0x0FB6, to.number(), from);
  }

  /** Begins to bring a line into all caches; never a fault. */
  public void prefetcht0(Address from) {
    encoder.plain(0x0F18, 1, from);
  }

  /** Stores the lower 8 bits. */
  public void storeByte(Address to, Gpr from) {
    encoder.byteOf(0x88, from, to);
  }

  /** Sets a register to the number of the highest bit that is set in another one. */
  public void bsr(Gpr to, Gpr from) {
    encoder.general(0x0FBD, to.number(), from);
  }

  /** Shifts a register by as many bits as cl says. */
  public void emit(Shift shift, Gpr to) {
    encoder.general(0xD3, shift.number(), to);
  }

  /** Sets a register to an address. */
  public void lea(Gpr to, Address address) {
    encoder.general(0x8D, to.number(), address);
  }

  /** Computes with two registers; the first is the result. */
  public void emit(Alu operation, Gpr to, Gpr other) {
    encoder.general(operation.number() << 3 | 1, other.number(), to);
  }

  /** Computes with a register and a number. */
  public void emit(Alu operation, Gpr to, int value) {
    boolean isShort = Encoder.isByte(value);
    encoder.general(isShort ? 0x83 : 0x81, operation.number(), to);
    if (isShort) {
      encoder.byte8(value);
    } else {
      encoder.int32(value);
    }
  }

  /** Computes with a register and 64 bits in memory. */
  public void emit(Alu operation, Gpr to, Address other) {
    encoder.general(operation.number() << 3 | 3, to.number(), other);
  }

  /** Shifts a register by 0 to 63 bits. */
  public void emit(Shift shift, Gpr to, int bits) {
    Objects.checkIndex(bits, Long.SIZE);
    encoder.general(0xC1, shift.number(), to);
    encoder.byte8(bits);
  }

  /** Multiplies two registers; the first is the result. */
  public void imul(Gpr to, Gpr other) {
    encoder.general(0x0FAF, to.number(), other);
  }

  /** Multiplies a register by a number into another one. */
  public void imul(Gpr to, Gpr from, int factor) {
    encoder.general(0x69, to.number(), from);
    encoder.int32(factor);
  }

  /** Pushes a register on the stack. */
  public void push(Gpr register) {
    stack(0x50, register);
  }

  /** Pops a register from the stack. */
  public void pop(Gpr register) {
    stack(0x58, register);
  }

  private void stack(int opcode, Gpr register) {
    if (register.number() > 7) {
      encoder.byte8(0x41);
    }
    encoder.byte8(opcode | register.number() & 7);
  }

  /** Jumps to a label; shortly where that is bound before and near. */
  public void jump(Label label) {
    if (isNear(label)) {
      encoder.byte8(0xEB);
      encoder.byte8(label.position() - encoder.size() - 1);
    } else {
      encoder.byte8(0xE9);
      encoder.distance(label);
    }
  }

  /** Jumps to where 64 bits in memory say. */
  public void jump(Address to) {
    encoder.plain(0xFF, 4, to);
  }

  /** Calls the system, which changes rax, rcx and r11. */
  public void syscall() {
    encoder.byte8(0x0F);
    encoder.byte8(0x05);
  }

  /** Jumps to a label on a condition; shortly where that is bound before and near. */
  public void jump(Condition condition, Label label) {
    if (isNear(label)) {
      encoder.byte8(0x70 | condition.ordinal());
      encoder.byte8(label.position() - encoder.size() - 1);
    } else {
      encoder.byte8(0x0F);
      encoder.byte8(0x80 | condition.ordinal());
      encoder.distance(label);
    }
  }

  /** Takes 1 from a register, and jumps to a label unless that leaves 0. */
  public void countDown(Gpr counter, Label again) {
    emit(Alu.SUB, counter, 1);
    jump(Condition.NOT_EQUAL, again);
  }

  private boolean isNear(Label label) {
    return label.isBound() && Encoder.isByte(label.position() - encoder.size() - 2);
  }

  /** Returns to the caller. */
  public void ret() {
    encoder.byte8(0xC3);
  }

  /** Clears the upper halves of vector registers, as callers compiled for SSE expect. */
  public void vzeroupper() {
    encoder.byte8(0xC5);
    encoder.byte8(0xF8);
    encoder.byte8(0x77);
  }

  /** Sets a mask register to the lower 16 bits of a register. */
  public void kmovw(Mask to, Gpr from) {
    int notHigh = from.number() > 7 ? 0 : 0x20;
    if (notHigh == 0) {
      encoder.byte8(0xC4);
      encoder.byte8(0xC1);
      encoder.byte8(0x78);
    } else {
      encoder.byte8(0xC5);
      encoder.byte8(0xF8);
    }
    encoder.byte8(0x92);
    encoder.registers(to.number(), from.number());
  }

  /** Sets a mask register to the lower 32 bits of a register: AVX512BW. */
  public void kmovd(Mask to, Gpr from) {
    encoder.byte8(0xC4);
    encoder.byte8(from.number() > 7 ? 0xC1 : 0xE1);
    encoder.byte8(0x7B);
    encoder.byte8(0x92);
    encoder.registers(to.number(), from.number());
  }

  /** Computes a vector from two registers. */
  public void emit(Binary operation, Vector to, Vector first, Vector second) {
    sameLength(to, first);
    sameLength(to, second);
    encoder.vector(operation.encoding(), to.length(), to.number(), first.number(), second.number());
  }

  /** Computes a vector from a register and a vector in memory. */
  public void emit(Binary operation, Vector to, Vector first, Address second) {
    sameLength(to, first);
    encoder.vector(operation.encoding(), to.length(), to.number(), first.number(), second);
  }

  /** Computes a vector from a register of the length that {@link Unary#source} tells. */
  public void emit(Unary operation, Vector to, Vector from) {
    sameLength(to.as(operation.source(to.length())), from);
    encoder.vector(operation.encoding(), to.length(), to.number(), 0, from.number());
  }

  /** Computes those elements of a vector that a mask selects; the others stay: AVX-512. */
  public void emit(Unary operation, Vector to, Mask mask, Vector from) {
    sameLength(to.as(operation.source(to.length())), from);
    encoder.vector(operation.encoding(), to.length(), to.number(), 0, from.number(), mask.number());
  }

  /** Computes a vector from memory. */
  public void emit(Unary operation, Vector to, Address from) {
    encoder.vector(operation.encoding(), to.length(), to.number(), 0, from);
  }

  /** Copies a vector. */
  public void emit(Move move, Vector to, Vector from) {
    sameLength(to, from);
    encoder.vector(move.load(), to.length(), to.number(), 0, from.number());
  }

  /** Loads a vector. */
  public void load(Move move, Vector to, Address from) {
    encoder.vector(move.load(), to.length(), to.number(), 0, from);
  }

  /** Stores a vector. */
  public void store(Move move, Address to, Vector from) {
    encoder.vector(move.store(), from.length(), from.number(), 0, to);
  }

  /** Loads the elements of a vector that a mask selects; the others become 0, and are not read. */
  public void load(Move move, Vector to, Mask mask, Address from) {
    encoder.vector(move.load(), to.length(), to.number(), 0, from, mask.number(), true);
  }

  /** Stores the elements of a vector that a mask selects; the others are not touched. */
  public void store(Move move, Address to, Mask mask, Vector from) {
    encoder.vector(move.store(), from.length(), from.number(), 0, to, mask.number(), false);
  }

  /** Stores the elements that a mask selects, each cut to fewer bits: AVX-512. */
  public void store(Narrow narrow, Address to, Mask mask, Vector from) {
    encoder.vector(narrow.encoding(), from.length(), from.number(), 0, to, mask.number(), false);
  }

  /** Stores all elements, each cut to fewer bits: AVX-512. */
  public void store(Narrow narrow, Address to, Vector from) {
    encoder.vector(narrow.encoding(), from.length(), from.number(), 0, to);
  }

  /** Stores those floats of a vector whose element of a mask has its sign bit set: AVX. */
  public void vmaskmovps(Address to, Vector mask, Vector from) {
    sameLength(from, mask);
    encoder.vector(VMASKMOVPS, from.length(), from.number(), mask.number(), to);
  }

  /** Loads those floats whose element of a mask has its sign bit set; the others become 0: AVX. */
  public void vmaskmovps(Vector to, Vector mask, Address from) {
    sameLength(to, mask);
    encoder.vector(VMASKMOVPS_LOAD, to.length(), to.number(), mask.number(), from);
  }

  /** Shifts each element of a vector. */
  public void emit(VectorShift shift, Vector to, Vector from, int bits) {
    sameLength(to, from);
    encoder.vector(shift.encoding(), to.length(), shift.digit(), to.number(), from.number());
    encoder.byte8(bits);
  }

  /** Rounds each float to a whole number. */
  public void vroundps(Vector to, Vector from, Rounding rounding) {
    sameLength(to, from);
    encoder.vector(VROUNDPS, to.length(), to.number(), 0, from.number());
    encoder.byte8(rounding.number());
  }

  /** Rounds each float of 64 bits to a whole number: AVX. */
  public void vroundpd(Vector to, Vector from, Rounding rounding) {
    sameLength(to, from);
    encoder.vector(VROUNDPD, to.length(), to.number(), 0, from.number());
    encoder.byte8(rounding.number());
  }

  /** Makes floats of 64 bits integers of 32, in a vector of half the length, towards zero: AVX. */
  public void vcvttpd2dq(Vector to, Vector from) {
    encoder.vector(VCVTTPD2DQ, from.length(), to.number(), 0, from.number());
  }

  /** Makes floats of 64 bits ones of 32, in a vector of half the length: AVX. */
  public void vcvtpd2ps(Vector to, Vector from) {
    encoder.vector(VCVTPD2PS, from.length(), to.number(), 0, from.number());
  }

  /** Makes floats ones of 16 bits, in a vector of half the length: F16C. */
  public void vcvtps2ph(Vector to, Vector from, Rounding rounding) {
    encoder.vector(VCVTPS2PH, from.length(), from.number(), 0, to.number());
    encoder.byte8(rounding.number());
  }

  /** Sets all bits of those elements for which a comparison of floats holds; of others none. */
  public void vcmpps(Vector to, Vector first, Vector second, Predicate predicate) {
    sameLength(to, first);
    sameLength(to, second);
    encoder.vector(VCMPPS, to.length(), to.number(), first.number(), second.number());
    encoder.byte8(predicate.number());
  }

  /** Selects those elements for which a comparison of floats holds: AVX-512. */
  public void vcmpps(Mask to, Vector first, Vector second, Predicate predicate) {
    sameLength(first, second);
    encoder.vector(VCMPPS_MASK, first.length(), to.number(), first.number(), second.number());
    encoder.byte8(predicate.number());
  }

  /** Takes floats of the second vector where a mask's sign bit is set, else of the first: AVX. */
  public void vblendvps(Vector to, Vector first, Vector second, Vector mask) {
    sameLength(to, first);
    sameLength(to, second);
    sameLength(to, mask);
    encoder.vector(VBLENDVPS, to.length(), to.number(), first.number(), second.number());
    encoder.byte8(mask.number() << 4);
  }

  /** Copies those elements of a vector that a mask selects; the others stay: AVX-512. */
  public void emit(Move move, Vector to, Mask mask, Vector from) {
    sameLength(to, from);
    encoder.vector(move.load(), to.length(), to.number(), 0, from.number(), mask.number());
  }

  /** Takes each 32 bits of the second vector where the number has a bit set, else of the first. */
  public void vpblendd(Vector to, Vector first, Vector second, int bits) {
    sameLength(to, first);
    sameLength(to, second);
    encoder.vector(VPBLENDD, to.length(), to.number(), first.number(), second.number());
    encoder.byte8(bits);
  }

  /** Takes four 64 bits in the order that pairs of bits of a number give. */
  public void vpermq(Vector to, Vector from, int order) {
    sameLength(to, from);
    encoder.vector(VPERMQ, to.length(), to.number(), 0, from.number());
    encoder.byte8(order);
  }

  /** Takes the lower (0) or the upper (1) half of 32 bytes. */
  public void vextracti128(Vector to, Vector from, int half) {
    encoder.vector(VEXTRACTI128, from.length(), from.number(), 0, to.number());
    encoder.byte8(half);
  }

  /** Replaces the lower (0) or the upper (1) half of 32 bytes. */
  public void vinserti128(Vector to, Vector first, Vector second, int half) {
    sameLength(to, first);
    encoder.vector(VINSERTI128, to.length(), to.number(), first.number(), second.number());
    encoder.byte8(half);
  }

  /** Replaces one of 16 bytes by one in memory. */
  public void vpinsrb(Vector to, Vector first, Address from, int index) {
    encoder.vector(VPINSRB, to.length(), to.number(), first.number(), from);
    encoder.byte8(index);
  }

  /** Stores one of 16 bytes. */
  public void vpextrb(Address to, Vector from, int index) {
    encoder.vector(VPEXTRB, from.length(), from.number(), 0, to);
    encoder.byte8(index);
  }

  /** Stores one of 8 words. */
  public void vpextrw(Address to, Vector from, int index) {
    encoder.vector(VPEXTRW, from.length(), from.number(), 0, to);
    encoder.byte8(index);
  }

  /** Stores the lower 8 of 16 bytes. */
  public void vmovq(Address to, Vector from) {
    encoder.vector(VMOVQ, from.length(), from.number(), 0, to);
  }

  /** Loads one float into a vector of 16 bytes; the others become 0. */
  public void vmovss(Vector to, Address from) {
    encoder.vector(VMOVSS_LOAD, to.length(), to.number(), 0, from);
  }

  /** Stores the first float of a vector of 16 bytes. */
  public void vmovss(Address to, Vector from) {
    encoder.vector(VMOVSS, from.length(), from.number(), 0, to);
  }

  /** Copies rcx bytes from rsi to rdi, upwards, and moves all three. */
  public void repMovsb() {
    encoder.byte8(0xF3);
    encoder.byte8(0xA4);
  }

  /** Fills rcx bytes at rdi with al, upwards, and moves both. */
  public void repStosb() {
    encoder.byte8(0xF3);
    encoder.byte8(0xAA);
  }

  private static void sameLength(Vector wanted, Vector other) {
    if (other.length() != wanted.length()) {
      throw new IllegalArgumentException(other + " does not have the length of " + wanted);
    }
  }
}
