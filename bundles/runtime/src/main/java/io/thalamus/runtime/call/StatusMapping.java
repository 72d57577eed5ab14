// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.ErrorStatus;

/** The mapping from the status codes of the HAL to those of the NDK. Stateless. */
public final class StatusMapping {
  private StatusMapping() {}

  /** Returns the NDK's code for a status of the HAL. */
  public static ResultCode toResultCode(ErrorStatus status) {
    return switch (status) {
      case NONE -> ResultCode.NO_ERROR;
      case DEVICE_UNAVAILABLE -> ResultCode.UNAVAILABLE_DEVICE;
      case GENERAL_FAILURE -> ResultCode.OP_FAILED;
      case OUTPUT_INSUFFICIENT_SIZE -> ResultCode.OUTPUT_INSUFFICIENT_SIZE;
      case INVALID_ARGUMENT -> ResultCode.BAD_DATA;
      case MISSED_DEADLINE_TRANSIENT -> ResultCode.MISSED_DEADLINE_TRANSIENT;
      case MISSED_DEADLINE_PERSISTENT -> ResultCode.MISSED_DEADLINE_PERSISTENT;
      case RESOURCE_EXHAUSTED_TRANSIENT -> ResultCode.RESOURCE_EXHAUSTED_TRANSIENT;
      case RESOURCE_EXHAUSTED_PERSISTENT -> ResultCode.RESOURCE_EXHAUSTED_PERSISTENT;
    };
  }

  /** Returns what an application gets for what a driver threw; {@code doing} names the call. */
  public static NeuralNetworksException toException(String doing, DeviceException e) {
    // A driver that throws NONE contradicts itself; that is its failure, not a success.
    ResultCode code =
        e.status() == ErrorStatus.NONE ? ResultCode.OP_FAILED : toResultCode(e.status());
    return new NeuralNetworksException(code, doing + ": " + e.getMessage(), e.retryAfter(), e);
  }

  /** Returns whether a code says that a deadline was missed. */
  public static boolean isMissedDeadline(ResultCode code) {
    return code == ResultCode.MISSED_DEADLINE_TRANSIENT
        || code == ResultCode.MISSED_DEADLINE_PERSISTENT;
  }
}
