// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.Burst;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.memory.Leases;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.Deadline;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.domain.DomainMemory;
import io.thalamus.runtime.domain.MemoryBindings;
import io.thalamus.runtime.events.ExecutionEvent;
import io.thalamus.runtime.events.RefusalEvent;
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
  private static final long NANOS_PER_MICRO = 1_000;

  private final ExecutionHost host;
  private final Arguments arguments;
  private final RunControl control;
  private final CopyCount copies = new CopyCount();
  private final AtomicBoolean started = new AtomicBoolean();
  private Duration timeout;
  private Duration loopTimeout = ExecutionConfig.DEFAULT_LOOP_TIMEOUT;
  private boolean measureTiming;

  /** An execution of what the host compiled. */
  public ExecutionImpl(ExecutionHost host) {
    this.host = host;
    this.control = new RunControl(host);
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
    return refusal != null ? refusal : run(null, null);
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
      return refusal != null ? refusal : run(burst, null);
    } finally {
      burst.exit();
    }
  }

  @Override
  public CompletableFuture<ExecutionReport> computeAsync() {
    ExecutionReport refusal = start();
    if (refusal == null) {
      refusal = lateness(null);
    }
    if (refusal != null) {
      return CompletableFuture.completedFuture(refusal);
    }
    AsyncRun run = watched(Cause.OVER_IN_QUEUE);
    run.queue(host.asyncThreads());
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
    if (refusal == null) {
      refusal = lateness(null);
    }
    if (refusal != null) {
      return CompletableFuture.completedFuture(refusal);
    }
    AsyncRun run = watched(Cause.OVER_BEHIND_FENCES);
    CompletableFuture<?>[] all = waitFor.toArray(CompletableFuture<?>[]::new);
    // Whatever completes the last of them only hands over; the work is done in our own threads.
    CompletableFuture.allOf(all)
        .whenComplete(
            (nothing, failure) -> {
              String reason = failure != null ? failure.toString() : failedDependency(waitFor);
              ExecutionReport late = lateness(Cause.OVER_BEHIND_FENCES);
              if (reason.isEmpty() && late != null) {
                run.complete(late);
              } else if (reason.isEmpty()) {
                run.queue(host.asyncThreads());
              } else {
                run.fail(ResultCode.OP_FAILED, "what it was to wait for failed: " + reason);
              }
            });
    return run;
  }

  private AsyncRun watched(Cause waiting) {
    AsyncRun run = new AsyncRun(this, waiting);
    if (control.deadline().isSet()) {
      run.watch(host.time(), control.deadline());
    }
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
      control.setDeadline(timeout, Deadline.after(timeout, host.time()));
    }
    return timeout != null && !timeout.isPositive() ? refused(Cause.OVER_AT_ENTRY.report()) : null;
  }

  /** Returns the refusal of {@link #lateness(PreparedPlan, Cause)} for the plan of the moment. */
  private ExecutionReport lateness(Cause waited) {
    PreparedPlan plan = control.deadline().isSet() ? host.acquirePlan().orElse(null) : null;
    if (plan == null) {
      return null;
    }
    try {
      return refused(lateness(plan, waited));
    } finally {
      plan.release();
    }
  }

  /**
   * Returns the refusal of an execution whose deadline has passed, or comes before even an idle
   * device would be done; null where it may begin.
   *
   * @param waited the cause where it has waited before; null where it has not
   */
  private ExecutionReport lateness(PreparedPlan plan, Cause waited) {
    Deadline deadline = control.deadline();
    if (!deadline.isSet()) {
      return null;
    }
    Optional<Duration> retryAfter =
        waited == Cause.OVER_IN_QUEUE ? host.asyncThreads().untilServed() : Optional.empty();
    if (deadline.hasPassed()) {
      Cause cause = waited == null ? control.stopCause(plan) : waited;
      return ExecutionReport.failed(cause.code(), cause.message(), retryAfter);
    }
    long left = deadline.remaining().toNanos();
    double least = plan.leastNanos();
    // A deadline is missed when it is reached.
    if (left > least) {
      return null;
    }
    plan.refused();
    return (waited == null ? Cause.TOO_SHORT : waited)
        .report(
            left / NANOS_PER_MICRO
                + " us are left, and it takes "
                + (long) (least / NANOS_PER_MICRO)
                + " us at least",
            retryAfter);
  }

  /** Returns the report of an execution that is not begun, told to whoever records; or null. */
  ExecutionReport refused(ExecutionReport report) {
    if (report != null) {
      RefusalEvent.tell(host.label(), report.code(), report.message());
    }
    return report;
  }

  RunControl control() {
    return control;
  }

  /** Runs a started execution in a thread that others wait for, which learns how long it took. */
  ExecutionReport runQueued(Cause waited) {
    long start = host.time().nanoTime();
    try {
      return run(null, waited);
    } finally {
      host.asyncThreads().took(host.time().nanoTime() - start);
    }
  }

  /**
   * Runs a started execution in the calling thread.
   *
   * @param burst by which devices are sent their steps; null where they are called
   * @param waited what its deadline missed if it passed before; null where nothing was waited for
   */
  ExecutionReport run(BurstImpl burst, Cause waited) {
    ExecutionEvent event = ExecutionEvent.start(host.label(), burst != null);
    ExecutionReport report = run(burst, waited, event);
    if (event != null) {
      event.finish(report.code(), report.message());
    }
    return report;
  }

  private ExecutionReport run(BurstImpl burst, Cause waited, ExecutionEvent event) {
    PreparedPlan plan = host.acquirePlan().orElse(null);
    if (plan == null) {
      return ExecutionReport.failed(ResultCode.BAD_STATE, "the compilation is closed");
    }
    ExecutionReport late = lateness(plan, waited);
    if (late != null) {
      plan.release();
      return late;
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
        if (!memories.begin(plan, control)) {
          return stoppedWaiting();
        }
        arguments.checkMemories();
      }
      ExecutionReport report = run(plan, scratch, memories, burst, event);
      isSuccess = report.isSuccess();
      if (isSuccess) {
        plan.executed();
      }
      return report;
    } catch (NeuralNetworksException e) {
      return ExecutionReport.failed(e.code(), e.getMessage(), e.retryAfter());
    } catch (SharedMemoryException e) {
      return Cause.SHARED_MEMORY_FULL.report(e.getMessage(), Optional.empty());
    } catch (OutOfMemoryError e) {
      // Of the runtime itself, which asks for much at once: what drivers throw does not come here.
      return Cause.MEMORY_SHORT.report(e.getMessage(), Optional.empty());
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
    return control.isCancelled()
        ? ExecutionReport.failed(
            ResultCode.OP_FAILED, "the execution was cancelled while it waited for its memories")
        : Cause.OVER_AWAITING_MEMORY.report();
  }

  private ExecutionReport run(
      PreparedPlan plan,
      Scratch scratch,
      MemoryBindings memories,
      BurstImpl burst,
      ExecutionEvent event)
      throws NeuralNetworksException {
    StepLog log = new StepLog(copies, event);
    ExecutionConfig config =
        new ExecutionConfig(
            control.deadline(), loopTimeout, Optional.empty(), measureTiming, control);
    StepRunner steps =
        new StepRunner(host, plan, config, control, log, scratch, host.takeSample(), burst);
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
        StepResult stopped = steps.stopped();
        result =
            stopped != null
                ? stopped
                : StepResult.failed(code, result.message() + "; " + e.getMessage());
      } finally {
        if (whole != null) {
          whole.release();
        }
      }
    }
    if (!result.isDone()) {
      return report(result, result.outputs(), log);
    }
    arguments.copyOut(scratch, frame, copies);
    return report(result, arguments.outputShapes(frame), log);
  }

  private ExecutionReport report(StepResult result, List<OutputShape> outputs, StepLog log) {
    return new ExecutionReport(
        result.code(),
        result.message(),
        outputs,
        log.timing(),
        log.steps(),
        copies.total(),
        result.retryAfter());
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
