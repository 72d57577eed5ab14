// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.memory.Leases;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A prepared model that runs in frames: the memory of one run each, made when as many runs are
 * under way as never before, and kept for the next. Requests are checked and their memories held
 * here; a subclass computes. Thread-safe. Holds the model's constants until it is closed and the
 * last run has ended.
 *
 * <p>A burst keeps one frame for itself, and the memories in its slots. Closing the model ends its
 * bursts: they let go of both at once, or when the execution under way ends, and further requests
 * end with GENERAL_FAILURE. Their contexts stay with their owners.
 *
 * @param <F> the memory of one run
 */
public abstract class FramedPreparedModel<F> implements PreparedModel {
  /** The times of operations, while a run is to tell them. */
  private static final ScopedValue<long[]> PROFILED = ScopedValue.newInstance();

  private final Subgraph graph;
  private final TableDevice device;

  @SuppressWarnings("this-escape") // It is called only when a closed model's last run ends.
  private final FramePool<F> frames = new FramePool<>(this::releaseAll);

  /**
   * What was found out of the last request by a call: a caller that has the same arguments again
   * sends the same request. Nothing but that caller references it, since it references memory of
   * the caller.
   */
  private volatile WeakReference<Bound> latest = new WeakReference<>(null);

  private final Leases constants;
  private final Set<FramedBurst<F>> bursts = ConcurrentHashMap.newKeySet();

  private record Bound(Request request, RequestArguments arguments) {}

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

  /** Returns the shapes of the outputs; null where they are known only after a run. */
  protected abstract List<Shape> outputShapes();

  /**
   * Computes the outputs, whose room suffices where {@link #outputShapes} are known. The memories
   * of the request stay mapped meanwhile. Arguments are read and written in the calling thread
   * alone and not after the return, since some may be memory that is confined to the caller of the
   * device; a subclass that computes in other threads copies them.
   *
   * @param startNanos when the request came, by {@link System#nanoTime()}, if that is measured
   */
  protected abstract ExecutionResult run(
      F frame, RequestArguments arguments, ExecutionConfig config, long startNanos);

  /** A burst has begun: many executions are about to follow each other. Does nothing. */
  protected void burstBegan() {}

  /** A burst has ended. Does nothing. */
  protected void burstEnded() {}

  @Override
  public final ExecutionResult execute(Request request, ExecutionConfig config) {
    long start = startNanos(config);
    try (RequestBuffers buffers = findBuffers(request).use()) {
      RequestArguments arguments = latest(request, buffers);
      buffers.begin();
      Failed late = late(config);
      if (late != null) {
        return late;
      }
      F frame = null;
      try (Leases _ = PoolLeases.ofRequest(request)) {
        frame = takeFrame();
        return buffers.end(
            frame == null
                ? new Failed(ErrorStatus.GENERAL_FAILURE, "the prepared model is closed")
                : execute(frame, arguments, buffers, config, start));
      } catch (StoppedException e) {
        return buffers.end(e.failed());
      } finally {
        if (frame != null) {
          releaseFrame(frame);
        }
      }
    } catch (DeviceException e) {
      return new Failed(e.status(), e.getMessage());
    }
  }

  /**
   * Executes once with {@link #profiled}.
   *
   * @param operations of the graph that was compiled: one from a cache may hold arguments alone
   * @return by operation, its time in nanoseconds
   */
  protected final List<Long> operationNanos(Request request, int operations)
      throws DeviceException {
    long[] nanos = new long[operations];
    ExecutionResult result =
        ScopedValue.where(PROFILED, nanos).call(() -> execute(request, ExecutionConfig.DEFAULT));
    return switch (result) {
      case Completed _ -> Arrays.stream(nanos).boxed().toList();
      case Failed failed -> throw new DeviceException(failed.status(), failed.message());
      case OutputInsufficientSize _ ->
          throw new DeviceException(result.status(), "an output of the request is too small");
    };
  }

  /** Returns where a run in this thread writes the time of each operation; null if it does not. */
  protected static long[] profiled() {
    return PROFILED.isBound() ? PROFILED.get() : null;
  }

