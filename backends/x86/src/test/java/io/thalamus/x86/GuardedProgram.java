// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.driver.StaticGraph;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Model;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.code.ExecutableMemory;
import io.thalamus.x86.compile.Program;
import io.thalamus.x86.kernel.Extent;
import io.thalamus.x86.kernel.Function;
import io.thalamus.x86.kernel.Guarded;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A compiled model, of which each call gets just the bytes that its function says it accesses,
 * between two pages that stop whoever touches them: a wrong extent ends the process. Stateless.
 */
final class GuardedProgram {
  private GuardedProgram() {}

  /** Returns the first output. */
  static byte[] run(X86Device device, Level level, Model model, Random random, byte[]... inputs)
      throws Exception {
    Program shared =
        device.compile(
            StaticGraph.resolve(model.main(), OperationCatalog.standard()),
            level,
            PrepareConfig.DEFAULT);
    Program program = shared.alone();
    shared.constants().close();
    MemorySegment constants =
        MemorySegment.ofArray(program.constants().own().toArray(ValueLayout.JAVA_BYTE));
    program.constants().close();
    MemorySegment frame = MemorySegment.ofArray(new byte[(int) program.memory()]);
    // What a function has not written yet is anything.
    byte[] noise = new byte[(int) program.memory()];
    random.nextBytes(noise);
    frame.copyFrom(MemorySegment.ofArray(noise));
    program
        .copied()
        .forEach(
            one ->
                MemorySegment.copy(
                    constants, one.from(), frame, one.to().offset(), one.to().bytes()));
    for (int i = 0; i < inputs.length; i++) {
      if (program.inputs()[i] != null) {
        MemorySegment.copy(
            MemorySegment.ofArray(inputs[i]),
            0,
            frame,
            program.inputs()[i].range().offset(),
            program.inputs()[i].range().bytes());
      }
    }
    try (ExecutableMemory code = ExecutableMemory.of(program.code()).orElseThrow()) {
      for (int i = 0; i < program.functions().size(); i++) {
        call(program, i, code, frame, constants, random);
      }
    }
    byte[] output = new byte[(int) program.outputs()[0].range().bytes()];
    MemorySegment.copy(
        frame,
        program.outputs()[0].range().offset(),
        MemorySegment.ofArray(output),
        0,
        output.length);
    return output;
  }

  private static void call(
      Program program,
      int index,
      ExecutableMemory code,
      MemorySegment frame,
      MemorySegment constants,
      Random random) {
    Function function = program.functions().get(index);
    long[] numbers = program.calls();
    int at = index * Program.CALL;
    long blocks = numbers[at + Program.BLOCKS];
    List<Guarded> arguments = new ArrayList<>();
    try {
      for (int i = 0; i < Function.ARGUMENTS; i++) {
        MemorySegment from = program.isConstant(index, i) ? constants : frame;
        arguments.add(guarded(function.extent(i), blocks, from, numbers[at + 1 + i], random));
      }
      Guarded.call(code, function, arguments, blocks);
      MemorySegment written = arguments.get(Function.WRITTEN).memory();
      MemorySegment.copy(written, 0, frame, numbers[at + 2], function.written().bytes(blocks));
    } finally {
      arguments.forEach(Guarded::close);
    }
  }

  private static Guarded guarded(
      Extent extent, long blocks, MemorySegment from, long offset, Random random) {
    long bytes = extent.bytes(blocks);
    Guarded guarded = Guarded.of(bytes, random.nextBoolean());
    // The builder rounds up what it places: only that may be behind the last byte.
    long there = Math.min(bytes, from.byteSize() - offset);
    MemorySegment.copy(from, offset, guarded.memory(), 0, there);
    return guarded;
  }
}
