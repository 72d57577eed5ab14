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
import io.thalamus.model.Priority;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.domain.DomainMemory;
import io.thalamus.runtime.domain.MemoryBindings;
import io.thalamus.runtime.events.ExecutionEvent;
import io.thalamus.runtime.events.Recordings;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.TemporariesLayout.BoundaryConstant;
import io.thalamus.runtime.schedule.Application;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * One execution. A mistake that only a start can find is in the report, one that an argument shows
 * alone is an exception.
 *
 * <p>NNAPI allows a timeout only where exactly one device was named; here it is always allowed, and
 * goes to every step. Measuring needs one device as there: times of several do not add up.
 */
public final class ExecutionImpl implements Execution {
  // A store that needs no fence of its own: others see it behind the flag that says "started".
  private static final AtomicReferenceFieldUpdater<ExecutionImpl, RunControl> CONTROL =
      AtomicReferenceFieldUpdater.newUpdater(ExecutionImpl.class, RunControl.class, "control");

  private final ExecutionHost host;

  /** The inputs, then the outputs, as the caller gives them; null where one is not set. */
  private final Argument[] given;

  private final AtomicBoolean started = new AtomicBoolean();

  // Of one try. Written before the execution can be started again.
  private volatile RunControl control;
  private Lateness lateness;
  private final CopyCount copies = new CopyCount();

  private Duration timeout;
  private Duration loopTimeout = ExecutionConfig.DEFAULT_LOOP_TIMEOUT;
  private boolean measureTiming;
  private boolean measureSteps;

  /** Null until the execution is started. */
  private Arguments arguments;

  /** What it leaves to its next start; null where it cannot be started again. */
  private Binding binding;

  /** True from the second start on: most are started once, and leave nothing. */
  private boolean isRepeated;

  /** The last asynchronous start; null without one. */
  private volatile AsyncRun asynchronous;

  /** An execution of what the host compiled. */
  public ExecutionImpl(ExecutionHost host) {
    this.host = host;
    CONTROL.lazySet(this, new RunControl(host, host.application(), host.priority()));
    this.lateness = new Lateness(host, control);
    Subgraph graph = host.model().main();
    this.given = new Argument[graph.inputIndexes().size() + graph.outputIndexes().size()];
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
    set("input", index, 0, host.model().main().inputIndexes().size(), argument);
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
    int inputs = host.model().main().inputIndexes().size();
    set("output", index, inputs, given.length - inputs, argument);
    return this;
  }

  private void set(String what, int index, int first, int count, Argument argument) {
    if (index < 0 || index >= count) {
      throw new IllegalArgumentException(
          "there is no " + what + " " + index + ": the model has " + count);
    }
    given[first + index] = argument;
  }

  private static Argument made(Memory memory) {
    Objects.requireNonNull(memory, "memory");
    if (memory instanceof DomainMemory made) {
      return new Argument.Device(made);
    }
    throw new IllegalArgumentException("memory '" + memory.name() + "' is of another runtime");
  }

  @Override
  public Execution setReusable(boolean reusable) {
    requireNotStarted();
    binding = !reusable ? null : binding != null ? binding : new Binding();
    return this;
  }

