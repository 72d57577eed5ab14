// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Barrier;
import io.thalamus.npu.command.Command.Depthwise;
import io.thalamus.npu.command.Command.Elementwise;
import io.thalamus.npu.command.Command.End;
import io.thalamus.npu.command.Command.Fill;
import io.thalamus.npu.command.Command.Load;
import io.thalamus.npu.command.Command.LoadPacked;
import io.thalamus.npu.command.Command.Lookup;
import io.thalamus.npu.command.Command.MatMul;
import io.thalamus.npu.command.Command.Pool;
import io.thalamus.npu.command.Command.Requantize;
import io.thalamus.npu.command.Command.Softmax;
import io.thalamus.npu.command.Command.Store;
import io.thalamus.npu.command.CommandFormatException;
import io.thalamus.npu.command.Disassembler;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.command.Executable.Place;
import io.thalamus.npu.command.WeightCodec;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The interpreter of one compiled model. It reads its commands, its weights and the memory of the
 * run, and nothing else. Immutable and thread-safe; each run needs a {@link Memory} of its own.
 */
public final class Machine {
  private final Executable executable;
  private final Command[] commands;
  private final Bounds bounds;

  /**
   * By command: the weights that it unpacks. Unpacking is a function of DRAM that no command can
   * write, so it is computed once.
   */
  private final byte[][] unpacked;

  /** The first command that writes over an input, or END. */
  private final int overwriting;

  /** Made when a run is first put aside: most models never need it. */
  private volatile Liveness liveness;

  private Machine(Executable executable, Bounds bounds, byte[][] unpacked) {
    this.executable = executable;
    this.commands = executable.commands().toArray(Command[]::new);
    this.bounds = bounds;
    this.unpacked = unpacked;
    this.overwriting = overwriting();
  }

  private int overwriting() {
    boolean[] isFound = new boolean[1];
    for (int i = 0; i < commands.length; i++) {
      Footprint.visit(
          commands[i],
          (memory, isWritten, address, length) ->
              isFound[0] |=
                  isWritten && memory == Footprint.Memory.TENSORS && isInput(address, length));
      if (isFound[0]) {
        return i;
      }
    }
    return commands.length - 1;
  }

  private boolean isInput(long address, long length) {
    return executable.inputs().stream()
        .anyMatch(
            place ->
                address < place.address() + (long) place.bytes()
                    && place.address() < address + length);
  }

  /** Asked before each command. */
  @FunctionalInterface
  public interface Checkpoint {
    /**
     * Returns whether the run goes on.
     *
     * @param command the index of the one that is next
     */
    boolean pass(int command);
  }

  /**
   * Loads a compiled model.
   *
   * @throws MachineFault where it does not fit this hardware, or has a command that cannot be
   *     executed
   */
  public static Machine load(Executable executable, Architecture architecture) throws MachineFault {
    Executable.Memories memories = executable.memories();
    if (memories.scratchpad() > architecture.scratchpad()
        || memories.accumulators() > architecture.accumulators()
        || memories.tensors() + (long) executable.weights().length > architecture.dram()
        || executable.arrayColumns() != architecture.array().columns()) {
      throw new MachineFault(
          "the model was compiled for other hardware: it takes %s and %s columns"
              .formatted(memories, executable.arrayColumns()));
    }
    Bounds bounds = new Bounds(memories, executable.weights().length);
    for (Place place : executable.inputs()) {
      check(bounds, place, place.space() == Command.TENSORS);
    }
    for (Place place : executable.outputs()) {
      check(bounds, place, place.space() == Command.TENSORS || place.space() == Command.WEIGHTS);
    }
    return new Machine(executable, bounds, check(executable, bounds));
  }

  private static void check(Bounds bounds, Place place, boolean isSpaceValid) throws MachineFault {
    if (!isSpaceValid) {
      throw new MachineFault("an argument stands in memory " + place.space());
    }
    bounds.access(
        place.space() == Command.TENSORS ? Footprint.Memory.TENSORS : Footprint.Memory.WEIGHTS,
        false,
        place.address(),
        place.bytes());
  }

