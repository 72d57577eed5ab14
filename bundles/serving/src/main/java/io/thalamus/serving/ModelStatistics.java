// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import java.util.Objects;

/**
 * The statistics of a version since it was loaded first, by Triton's names. Immutable.
 *
 * @param lastInference milliseconds since 1970 of the last request; 0 before the first
 * @param inferenceCount the answered inferences
 * @param executionCount the executions, less where requests were joined
 * @param pending the requests that have arrived and are not answered
 * @param success whole requests that were answered
 * @param fail whole requests that failed
 * @param cancelled whole requests that clients gave up
 */
public record ModelStatistics(
    String name,
    String version,
    long lastInference,
    long inferenceCount,
    long executionCount,
    long pending,
    Total success,
    Total fail,
    Total cancelled,
    Total queue,
    Total computeInput,
    Total computeInfer,
    Total computeOutput) {
  public ModelStatistics {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(version, "version");
  }

  /**
   * The number of times that something happened.
   *
   * @param nanos the nanoseconds of all together
   */
  public record Total(long count, long nanos) {}
}
