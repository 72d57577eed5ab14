// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

import io.thalamus.x86.asm.Address.Based;
import io.thalamus.x86.asm.Address.Indexed;
import io.thalamus.x86.asm.Address.Relative;
import io.thalamus.x86.asm.Encoding.Kind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The bytes of instructions: prefixes, operands and distances. Not thread-safe. */
final class Encoder {
  /** A register in the place of an address, or one that an instruction does not have. */
  private static final int NONE = 0;

  private static final int SIB = 4;

  private byte[] bytes = new byte[1024];
  private int size;
  private final List<Fixup> fixups = new ArrayList<>();

  /**
   * Four bytes that are to hold the distance to a label from their own end.
   *
   * @param at where they stand
   */
  private record Fixup(int at, Label label) {}

  int size() {
    return size;
  }

  /** Returns all bytes, with the distances to labels filled in. */
  byte[] finish() {
    byte[] code = Arrays.copyOf(bytes, size);
    for (Fixup fixup : fixups) {
      int at = fixup.at();
      put(code, at, fixup.label().position() - (at + Integer.BYTES));
    }
    return code;
  }

  private static void put(byte[] code, int at, int value) {
    for (int i = 0; i < Integer.BYTES; i++) {
      code[at + i] = (byte) (value >> 8 * i);
    }
  }

  private void room(int more) {
    if (size + more > bytes.length) {
      bytes = Arrays.copyOf(bytes, 2 * bytes.length);
    }
  }

  void byte8(int value) {
    if (size == bytes.length) {
      room(1);
    }
    bytes[size++] = (byte) value;
  }

  void int32(int value) {
    room(Integer.BYTES);
    put(bytes, size, value);
    size += Integer.BYTES;
  }

  void int64(long value) {
    int32((int) value);
    int32((int) (value >> 32));
  }

  /** Leaves room for the distance to a label from the end of the instruction, which this is. */
  void distance(Label label) {
    fixups.add(new Fixup(size, label));
    int32(0);
  }

  /** An instruction of 64 bits with a register and another one. */
  void general(int opcode, int register, Gpr other) {
    byte8(0x48 | high(register) << 2 | high(other.number()));
    opcode(opcode);
    registers(register, other.number());
  }

  /** An instruction of 64 bits with a register and an address. */
  void general(int opcode, int register, Address address) {
    byte8(0x48 | high(register) << 2 | high(index(address)) << 1 | high(base(address)));
    opcode(opcode);
    memory(register, address, 1);
  }

  /** An instruction with the lower 8 bits of a register and an address. */
  void byteOf(int opcode, Gpr register, Address address) {
    int number = register.number();
    int prefix = 0x40 | high(number) << 2 | high(index(address)) << 1 | high(base(address));
    // Without a prefix, the numbers from 4 to 7 mean other registers.
    if (prefix != 0x40 || number >= 4) {
      byte8(prefix);
    }
    byte8(opcode);
    memory(number, address, 1);
  }

  /** An instruction with an address alone, and a number in the place of a register. */
  void plain(int opcode, int number, Address address) {
    int prefix = 0x40 | high(index(address)) << 1 | high(base(address));
    if (prefix != 0x40) {
      byte8(prefix);
    }
    opcode(opcode);
    memory(number, address, 1);
  }

  private void opcode(int opcode) {
    if (opcode > 0xFF) {
      byte8(opcode >> 8);
    }
    byte8(opcode);
  }

  /**
   * An instruction on vectors whose last operand is a register.
   *
   * @param register the operand that is always a register
   * @param second the one in the prefix; 0 where there is none
   * @param last the one that could stand in memory
   */
  void vector(Encoding encoding, Length length, int register, int second, int last) {
    vector(encoding, length, register, second, last, NONE);
  }

  /**
   * An instruction on vectors whose last operand is a register.
   *
   * @param mask number of the register that selects elements to be written; 0 for all
   */
  void vector(Encoding encoding, Length length, int register, int second, int last, int mask) {
    int largest = Math.max(register, Math.max(second, last));
    check(encoding, length, largest);
    if (mask != NONE || isEvex(encoding, length, largest)) {
      if (encoding.kind() == Kind.VEX) {
        throw new IllegalArgumentException("VEX has no masks");
      }
      evex(encoding, length, register, second, last >> 4, last, mask, false);
    } else {
      vex(encoding, length, register, second, NONE, last);
    }
    byte8(encoding.opcode());
    registers(register, last);
  }

  /** An instruction on vectors whose last operand stands in memory. */
  void vector(Encoding encoding, Length length, int register, int second, Address last) {
    vector(encoding, length, register, second, last, NONE, false);
  }