  @Override
  public Execution setMeasureSteps(boolean measure) {
    requireNotStarted();
    measureSteps = measure;
    return this;
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

  @Override
  public Execution setPriority(Priority priority) {
    requireNotStarted();
    return contend(control.application(), Objects.requireNonNull(priority, "priority"));
  }

  @Override
  public Execution setClient(String client) {
    requireNotStarted();
    return contend(new Application(host.application().name(), client), control.priority());
  }

  private Execution contend(Application application, Priority priority) {
    boolean isSame = application.equals(control.application()) && priority == control.priority();
    // One that was refused keeps what it was promised.
    if (!isSame) {
      control = new RunControl(host, application, priority);
      lateness = new Lateness(host, control);
    }
    return this;
  }

  private void requireNotStarted() {
    if (started.get()) {
      throw new IllegalStateException("the execution is started: create another one");
    }
  }

  @Override
  public ExecutionReport compute() {
    ExecutionReport refusal = start(null);
    return refusal != null ? refusal : run(null, null);
  }

  @Override
  public ExecutionReport burstCompute(Burst given) {
    Objects.requireNonNull(given, "burst");
    if (!(given instanceof BurstImpl burst)) {
      return ExecutionReport.failed(ResultCode.BAD_DATA, "the burst is of another runtime");
    }
    BurstPlace place;
    try {
      place = burst.enter(host);
    } catch (NeuralNetworksException e) {
      return ExecutionReport.failed(e.code(), e.getMessage());
    }
    try {
      ExecutionReport refusal = start(place);
      return refusal != null ? refusal : run(place, null);
    } finally {
      place.exit();
    }
  }

  @Override
  public CompletableFuture<ExecutionReport> computeAsync() {
    ExecutionReport refusal = start(null);
    if (refusal == null) {
      refusal = ended(lateness.late(null));
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
    ExecutionReport refusal = start(null);
    if (refusal == null && arguments.firstOpenOutput() >= 0) {
      refusal =
          ended(
              ExecutionReport.failed(
                  ResultCode.BAD_DATA,
                  "output "
                      + arguments.firstOpenOutput()
                      + " has open dimensions: behind dependencies all outputs must be fully"
                      + " specified"));
    }
    if (refusal == null) {
      refusal = ended(lateness.late(null));
    }
    if (refusal != null) {
      return CompletableFuture.completedFuture(refusal);
    }
    AsyncRun run = watched(Cause.OVER_BEHIND_FENCES);
    run.waitFor(waitFor, host.asyncThreads());
    CompletableFuture<?>[] all = waitFor.toArray(CompletableFuture<?>[]::new);
    // Whatever completes the last of them only hands over; the work is done in our own threads.
    CompletableFuture.allOf(all)
        .whenComplete(
            (nothing, failure) -> {
              run.waitFor(List.of(), host.asyncThreads());
              String reason = failure != null ? failure.toString() : failedDependency(waitFor);
              ExecutionReport late = lateness.late(Cause.OVER_BEHIND_FENCES);
              if (reason.isEmpty() && late != null) {
                run.end(late);
              } else if (reason.isEmpty()) {
                run.queue(host.asyncThreads());
              } else {
                run.end(Cause.DEPENDENCY_FAILED.report(reason, Optional.empty()));
              }
            });
    return run;
  }

  @Override
  public void stop() {
    if (started.get()) {
      control.cancel();
      AsyncRun run = asynchronous;
      if (run != null) {
        run.refuse(
            ExecutionReport.failed(
                ResultCode.OP_FAILED, "the execution was stopped before it began"));
      }
    }
  }

  private AsyncRun watched(Cause waiting) {
    AsyncRun run = new AsyncRun(this, waiting);
    asynchronous = run;
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

  /**
   * Claims the execution and checks it; a report where it cannot run.
   *
   * @param burst its place in a burst; null without one
   */
  private ExecutionReport start(BurstPlace burst) {
    return started.compareAndSet(false, true)
        ? ended(refusal(burst))
        : ExecutionReport.failed(
            ResultCode.BAD_STATE,
            binding == null
                ? "an execution runs once: create another one, or make it reusable"
                : "the execution is under way, or was cancelled");
  }

  private ExecutionReport refusal(BurstPlace burst) {
    if (measureTiming && !host.isForOneDevice()) {
      return ExecutionReport.failed(
          ResultCode.BAD_DATA, "timing can be measured only where exactly one device is named");
    }
    if (loopTimeout.isNegative()) {
      return ExecutionReport.failed(
          ResultCode.BAD_DATA, "the loop timeout is negative: " + loopTimeout);
    }
    arguments =
        burst != null ? burst.arguments(given) : binding != null ? binding.arguments(given) : null;
    if (arguments == null) {
      arguments = new Arguments(host, given);
      try {
        arguments.check();
      } catch (NeuralNetworksException e) {
        return ExecutionReport.failed(e.code(), e.getMessage());
      }
    }
    if (timeout != null) {
      control.setDeadline(timeout, Deadline.after(timeout, host.time()));
    }
    return timeout != null && !timeout.isPositive()
        ? lateness.refused(Cause.OVER_AT_ENTRY.report())
        : null;
  }

  Lateness lateness() {
    return lateness;
  }

  RunControl control() {
    return control;
  }

  /** Runs a started execution in a thread that others wait for, which learns how long it took. */
  ExecutionReport runQueued(Cause waited) {
    RunControl tried = control;
    long start = host.time().nanoTime();
    try {
      return run(null, waited);
    } finally {
      long nanos = host.time().nanoTime() - start - tried.waitedNanos();
      host.asyncThreads().took(nanos, tried.together());
    }
  }

  /**
   * Runs a started execution in the calling thread.
   *
   * @param burst its place in the burst by which devices are sent their steps; null where they are
   *     called
   * @param waited what its deadline missed if it passed before; null where nothing was waited for
   */
  ExecutionReport run(BurstPlace burst, Cause waited) {
    ExecutionEvent event =
        Recordings.arePossible() ? ExecutionEvent.start(control.label(), burst != null) : null;
    if (event != null) {
      control.setExecution(event.execution());
    }
    ExecutionReport report = run(burst, waited, event);
    if (event != null) {
      event.finish(report.code(), report.message());
    }
    return ended(report);
  }

  /**
   * Lets an execution be started again: one that could not be done now, with what it was promised,
   * and one that is reusable.
   *
   * @param report that the caller has not seen yet; null if it has not ended
   * @return the same
   */
  ExecutionReport ended(ExecutionReport report) {
    if (report == null) {
      return null;
    }
    boolean isPromised = report.code() == ResultCode.RESOURCE_EXHAUSTED_TRANSIENT;
    if (isPromised || binding != null) {
      control = new RunControl(host, control, isPromised);
      lateness = new Lateness(host, control);
      copies.reset();
      isRepeated = true;
      started.set(false);
    }
    return report;
  }

  private ExecutionReport run(BurstPlace burst, Cause waited, ExecutionEvent event) {
    PreparedPlan plan = burst == null ? host.acquirePlan().orElse(null) : burst.acquirePlan(host);
    if (plan == null) {
      return ExecutionReport.failed(ResultCode.BAD_STATE, "the compilation is closed");
    }
    ExecutionReport late = lateness.late(plan, waited);
    if (late != null) {
      release(plan, burst);
      return late;
    }
    Leases leases = new Leases();
    if (burst != null) {
      burst.burst().prepare(plan);
    }
    Scratch scratch = burst == null ? host.scratch().take() : burst.scratch();
    Binding kept = burst != null ? burst.binding() : isRepeated ? binding : null;
    MemoryBindings memories = arguments.memoryBindings();
    boolean isSuccess = false;
    try {
      if (burst == null || !burst.holds(plan)) {
        arguments.lend(leases);
      }
      Frame last = kept == null ? null : kept.take(plan, arguments, scratch);
      if (last == null) {
        arguments.layOut(plan, burst != null, scratch, copies);
      }
      if (memories != null) {
        if (!memories.begin(plan, control)) {
          return stoppedWaiting();
        }
        arguments.checkMemories();
      }
      ExecutionReport report = run(plan, scratch, memories, burst, kept, last, event);
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
      if (burst == null) {
        host.scratch().release(scratch);
      }
      leases.close();
      release(plan, burst);
    }
  }

  private static void release(PreparedPlan plan, BurstPlace burst) {
    if (burst == null || !burst.holds(plan)) {
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
      BurstPlace burst,
      Binding kept,
      Frame last,
      ExecutionEvent event)
      throws NeuralNetworksException {
    StepLog log = new StepLog(copies, event);
    ExecutionConfig config =
        new ExecutionConfig(
            control.deadline(),
            loopTimeout,
            Optional.empty(),
            measureTiming || measureSteps,
            control);
    StepRunner steps =
        new StepRunner(host, plan, config, control, log, scratch, host.takeSample(), burst, kept);
    copyConstants(plan, scratch);
    Frame first = last != null ? last : frame(plan, scratch);
    Frame frame = first;
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
        copyConstants(whole, scratch);
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
    if (kept != null
        && frame == first
        && arguments.areInPlace()
        && (first == last || frame.isFixed())) {
      kept.keep(plan, arguments, scratch, frame);
      if (burst != null && first == last) {
        burst.hold();
      }
    }
    return report(result, arguments.outputShapes(frame), log);
  }

  private ExecutionReport report(StepResult result, List<OutputShape> outputs, StepLog log) {
    return new ExecutionReport(
        result.code(),
        result.message(),
        outputs,
        measureTiming ? log.timing() : Timing.NONE,
        log.steps(),
        copies.total(),
        result.retryAfter());
  }

  private void copyConstants(PreparedPlan plan, Scratch scratch) {
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
  }

  private Frame frame(PreparedPlan plan, Scratch scratch) {
    Frame frame = new Frame(plan.planned().main(), plan.layout(), scratch.temporaries());
    arguments.fill(frame, scratch);
    return frame;
  }
}
