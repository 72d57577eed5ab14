// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.ErrorStatus;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A moment in the future at which something is done, or has failed. Thread-safe. The worker signals
 * it once; anybody may wait.
 */
public final class SyncFence {
  /** The interval at which a waiting thread looks at the clock and the control of its call. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private final CompletableFuture<Void> signal = new CompletableFuture<>();

  /** A fence that has signalled already. */
  public static SyncFence signalled() {
    SyncFence fence = new SyncFence();
    fence.signal();
    return fence;
  }

  /** The work is done. */
  public void signal() {
    signal.complete(null);
  }

  /** The work has failed. */
  public void fail(DeviceException reason) {
    signal.completeExceptionally(reason);
  }

  /** Returns whether it has signalled or failed. */
  public boolean isDone() {
    return signal.isDone();
  }

  /**
   * Completes when the fence signals, exceptionally where it fails. A copy: it cannot be misused.
   * Actions in the signalling thread must be short: that thread is of another device, or of the
   * runtime.
   */
  public CompletableFuture<Void> future() {
    return signal.copy();
  }

  /**
   * Waits for all fences in the calling thread, as long as an execution may. Interrupts are kept
   * for the caller.
   *
   * @throws DeviceException with INVALID_ARGUMENT for a fence that is null; GENERAL_FAILURE if one
   *     has failed, or the execution is cancelled; MISSED_DEADLINE_TRANSIENT as soon as the
   *     deadline passes, by its own clock
   */
  public static void await(List<SyncFence> fences, ExecutionConfig config) throws DeviceException {
    for (int i = 0; i < fences.size(); i++) {
      if (fences.get(i) == null) {
        throw DeviceException.invalid("the fence " + i + " to wait for is null");
      }
    }
    boolean isInterrupted = false;
    try {
      for (int i = 0; i < fences.size(); ) {
        try {
          if (fences.get(i).hasSignalled(config)) {
            i++;
          }
        } catch (InterruptedException e) {
          // A wait ends at once while the flag is set.
          isInterrupted = true;
        }
      }
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Waits a while, and returns whether it has signalled. */
  private boolean hasSignalled(ExecutionConfig config)
      throws DeviceException, InterruptedException {
    try {
      long left = config.deadline().remaining().toNanos();
      signal.get(Math.min(left, LOOK_NANOS), TimeUnit.NANOSECONDS);
      return true;
    } catch (TimeoutException e) {
      if (config.deadline().hasPassed()) {
        throw missed();
      }
      switch (config.control().status()) {
        case CONTINUE -> {
          // It may signal yet.
        }
        case CANCELLED ->
            throw DeviceException.failure("the execution was cancelled behind a fence");
        case DEADLINE -> throw missed();
      }
      return false;
    } catch (ExecutionException e) {
      throw new DeviceException(
          ErrorStatus.GENERAL_FAILURE, "a fence that was waited for has failed", e);
    }
  }

  private static DeviceException missed() {
    return new DeviceException(
        ErrorStatus.MISSED_DEADLINE_TRANSIENT, "the deadline passed before the fences signalled");
  }
}
