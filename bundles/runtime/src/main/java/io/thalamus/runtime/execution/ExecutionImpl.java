// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.Burst;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.memory.Leases;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.Deadline;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.runtime.domain.DomainMemory;
import io.thalamus.runtime.domain.MemoryBindings;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.TemporariesLayout.BoundaryConstant;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One execution. A mistake that only a start can tell is told by the report, one that an argument
 * tells alone by an exception.
 *
 * <p>NNAPI allows a timeout only where exactly one device was named; here it is always allowed, and
 * goes to every step. Measuring needs one device as there: times of several do not add up.
 */
public final class ExecutionImpl implements Execution {
  private final ExecutionHost host;
  private final Arguments arguments;
  private final RunControl control = new RunControl();
  private final CopyCount copies = new CopyCount();
  private final AtomicBoolean started = new AtomicBoolean();
  private Duration timeout;
  private Duration loopTimeout = ExecutionConfig.DEFAULT_LOOP_TIMEOUT;
  private boolean measureTiming;

  /** An execution of what the host compiled. */
  public ExecutionImpl(ExecutionHost host) {
    this.host = host;
    this.arguments = new Arguments(host);
  }

  @Override
  public Execution setInput(int index, MemorySegment value, Shape shape) {
    return setInput(index, new Argument.Plain(value, shape));
  }

  @Override
  public Execution setInput(int index, SharedMemory memory, long offset, long length, Shape shape) {
    return setInput(index, new Argument.Shared(memory, offset, length, shape));
  }

  @Override
  public Execution setInput(int index, Memory memory) {
    return setInput(index, made(memory));
  }

  private Execution setInput(int index, Argument argument) {
    requireNotStarted();
    arguments.setInput(index, argument);
    return this;
  }

  @Override
  public Execution setOutput(int index, MemorySegment buffer, Shape shape) {
    return setOutput(index, new Argument.Plain(buffer, shape));
  }

  @Override
  public Execution setOutput(
      int index, SharedMemory memory, long offset, long length, Shape shape) {
    return setOutput(index, new Argument.Shared(memory, offset, length, shape));
  }

  @Override
  public Execution setOutput(int index, Memory memory) {
    return setOutput(index, made(memory));
  }

  private Execution setOutput(int index, Argument argument) {
    requireNotStarted();
    arguments.setOutput(index, argument);
    return this;
  }

  private static Argument made(Memory memory) {
    Objects.requireNonNull(memory, "memory");
    if (memory instanceof DomainMemory made) {
      return new Argument.Device(made);
    }
    throw new IllegalArgumentException("memory '" + memory.name() + "' is of another runtime");
  }

  @Override
  public Execution setMeasureTiming(boolean measure) {
    requireNotStarted();
    measureTiming = measure;
    return this;
  }

  @Override
  public Execution setTimeout(Duration value) {
    requireNotStarted();
    timeout = Objects.requireNonNull(value, "timeout");
    return this;
  }

  @Override
  public Execution setLoopTimeout(Duration value) {
    requireNotStarted();
    loopTimeout =
        value.compareTo(ExecutionConfig.MAXIMUM_LOOP_TIMEOUT) > 0
            ? ExecutionConfig.MAXIMUM_LOOP_TIMEOUT
            : value;
    return this;
  }

  private void requireNotStarted() {
    if (started.get()) {
      throw new IllegalStateException("the execution is started: create another one");
    }
  }

  @Override
  public ExecutionReport compute() {
    ExecutionReport refusal = start();
    return refusal != null ? refusal : run(null);
  }

  @Override
  public ExecutionReport burstCompute(Burst given) {
    Objects.requireNonNull(given, "burst");
    if (!(given instanceof BurstImpl burst)) {
      return ExecutionReport.failed(ResultCode.BAD_DATA, "the burst is of another runtime");
    }
    BurstImpl.Refusal busy = burst.enter(host);
    if (busy != null) {
      return ExecutionReport.failed(busy.code(), busy.message());
    }
    try {
      ExecutionReport refusal = start();
      return refusal != null ? refusal : run(burst);
    } finally {
      burst.exit();
    }
  }

  @Override
  public CompletableFuture<ExecutionReport> computeAsync() {
    ExecutionReport refusal = start();
    if (refusal != null) {
      return CompletableFuture.completedFuture(refusal);
    }
    AsyncRun run = new AsyncRun(this);
    host.asyncThreads().submit(run);
    return run;
  }

  @Override
  public CompletableFuture<ExecutionReport> startComputeWithDependencies(
      List<? extends CompletableFuture<ExecutionReport>> waitFor) {
    ExecutionReport refusal = start();
    if (refusal == null && arguments.firstOpenOutput() >= 0) {
      refusal =
          ExecutionReport.failed(
              ResultCode.BAD_DATA,
              "output "
                  + arguments.firstOpenOutput()
                  + " has open dimensions: behind dependencies all outputs must be fully"
                  + " specified");
    }
    if (refusal != null) {
      return CompletableFuture.completedFuture(refusal);
    }
    AsyncRun run = new AsyncRun(this);
    CompletableFuture<?>[] all = waitFor.toArray(CompletableFuture<?>[]::new);
    // Whatever completes the last of them only hands over; the work is done in our own threads.
    CompletableFuture.allOf(all)
        .whenComplete(
            (nothing, failure) -> {
              String reason = failure != null ? failure.toString() : failedDependency(waitFor);
              if (reason.isEmpty()) {
                host.asyncThreads().submit(run);
              } else {
                run.fail(ResultCode.OP_FAILED, "what it was to wait for failed: " + reason);
              }
            });
    return run;
  }

