// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Timing;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** The end of an execution. A value: executing is a loop, and a loop does not throw. */
public sealed interface ExecutionResult {
  /** The HAL's word for it. */
  ErrorStatus status();

  /**
   * The outputs are written.
   *
   * @param outputs one for each output of the model
   * @param timing as far as it was asked for and measured
   * @param bytesIn copied from inputs to memory of the device before computing; 0 where the device
   *     reads them in place, or does not say
   * @param bytesOut copied from memory of the device to outputs; 0 as well
   */
  record Completed(List<OutputShape> outputs, Timing timing, long bytesIn, long bytesOut)
      implements ExecutionResult {
    public Completed {
      outputs = List.copyOf(outputs);
      Objects.requireNonNull(timing, "timing");
    }

    /** A result of a device that copies nothing, or does not count. */
    public Completed(List<OutputShape> outputs, Timing timing) {
      this(outputs, timing, 0, 0);
    }

    @Override
    public ErrorStatus status() {
      return ErrorStatus.NONE;
    }
  }

  /** A buffer was too small; the shapes say which, and what is needed. */
  record OutputInsufficientSize(List<OutputShape> outputs) implements ExecutionResult {
    public OutputInsufficientSize {
      outputs = List.copyOf(outputs);
    }

    @Override
    public ErrorStatus status() {
      return ErrorStatus.OUTPUT_INSUFFICIENT_SIZE;
    }
  }

  /**
   * Nothing useful was written.
   *
   * @param status what kind of failure
   * @param message what is wrong, for people
   * @param retryAfter the time after which the same call may succeed, as the device estimates it;
   *     empty where it has no estimate, or a later call is pointless
   */
  record Failed(ErrorStatus status, String message, Optional<Duration> retryAfter)
      implements ExecutionResult {
    public Failed {
      Objects.requireNonNull(retryAfter, "retryAfter");
      if (status == ErrorStatus.NONE || status == ErrorStatus.OUTPUT_INSUFFICIENT_SIZE) {
        throw new IllegalArgumentException(status + " is not a failure");
      }
      Objects.requireNonNull(message, "message");
    }

    /** A failure without an estimate of when the same call may succeed. */
    public Failed(ErrorStatus status, String message) {
      this(status, message, Optional.empty());
    }
  }
}
