// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.driver.Checkpoint;
import io.thalamus.driver.FramedPreparedModel;
import io.thalamus.driver.RequestArguments;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.x86.code.ExecutableMemory;
import io.thalamus.x86.code.SystemCalls;
import io.thalamus.x86.compile.Program;
import io.thalamus.x86.compile.Program.Copied;
import io.thalamus.x86.compile.Program.Range;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A program with its code. Thread-safe. Owns the code, the constants and all frames, which are
 * given back when it is closed and the last run has ended.
 */
final class X86PreparedModel extends FramedPreparedModel<MemorySegment> {
  private static final int ALIGNMENT = 64;

  private final Program program;
  private final X86Device device;
  private final ExecutableMemory code;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment constants;

  /** By call, where its function begins. */
  private final MemorySegment[] entries;

  /**
   * A prepared model.
   *
   * @param code of the program, owned from now on
   */
  X86PreparedModel(Model model, Program program, ExecutableMemory code, X86Device device) {
    super(model, device);
    this.program = program;
    this.device = device;
    this.code = code;
    constants = arena.allocate(Math.max(1, program.constants().length), ALIGNMENT);
    constants.copyFrom(MemorySegment.ofArray(program.constants()));
    entries = new MemorySegment[program.calls().length / Program.CALL];
    for (int i = 0; i < entries.length; i++) {
      entries[i] = code.at(program.calls()[i * Program.CALL]);
    }
  }

  @Override
  protected MemorySegment newFrame() {
    MemorySegment frame = arena.allocate(Math.max(1, program.memory()), ALIGNMENT);
    for (Copied one : program.copied()) {
      MemorySegment.copy(constants, one.from(), frame, one.to().offset(), one.to().bytes());
    }
    return frame;
  }

  @Override
  protected void release() {
    arena.close();
    code.close();
  }

  @Override
  protected List<Shape> outputShapes() {
    return program.shapes();
  }

  @Override
  protected ExecutionResult run(
      MemorySegment frame, RequestArguments arguments, ExecutionConfig config, long startNanos) {
    long bytesIn = 0;
    for (int i = 0; i < program.inputs().length; i++) {
      Range input = program.inputs()[i];
      MemorySegment from = arguments.inputs()[i];
      if (input == null) {
        continue;
      }
      if (from == MemorySegment.NULL) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "input " + i + " must not be left out");
      }
      MemorySegment.copy(from, 0, frame, input.offset(), input.bytes());
      bytesIn += from.byteSize();
    }
    Failed failure = call(frame, config);
    if (failure != null) {
      return failure;
    }
    long bytesOut = 0;
    for (int i = 0; i < program.outputs().length; i++) {
      MemorySegment to = arguments.outputs()[i];
      if (to != null) {
        Range output = program.outputs()[i];
        MemorySegment.copy(frame, output.offset(), to, 0, output.bytes());
        bytesOut += output.bytes();
      }
    }
    Timing timing = config.measureTiming() ? since(startNanos) : Timing.NONE;
    return arguments.completed(timing, bytesIn, bytesOut);
  }

  /** Passes a checkpoint before each call, which lasts a fraction of a millisecond. */
  private Failed call(MemorySegment frame, ExecutionConfig config) {
    long[] calls = program.calls();
    for (int i = 0; i < entries.length; i++) {
      Failed stopped = Checkpoint.pass(config);
      if (stopped != null) {
        return stopped;
      }
      if (device.isClosed()) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "the device has been stopped");
      }
      int at = i * Program.CALL;
      SystemCalls.call(
          entries[i],
          frame.address(),
          constants.address(),
          calls[at + 1],
          calls[at + 2],
          calls[at + 3],
          calls[at + 4]);
    }
    return null;
  }
}