  private static String failedDependency(
      List<? extends CompletableFuture<ExecutionReport>> waitFor) {
    return waitFor.stream()
        .map(CompletableFuture::join)
        .filter(report -> !report.isSuccess())
        .map(report -> report.code() + " " + report.message())
        .findFirst()
        .orElse("");
  }

  /** Claims the execution and checks it; a report where it cannot run. */
  private ExecutionReport start() {
    if (!started.compareAndSet(false, true)) {
      return ExecutionReport.failed(
          ResultCode.BAD_STATE, "an execution runs once: create another one");
    }
    if (measureTiming && !host.isForOneDevice()) {
      return ExecutionReport.failed(
          ResultCode.BAD_DATA, "timing can be measured only where exactly one device is named");
    }
    if (loopTimeout.isNegative()) {
      return ExecutionReport.failed(
          ResultCode.BAD_DATA, "the loop timeout is negative: " + loopTimeout);
    }
    try {
      arguments.check();
    } catch (NeuralNetworksException e) {
      return ExecutionReport.failed(e.code(), e.getMessage());
    }
    if (timeout != null) {
      control.setDeadline(Deadline.after(timeout));
    }
    return null;
  }

  RunControl control() {
    return control;
  }

  /**
   * Runs a started execution in the calling thread.
   *
   * @param burst by which devices are sent their steps; null where they are called
   */
  ExecutionReport run(BurstImpl burst) {
    if (control.deadline().hasPassed()) {
      return ExecutionReport.failed(
          ResultCode.MISSED_DEADLINE_PERSISTENT, "the deadline passed before the execution began");
    }
    PreparedPlan plan = host.acquirePlan().orElse(null);
    if (plan == null) {
      return ExecutionReport.failed(ResultCode.BAD_STATE, "the compilation is closed");
    }
    Leases leases = new Leases();
    if (burst != null) {
      burst.prepare(plan);
    }
    ScratchPool pool = burst == null ? host.scratch() : burst.scratch();
    Scratch scratch = pool.take();
    MemoryBindings memories = arguments.memoryBindings();
    boolean isSuccess = false;
    try {
      arguments.lend(leases);
      arguments.layOut(plan, burst != null, scratch, copies);
      if (memories != null) {
        if (!memories.begin(plan, () -> control.status() == Signal.CONTINUE)) {
          return stoppedWaiting();
        }
        arguments.checkMemories();
      }
      ExecutionReport report = run(plan, scratch, memories, burst);
      isSuccess = report.isSuccess();
      return report;
    } catch (NeuralNetworksException e) {
      return ExecutionReport.failed(e.code(), e.getMessage());
    } catch (SharedMemoryException e) {
      return ExecutionReport.failed(ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, e.getMessage());
    } finally {
      if (memories != null) {
        memories.end(isSuccess);
      }
      pool.release(scratch);
      leases.close();
      plan.release();
    }
  }

  private ExecutionReport stoppedWaiting() {
    String what = " while it waited for its memories";
    return control.isCancelled()
        ? ExecutionReport.failed(ResultCode.OP_FAILED, "the execution was cancelled" + what)
        : ExecutionReport.failed(
            ResultCode.MISSED_DEADLINE_TRANSIENT, "the execution missed its deadline" + what);
  }

  private ExecutionReport run(
      PreparedPlan plan, Scratch scratch, MemoryBindings memories, BurstImpl burst)
      throws NeuralNetworksException {
    StepLog log = new StepLog(copies);
    ExecutionConfig config =
        new ExecutionConfig(
            control.deadline(), loopTimeout, Optional.empty(), measureTiming, control);
    StepRunner steps =
        new StepRunner(host, config, control, log, scratch, host.takeSample(), burst);
    Frame frame = frame(plan, scratch);
    StepResult result = new PlanRunner(plan, steps, log, config).run(frame);
    boolean wasCompound = !plan.planned().isSimple();
    if (!result.isDone() && !result.isFinal() && host.isFallbackAllowed() && wasCompound) {
      PreparedPlan whole = null;
      try {
        whole = host.acquireWholeOnReference(config);
        scratch.temporaries().reserve(whole.layout().size());
        if (memories != null) {
          memories.restart();
        }
        frame = frame(whole, scratch);
        result = new PlanRunner(whole, steps, log, config).run(frame);
      } catch (NeuralNetworksException e) {
        ResultCode code = e.code() == ResultCode.DEAD_OBJECT ? e.code() : result.code();
        result = StepResult.failed(code, result.message() + "; " + e.getMessage());
      } finally {
        if (whole != null) {
          whole.release();
        }
      }
    }
    if (!result.isDone()) {
      return report(result.code(), result.message(), result.outputs(), log);
    }
    arguments.copyOut(scratch, frame, copies);
    return report(ResultCode.NO_ERROR, "", arguments.outputShapes(frame), log);
  }

  private ExecutionReport report(
      ResultCode code, String message, List<OutputShape> outputs, StepLog log) {
    return new ExecutionReport(code, message, outputs, log.timing(), log.steps(), copies.total());
  }

  private Frame frame(PreparedPlan plan, Scratch scratch) {
    for (BoundaryConstant constant : plan.layout().constants()) {
      byte[] value = constant.value().value();
      MemorySegment.copy(
          MemorySegment.ofArray(value),
          0,
          scratch.temporaries().segment(),
          constant.offset(),
          value.length);
      copies.temporaries += value.length;
    }
    Frame frame = new Frame(plan.planned().main(), plan.layout(), scratch.temporaries());
    arguments.fill(frame, scratch);
    return frame;
  }
}
