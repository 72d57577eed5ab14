// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.List;

/** Commands to words and back. Stateless. */
public final class CommandStream {
  private static final Opcode[] BY_CODE = new Opcode[Opcode.values().length];

  static {
    for (Opcode opcode : Opcode.values()) {
      BY_CODE[opcode.code()] = opcode;
    }
  }

  private CommandStream() {}

  /** Words that a command takes. */
  public static int size(Command command) {
    return 1 + command.opcode().fields().size();
  }

  /** Appends a command. */
  public static void write(Command command, IntBuffer to) {
    int[] words = command.words();
    to.put(command.opcode().code() | words.length << 16);
    to.put(words);
  }

  /**
   * The commands up to END, which must be the last.
   *
   * @throws CommandFormatException where a word is no opcode, a command is cut short, or END is not
   *     where it must be
   */
  public static List<Command> read(IntBuffer from) throws CommandFormatException {
    List<Command> commands = new ArrayList<>();
    while (from.hasRemaining()) {
      int at = from.position();
      int head = from.get();
      int code = head & 0xFFFF;
      int count = head >>> 16;
      if (code >= BY_CODE.length) {
        throw at(commands.size(), at, "has the opcode " + code + ", which there is not");
      }
      Opcode opcode = BY_CODE[code];
      if (count != opcode.fields().size()) {
        throw at(
            commands.size(),
            at,
            opcode + " has " + count + " words behind the first, not " + opcode.fields().size());
      }
      if (from.remaining() < count) {
        throw at(commands.size(), at, opcode + " is cut short by the end of the stream");
      }
      commands.add(Words.read(opcode, from));
      if (opcode == Opcode.END) {
        if (from.hasRemaining()) {
          throw at(commands.size(), at, "END has " + from.remaining() + " words behind it");
        }
        return commands;
      }
    }
    throw new CommandFormatException("the stream does not stop at END");
  }

  private static CommandFormatException at(int command, int word, String what) {
    return new CommandFormatException("command " + command + " at word " + word + " " + what);
  }
}
