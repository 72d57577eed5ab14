// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import java.util.List;
import java.util.Locale;

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

  /** All commands, numbered. */
  public static String text(List<Command> commands) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < commands.size(); i++) {
      text.append(String.format(Locale.ROOT, "%5d ", i)).append(text(commands.get(i))).append('\n');
    }
    return text.toString();
  }
}
