// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Factor;
import io.thalamus.npu.command.Command.Size;
import io.thalamus.npu.command.Command.Window;
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
      int[] words = new int[count];
      from.get(words);
      commands.add(command(opcode, words));
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

  private static Command command(Opcode opcode, int[] w) {
    return switch (opcode) {
      case END -> new Command.End();
      case BARRIER -> new Command.Barrier(w[0]);
      case LOAD ->
          new Command.Load(w[0], w[1], w[2], new Block(w[3], w[4], w[5], w[7], w[8]), w[6], w[9]);
      case LOAD_PACKED -> new Command.LoadPacked(w[0], w[1], w[2], w[3]);
      case STORE ->
          new Command.Store(w[0], w[1], new Block(w[2], w[3], w[4], w[6], w[7]), w[5], w[8]);
      case FILL -> new Command.Fill(w[0], new Block(w[1], w[2], w[3], w[4], w[5]), w[6]);
      case MATMUL -> new Command.MatMul(window(w), w[13], w[14], w[15], w[16], w[17]);
      case DEPTHWISE -> new Command.Depthwise(window(w), w[13], w[14], w[15], w[16], w[17]);
      case REQUANTIZE ->
          new Command.Requantize(
              w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11]);
      case POOL ->
          new Command.Pool(window(w), new Size(w[13], w[14]), w[15], w[16], w[17], w[18], w[19]);
      case ELEMENTWISE ->
          new Command.Elementwise(
              w[0],
              w[1],
              w[2],
              w[3],
              w[4],
              w[5],
              w[6],
              w[7],
              w[8],
              w[9],
              w[10],
              w[11],
              w[12],
              new Factor(w[13], w[14]),
              new Factor(w[15], w[16]),
              new Factor(w[17], w[18]),
              w[19],
              w[20],
              w[21]);
      case LOOKUP -> new Command.Lookup(w[0], w[1], w[2], w[3]);
      case SOFTMAX -> new Command.Softmax(w[0], w[1], w[2], w[3], w[4], w[5], w[6]);
    };
  }

  private static Window window(int[] w) {
    return new Window(
        w[0],
        w[1],
        w[2],
        w[3],
        w[4],
        new Size(w[5], w[6]),
        new Size(w[7], w[8]),
        new Size(w[9], w[10]),
        new Size(w[11], w[12]));
  }
}
