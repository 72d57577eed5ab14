// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.packet;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;

/** Packets written by hand, byte after byte, without the code under test. */
final class Bytes {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  /** One byte each. */
  Bytes u8(int... values) {
    for (int value : values) {
      bytes.write(value);
    }
    return this;
  }

  /** Four bytes each. */
  Bytes u32(long... values) {
    for (long value : values) {
      ByteBuffer four = ByteBuffer.allocate(4).order(ByteOrder.nativeOrder()).putInt((int) value);
      bytes.writeBytes(four.array());
    }
    return this;
  }

  /** Eight bytes each. */
  Bytes u64(long... values) {
    for (long value : values) {
      ByteBuffer eight = ByteBuffer.allocate(8).order(ByteOrder.nativeOrder()).putLong(value);
      bytes.writeBytes(eight.array());
    }
    return this;
  }

  /** Bytes that nobody uses. */
  Bytes zeros(int count) {
    return u8(new int[count]);
  }

  Datums packet() {
    byte[] all = bytes.toByteArray();
    if (all.length % 24 != 0) {
      throw new AssertionError(all.length + " bytes are no whole number of elements");
    }
    Datums datums = new Datums();
    datums.resize(all.length / 24);
    MemorySegment.copy(all, 0, datums.segment(), ValueLayout.JAVA_BYTE, 0, all.length);
    return datums;
  }

  /** Elements as lines, so that a difference can be seen. */
  String text() {
    return text(bytes.toByteArray());
  }

  static String text(Datums datums) {
    byte[] all = new byte[datums.count() * 24];
    MemorySegment.copy(datums.segment(), ValueLayout.JAVA_BYTE, 0, all, 0, all.length);
    return text(all);
  }

  private static String text(byte[] all) {
    HexFormat hex = HexFormat.ofDelimiter(" ");
    StringBuilder lines = new StringBuilder();
    for (int at = 0; at < all.length; at += 24) {
      lines.append(hex.formatHex(all, at, at + 24)).append('\n');
    }
    return lines.toString();
  }
}
