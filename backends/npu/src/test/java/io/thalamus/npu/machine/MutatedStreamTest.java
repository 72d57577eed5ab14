// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Barrier;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Depthwise;
import io.thalamus.npu.command.Command.Elementwise;
import io.thalamus.npu.command.Command.End;
import io.thalamus.npu.command.Command.Factor;
import io.thalamus.npu.command.Command.Fill;
import io.thalamus.npu.command.Command.Load;
import io.thalamus.npu.command.Command.LoadPacked;
import io.thalamus.npu.command.Command.Lookup;
import io.thalamus.npu.command.Command.MatMul;
import io.thalamus.npu.command.Command.Pool;
import io.thalamus.npu.command.Command.Requantize;
import io.thalamus.npu.command.Command.Size;
import io.thalamus.npu.command.Command.Softmax;
import io.thalamus.npu.command.Command.Store;
import io.thalamus.npu.command.Command.Window;
import io.thalamus.npu.command.CommandFormatException;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.command.Executable.Memories;
import io.thalamus.npu.command.Executable.Place;
import io.thalamus.npu.command.ExecutableFormat;
import io.thalamus.npu.command.MutableFile;
import io.thalamus.npu.command.WeightCodec;
import io.thalamus.npu.timing.ArrayTiming;
import io.thalamus.npu.timing.Dataflow;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Streams that no compiler made. Whatever their bytes are, loading and running them ends well or in
 * the one fault that is named for it; an index outside an array would be another exception.
 */
class MutatedStreamTest {
  private static final Architecture ARCHITECTURE =
      new Architecture(
          new ArrayTiming(4, 4, Dataflow.WEIGHT_STATIONARY), 4, 4096, 256, 1 << 14, 1e9, 0);

  private static final byte[] WEIGHTS = weights();

  private static byte[] weights() {
    byte[] plain = new byte[96];
    for (int i = 0; i < plain.length; i++) {
      plain[i] = (byte) (i % 7 - 3);
    }
    return Arrays.copyOf(WeightCodec.pack(plain, 0), 2048);
  }

  private static Window window(int flags, int channels) {
    return new Window(
        flags,
        0,
        8 * channels,
        channels,
        channels,
        new Size(3, 2),
        new Size(1, 2),
        new Size(2, 1),
        new Size(2, 3));
  }

  /** Valid commands of every kind, in float16 too where there is that. */
  private static final List<Command> COMMANDS =
      List.of(
          new Barrier(0),
          new Load(1, 0, 0, new Block(32, 8, 32, 1, 0), 32, 0),
          new Load(0, 64, 512, new Block(16, 3, 20, 2, 100), 16, 48),
          new LoadPacked(0, 40, 1024, 60),
          new Fill(300, new Block(4, 3, 8, 2, 64), 7),
          new MatMul(window(0, 4), 5, 1024, 0, 3, 1),
          new MatMul(window(Command.ACCUMULATE | Command.UNSIGNED, 4), 5, 1024, 0, 3, 1),
          new MatMul(window(Command.FLOAT16, 2), 5, 1024, 0, 0, 0),
          new Depthwise(window(0, 4), 1, 1024, 40, 3, 1),
          new Depthwise(window(Command.UNSIGNED, 4), 2, 1024, 100, 3, 1),
          new Depthwise(window(Command.FLOAT16, 2), 2, 1024, 100, 0, 0),
          new Requantize(0, 0, 1, 6, 6, 5, 512, 2048, 5, 3, -128, 127),
          new Requantize(Command.ROUND_ONCE, 0, 1, 6, 6, 5, 512, 2048, 8, 3, -128, 127),
          new Requantize(Command.FLOAT16, 0, 5, 1, 6, 5, 512, 2048, 10, 0, 0, 0x7f800000),
          new Pool(pooled(0), new Size(6, 7), 1, 0, 2200, -128, 127),
          new Pool(pooled(Command.CENTERED), new Size(6, 7), 1, 0, 2200, -128, 127),
          new Pool(pooled(Command.MAXIMUM | Command.UNSIGNED), new Size(6, 7), 1, 0, 2200, 0, 255),
          new Pool(pooled(Command.FLOAT16), new Size(6, 3), 1, 0, 2200, 0, 0x40c00000),
          pair(Command.UNSIGNED),
          pair(Command.PRODUCT),
          pair(Command.FLOAT16),
          new Lookup(0, 3000, 100, 700),
          new Softmax(0, 0, 3200, 3, 10, 1024, -128),
          new Softmax(Command.UNSIGNED, 0, 3200, 3, 10, 1024, 0),
          new Store(2048, 512, new Block(32, 4, 40, 2, 200), 64, 256),
          new End());

