// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.fence;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.check.Expect;
import java.time.Duration;
import java.util.AbstractList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A fenced execution in a thread of its own: a driver may wait for its fences in the thread of the
 * call, or return before. Used by one thread, which closes it before it closes the memory of the
 * request: closing fails the fences that are left, and waits for the end.
 */
final class Launch implements AutoCloseable {
  private final List<SyncFence> fences;
  private final Duration limit;
  private final CountDownLatch looked = new CountDownLatch(1);
  private final CompletableFuture<FencedExecution> answer = new CompletableFuture<>();

  /** Completes when the execution ends, in whatever way the driver says so. */
  private final CompletableFuture<FencedExecution> end =
      answer.thenCompose(execution -> execution.syncFence().future().thenApply(_ -> execution));

  /**
   * Begins an execution.
   *
   * @param limit the time after which one that has not ended counts as lost
   */
  Launch(
      PreparedModel prepared,
      Request request,
      List<SyncFence> fences,
      ExecutionConfig config,
      Duration limit) {
    this.fences = fences;
    this.limit = limit;
    Thread.ofPlatform()
        .name("certify-fenced")
        .daemon()
        .start(() -> call(prepared, request, config));
  }

  private void call(PreparedModel prepared, Request request, ExecutionConfig config) {
    try {
      answer.complete(prepared.executeFenced(request, new Watched(), config));
    } catch (DeviceException | RuntimeException | Error e) {
      answer.completeExceptionally(e);
    }
  }

  /** The fences, which say when the driver looks at them: its clock has begun before. */
  private final class Watched extends AbstractList<SyncFence> {
    @Override
    public SyncFence get(int index) {
      looked.countDown();
      return fences.get(index);
    }

    @Override
    public int size() {
      return fences.size();
    }
  }

  /**
   * Returns when the driver has looked at its fences, and some time after that; earlier where the
   * execution ends, later where nothing happens.
   */
  void settle(Duration time) throws Exception {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!looked.await(1, TimeUnit.MILLISECONDS)
        && !end.isDone()
        && System.nanoTime() - deadline < 0) {
      // It may begin yet.
    }
    try {
      end.get(time.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException | TimeoutException e) {
      // How it ends is asked for later.
      return;
    }
  }

  /** Returns whether the execution has ended. */
  boolean isDone() {
    return end.isDone();
  }

  /** Returns what the call gave back; null where it still waits, or has failed. */
  FencedExecution answer() {
    return answer.isCompletedExceptionally() ? null : answer.getNow(null);
  }

  /** Signals a fence that the execution waits for when another execution ends as this does. */
  void then(SyncFence fence) {
    end.whenComplete(
        (_, failure) -> {
          if (failure == null) {
            fence.signal();
          } else {
            fence.fail(DeviceException.failure("the step before failed"));
          }
        });
  }

  /** Waits for an end without a failure. */
  FencedExecution.Info done() throws Exception {
    try {
      FencedExecution.Info info = await().executionInfo().get();
      Expect.that(
          info.result() instanceof ExecutionResult.Completed,
          "its fence signalled, though its result is " + info.result());
      return info;
    } catch (DeviceException e) {
      throw Expect.failure("it ended with " + e.status() + ": " + e.getMessage());
    }
  }

  /** Waits for a failure: thrown, or by the fence of the execution. */
  void failed(ErrorStatus... wanted) throws Exception {
    FencedExecution execution;
    try {
      execution = await();
    } catch (DeviceException e) {
      Expect.status("it", e.status(), wanted);
      return;
    }
    throw Expect.failure(
        "it was to end with "
            + List.of(wanted)
            + ", but its fence signalled, and its result is "
            + execution.executionInfo().get().result());
  }

  private FencedExecution await() throws Exception {
    try {
      return end.get(limit.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw Expect.failure("it has not ended after " + limit.toMillis() + " ms");
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case Exception cause -> throw cause;
        default -> throw e;
      }
    }
  }

  @Override
  public void close() {
    DeviceException over = DeviceException.failure("the check is over");
    fences.forEach(fence -> fence.fail(over));
    end.handle((_, _) -> true)
        .completeOnTimeout(false, limit.toNanos(), TimeUnit.NANOSECONDS)
        .join();
  }
}
