// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * A model compiled for a device. Thread-safe: any number of executions may run at once. Owned by
 * whoever prepared it; closing waits for no execution, so its owner ends them first.
 */
@ConsumerType
public interface PreparedModel extends AutoCloseable {
  /**
   * Executes synchronously. Never throws for what a request or a device does wrong; the answer
   * tells. The pools and segments of the request are lent until the call returns.
   */
  ExecutionResult execute(Request request, ExecutionConfig config);

  /**
   * Executes once all fences have signalled. Outputs must be fully specified, and no argument is
   * passed by pointer. The pools of the request are lent until the fence of the execution is done.
   *
   * <p>A device may return before that. One that says nothing else waits for the fences in the
   * calling thread, and executes there.
   *
   * @throws DeviceException with INVALID_ARGUMENT for a bad request, GENERAL_FAILURE where a fence
   *     that was waited for failed, MISSED_DEADLINE_TRANSIENT where the deadline passes before the
   *     fences have signalled
   */
  default FencedExecution executeFenced(
      Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
    long launched = System.nanoTime();
    SyncFence.await(waitFor, config);
    Duration waited = Duration.ofNanos(System.nanoTime() - launched);
    return FencedExecution.ended(execute(request, config.fromNowOn()), waited);
  }

  /**
   * Serves requests from a queue until the context is closed. The channels, the control page and
   * the memories in slots are lent until then.
   *
   * @throws DeviceException with GENERAL_FAILURE where the device has no burst of its own or cannot
   *     set one up, INVALID_ARGUMENT for channels or a protocol that it does not know
   */
  default BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
    throw DeviceException.failure("this device does not serve bursts");
  }

  /**
   * Executes a request in the calling thread alone, and says how long each operation took. Empty if
   * the device cannot tell: then it executes nothing.
   *
   * @throws DeviceException where the execution fails, with the status that {@link #execute} has
   */
  default Optional<ExecutionProfile> profile(Request request) throws DeviceException {
    return Optional.empty();
  }

  /**
   * Returns the reason why a model that was restored from a cache is worth compiling anew, for
   * people. It computes the same values meanwhile. Empty if it is as good as a new one. The runtime
   * asks once, before the first execution.
   */
  default Optional<String> staleness() {
    return Optional.empty();
  }

  /**
   * Returns the bytes that the device holds for this model and for no other, those of one execution
   * included; negative if it does not count them. The runtime asks once, before the first
   * execution.
   */
  default long ownBytes() {
    return -1;
  }

  /** Gives back what the device holds for the model. Calling it again does nothing. */
  @Override
  void close();
}
