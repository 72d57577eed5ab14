// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Depthwise;
import io.thalamus.npu.command.Command.Elementwise;
import io.thalamus.npu.command.Command.Fill;
import io.thalamus.npu.command.Command.Load;
import io.thalamus.npu.command.Command.LoadPacked;
import io.thalamus.npu.command.Command.Lookup;
import io.thalamus.npu.command.Command.MatMul;
import io.thalamus.npu.command.Command.Pool;
import io.thalamus.npu.command.Command.Requantize;
import io.thalamus.npu.command.Command.Softmax;
import io.thalamus.npu.command.Command.Store;
import io.thalamus.npu.command.Command.Window;
import io.thalamus.npu.command.Disassembler;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.command.Opcode.Engine;
import io.thalamus.npu.timing.DmaTiming;
import io.thalamus.npu.timing.OperatingPoint;
import io.thalamus.npu.timing.Work;
import java.util.Arrays;

/**
 * The schedule of commands on hardware: the model of time. Each engine takes its commands in order;
 * a command starts when its engine is free and nobody before it is still at work on a bank that it
 * reads or writes. Not thread-safe; depends on nothing but the commands, so that the same stream
 * gives the same times.
 */
public final class Timeline implements Footprint.Visitor<RuntimeException> {
  /** Cycles from a command's issue to its first result, on array and vector unit. */
  private static final int ISSUE = 4;

  /** Cycles of the vector unit for each element of a softmax: three passes and a division. */
  private static final int SOFTMAX_PASSES = 4;

  private static final int ENGINES = Engine.values().length;

  private final Architecture architecture;
  private final DmaTiming dma;
  private final long[] free = new long[ENGINES];
  private final long[] busy = new long[ENGINES];
  private final long[][] written = new long[2][Architecture.BANKS];
  private final long[][] read = new long[2][Architecture.BANKS];
  private long start;
  private long finish;
  private long end;
  private boolean isMarking;
  private long intMacs;
  private long floatMacs;
  private long scratchpadBytes;
  private long dramBytes;

  /** Nothing has run yet. */
  public Timeline(Architecture architecture, OperatingPoint point) {
    this.architecture = architecture;
    this.dma = architecture.dma(point);
  }

  /** An executable from its first command to its last. */
  public static Timeline of(
      Executable executable, Architecture architecture, OperatingPoint point) {
    Timeline timeline = new Timeline(architecture, point);
    executable.commands().forEach(timeline::issue);
    return timeline;
  }

  /**
   * Returns a line for each command: its start and end, its engine and its kind. Depends on nothing
   * but the arguments, to the byte.
   */
  public static String trace(
      Executable executable, Architecture architecture, OperatingPoint point) {
    Timeline timeline = new Timeline(architecture, point);
    StringBuilder text = new StringBuilder();
    for (Command command : executable.commands()) {
      timeline.issue(command);
      text.append(timeline.start)
          .append(' ')
          .append(timeline.finish)
          .append(' ')
          .append(command.opcode().engine())
          .append(' ')
          .append(Disassembler.text(command))
          .append('\n');
    }
    return text.toString();
  }

  /** The cycle in which the last command issued ends. */
  public long cycles() {
    return end;
  }

  /** Cycles in which an engine works. */
  public long busy(Engine engine) {
    return busy[engine.ordinal()];
  }

  /** The work that is paid for by the piece. */
  public Work work() {
    return new Work(intMacs, floatMacs, scratchpadBytes, dramBytes);
  }

  /** Issues a command that the memories have room for. */
  public void issue(Command command) {
    Engine unit = command.opcode().engine();
    int engine = unit.ordinal();
    if (unit == Engine.CONTROL) {
      Arrays.fill(free, end);
      start = end;
      finish = end;
      return;
    }
    start = free[engine];
    isMarking = false;
    Footprint.visit(command, this);
    long cycles = cycles(command);
    finish = start + cycles;
    isMarking = true;
    Footprint.visit(command, this);
    free[engine] = finish;
    busy[engine] += cycles;
    end = Math.max(end, finish);
  }

