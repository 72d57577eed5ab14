// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.Deadline;
import io.thalamus.model.Priority;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The questions of a device at every operation, and inside long ones. Thread-safe.
 *
 * <p>Two questions: {@link #status} is whether to stop, and returns at once; {@link #checkpoint} is
 * also the offer to stand back, and may pause the calling thread while more urgent work goes first.
 * Only the thread that computes passes checkpoints. A waiting caller asks for the status.
 */
@FunctionalInterface
public interface ExecutionControl {
  /** Never pauses, never stops. */
  ExecutionControl NONE = () -> Signal.CONTINUE;

  /** Returns what the device is to do now, after a pause if more urgent work waits. */
  Signal checkpoint();

  /** Returns whether the device is to stop, without a pause. */
  default Signal status() {
    return checkpoint();
  }

  /**
   * Returns whether the next checkpoint would pause, without a pause: a device that has to put its
   * state aside first asks this, and then passes the checkpoint.
   */
  default boolean isPauseWanted() {
    return false;
  }

  /**
   * Returns the priority of this execution among the work of its application; empty where it is
   * that of the prepared model. A device with a queue of its own ranks it so.
   */
  default Optional<Priority> executionPriority() {
    return Optional.empty();
  }

  /**
   * Tells that the device has worked on others for so long while this execution waited in a queue
   * of the device's own. That time counts as a pause: against no limit, and as no time of the
   * device. Told now and then by the thread that waits, and only once the others have come further,
   * so that one that waits for a device that hangs reaches its limit.
   */
  default void spentOnOthers(long nanos) {}

  /** Returns this control with another end: both questions are answered so once it has come. */
  default ExecutionControl until(BooleanSupplier hasCome, Signal then) {
    ExecutionControl first = this;
    return new ExecutionControl() {
      @Override
      public Signal checkpoint() {
        Signal signal = hasCome.getAsBoolean() ? then : first.checkpoint();
        // It may have come during a pause.
        return signal == Signal.CONTINUE && hasCome.getAsBoolean() ? then : signal;
      }

      @Override
      public Signal status() {
        return hasCome.getAsBoolean() ? then : first.status();
      }

      @Override
      public boolean isPauseWanted() {
        return first.isPauseWanted();
      }

      @Override
      public Optional<Priority> executionPriority() {
        return first.executionPriority();
      }

      @Override
      public void spentOnOthers(long nanos) {
        // Where it has ended, its caller may be elsewhere already.
        if (!hasCome.getAsBoolean()) {
          first.spentOnOthers(nanos);
        }
      }
    };
  }

  /** Returns this control with an end at a deadline, by the clock of the deadline. */
  default ExecutionControl until(Deadline deadline) {
    return deadline.isSet() ? until(deadline::hasPassed, Signal.DEADLINE) : this;
  }

  /** The answers. */
  enum Signal {
    CONTINUE,
    /** Stop with GENERAL_FAILURE: nobody waits for the result. */
    CANCELLED,
    /** Stop with MISSED_DEADLINE_TRANSIENT. */
    DEADLINE
  }
}
