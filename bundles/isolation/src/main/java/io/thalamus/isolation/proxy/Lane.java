// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.burst.BurstClient;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.Request;
import java.util.Optional;

/**
 * The resources of one execution of a remote model, kept for the next: memory for its pointers, and
 * a burst once the model is executed often. Used by one thread at a time; owned by the lanes.
 */
final class Lane implements AutoCloseable {
  private final Scratch scratch = new Scratch();

  /** Null before the first burst, and where bursts do not go. */
  private BurstClient burst;

  Scratch scratch() {
    return scratch;
  }

  boolean hasBurst() {
    return burst != null && !burst.isBroken();
  }

  void setBurst(BurstClient client) {
    closeBurst();
    burst = client;
  }

  /**
   * Executes by the burst.
   *
   * @return empty where the request cannot be sent: nothing was executed
   * @throws DeviceException where the device hung, and was ended
   */
  Optional<ExecutionResult> execute(RemoteDevice device, Request request, ExecutionConfig config)
      throws DeviceException {
    if (!hasBurst() || !burst.send(request, config)) {
      return Optional.empty();
    }
    Patience patience = device.patience(burst::checkpoints);
    ExecutionResult result = burst.receive(RemoteDevice.LONGEST_LOOK_NANOS);
    while (result == null) {
      if (patience.isOver()) {
        throw device.hung("an execution by burst");
      }
      result = burst.receive(RemoteDevice.LONGEST_LOOK_NANOS);
    }
    return Optional.of(result);
  }

  private void closeBurst() {
    if (burst != null) {
      burst.close();
      burst = null;
    }
  }

  @Override
  public void close() {
    closeBurst();
    scratch.close();
  }
}
