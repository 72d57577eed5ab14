// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Refused;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.call.Pauses;
import io.thalamus.runtime.events.Recordings;
import io.thalamus.runtime.events.WaitEvent;
import io.thalamus.runtime.schedule.Contender;
import io.thalamus.runtime.schedule.Permits;

/** The turns of executions at a device: each holds a permit while it has its turn. Stateless. */
final class Turns {
  private Turns() {}

  /** Returns who contends for a permit; null for probes and measurements, which need none. */
  static Contender contender(ExecutionConfig config) {
    return config.control() instanceof Contender contender ? contender : null;
  }

  /** Returns the pauses of an execution. */
  static Pauses pauses(ExecutionConfig config) {
    return config.control() instanceof Contender contender ? contender : Pauses.NONE;
  }

  /**
   * Waits for the turn of an execution.
   *
   * @param mayPause whether it may stand back at its checkpoints
   * @return null if it has its turn, which {@link #end} ends; else why not
   */
  static Answer<ExecutionResult> begin(
      RegisteredDevice device, Contender contender, boolean mayPause) {
    if (contender == null) {
      return null;
    }
    WaitEvent event =
        Recordings.arePossible()
            ? WaitEvent.start(device.id(), contender.label(), contender.execution())
            : null;
    long waited = contender.waitedNanos();
    Permits.Turn turn = device.schedule().acquire(contender, mayPause);
    if (event != null && contender.waitedNanos() != waited) {
      event.commit();
    }
    return switch (turn) {
      case GRANTED -> null;
      case LEFT -> left();
      case STOPPED ->
          switch (contender.status()) {
            case DEADLINE ->
                new Refused<>(
                    ErrorStatus.MISSED_DEADLINE_TRANSIENT,
                    "the deadline passed while the execution waited for its turn");
            case CANCELLED, CONTINUE ->
                new Refused<>(
                    ErrorStatus.GENERAL_FAILURE,
                    "the execution was cancelled while it waited for its turn");
          };
      case FULL ->
          new Refused<>(
              ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT,
              Cause.DEVICE_BUSY.message(),
              device.schedule().untilRoom(contender));
    };
  }

  private static Answer<ExecutionResult> left() {
    return new Refused<>(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");
  }

  /** Ends a turn, and returns the answer: an execution that stood back for ever has none. */
  static Answer<ExecutionResult> end(
      RegisteredDevice device, Contender contender, Answer<ExecutionResult> answer) {
    boolean isLost =
        contender != null
            && device.schedule().isLostFor(contender)
            && answer instanceof Answered<ExecutionResult>(ExecutionResult result)
            && result.status() != ErrorStatus.NONE;
    return isLost ? left() : answer;
  }
}
