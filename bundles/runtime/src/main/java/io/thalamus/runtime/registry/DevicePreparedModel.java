// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.Leases;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Unanswered;
import io.thalamus.runtime.call.Terms;
import io.thalamus.runtime.call.Terms.Admission;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A prepared model together with the device it lives on. Thread-safe. Owned by whoever prepared it;
 * a departing device closes it too. While calls run that were given up, closing waits for them.
 */
public final class DevicePreparedModel implements DeviceResource {
  private final RegisteredDevice device;
  private final Purpose purpose;
  private final boolean hasLoop;
  private final ReferenceCount uses = new ReferenceCount(this::closeNow);

  /** Null once closed and idle: nothing here may refer to a device that has left. */
  private volatile PreparedModel model;

  private volatile long longestNanos;

  DevicePreparedModel(
      RegisteredDevice device, PreparedModel prepared, Model model, Purpose purpose) {
    this.device = device;
    this.purpose = purpose;
    this.model = prepared;
    this.hasLoop =
        model
            .subgraphs()
            .flatMap(graph -> graph.operations().stream())
            .anyMatch(operation -> operation.type() == OperationCode.WHILE);
  }

  /** Returns the device it lives on. */
  public RegisteredDevice device() {
    return device;
  }

  /** Returns the very object of the driver, as roles of buffers need it; empty once closed. */
  public Optional<PreparedModel> unwrap() {
    return uses.isClosed() ? Optional.empty() : Optional.ofNullable(model);
  }

  /**
   * Executes. Never throws for what a driver does wrong; the memories of the request stay mapped
   * until the driver returns.
   *
   * <p>A CPU device computes in the calling thread. Any other device is called in a thread of the
   * runtime: hardware can hang, and its caller must get an answer all the same.
   */
  public Answer<ExecutionResult> execute(Request request, ExecutionConfig config) {
    return execute(request, config, List.of());
  }

  /**
   * Executes with buffers of the device.
   *
   * @param buffers those that the request names; they are not closed before the driver returns
   */
  public Answer<ExecutionResult> execute(
      Request request, ExecutionConfig config, List<DeviceMemory> buffers) {
    Optional<Duration> limit = device.isGuarded() ? Optional.of(limit(config)) : Optional.empty();
    long start = device.time().nanoTime();
    Answer<ExecutionResult> answer =
        device.call(
            purpose,
            new Terms(
                "execute", Admission.UNTIL_DEPARTURE, limit, config.control(), config.control()),
            (driver, control) -> ask(request, config, buffers, control),
            late -> {});
    if (answer instanceof Answered && limit.isPresent()) {
      measured(device.time().nanoTime() - start);
    }
    return answer;
  }

  /** Returns the result of an execution; a failure with the same words when there is no answer. */
  public static ExecutionResult resultOf(Answer<ExecutionResult> answer) {
    return switch (answer) {
      case Answered<ExecutionResult>(ExecutionResult result) -> result;
      case Unanswered<ExecutionResult> none -> new Failed(none.status(), none.message());
    };
  }

  /**
   * Returns how long an execution may take: some times the longest until now, for each of those
   * that the device works on together. A loop may take its time on top of that.
   */
  private Duration limit(ExecutionConfig config) {
    HealthSettings settings = device.settings();
    long longest = longestNanos;
    Duration limit =
        longest == 0
            ? settings.firstExecution()
            : device.limit(
                longest * Math.max(1, device.supervisor().size()), settings.executionFloor());
    return hasLoop ? limit.plus(config.loopTimeout()) : limit;
  }

  private ExecutionResult ask(
      Request request,
      ExecutionConfig config,
      List<DeviceMemory> buffers,
      ExecutionControl control) {
    if (!uses.retain()) {
      return unavailable();
    }
    int entered = 0;
    try (Leases leases = new Leases()) {
      for (MemoryPool pool : request.pools()) {
        if (pool instanceof MemoryPool.Shared shared) {
          leases.add(shared.memory());
        }
      }
      for (DeviceMemory buffer : buffers) {
        if (buffer.enter() == null) {
          return unavailable();
        }
        entered++;
      }
      ExecutionResult result = model.execute(request, config.with(control));
      return result != null
          ? result
          : new Failed(ErrorStatus.GENERAL_FAILURE, "it returned no result");
    } finally {
      for (int i = 0; i < entered; i++) {
        buffers.get(i).exit();
      }
      uses.release();
    }
  }

  private static ExecutionResult unavailable() {
    return new Failed(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");
  }

  /** Remembers the longest time, and forgets it slowly: the first one may have been compiling. */
  private void measured(long nanos) {
    // Two threads may overwrite each other's value: an estimate is all it is.
    long decayed = longestNanos - (longestNanos >> 6);
    longestNanos = Math.max(1, Math.max(nanos, decayed));
  }

  @Override
  public void close() {
    // A departure waits for it, as for any other call.
    device.supervisor().retain();
    try {
      if (uses.close()) {
        device.forget(this);
      }
    } finally {
      device.supervisor().release();
    }
  }

  private void closeNow() {
    PreparedModel open = model;
    model = null;
    device.close("a prepared model", open::close);
  }
}
