// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A shared object for Linux on x86-64: functions that a dynamic linker finds by name, and nothing
 * that it would have to relocate. It has the segments that such a linker reads, in the order of <a
 * href="https://gabi.xinuos.com/">System V's ABI</a>, and no sections. Stateless.
 */
final class SharedObject {
  /**
   * A function.
   *
   * @param name in ASCII
   * @param offset of its first instruction, in the code
   */
  record Function(String name, int offset) {}

  private static final int PAGE = 4096;
  private static final int HEADER = 64;
  private static final int PROGRAM_HEADER = 56;
  private static final int SYMBOL = 24;
  private static final int ENTRY = 16;

  private static final int READ = 4;
  private static final int WRITE = 2;
  private static final int EXECUTE = 1;

  private static final int LOAD = 1;
  private static final int DYNAMIC = 2;

  /** PT_GNU_STACK: a stack that is not executable, without which a JVM warns. */
  private static final int STACK = 0x6474e551;

  private static final int HASH_TABLE = 4;
  private static final int STRING_TABLE = 5;
  private static final int SYMBOL_TABLE = 6;
  private static final int STRING_BYTES = 10;
  private static final int SYMBOL_BYTES = 11;

  private SharedObject() {}

  /**
   * Returns the bytes of the file.
   *
   * @param code of the functions, which begins at a multiple of 64 bytes; less than a page
   */
  static byte[] of(byte[] code, List<Function> functions) {
    StringBuilder names = new StringBuilder("\0");
    int symbols = HEADER + 4 * PROGRAM_HEADER;
    int hashes = symbols + (functions.size() + 1) * SYMBOL;
    int strings = hashes + (functions.size() + 4) * Integer.BYTES;
    functions.forEach(function -> names.append(function.name()).append('\0'));
    int start = (strings + names.length() + 63) / 64 * 64;
    int[][] dynamic = {
      {HASH_TABLE, hashes},
      {STRING_TABLE, strings},
      {SYMBOL_TABLE, symbols},
      {STRING_BYTES, names.length()},
      {SYMBOL_BYTES, SYMBOL},
      {0, 0}
    };
    int dynamicBytes = dynamic.length * ENTRY;
    ByteBuffer file = ByteBuffer.allocate(PAGE + dynamicBytes).order(ByteOrder.LITTLE_ENDIAN);
    header(file);
    // A linker writes addresses into the dynamic section, which is a segment of its own for that.
    segment(file, LOAD, READ | EXECUTE, 0, start + code.length);
    segment(file, LOAD, READ | WRITE, PAGE, dynamicBytes);
    segment(file, DYNAMIC, READ | WRITE, PAGE, dynamicBytes);
    segment(file, STACK, READ | WRITE, 0, 0);
    file.position(symbols + SYMBOL);
    int name = 1;
    for (Function function : functions) {
      // Global, a function, and in some section: 0 would be a symbol of somebody else.
      file.putInt(name).put((byte) 0x12).put((byte) 0).putShort((short) 1);
      file.putLong(start + function.offset()).putLong(0);
      name += function.name().length() + 1;
    }
    // One bucket: all symbols are in one chain, which the first, of nothing, ends.
    file.putInt(1).putInt(functions.size() + 1).putInt(1).putInt(0);
    for (int i = 1; i <= functions.size(); i++) {
      file.putInt((i + 1) % (functions.size() + 1));
    }
    file.put(names.toString().getBytes(StandardCharsets.US_ASCII));
    file.position(start).put(code);
    file.position(PAGE);
    for (int[] entry : dynamic) {
      file.putLong(entry[0]).putLong(entry[1]);
    }
    return file.array();
  }

  private static void header(ByteBuffer file) {
    file.put(new byte[] {0x7F, 'E', 'L', 'F'});
    file.put((byte) 2).put((byte) 1).put((byte) 1).position(16); // 64 bits, low bytes first
    file.putShort((short) 3).putShort((short) 62).putInt(1); // a shared object for x86-64
    file.putLong(0).putLong(HEADER).putLong(0).putInt(0);
    file.putShort((short) HEADER).putShort((short) PROGRAM_HEADER).putShort((short) 4);
    file.position(HEADER);
  }

  private static void segment(ByteBuffer file, int type, int rights, long offset, long bytes) {
    file.putInt(type).putInt(rights);
    file.putLong(offset).putLong(offset).putLong(offset).putLong(bytes).putLong(bytes);
    file.putLong(type == LOAD ? PAGE : Long.BYTES);
  }
}
