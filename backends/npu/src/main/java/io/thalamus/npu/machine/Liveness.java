// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Barrier;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Depthwise;
import io.thalamus.npu.command.Command.Fill;
import io.thalamus.npu.command.Command.Load;
import io.thalamus.npu.command.Command.MatMul;
import io.thalamus.npu.command.Command.Requantize;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/**
 * The values that are live on the chip before each command of a stream: those that a later command
 * reads before another one writes it. Found by going back over the commands from the next barrier,
 * where mostly nothing is live. Immutable and thread-safe; commands have been checked.
 */
final class Liveness {
  private final Command[] commands;

  /** By the index of a barrier, where anything is live. */
  private final Map<Integer, Live> barriers = new HashMap<>();

  Liveness(Command[] commands) {
    this.commands = commands;
    Live live = new Live();
    for (int i = commands.length - 1; i >= 0; i--) {
      live.goBefore(commands[i]);
      if (commands[i] instanceof Barrier && !live.isEmpty()) {
        barriers.put(i, live.copy());
      }
    }
  }

  /** Returns what is live before a command. */
  Context before(int command) {
    int barrier = command;
    while (barrier < commands.length && !(commands[barrier] instanceof Barrier)) {
      barrier++;
    }
    Live live = barriers.containsKey(barrier) ? barriers.get(barrier).copy() : new Live();
    for (int i = barrier - 1; i >= command; i--) {
      live.goBefore(commands[i]);
    }
    return new Context(live.scratchpad, live.sums, live.floatSums);
  }

  /** The values that are live at one place. */
  private static final class Live implements Footprint.Visitor<RuntimeException> {
    private final BitSet scratchpad = new BitSet();
    private final BitSet sums = new BitSet();
    private final BitSet floatSums = new BitSet();
    private boolean isKilling;
    private boolean isFloat;

    Live copy() {
      Live copy = new Live();
      copy.scratchpad.or(scratchpad);
      copy.sums.or(sums);
      copy.floatSums.or(floatSums);
      return copy;
    }

    boolean isEmpty() {
      return scratchpad.isEmpty() && sums.isEmpty() && floatSums.isEmpty();
    }

    /** Goes from behind a command to before it. */
    void goBefore(Command command) {
      isFloat = isFloat(command);
      switch (command) {
        case Load load -> kill(load.to(), load.copy().target());
        case Fill fill -> kill(fill.to(), fill.target());
        case Requantize results -> {
          int run = results.channels() * (isFloat ? 2 : 1);
          kill(results.to(), new Block(run, results.pixels(), results.toPixel(), 1, 0));
        }
        default -> visit(command, true);
      }
      visit(command, false);
    }

    /** Returns whether it uses the accumulators as float32. */
    private static boolean isFloat(Command command) {
      return switch (command) {
        case MatMul product -> product.window().has(Command.FLOAT16);
        case Depthwise product -> product.window().has(Command.FLOAT16);
        case Requantize results -> (results.flags() & Command.FLOAT16) != 0;
        default -> false;
      };
    }

    /** A range that is written may have gaps where rows lie apart, which stay as they are. */
    private void kill(int to, Block block) {
      for (int plane = 0; plane < block.planes(); plane++) {
        for (int row = 0; row < block.rows(); row++) {
          int at = to + plane * block.plane() + row * block.row();
          scratchpad.clear(at, at + block.run());
        }
      }
    }

    private void visit(Command command, boolean isKill) {
      isKilling = isKill;
      Footprint.visit(command, this);
    }

    @Override
    public void access(Footprint.Memory memory, boolean isWritten, long address, long length) {
      boolean isScratchpad = memory == Footprint.Memory.SCRATCHPAD;
      if (isWritten != isKilling || !isScratchpad && memory != Footprint.Memory.ACCUMULATORS) {
        return;
      }
      BitSet set = isScratchpad ? scratchpad : isFloat ? floatSums : sums;
      set.set((int) address, (int) (address + length), !isKilling);
    }
  }
}
