// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import java.util.List;

/** Commands as text, one a line: {@code MATMUL flags=0 input=4096 ...}. Stateless. */
public final class Disassembler {
  private Disassembler() {}

  /** One command. */
  public static String text(Command command) {
    StringBuilder text = new StringBuilder(command.opcode().name());
    List<String> fields = command.opcode().fields();
    int[] words = command.words();
    for (int i = 0; i < words.length; i++) {
      text.append(' ').append(fields.get(i)).append('=').append(words[i]);
    }
    return text.toString();
  }
}
