// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.driver.Checkpoint;
import io.thalamus.driver.FramedPreparedModel;
import io.thalamus.driver.RequestArguments;
import io.thalamus.driver.tiles.Job;
import io.thalamus.driver.tiles.Workers;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionProfile;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.Request;
import io.thalamus.memory.BulkCopy;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.code.ExecutableMemory;
import io.thalamus.x86.code.SystemCalls;
import io.thalamus.x86.compile.Program;
import io.thalamus.x86.compile.Program.Argument;
import io.thalamus.x86.compile.Program.Check;
import io.thalamus.x86.compile.Program.Copied;
import io.thalamus.x86.compile.Program.Group;
import io.thalamus.x86.compile.Program.Range;
import io.thalamus.x86.kernel.CheckedIndexes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.util.List;
import java.util.Optional;

/**
 * A program with its code. Thread-safe. Owns the code, the constants and all frames, which are
 * given back when it is closed and the last run has ended.
 */
final class X86PreparedModel extends FramedPreparedModel<X86Frame> {
  private final Program program;
  private final Level level;
  private final Workers workers;
  private final ExecutableMemory code;
  private final long codeBytes;
  private final Arena arena = Arena.ofShared();

  /** By call, where its function begins. */
  private final MemorySegment[] entries;

  /** By argument, whether its calls need no room behind it. */
  private final boolean[] areInputsExact;

  private final boolean[] areOutputsExact;

  /**
   * A prepared model.
   *
   * @param level which instructions the code may use
   * @param program with its constants, owned from now on
   * @param code of the program, owned from now on
   * @param workers that help with long operations, owned by the device
   */
  X86PreparedModel(
      Model model,
      Program program,
      Level level,
      ExecutableMemory code,
      Workers workers,
      X86Device device) {
    super(model, device);
    this.level = level;
    this.program = program.loaded();
    this.workers = workers;
    this.code = code;
    codeBytes = program.code().length;
    areInputsExact = areExact(program, program.inputs());
    areOutputsExact = areExact(program, program.outputs());
    entries = new MemorySegment[program.calls().length / Program.CALL];
    for (int i = 0; i < entries.length; i++) {
      entries[i] = code.at(program.calls()[i * Program.CALL]);
    }
  }

  private static boolean[] areExact(Program program, Argument... arguments) {
    boolean[] areExact = new boolean[arguments.length];
    for (int i = 0; i < arguments.length; i++) {
      areExact[i] = ProgramBounds.isExact(program, arguments[i]);
    }
    return areExact;
  }

  @Override
  protected X86Frame newFrame() {
    MemorySegment memory = SystemCalls.allocate(program.memory(), arena);
    for (Copied one : program.copied()) {
      MemorySegment from = program.constants().at(one.from(), one.to().bytes());
      MemorySegment.copy(from, 0, memory, one.to().offset(), one.to().bytes());
    }
    return new X86Frame(program, memory, entries);
  }

  @Override
  public long ownBytes() {
    return program.memory() + program.constants().bytes() + codeBytes;
  }

  @Override
  protected void release() {
    arena.close();
    program.constants().close();
    code.close();
  }

  @Override
  protected List<Shape> outputShapes() {
    return program.shapes();
  }

  @Override
  protected ExecutionResult run(
      X86Frame frame, RequestArguments arguments, ExecutionConfig config, long startNanos) {
    try {
      return runLent(frame, arguments, config, startNanos);
    } finally {
      frame.takeBack();
      // Code that knows addresses alone has ended.
      Reference.reachabilityFence(arguments);
    }
  }

  private boolean isInputInPlace(RequestArguments arguments, int index) {
    return arguments.isInputInBuffer(index)
        || areInputsExact[index] && arguments.isInputSteady(index);
  }

  private boolean isOutputInPlace(RequestArguments arguments, int index) {
    return arguments.isOutputInBuffer(index)
        || areOutputsExact[index] && arguments.isOutputSteady(index);
  }

