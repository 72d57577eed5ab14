// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.FencedExecution.Info;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Timing;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The reference with fenced executions of its own, which break one rule, or none in an unusual way.
 * As thread-safe as the reference; closing it ends its threads.
 */
final class FaultyFenceDevice extends DelegatingDevice implements AutoCloseable {
  /** The ways to treat fences: first the legal ones. */
  enum Way {
    WAITS_IN_THE_CALL,
    WAITS_IN_A_THREAD_OF_ITS_OWN,
    FAILS_BY_ITS_FENCE,
    MEASURES_NOTHING,
    MISSES_FOR_GOOD,
    TAKES_ITS_TIME,
    DOES_NOT_WAIT,
    WAITS_FOR_THE_FIRST_FENCE,
    WAITS_FOR_THE_LAST_FENCE,
    COMPUTES_THOUGH_A_FENCE_FAILED,
    BLAMES_THE_REQUEST_FOR_A_FENCE,
    IGNORES_THE_DEADLINE_BEHIND_A_FENCE,
    READS_ITS_OWN_CLOCK_BEHIND_A_FENCE,
    IGNORES_A_CANCELLATION_BEHIND_A_FENCE,
    NEVER_SIGNALS,
    SIGNALS_BEFORE_THE_OUTPUTS,
    WRITES_ONCE_MORE,
    SIGNALS_THOUGH_IT_FAILED,
    HAS_A_RESULT_TOO_EARLY,
    CHANGES_ITS_RESULT,
    COUNTS_THE_WAIT_FROM_THE_FENCE_ON,
    EXCHANGES_ITS_TIMES,
    MEASURES_UNASKED,
    HOLDS_A_LOCK_WHILE_IT_WAITS,
    BREAKS_A_MODEL_AFTER_A_FENCE_FAILED;

    boolean isLegal() {
      return ordinal() < DOES_NOT_WAIT.ordinal();
    }

    /** Returns whether the call returns before the execution ends. */
    boolean isInOwnThread() {
      return switch (this) {
        case WAITS_IN_A_THREAD_OF_ITS_OWN,
            FAILS_BY_ITS_FENCE,
            TAKES_ITS_TIME,
            NEVER_SIGNALS,
            SIGNALS_BEFORE_THE_OUTPUTS,
            WRITES_ONCE_MORE,
            SIGNALS_THOUGH_IT_FAILED,
            HAS_A_RESULT_TOO_EARLY,
            CHANGES_ITS_RESULT ->
            true;
        default -> false;
      };
    }
  }

  private static final Duration A_WHILE = Duration.ofMillis(5);

  private final Way way;
  private final ReentrantLock lock = new ReentrantLock();
  private final AtomicBoolean isBroken = new AtomicBoolean();
  private final ExecutorService threads =
      Executors.newCachedThreadPool(Thread.ofPlatform().name("faulty-", 1).daemon().factory());

  FaultyFenceDevice(Way way) {
    super(new CpuDevice("1.0.0"));
    this.way = way;
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    isBroken.set(false);
    return new FencedModel(super.prepare(model, config));
  }

  @Override
  public void close() {
    threads.shutdownNow();
    ((CpuDevice) delegate()).close();
  }

  private final class FencedModel extends DelegatingPreparedModel {
    FencedModel(PreparedModel within) {
      super(FaultyFenceDevice.this, within);
    }

    @Override
    public FencedExecution executeFenced(
        Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
      return way.isInOwnThread() ? begin(request, waitFor, config) : run(request, waitFor, config);
    }

    private FencedExecution run(Request request, List<SyncFence> waitFor, ExecutionConfig config)
        throws DeviceException {
      long launched = System.nanoTime();
      await(waitFor, config);
      Duration waited = Duration.ofNanos(System.nanoTime() - launched);
      boolean isMeasured = way == Way.MEASURES_UNASKED || config.measureTiming();
      ExecutionResult result = execute(request, config.fromNowOn().withMeasureTiming(isMeasured));
      return timed(FencedExecution.ended(result, waited));
    }

    private FencedExecution timed(FencedExecution right) {
      Info info = right.executionInfo().get();
      Info changed =
          switch (way) {
            case COUNTS_THE_WAIT_FROM_THE_FENCE_ON ->
                new Info(info.result(), info.timingLaunched(), info.timingLaunched());
            case EXCHANGES_ITS_TIMES ->
                new Info(info.result(), info.timingFenced(), info.timingLaunched());
            case MEASURES_NOTHING -> new Info(info.result(), Timing.NONE, Timing.NONE);
            default -> info;
          };
      return new FencedExecution(right.syncFence(), () -> changed);
    }

