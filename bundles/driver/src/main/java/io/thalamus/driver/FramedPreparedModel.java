// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.memory.Leases;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;

/**
 * A prepared model that runs in frames: the memory of one run each, made when as many runs are
 * under way as never before, and kept for the next. Requests are checked and their memories held
 * here; a subclass computes. Thread-safe. Holds the model's constants until it is closed and the
 * last run has ended.
 *
 * @param <F> the memory of one run
 */
public abstract class FramedPreparedModel<F> implements PreparedModel {
  private final Subgraph graph;
  private final TableDevice device;

  @SuppressWarnings("this-escape") // It is called only when a closed model's last run ends.
  private final FramePool<F> frames = new FramePool<>(this::releaseAll);

  private final Leases constants;

  /** For a model that a device has compiled. */
  protected FramedPreparedModel(Model model, TableDevice device) {
    this.graph = model.main();
    this.device = device;
    this.constants = Leases.of(model.pools());
  }

  /** Returns the device that compiled it. */
  final TableDevice device() {
    return device;
  }

  /** Returns the graph whose inputs and outputs its requests name. */
  final Subgraph graph() {
    return graph;
  }

  /** The memory of one more run. Called by one thread at a time, and not after {@link #release}. */
  protected abstract F newFrame();

  /** Gives back what the frames stand in. Called once, when the last run has ended. */
  protected abstract void release();

  /**
   * Computes the outputs. The memories of the request stay mapped meanwhile. Arguments are read and
   * written in the calling thread alone and not after the return, since some may be memory that is
   * confined to the caller of the device; a subclass that computes in other threads copies them.
   *
   * @param startNanos when the request came, by {@link System#nanoTime()}
   */
  protected abstract ExecutionResult run(
      F frame, RequestArguments arguments, ExecutionConfig config, long startNanos);

  @Override
  public final ExecutionResult execute(Request request, ExecutionConfig config) {
    long start = System.nanoTime();
    try (RequestBuffers buffers = buffers(request)) {
      RequestArguments arguments = arguments(request, buffers);
      buffers.begin();
      if (config.deadline().hasPassed()) {
        return new Failed(
            ErrorStatus.MISSED_DEADLINE_PERSISTENT, "the deadline passed before the execution");
      }
      try (Leases _ = PoolLeases.ofRequest(request)) {
        return buffers.end(execute(arguments, config, start));
      }
    } catch (DeviceException e) {
      return new Failed(e.status(), e.getMessage());
    }
  }

  private RequestBuffers buffers(Request request) throws DeviceException {
    return RequestBuffers.of(this, request, device.buffers());
  }

  private RequestArguments arguments(Request request, RequestBuffers buffers)
      throws DeviceException {
    return RequestArguments.of(graph, request, device.info(), buffers);
  }

  private ExecutionResult execute(RequestArguments arguments, ExecutionConfig config, long start) {
    F frame;
    try {
      frame = frames.take(this::frame);
    } catch (StoppedException e) {
      return e.failed();
    }
    if (frame == null) {
      return new Failed(ErrorStatus.GENERAL_FAILURE, "the prepared model is closed");
    }
    try {
      return run(frame, arguments, config, start);
    } finally {
      frames.release(frame);
    }
  }

  private F frame() {
    try {
      return newFrame();
    } catch (OutOfMemoryError e) {
      throw NativeMemory.exhausted("the memory of one more run", e);
    }
  }

  /** The time since a moment, all of which a CPU device spends on its hardware. */
  protected static Timing since(long nanoTime) {
    Duration duration = Duration.ofNanos(System.nanoTime() - nanoTime);
    return Timing.of(duration, duration);
  }

  @Override
  public final FencedExecution executeFenced(
      Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
    long launched = System.nanoTime();
    if (hasPointer(request.inputs()) || hasPointer(request.outputs())) {
      throw new DeviceException(
          ErrorStatus.INVALID_ARGUMENT, "a fenced execution takes no arguments by pointer");
    }
    // Buffers are read later: those who write them stand behind the fences.
    try (RequestBuffers buffers = buffers(request)) {
      arguments(request, buffers).requireKnownOutputs(graph);
    }
    for (SyncFence fence : waitFor) {
      if (fence == null) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "a fence to wait for is null");
      }
    }
    for (SyncFence fence : waitFor) {
      try {
        fence.future().join();
      } catch (CompletionException e) {
        throw new DeviceException(
            ErrorStatus.GENERAL_FAILURE, "a fence that was waited for has failed", e);
      }
    }
    Deadline deadline =
        config
            .duration()
            .map(duration -> config.deadline().earlier(Deadline.after(duration)))
            .orElse(config.deadline());
    long fenced = System.nanoTime();
    ExecutionResult result = execute(request, config.with(deadline));
    if (result instanceof Failed failed) {
      throw new DeviceException(failed.status(), failed.message());
    }
    if (result instanceof ExecutionResult.OutputInsufficientSize) {
      throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "an output buffer is too small");
    }
    FencedExecution.Info outcome =
        config.measureTiming()
            ? new FencedExecution.Info(result, since(launched), since(fenced))
            : new FencedExecution.Info(result, Timing.NONE, Timing.NONE);
    return new FencedExecution(SyncFence.signalled(), () -> outcome);
  }

  private static boolean hasPointer(List<Request.Argument> arguments) {
    for (int i = 0; i < arguments.size(); i++) {
      if (arguments.get(i) instanceof Request.Pointer) {
        return true;
      }
    }
    return false;
  }

  @Override
  public final void close() {
    frames.close();
  }

  private void releaseAll() {
    release();
    constants.close();
  }
}