  /** First asks which banks to wait for, then, once the end is known, marks them. */
  @Override
  public void access(Footprint.Memory memory, boolean isWritten, long address, long length) {
    boolean isScratchpad = memory == Footprint.Memory.SCRATCHPAD;
    if (!isScratchpad && memory != Footprint.Memory.ACCUMULATORS) {
      return;
    }
    int bank = isScratchpad ? architecture.scratchpadBank() : architecture.accumulatorBank();
    int last = (int) Math.min(Architecture.BANKS - 1, (address + length - 1) / bank);
    long[] writes = written[isScratchpad ? 0 : 1];
    long[] reads = read[isScratchpad ? 0 : 1];
    for (int i = (int) Math.min(Architecture.BANKS - 1, address / bank); i <= last; i++) {
      if (!isMarking) {
        start = Math.max(start, isWritten ? Math.max(writes[i], reads[i]) : writes[i]);
      } else if (isWritten) {
        writes[i] = finish;
      } else {
        reads[i] = Math.max(reads[i], finish);
      }
    }
  }

  /** Cycles of a command, and what it moves and multiplies. */
  private long cycles(Command command) {
    return switch (command) {
      case Command.End _, Command.Barrier _ -> 0;
      case Load load -> transfer(load.copy().source());
      case LoadPacked load -> {
        dramBytes += load.packedBytes();
        scratchpadBytes += load.bytes();
        yield dma.cycles(load.packedBytes(), 1);
      }
      case Store store -> transfer(store.copy().source());
      case Fill fill -> {
        scratchpadBytes += fill.target().bytes();
        yield ISSUE + Math.ceilDiv(fill.target().bytes(), architecture.lanes());
      }
      case MatMul product -> {
        Window window = product.window();
        long pixels = window.output().area();
        long cells = Footprint.cells(window);
        count(pixels * cells * product.columns(), pixels * product.columns(), window);
        // Half as many multipliers of twice the width.
        long cycles = architecture.array().cycles(pixels, cells, product.columns());
        yield window.has(Command.FLOAT16) ? 2 * cycles : cycles;
      }
      case Depthwise product -> {
        Window window = product.window();
        long results = window.output().area() * window.channels() * product.multiplier();
        long products = results * window.kernel().area();
        count(products, results, window);
        yield vector(products, window.elementSize());
      }
      case Requantize results -> {
        long count = (long) results.pixels() * results.channels();
        scratchpadBytes += 5 * count;
        yield vector(count, 1);
      }
      case Pool pool -> {
        Window window = pool.window();
        long results = window.output().area() * window.channels();
        long cells = results * window.kernel().area();
        scratchpadBytes += cells + results;
        yield vector(cells, window.elementSize());
      }
      case Elementwise pair -> {
        long count = (long) pair.rows() * pair.run();
        scratchpadBytes += 3 * count;
        yield vector(count, (pair.flags() & Command.FLOAT16) != 0 ? 2 : 1);
      }
      case Lookup lookup -> {
        scratchpadBytes += 2L * lookup.count();
        yield vector(lookup.count(), 1);
      }
      case Softmax softmax -> {
        long count = (long) softmax.rows() * softmax.depth();
        scratchpadBytes += SOFTMAX_PASSES * count;
        yield vector(SOFTMAX_PASSES * count, 1);
      }
    };
  }

  private void count(long products, long results, Window window) {
    if (window.has(Command.FLOAT16)) {
      floatMacs += products;
    } else {
      intMacs += products;
    }
    // Each row and each column of the array reads an operand a cycle; sums are written once.
    long reads = products / architecture.array().columns() + products / architecture.array().rows();
    scratchpadBytes += reads * window.elementSize() + results * Integer.BYTES;
  }

  private long transfer(Block block) {
    dramBytes += block.bytes();
    scratchpadBytes += block.bytes();
    return dma.cycles(block.bytes(), (long) block.rows() * block.planes());
  }

  private long vector(long operations, int elementSize) {
    return ISSUE + Math.ceilDiv(operations * elementSize, architecture.lanes());
  }
}
