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

  private Machine(Executable executable, Bounds bounds, byte[][] unpacked) {
    this.executable = executable;
    this.commands = executable.commands().toArray(Command[]::new);
    this.bounds = bounds;
    this.unpacked = unpacked;
  }

  /** Asked at each barrier. */
  @FunctionalInterface
  public interface Checkpoint {
    /** Returns whether the run goes on. */
    boolean pass();
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

  /**
   * Executes the stream. Inputs stand in the memory, and outputs do in the end.
   *
   * @return whether it came to the end, and was not stopped at a checkpoint
   * @throws MachineFault where a command cannot be executed; none behind it has run
   */
  public boolean run(Memory memory, Checkpoint checkpoint) throws MachineFault {
    Objects.requireNonNull(checkpoint, "checkpoint");
    if (!memory.fits(executable.memories())) {
      throw new MachineFault("the memory of the run is too small");
    }
    for (int i = 0; i < commands.length; i++) {
      Command command = commands[i];
      try {
        bounds.check(command);
      } catch (MachineFault e) {
        throw fault(i, command, e);
      }
      if (command instanceof Barrier && !checkpoint.pass()) {
        return false;
      }
      execute(command, i, memory);
    }
    return true;
  }

  private void execute(Command command, int index, Memory memory) {
    switch (command) {
      case End _, Barrier _ -> {}
      case Load load ->
          Dma.copy(
              load.space() == Command.WEIGHTS ? executable.weights() : memory.tensors,
              load.from(),
              load.copy().source(),
              memory.scratchpad,
              load.to(),
              load.copy().toRow(),
              load.copy().toPlane());
      case LoadPacked load ->
          System.arraycopy(unpacked[index], 0, memory.scratchpad, load.to(), load.bytes());
      case Store store ->
          Dma.copy(
              memory.scratchpad,
              store.from(),
              store.copy().source(),
              memory.tensors,
              store.to(),
              store.copy().toRow(),
              store.copy().toPlane());
      case Fill fill -> Dma.fill(memory.scratchpad, fill.to(), fill.target(), (byte) fill.value());
      case MatMul product -> MatrixArray.multiply(product, executable.arrayColumns(), memory);
      case Depthwise product -> {
        if (product.window().has(Command.FLOAT16)) {
          FloatUnit.depthwise(product, memory);
        } else {
          VectorUnit.depthwise(product, memory);
        }
      }
      case Requantize results -> {
        if ((results.flags() & Command.FLOAT16) != 0) {
          FloatUnit.store(results, memory);
        } else {
          VectorUnit.requantize(results, memory);
        }
      }
      case Pool pool -> PoolUnit.pool(pool, memory);
      case Elementwise pair -> {
        if ((pair.flags() & Command.FLOAT16) != 0) {
          FloatUnit.elementwise(pair, memory);
        } else {
          VectorUnit.elementwise(pair, memory);
        }
      }
      case Lookup lookup -> VectorUnit.lookup(lookup, memory);
      case Softmax softmax -> VectorUnit.softmax(softmax, memory);
    }
  }
}