  private static Window pooled(int flags) {
    return new Window(
        flags, 0, 32, 4, 4, new Size(3, 2), new Size(1, 1), new Size(2, 1), new Size(2, 3));
  }

  private static Command pair(int flags) {
    return new Elementwise(
        flags,
        0,
        400,
        2600,
        4,
        9,
        32,
        1,
        0,
        2,
        3,
        4,
        20,
        new Factor(1 << 30, 0),
        new Factor(1 << 30, -1),
        new Factor(1 << 30, -18),
        5,
        -128,
        127);
  }

  private static Executable executable(List<Command> commands) {
    return new Executable(
        new Memories(4096, 256, 1024),
        4,
        List.of(new Place(Command.TENSORS, 0, 256)),
        List.of(new Place(Command.TENSORS, 512, 512)),
        commands,
        WEIGHTS);
  }

  /** Returns true if the file runs; fails on any exception but those named for it. */
  private static boolean runs(byte[] file, Random random) {
    try {
      Executable executable = ExecutableFormat.read(file);
      Machine machine = Machine.load(executable, ARCHITECTURE);
      Memory memory = new Memory(executable.memories());
      Sram sram = sram();
      random.nextBytes(memory.tensors);
      random.nextBytes(sram.scratchpad);
      assertEquals(machine.length(), machine.run(memory, sram, 0, _ -> true));
      assertSameWhenPutAside(executable, random);
      return true;
    } catch (CommandFormatException | MachineFault e) {
      assertTrue(e.getMessage().length() > 10, e.getMessage());
      return false;
    }
  }

  private static Sram sram() {
    return new Sram(ARCHITECTURE.scratchpad(), ARCHITECTURE.accumulators());
  }

  /**
   * Runs the commands on integers with stops and without. Random bytes are not numbers as float16,
   * and which of two such becomes the sum depends on how the host's code is compiled at the moment.
   */
  private static void assertSameWhenPutAside(Executable all, Random random) throws MachineFault {
    Executable executable =
        new Executable(
            all.memories(),
            all.arrayColumns(),
            all.inputs(),
            all.outputs(),
            all.commands().stream().filter(command -> !isFloat(command)).toList(),
            all.weights());
    Machine machine = Machine.load(executable, ARCHITECTURE);
    long seed = random.nextLong();
    Sram sram = sram();
    Memory memory = filled(executable, sram, seed);
    machine.run(memory, sram, 0, _ -> true);
    byte[] expected = memory.tensors.clone();
    memory = filled(executable, sram, seed);
    putAsideOften(machine, memory, sram, random);
    assertArrayEquals(expected, memory.tensors, () -> "another result of " + executable);
  }

  private static boolean isFloat(Command command) {
    return switch (command) {
      case MatMul product -> product.window().has(Command.FLOAT16);
      case Depthwise product -> product.window().has(Command.FLOAT16);
      case Pool pool -> pool.window().has(Command.FLOAT16);
      case Requantize results -> (results.flags() & Command.FLOAT16) != 0;
      case Elementwise pair -> (pair.flags() & Command.FLOAT16) != 0;
      default -> false;
    };
  }

  /** Memory of these bytes, beside a chip of these. */
  private static Memory filled(Executable executable, Sram sram, long seed) {
    Memory memory = new Memory(executable.memories());
    Random random = new Random(seed);
    random.nextBytes(memory.tensors);
    random.nextBytes(sram.scratchpad);
    Arrays.setAll(sram.sums, _ -> random.nextInt());
    return memory;
  }

  /** Stops before some of the commands; whoever runs in between leaves nothing as it was. */
  private static void putAsideOften(Machine machine, Memory memory, Sram sram, Random random)
      throws MachineFault {
    for (int next = 0; next < machine.length(); ) {
      Context context = machine.contextBefore(next);
      context.save(sram, memory);
      random.nextBytes(sram.scratchpad);
      Arrays.setAll(sram.sums, _ -> random.nextInt());
      Arrays.setAll(sram.inputs, _ -> random.nextInt());
      Arrays.setAll(sram.tables, _ -> random.nextInt());
      context.restore(memory, sram);
      int stop = next + 1 + random.nextInt(4);
      next = machine.run(memory, sram, next, command -> command < stop);
    }
  }