  /** Returns the time if it is measured: a look at the clock costs what a small model does. */
  static long startNanos(ExecutionConfig config) {
    return config.measureTiming() ? System.nanoTime() : 0;
  }

  /** Returns the failure of an execution that comes too late; null where it does not. */
  static Failed late(ExecutionConfig config) {
    return config.deadline().hasPassed()
        ? new Failed(
            ErrorStatus.MISSED_DEADLINE_PERSISTENT, "the deadline passed before the execution")
        : null;
  }

  final RequestBuffers findBuffers(Request request) throws DeviceException {
    return RequestBuffers.find(this, request, device.buffers());
  }

  /** Returns the arguments of a request for one run, or the last ones if they are the same. */
  private RequestArguments latest(Request request, RequestBuffers buffers) throws DeviceException {
    if (buffers != RequestBuffers.NONE) {
      return arguments(request, buffers);
    }
    Bound last = latest.get();
    if (last != null && last.request == request && last.arguments.areInReach()) {
      return last.arguments;
    }
    RequestArguments arguments = arguments(request, buffers);
    latest = new WeakReference<>(new Bound(request, arguments));
    return arguments;
  }

  final RequestArguments arguments(Request request, RequestBuffers buffers) throws DeviceException {
    return RequestArguments.of(graph, request, device.info(), buffers)
        .withShapes(graph, outputShapes());
  }

  /**
   * Computes the outputs. A buffer of unknown dimensions is given its room before, or, if only a
   * run tells the dimensions, after a first run, which the second one repeats.
   */
  final ExecutionResult execute(
      F frame,
      RequestArguments arguments,
      RequestBuffers buffers,
      ExecutionConfig config,
      long start)
      throws DeviceException {
    if (!arguments.isSufficient()) {
      return new OutputInsufficientSize(arguments.results());
    }
    if (!buffers.haveOpenOutputs()) {
      return run(frame, arguments, config, start);
    }
    if (arguments.results() != null) {
      arguments.resize(buffers, arguments.results());
      return run(frame, arguments, config, start);
    }
    ExecutionResult first = run(frame, arguments, config, start);
    if (!(first instanceof Completed reported)) {
      return first;
    }
    arguments.resize(buffers, reported.outputs());
    return run(frame, arguments, config, start);
  }

  /**
   * Takes a frame; null where the model is closed.
   *
   * @throws StoppedException where there is no memory for one more
   */
  final F takeFrame() {
    return frames.take(this::frame);
  }

  final void releaseFrame(F frame) {
    frames.release(frame);
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
    requireNoPointers("a fenced execution", request);
    // Buffers are read later: those who write them stand behind the fences, and tell the
    // dimensions of those that have none yet.
    try (RequestBuffers buffers = findBuffers(request).use()) {
      if (!buffers.areOpen()) {
        arguments(request, buffers).requireKnownOutputs(graph);
      }
    }
    SyncFence.await(waitFor, config);
    Duration waited = Duration.ofNanos(System.nanoTime() - launched);
    return FencedExecution.ended(execute(request, config.fromNowOn()), waited);
  }

  /** Refuses pointers to a call that does not execute in the thread of its caller. */
  static void requireNoPointers(String call, Request request) throws DeviceException {
    if (hasPointer(request.inputs()) || hasPointer(request.outputs())) {
      throw DeviceException.invalid(call + " takes no arguments by pointer");
    }
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
  public final BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
    FramedBurst<F> burst = new FramedBurst<>(this);
    bursts.add(burst);
    burstBegan();
    boolean isServed = false;
    try {
      if (frames.isClosed()) {
        throw DeviceException.failure("the prepared model is closed");
      }
      BurstContext served = device.bursts().serve(config, burst);
      isServed = true;
      return new OwnedContext(served, burst::ended);
    } finally {
      if (!isServed) {
        burst.ended();
      }
    }
  }

  /** Forgets a burst that keeps nothing any more. */
  final void ended(FramedBurst<F> burst) {
    bursts.remove(burst);
    burstEnded();
  }

  @Override
  public final void close() {
    frames.close();
    bursts.forEach(FramedBurst::ended);
  }

  private void releaseAll() {
    release();
    constants.close();
  }
}