    private void await(List<SyncFence> all, ExecutionConfig config) throws DeviceException {
      if (isBroken.get()) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the model is broken");
      }
      if (way == Way.HOLDS_A_LOCK_WHILE_IT_WAITS) {
        lock.lock();
      }
      try {
        SyncFence.await(waitedFor(all), awaiting(config));
      } catch (DeviceException e) {
        afterFailure(e);
      } finally {
        if (lock.isHeldByCurrentThread()) {
          lock.unlock();
        }
      }
    }

    private List<SyncFence> waitedFor(List<SyncFence> all) {
      return switch (way) {
        case DOES_NOT_WAIT -> List.of();
        case WAITS_FOR_THE_FIRST_FENCE -> all.subList(0, Math.min(1, all.size()));
        case WAITS_FOR_THE_LAST_FENCE -> all.subList(Math.max(0, all.size() - 1), all.size());
        default -> all;
      };
    }

    private ExecutionConfig awaiting(ExecutionConfig config) {
      Deadline deadline = config.deadline();
      return switch (way) {
        case IGNORES_THE_DEADLINE_BEHIND_A_FENCE -> config.with(Deadline.never(deadline.clock()));
        case READS_ITS_OWN_CLOCK_BEHIND_A_FENCE ->
            deadline.isSet() ? config.with(Deadline.ofNanoTime(deadline.nanoTime())) : config;
        case IGNORES_A_CANCELLATION_BEHIND_A_FENCE -> config.with(ExecutionControl.NONE);
        default -> config;
      };
    }

    private void afterFailure(DeviceException failure) throws DeviceException {
      boolean isMissed = failure.status() == ErrorStatus.MISSED_DEADLINE_TRANSIENT;
      switch (way) {
        case COMPUTES_THOUGH_A_FENCE_FAILED -> {
          if (isMissed) {
            throw failure;
          }
        }
        case BLAMES_THE_REQUEST_FOR_A_FENCE ->
            throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "a fence failed", failure);
        case MISSES_FOR_GOOD ->
            throw isMissed
                ? new DeviceException(ErrorStatus.MISSED_DEADLINE_PERSISTENT, "late", failure)
                : failure;
        default -> {
          isBroken.set(way == Way.BREAKS_A_MODEL_AFTER_A_FENCE_FAILED);
          throw failure;
        }
      }
    }

    /** Returns before the execution ends. */
    private FencedExecution begin(
        Request request, List<SyncFence> waitFor, ExecutionConfig config) {
      SyncFence fence = new SyncFence();
      Info none =
          new Info(new Failed(ErrorStatus.GENERAL_FAILURE, "not done"), Timing.NONE, Timing.NONE);
      Info early = new Info(new Completed(List.of(), Timing.NONE), Timing.NONE, Timing.NONE);
      Info[] result = {way == Way.HAS_A_RESULT_TOO_EARLY ? early : none};
      AtomicBoolean isAsked = new AtomicBoolean();
      threads.execute(() -> end(request, List.copyOf(waitFor), config, fence, result));
      return new FencedExecution(
          fence,
          () ->
              way == Way.CHANGES_ITS_RESULT && fence.isDone() && isAsked.getAndSet(true)
                  ? early
                  : result[0]);
    }

    private void end(
        Request request,
        List<SyncFence> waitFor,
        ExecutionConfig config,
        SyncFence fence,
        Info[] result) {
      try {
        if (way == Way.SIGNALS_BEFORE_THE_OUTPUTS) {
          await(waitFor, config);
          result[0] = new Info(new Completed(List.of(), Timing.NONE), Timing.NONE, Timing.NONE);
          fence.signal();
          LockSupport.parkNanos(A_WHILE.toNanos());
        }
        FencedExecution ended = run(request, waitFor, config);
        if (way == Way.TAKES_ITS_TIME) {
          LockSupport.parkNanos(A_WHILE.toNanos());
        }
        result[0] = ended.executionInfo().get();
        if (way != Way.NEVER_SIGNALS) {
          fence.signal();
        }
        if (way == Way.WRITES_ONCE_MORE) {
          LockSupport.parkNanos(A_WHILE.toNanos());
          execute(request, config);
        }
      } catch (DeviceException e) {
        if (way == Way.SIGNALS_THOUGH_IT_FAILED) {
          Failed failed = new Failed(e.status(), "it failed");
          result[0] = new Info(failed, Timing.NONE, Timing.NONE);
          fence.signal();
        }
        fence.fail(e);
      }
    }
  }
}
