// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import java.time.Duration;

/**
 * The patience of the runtime with devices. Immutable; start from {@link #DEFAULT}.
 *
 * @param drainTime how long a departing device may finish its running calls
 * @param executionFloor no execution is given up before that, however fast it used to be
 * @param executionFactor an execution is given up after so many times the longest that was measured
 * @param firstExecution the limit of an execution of which nothing was measured yet
 * @param prepareFloor no prepare is given up before that
 * @param answerTime how long a device may take for facts, promises and closing
 * @param failures so many failed calls within the window mean quarantine
 * @param window in which failures count
 * @param firstQuarantine how long the first quarantine lasts; each next one doubles it
 * @param longestQuarantine how long a quarantine lasts at most
 * @param samplingRate the share of executions, 0 to 1, that are compared with the reference
 */
public record HealthSettings(
    Duration drainTime,
    Duration executionFloor,
    int executionFactor,
    Duration firstExecution,
    Duration prepareFloor,
    Duration answerTime,
    int failures,
    Duration window,
    Duration firstQuarantine,
    Duration longestQuarantine,
    double samplingRate) {
  /** The settings of {@link DeviceSettings} when nothing is configured. */
  public static final HealthSettings DEFAULT =
      new HealthSettings(
          Duration.ofMillis(DeviceSettings.DRAIN_MILLIS),
          Duration.ofMillis(DeviceSettings.EXECUTION_FLOOR_MILLIS),
          DeviceSettings.EXECUTION_FACTOR,
          Duration.ofMillis(DeviceSettings.FIRST_EXECUTION_MILLIS),
          Duration.ofMillis(DeviceSettings.PREPARE_MILLIS),
          Duration.ofMillis(DeviceSettings.ANSWER_MILLIS),
          DeviceSettings.FAILURES,
          Duration.ofMillis(DeviceSettings.WINDOW_MILLIS),
          Duration.ofMillis(DeviceSettings.QUARANTINE_MILLIS),
          Duration.ofMillis(DeviceSettings.LONGEST_QUARANTINE_MILLIS),
          0);

  public HealthSettings {
    requirePositive(executionFactor, "executionFactor");
    requirePositive(failures, "failures");
    requirePositive(firstQuarantine.toNanos(), "quarantineMillis");
    if (!(samplingRate >= 0 && samplingRate <= 1)) {
      throw new IllegalArgumentException("samplingRate must be from 0 to 1: " + samplingRate);
    }
  }

  private static void requirePositive(long value, String name) {
    if (value <= 0) {
      throw new IllegalArgumentException(name + " must be positive: " + value);
    }
  }

  static HealthSettings of(DeviceSettings settings) {
    return new HealthSettings(
        Duration.ofMillis(settings.drainMillis()),
        Duration.ofMillis(settings.executionFloorMillis()),
        settings.executionFactor(),
        Duration.ofMillis(settings.firstExecutionMillis()),
        Duration.ofMillis(settings.prepareMillis()),
        Duration.ofMillis(settings.answerMillis()),
        settings.failures(),
        Duration.ofMillis(settings.windowMillis()),
        Duration.ofMillis(settings.quarantineMillis()),
        Duration.ofMillis(settings.longestQuarantineMillis()),
        settings.samplingRate());
  }

  public HealthSettings withDrainTime(Duration value) {
    return new HealthSettings(
        value,
        executionFloor,
        executionFactor,
        firstExecution,
        prepareFloor,
        answerTime,
        failures,
        window,
        firstQuarantine,
        longestQuarantine,
        samplingRate);
  }

  public HealthSettings withSamplingRate(double value) {
    return new HealthSettings(
        drainTime,
        executionFloor,
        executionFactor,
        firstExecution,
        prepareFloor,
        answerTime,
        failures,
        window,
        firstQuarantine,
        longestQuarantine,
        value);
  }
}