  private static byte[][] check(Executable executable, Bounds bounds) throws MachineFault {
    byte[][] unpacked = new byte[executable.commands().size()][];
    Map<LoadPacked, byte[]> known = new HashMap<>();
    for (int i = 0; i < unpacked.length; i++) {
      Command command = executable.commands().get(i);
      try {
        bounds.check(command);
        if (command instanceof LoadPacked load) {
          LoadPacked key = new LoadPacked(load.from(), load.packedBytes(), 0, load.bytes());
          unpacked[i] = known.get(key);
          if (unpacked[i] == null) {
            unpacked[i] =
                WeightCodec.unpack(
                    executable.weights(), load.from(), load.packedBytes(), load.bytes());
            known.put(key, unpacked[i]);
          }
        }
      } catch (MachineFault | CommandFormatException e) {
        throw fault(i, command, e);
      }
    }
    return unpacked;
  }

  private static MachineFault fault(int index, Command command, Exception cause) {
    MachineFault fault =
        new MachineFault(
            "command " + index + ", " + Disassembler.text(command) + ", " + cause.getMessage());
    fault.initCause(cause);
    return fault;
  }

  /** Returns the executable that is loaded. */
  public Executable executable() {
    return executable;
  }

  /** Returns the number of commands. */
  public int length() {
    return commands.length;
  }

  /** Returns whether a run that stops before a command finds its inputs when it starts again. */
  public boolean isRestartable(int command) {
    return command <= overwriting;
  }

  /** Returns what a run that stops before a command has to find on the chip when it goes on. */
  public Context contextBefore(int command) {
    Liveness found = liveness;
    if (found == null) {
      found = new Liveness(commands);
      liveness = found;
    }
    return found.before(command);
  }

  /**
   * Executes the stream from a command on. Inputs stand in the memory, and outputs do in the end.
   *
   * @param sram of the chip, which is this run's alone meanwhile
   * @param first the index of a command: 0, or where the run was stopped
   * @return the index of the command before which it was stopped at a checkpoint; {@link #length}
   *     when it came to the end
   * @throws MachineFault where a command cannot be executed; none behind it has run
   */
  public int run(Memory memory, Sram sram, int first, Checkpoint checkpoint) throws MachineFault {
    Objects.requireNonNull(checkpoint, "checkpoint");
    Executable.Memories sizes = executable.memories();
    if (!memory.fits(sizes)
        || sram.scratchpad.length < sizes.scratchpad()
        || sram.sums.length < sizes.accumulators()) {
      throw new MachineFault("the memory of the run is too small");
    }
    for (int i = first; i < commands.length; i++) {
      Command command = commands[i];
      try {
        bounds.check(command);
      } catch (MachineFault e) {
        throw fault(i, command, e);
      }
      if (!checkpoint.pass(i)) {
        return i;
      }
      execute(command, i, memory, sram);
    }
    return commands.length;
  }

  private void execute(Command command, int index, Memory memory, Sram sram) {
    switch (command) {
      case End _, Barrier _ -> {}
      case Load load ->
          Dma.copy(
              load.space() == Command.WEIGHTS ? executable.weights() : memory.tensors,
              load.from(),
              load.copy().source(),
              sram.scratchpad,
              load.to(),
              load.copy().toRow(),
              load.copy().toPlane());
      case LoadPacked load ->
          System.arraycopy(unpacked[index], 0, sram.scratchpad, load.to(), load.bytes());
      case Store store ->
          Dma.copy(
              sram.scratchpad,
              store.from(),
              store.copy().source(),
              memory.tensors,
              store.to(),
              store.copy().toRow(),
              store.copy().toPlane());
      case Fill fill -> Dma.fill(sram.scratchpad, fill.to(), fill.target(), (byte) fill.value());
      case MatMul product -> MatrixArray.multiply(product, executable.arrayColumns(), sram);
      case Depthwise product -> {
        if (product.window().has(Command.FLOAT16)) {
          FloatUnit.depthwise(product, sram);
        } else {
          VectorUnit.depthwise(product, sram);
        }
      }
      case Requantize results -> {
        if ((results.flags() & Command.FLOAT16) != 0) {
          FloatUnit.store(results, sram);
        } else {
          VectorUnit.requantize(results, sram);
        }
      }
      case Pool pool -> PoolUnit.pool(pool, sram);
      case Elementwise pair -> {
        if ((pair.flags() & Command.FLOAT16) != 0) {
          FloatUnit.elementwise(pair, sram);
        } else {
          VectorUnit.elementwise(pair, sram);
        }
      }
      case Lookup lookup -> VectorUnit.lookup(lookup, sram);
      case Softmax softmax -> VectorUnit.softmax(softmax, sram);
    }
  }
}