  private ExecutionResult runLent(
      X86Frame frame, RequestArguments arguments, ExecutionConfig config, long startNanos) {
    long bytesIn = 0;
    for (int i = 0; i < program.inputs().length; i++) {
      Argument input = program.inputs()[i];
      MemorySegment from = arguments.inputs()[i];
      if (input == null) {
        continue;
      }
      if (from == MemorySegment.NULL) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "input " + i + " must not be left out");
      }
      if (!(isInputInPlace(arguments, i) && frame.lend(input, from))) {
        Range range = input.range();
        BulkCopy.copy(from, 0, frame.memory(), range.offset(), range.bytes());
        bytesIn += from.byteSize();
      }
    }
    for (int i = 0; i < program.outputs().length; i++) {
      if (isOutputInPlace(arguments, i)) {
        frame.lend(program.outputs()[i], arguments.outputs()[i]);
      }
    }
    Failed failure = call(frame, config);
    if (failure == null) {
      failure = check(frame.memory());
    }
    if (failure != null) {
      return failure;
    }
    long bytesOut = 0;
    for (int i = 0; i < program.outputs().length; i++) {
      MemorySegment to = arguments.outputs()[i];
      if (to != null && !frame.isLent(program.outputs()[i])) {
        Range output = program.outputs()[i].range();
        BulkCopy.copy(frame.memory(), output.offset(), to, 0, output.bytes());
        bytesOut += output.bytes();
      }
    }
    Timing timing = config.measureTiming() ? since(startNanos) : Timing.NONE;
    return arguments.completed(timing, bytesIn, bytesOut);
  }

  /** Returns what is wrong with values of the run; null where nothing is. */
  private Failed check(MemorySegment memory) {
    for (Check check : program.checks()) {
      long status = memory.get(ValueLayout.JAVA_LONG, check.at());
      if (status != 0) {
        int index = CheckedIndexes.index(status);
        return new Failed(
            ErrorStatus.GENERAL_FAILURE,
            check.limit() == 0
                ? "element %d is int64 beyond 32 bits, which cannot be computed with"
                    .formatted(index)
                : "index %d is %d, outside of [0, %d)"
                    .formatted(index, (int) status, check.limit()));
      }
    }
    return null;
  }

  /** Calls are made one after the other, and the last of an operation ends its time. */
  @Override
  public Optional<ExecutionProfile> profile(Request request) throws DeviceException {
    return Optional.of(
        new ExecutionProfile(
            operationNanos(request, program.operations().length),
            Peak.measure(level, false),
            Peak.measure(level, true)));
  }

  private Failed profile(X86Frame frame, ExecutionConfig config, long[] nanos) {
    int first = 0;
    for (int i = 0; i < nanos.length; i++) {
      int end = program.operations()[i];
      long start = System.nanoTime();
      Failed stopped = callAll(frame, first, end, config);
      if (stopped != null) {
        return stopped;
      }
      nanos[i] = first == end ? 0 : System.nanoTime() - start;
      first = end;
    }
    return null;
  }

  /**
   * Passes a checkpoint before calls, each of which lasts a fraction of a millisecond. Calls that
   * others may help with are a step of the job.
   */
  private Failed call(X86Frame frame, ExecutionConfig config) {
    Job job = frame.job();
    int place = workers.register(job);
    try {
      long[] profiled = profiled();
      if (profiled != null) {
        return profile(frame, config, profiled);
      }
      int first = 0;
      for (Group group : program.groups()) {
        Failed stopped =
            group.isShared()
                ? share(frame, first, group.end(), config, place)
                : callAll(frame, first, group.end(), config);
        if (stopped != null) {
          return stopped;
        }
        first = group.end();
      }
      return null;
    } catch (IllegalStateException e) {
      return new Failed(ErrorStatus.GENERAL_FAILURE, e.getMessage());
    } finally {
      workers.unregister(place);
    }
  }

  private Failed callAll(X86Frame frame, int first, int end, ExecutionConfig config) {
    for (int i = first; i < end; i++) {
      Failed stopped = stopped(frame, config);
      if (stopped != null) {
        return stopped;
      }
      frame.call(i);
    }
    return null;
  }

  private Failed share(X86Frame frame, int first, int end, ExecutionConfig config, int place) {
    for (int from = first; from < end; from += Job.MAX_TILES) {
      Failed stopped = stopped(frame, config);
      if (stopped != null) {
        return stopped;
      }
      stopped = frame.run(from, Math.min(Job.MAX_TILES, end - from), config, workers, place >= 0);
      if (stopped != null) {
        return stopped;
      }
    }
    return null;
  }

  private Failed stopped(X86Frame frame, ExecutionConfig config) {
    return workers.isClosed() ? Checkpoint.stopped() : frame.job().pass(config, workers);
  }
}
