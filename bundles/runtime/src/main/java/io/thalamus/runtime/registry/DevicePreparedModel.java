// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.registry.DeviceCalls.Terms;
import io.thalamus.runtime.registry.GuardedCall.End;
import io.thalamus.runtime.registry.GuardedCall.Outcome;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A prepared model together with the device it lives on. Thread-safe. Owned by whoever prepared it;
 * a departing device closes it too. While calls run that were given up, closing waits for them.
 */
public final class DevicePreparedModel implements AutoCloseable {
  private static final System.Logger LOG =
      System.getLogger(DevicePreparedModel.class.getPackageName());

  private final RegisteredDevice device;
  private final boolean hasLoop;
  private final Object lock = new Object();
  private PreparedModel model;
  private int running;
  private boolean closed;
  private volatile long longestNanos;

  DevicePreparedModel(RegisteredDevice device, PreparedModel prepared, Model model) {
    this.device = device;
    this.model = prepared;
    this.hasLoop =
        model
            .subgraphs()
            .flatMap(graph -> graph.operations().stream())
            .anyMatch(operation -> operation.type() == OperationCode.WHILE);
  }

  /** Where it lives. */
  public RegisteredDevice device() {
    return device;
  }

  /** The very object that the device returned, as roles of buffers need it; empty once closed. */
  public Optional<PreparedModel> unwrap() {
    synchronized (lock) {
      return closed ? Optional.empty() : Optional.of(model);
    }
  }

  /**
   * Executes. Never throws for what a device does wrong; the memories of the request stay mapped
   * until the device returns.
   *
   * <p>A CPU device computes in the calling thread. Any other device is called in a thread of the
   * runtime: hardware can hang, and its caller must get an answer all the same.
   */
  public CallOutcome execute(Request request, ExecutionConfig config) {
    return execute(request, config, List.of(), false);
  }

  /**
   * Executes with buffers of the device.
   *
   * @param buffers those that the request names; they are not given back before the device returns
   */
  public CallOutcome execute(Request request, ExecutionConfig config, List<DeviceMemory> buffers) {
    return execute(request, config, buffers, false);
  }

  CallOutcome execute(
      Request request, ExecutionConfig config, List<DeviceMemory> buffers, boolean isProbe) {
    if (device.enter(isProbe) == null) {
      return CallOutcome.refused(
          ErrorStatus.DEVICE_UNAVAILABLE, device.absence().orElse("it has left"));
    }
    if (!device.isGuarded()) {
      return CallOutcome.answered(
          device.here(control -> call(request, config, buffers, control), config.control()));
    }
    Duration limit = limit(config);
    long start = device.time().nanoTime();
    Outcome<ExecutionResult> outcome =
        device.make(
            new Terms("execute", limit, config.control()),
            control -> call(request, config, buffers, control),
            late -> {});
    if (outcome.end() != End.NONE) {
      return RegisteredDevice.unanswered(outcome.end(), limit);
    }
    measured(device.time().nanoTime() - start);
    return CallOutcome.answered(outcome.answer());
  }

  /**
   * How long an execution may take: some times the longest until now, for each of those that the
   * device works on together. A loop may take its time on top of that.
   */
  private Duration limit(ExecutionConfig config) {
    HealthSettings settings = device.settings();
    long longest = longestNanos;
    Duration limit =
        longest == 0
            ? settings.firstExecution()
            : device.limit(longest * Math.max(1, device.calls().size()), settings.executionFloor());
    return hasLoop ? limit.plus(config.loopTimeout()) : limit;
  }

  /** Calls the device, which was entered. */
  private ExecutionResult call(
      Request request,
      ExecutionConfig config,
      List<DeviceMemory> buffers,
      ExecutionControl control) {
    int kept = 0;
    List<SharedMemory.Lease> leases = new ArrayList<>(request.pools().size());
    PreparedModel entered = enter();
    try {
      if (entered == null) {
        return unavailable();
      }
      for (MemoryPool pool : request.pools()) {
        if (pool instanceof MemoryPool.Shared shared) {
          leases.add(shared.memory().lend());
        }
      }
      for (DeviceMemory buffer : buffers) {
        if (buffer.enter() == null) {
          return unavailable();
        }
        kept++;
      }
      ExecutionResult result = entered.execute(request, config.with(watched(control)));
      return result != null ? result : failed("it returned no result");
    } catch (OutOfMemoryError e) {
      return new ExecutionResult.Failed(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "it ran out of memory: " + e);
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      return failed("it broke: " + e);
    } finally {
      leases.forEach(SharedMemory.Lease::close);
      for (int i = 0; i < kept; i++) {
        buffers.get(i).exit();
      }
      if (entered != null) {
        exit();
      }
    }
  }

  /** Remembers the longest time, and forgets it slowly: the first one may have been compiling. */
  private void measured(long nanos) {
    // Two threads may overwrite each other's value: an estimate is all it is.
    long decayed = longestNanos - (longestNanos >> 6);
    longestNanos = Math.max(1, Math.max(nanos, decayed));
  }

  private PreparedModel enter() {
    synchronized (lock) {
      if (closed) {
        return null;
      }
      running++;
      return model;
    }
  }

  private void exit() {
    PreparedModel last;
    synchronized (lock) {
      running--;
      last = closed ? takeIfIdle() : null;
    }
    closeNow(last);
  }

  private PreparedModel takeIfIdle() {
    if (running > 0) {
      return null;
    }
    PreparedModel taken = model;
    model = null;
    return taken;
  }

  private ExecutionControl watched(ExecutionControl control) {
    return () -> device.isAbandoned() ? Signal.CANCELLED : control.checkpoint();
  }

  private ExecutionResult unavailable() {
    return new ExecutionResult.Failed(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");
  }

  private static ExecutionResult failed(String message) {
    return new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, message);
  }

  @Override
  public void close() {
    // A departure waits for it, as for any other call.
    device.beginClosing();
    try {
      PreparedModel idle;
      synchronized (lock) {
        if (closed) {
          return;
        }
        closed = true;
        idle = takeIfIdle();
      }
      device.forget(this);
      closeNow(idle);
    } finally {
      device.exit();
    }
  }

  private void closeNow(PreparedModel open) {
    if (open != null) {
      device.close(() -> closeQuietly(open));
    }
  }

  private void closeQuietly(PreparedModel open) {
    try {
      open.close();
    } catch (RuntimeException | LinkageError e) {
      // The next ones must be closed all the same; there is nobody who could mend this one.
      LOG.log(Level.WARNING, device.id() + " failed to close a prepared model", e);
    }
  }
}
