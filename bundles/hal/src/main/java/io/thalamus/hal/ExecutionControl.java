// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

/**
 * The question that a device asks at every operation, and inside long ones. May pause the calling
 * thread, so that more urgent work goes first. Thread-safe.
 */
@FunctionalInterface
public interface ExecutionControl {
  /** Never pauses, never stops. */
  ExecutionControl NONE = () -> Signal.CONTINUE;

  /** Returns what the device is to do now. */
  Signal checkpoint();

  /** The answers. */
  enum Signal {
    CONTINUE,
    /** Stop with GENERAL_FAILURE: nobody waits for the result. */
    CANCELLED,
    /** Stop with MISSED_DEADLINE_TRANSIENT. */
    DEADLINE
  }
}