  @Test
  void theStreamItselfRuns() {
    assertTrue(runs(ExecutableFormat.write(executable(COMMANDS)), new Random(1)));
  }

  /** Each byte of head, commands and packed weights, with several values, and a right checksum. */
  @Test
  void everyByteMayBeAnything() {
    byte[] file = ExecutableFormat.write(executable(COMMANDS));
    long seed = 20260101;
    Random random = new Random(seed);
    int end = file.length - WEIGHTS.length + 48;
    int faults = 0;
    int trials = 0;
    for (int at = 0; at < end; at++) {
      for (int value : new int[] {0, 1, 0x7F, 0x80, 0xFF, file[at] ^ 1, file[at] + 1}) {
        byte[] mutated = file.clone();
        mutated[at] = (byte) value;
        MutableFile.seal(mutated);
        trials++;
        faults += runs(mutated, random) ? 0 : 1;
      }
    }
    System.out.println(
        "mutated streams: " + trials + ", of which refused: " + faults + ", seed " + seed);
    assertTrue(faults > trials / 4, () -> "hardly anything is refused");
  }

  /** Whole words of commands, with the numbers at the edges of what an int can be. */
  @Test
  void everyWordMayBeAnything() {
    int[] edges = {
      0,
      1,
      -1,
      2,
      255,
      256,
      257,
      4095,
      4096,
      4097,
      32767,
      32768,
      1 << 30,
      Integer.MAX_VALUE,
      Integer.MIN_VALUE
    };
    Random random = new Random(5);
    byte[] file = ExecutableFormat.write(executable(COMMANDS));
    int end = file.length - WEIGHTS.length;
    for (int at = MutableFile.HEADER; at + 4 <= end; at += 4) {
      for (int edge : edges) {
        byte[] mutated = file.clone();
        MutableFile.setInt(mutated, at, edge);
        MutableFile.seal(mutated);
        runs(mutated, random);
      }
    }
  }

  @Test
  void manyWordsAtOnceMayBeAnything() {
    long seed = 77;
    Random random = new Random(seed);
    byte[] file = ExecutableFormat.write(executable(COMMANDS));
    int words = (file.length - WEIGHTS.length) / 4;
    for (int trial = 0; trial < 20_000; trial++) {
      byte[] mutated = file.clone();
      for (int i = 0; i < 3; i++) {
        MutableFile.setInt(
            mutated, 4 * random.nextInt(4, words), random.nextInt() >>> random.nextInt(32));
      }
      MutableFile.seal(mutated);
      runs(mutated, random);
    }
  }

  /** Each command with each memory as large as it must be, and smaller by one. */
  @Test
  void oneBehindTheLastByteIsRefused() throws MachineFault {
    Set<Footprint.Memory> seen = EnumSet.noneOf(Footprint.Memory.class);
    for (Command command : COMMANDS) {
      Map<Footprint.Memory, Long> ends = new EnumMap<>(Footprint.Memory.class);
      Footprint.visit(
          command,
          (memory, isWritten, address, length) -> ends.merge(memory, address + length, Math::max));
      for (Map.Entry<Footprint.Memory, Long> end : ends.entrySet()) {
        int size = (int) (long) end.getValue();
        assertTrue(passes(command, end.getKey(), size), command + "");
        assertFalse(passes(command, end.getKey(), size - 1), command + "");
      }
      seen.addAll(ends.keySet());
    }
    assertEquals(EnumSet.allOf(Footprint.Memory.class), seen);
  }

  private static boolean passes(Command command, Footprint.Memory memory, int size) {
    int large = 1 << 20;
    Memories memories =
        new Memories(
            memory == Footprint.Memory.SCRATCHPAD ? size : large,
            memory == Footprint.Memory.ACCUMULATORS ? size : large,
            memory == Footprint.Memory.TENSORS ? size : large);
    try {
      new Bounds(memories, memory == Footprint.Memory.WEIGHTS ? size : large).check(command);
      return true;
    } catch (MachineFault e) {
      return false;
    }
  }
}
