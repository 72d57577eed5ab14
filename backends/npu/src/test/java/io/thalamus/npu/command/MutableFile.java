// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Changes files behind the compiler's back. */
public final class MutableFile {
  /** Bytes in front of arguments and commands. */
  public static final int HEADER = 48;

  private MutableFile() {}

  /** Sets a word. */
  public static void setInt(byte[] file, int at, int value) {
    ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).putInt(at, value);
  }

  /** Makes the checksum right again. */
  public static void seal(byte[] file) {
    setInt(file, 12, ExecutableFormat.checksum(file));
  }
}
