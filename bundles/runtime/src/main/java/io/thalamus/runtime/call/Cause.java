// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import java.time.Duration;
import java.util.Optional;

/**
 * The causes for which the runtime itself refuses or ends work, each with its code. The table of
 * {@code docs/quality-of-service.md} holds the same, and a test compares the two.
 *
 * <p>PERSISTENT says that the same call fails again under the best of conditions, TRANSIENT that it
 * may succeed: as AOSP means the two words.
 */
public enum Cause {
  OVER_AT_ENTRY(
      ResultCode.MISSED_DEADLINE_PERSISTENT, "the deadline had passed when the call was made"),
  TOO_SHORT(
      ResultCode.MISSED_DEADLINE_PERSISTENT,
      "the time given is shorter than the lower bound of what was measured"),
  OVER_IN_QUEUE(
      ResultCode.MISSED_DEADLINE_TRANSIENT,
      "the deadline passed, or came too near, while the execution waited for a thread"),
  OVER_BEHIND_FENCES(
      ResultCode.MISSED_DEADLINE_TRANSIENT,
      "the deadline passed, or came too near, while the execution waited for its dependencies"),
  DEPENDENCY_FAILED(ResultCode.OP_FAILED, "what the execution was to wait for failed"),
  OVER_AWAITING_MEMORY(
      ResultCode.MISSED_DEADLINE_TRANSIENT,
      "the execution missed its deadline while it waited for its memories"),
  STOPPED(ResultCode.MISSED_DEADLINE_TRANSIENT, "the execution missed its deadline"),
  STOPPED_HOPELESS(
      ResultCode.MISSED_DEADLINE_PERSISTENT,
      "the execution missed its deadline, which an idle device misses too"),
  LOOP_OVERDUE(ResultCode.MISSED_DEADLINE_TRANSIENT, "a WHILE looped for longer than it may"),
  COMPILATION_STOPPED(
      ResultCode.MISSED_DEADLINE_TRANSIENT,
      "the deadline passed, or came too near, during the compilation"),
  COMPILATION_TOO_SHORT(
      ResultCode.MISSED_DEADLINE_PERSISTENT,
      "the time given is shorter than the lower bound of such compilations"),
  QUEUE_FULL(ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, "too many executions wait"),
  DEVICE_BUSY(ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, "too many calls wait for devices"),
  MEMORY_SHORT(
      ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, "the runtime has no memory for the execution now"),
  SHARED_MEMORY_FULL(
      ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, "there is no shared memory for the execution now"),
  DEVICE_SHORT(
      ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, "the device has no room for the execution now"),
  DEVICE_TOO_SMALL(
      ResultCode.RESOURCE_EXHAUSTED_PERSISTENT, "the device never has room for the execution"),
  DEPARTED(ResultCode.UNAVAILABLE_DEVICE, "the device has left, and nothing else may be used"),
  CONTENTS_LOST(ResultCode.DEAD_OBJECT, "contents of a memory went with the device that had them"),
  RUNTIME_STOPPED(ResultCode.BAD_STATE, "the runtime stopped before the execution was done");

  private final ResultCode code;
  private final String message;

  Cause(ResultCode code, String message) {
    this.code = code;
    this.message = message;
  }

  /** Returns the NDK's word for it. */
  public ResultCode code() {
    return code;
  }

  /** Returns the cause in words. */
  public String message() {
    return message;
  }

  /** Returns the report of an execution that ended so before anything ran. */
  public ExecutionReport report() {
    return ExecutionReport.failed(code, message);
  }

  /**
   * Returns the report of an execution that ended so before anything ran.
   *
   * @param detail added to the message
   * @param retryAfter the time after which it may succeed, where it is estimated
   */
  public ExecutionReport report(String detail, Optional<Duration> retryAfter) {
    return ExecutionReport.failed(code, message + ": " + detail, retryAfter);
  }

  /** Returns the exception of a call that ended so. */
  public NeuralNetworksException exception() {
    return new NeuralNetworksException(code, message);
  }
}
