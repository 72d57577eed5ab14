// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

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
import io.thalamus.simd.program.ElementKind;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Program;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import io.thalamus.simd.program.WarmUp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** A compiled graph and the frames it runs in. Frames are on the heap: nothing is given back. */
final class SimdPreparedModel extends FramedPreparedModel<Frame> {
  private final Program program;
  private final int operations;
  private final List<Shape> shapes;
  private final Workers workers;
  private final WarmUp warmUp;
  private final AtomicBoolean hasRun = new AtomicBoolean();

  SimdPreparedModel(
      Model model, Program program, Workers workers, WarmUp warmUp, SimdDevice device) {
    super(model, device);
    this.program = program;
    this.operations = model.main().operations().size();
    this.shapes = program.outputs().stream().map(Tensor::shape).toList();
    this.workers = workers;
    this.warmUp = warmUp;
  }

  @Override
  protected Frame newFrame() {
    Frame frame = new Frame(program, workers.threads());
    for (Tensor constant : program.constants()) {
      copyIn(constant.view().value().orElseThrow(), frame, constant);
    }
    return frame;
  }

  @Override
  protected void release() {}

  @Override
  protected List<Shape> outputShapes() {
    return shapes;
  }

  @Override
  protected ExecutionResult run(
      Frame frame, RequestArguments arguments, ExecutionConfig config, long startNanos) {
    try {
      return runLent(frame, arguments, config, startNanos);
    } finally {
      frame.takeBack();
    }
  }

  private ExecutionResult runLent(
      Frame frame, RequestArguments arguments, ExecutionConfig config, long startNanos) {
    long bytesIn = 0;
    for (int i = 0; i < program.inputs().size(); i++) {
      Tensor input = program.inputs().get(i);
      if (input == null) {
        continue;
      }
      if (arguments.inputs()[i] == MemorySegment.NULL) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "input " + i + " must not be left out");
      }
      if (!frame.lend(input, arguments.inputs()[i])) {
        copyIn(arguments.inputs()[i], frame, input);
        bytesIn += arguments.inputs()[i].byteSize();
      }
    }
    for (int i = 0; i < program.outputs().size(); i++) {
      if (arguments.outputs()[i] != null) {
        frame.lend(program.outputs().get(i), arguments.outputs()[i]);
      }
    }
    frame.isScalar = !warmUp.isWarm(program);
    if (frame.isScalar && hasRun.getAndSet(true)) {
      // Not for a model that is executed once.
      warmUp.begin(program);
    }
    long computing = frame.isScalar ? System.nanoTime() : 0;
    Failed failure = runSteps(frame, config);
    if (failure != null) {
      return failure;
    }
    if (frame.isScalar) {
      warmUp.scalarNanos(System.nanoTime() - computing);
    }
    long bytesOut = 0;
    for (int i = 0; i < program.outputs().size(); i++) {
      Tensor output = program.outputs().get(i);
      if (arguments.outputs()[i] != null && !frame.isLent(output)) {
        bytesOut += copyOut(frame, output, arguments.outputs()[i]);
      }
    }
    Timing timing = config.measureTiming() ? since(startNanos) : Timing.NONE;
    return arguments.completed(timing, bytesIn, bytesOut);
  }

  /**
   * Executes by one thread, since nobody is informed of its tiles; with the scalar twins of kernels
   * until vectors are warm.
   */
  @Override
  public Optional<ExecutionProfile> profile(Request request) throws DeviceException {
    return Optional.of(new ExecutionProfile(operationNanos(request, operations), 0, 0));
  }

  private Failed runSteps(Frame frame, ExecutionConfig config) {
    Job job = frame.job();
    // One that was stopped may have left its own.
    frame.takeFailure();
    long[] profiled = profiled();
    int place = profiled == null ? workers.register(job) : -1;
    try {
      for (int i = 0; i < program.steps().size(); i++) {
        Step step = program.steps().get(i);
        long start = profiled == null ? 0 : System.nanoTime();
        Failed stopped = job.pass(config, workers);
        if (stopped != null) {
          return stopped;
        }
        if (workers.isClosed()) {
          return Checkpoint.stopped();
        }
        stopped = frame.run(step, config, workers, place >= 0);
        if (stopped != null) {
          return stopped;
        }
        String failure = frame.takeFailure();
        if (failure != null) {
          return new Failed(ErrorStatus.GENERAL_FAILURE, failure);
        }
        if (profiled != null) {
          profiled[program.operations().get(i)] += System.nanoTime() - start;
        }
      }
      return null;
    } catch (IllegalStateException e) {
      return new Failed(ErrorStatus.GENERAL_FAILURE, e.getMessage());
    } finally {
      if (profiled == null) {
        workers.unregister(place);
      }
    }
  }

  private static void copyIn(MemorySegment from, Frame frame, Tensor to) {
    ElementKind kind = to.kind();
    BulkCopy.copy(
        from,
        0,
        kind.memory(frame.array(to)),
        (long) to.offset() * kind.size(),
        (long) to.size() * kind.size());
  }

  private static long copyOut(Frame frame, Tensor from, MemorySegment to) {
    ElementKind kind = from.kind();
    long bytes = (long) from.size() * kind.size();
    BulkCopy.copy(kind.memory(frame.array(from)), (long) from.offset() * kind.size(), to, 0, bytes);
    return bytes;
  }
}