  /**
   * An instruction on vectors whose last operand stands in memory.
   *
   * @param mask number of the register that selects elements; 0 for all
   * @param isZeroing whether elements that are not selected become 0
   */
  void vector(
      Encoding encoding,
      Length length,
      int register,
      int second,
      Address last,
      int mask,
      boolean isZeroing) {
    int largest = Math.max(register, second);
    check(encoding, length, largest);
    int factor = 1;
    if (mask != NONE || isEvex(encoding, length, largest)) {
      if (encoding.kind() == Kind.VEX) {
        throw new IllegalArgumentException("VEX has no masks");
      }
      evex(encoding, length, register, second, high(index(last)), base(last), mask, isZeroing);
      factor = encoding.tuple().bytes(length);
    } else {
      vex(encoding, length, register, second, index(last), base(last));
    }
    byte8(encoding.opcode());
    memory(register, last, factor);
  }

  private static void check(Encoding encoding, Length length, int largest) {
    if (!encoding.takes(length, largest)) {
      throw new IllegalArgumentException(
          "no form of %02X in map %d for %s and register %d"
              .formatted(encoding.opcode(), encoding.map(), length, largest));
    }
  }

  private static boolean isEvex(Encoding encoding, Length length, int largest) {
    return encoding.kind() == Kind.EVEX || length == Length.ZMM || largest > 15;
  }

  private void vex(
      Encoding encoding, Length length, int register, int second, int index, int base) {
    int rest = (~second & 15) << 3 | length.ordinal() << 2 | encoding.prefix();
    int notRegister = (1 - high(register)) << 7;
    if (encoding.map() == 1 && !encoding.isWide() && high(index) == 0 && high(base) == 0) {
      byte8(0xC5);
      byte8(notRegister | rest);
    } else {
      byte8(0xC4);
      byte8(notRegister | (1 - high(index)) << 6 | (1 - high(base)) << 5 | encoding.map());
      byte8((encoding.isWide() ? 0x80 : 0) | rest);
    }
  }

  /**
   * The prefix of AVX-512.
   *
   * @param x the bit X: of an index, or the fifth of a register in the place of an address
   */
  private void evex(
      Encoding encoding,
      Length length,
      int register,
      int second,
      int x,
      int base,
      int mask,
      boolean isZeroing) {
    byte8(0x62);
    byte8(
        (1 - high(register)) << 7
            | (1 - x) << 6
            | (1 - high(base)) << 5
            | (1 - (register >> 4)) << 4
            | encoding.map());
    byte8((encoding.isWide() ? 0x80 : 0) | (~second & 15) << 3 | 4 | encoding.prefix());
    byte8((isZeroing ? 0x80 : 0) | length.ordinal() << 5 | (1 - (second >> 4)) << 3 | mask);
  }

  /** The byte that names two registers. */
  void registers(int register, int other) {
    byte8(0xC0 | (register & 7) << 3 | other & 7);
  }

  /**
   * The bytes that name a register and an address.
   *
   * @param factor what a displacement of one byte is multiplied by
   */
  private void memory(int register, Address address, int factor) {
    int field = (register & 7) << 3;
    // A switch over types would have the JVM make a class for it, and call that by a handle.
    if (address instanceof Relative(Label label)) {
      byte8(field | 5);
      distance(label);
    } else if (address instanceof Indexed(Gpr base, Gpr index, Address.Scale scale, int distance)) {
      int mode = mode(base, distance, factor);
      byte8(mode | field | SIB);
      byte8(scale.ordinal() << 6 | (index.number() & 7) << 3 | base.number() & 7);
      displacement(mode, distance, factor);
    } else if (address instanceof Based(Gpr base, int distance)) {
      int mode = mode(base, distance, factor);
      int low = base.number() & 7;
      byte8(mode | field | low);
      if (low == SIB) {
        byte8(0x24);
      }
      displacement(mode, distance, factor);
    }
  }

  private static int mode(Gpr base, int displacement, int factor) {
    // Without a displacement rbp and r13 mean something else.
    if (displacement == 0 && (base.number() & 7) != 5) {
      return 0;
    }
    return displacement % factor == 0 && isByte(displacement / factor) ? 0x40 : 0x80;
  }

  private void displacement(int mode, int displacement, int factor) {
    if (mode == 0x40) {
      byte8(displacement / factor);
    } else if (mode == 0x80) {
      int32(displacement);
    }
  }

  static boolean isByte(int value) {
    return value == (byte) value;
  }

  /** The fourth bit of a register's number, which stands in a prefix. */
  private static int high(int number) {
    return number >> 3 & 1;
  }

  private static int base(Address address) {
    if (address instanceof Based based) {
      return based.base().number();
    }
    return address instanceof Indexed indexed ? indexed.base().number() : NONE;
  }

  private static int index(Address address) {
    return address instanceof Indexed indexed ? indexed.index().number() : NONE;
  }
}
