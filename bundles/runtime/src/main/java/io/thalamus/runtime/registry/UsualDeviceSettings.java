// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import java.lang.annotation.Annotation;

/**
 * The default settings, without the proxy that the JVM makes for an annotation: to make the first
 * one takes longer than to make a device. Stateless.
 */
public final class UsualDeviceSettings implements DeviceSettings {
  @Override
  public long drainMillis() {
    return DRAIN_MILLIS;
  }

  @Override
  public long executionFloorMillis() {
    return EXECUTION_FLOOR_MILLIS;
  }

  @Override
  public int executionFactor() {
    return EXECUTION_FACTOR;
  }

  @Override
  public long firstExecutionMillis() {
    return FIRST_EXECUTION_MILLIS;
  }

  @Override
  public long prepareMillis() {
    return PREPARE_MILLIS;
  }

  @Override
  public long answerMillis() {
    return ANSWER_MILLIS;
  }

  @Override
  public int failures() {
    return FAILURES;
  }

  @Override
  public long windowMillis() {
    return WINDOW_MILLIS;
  }

  @Override
  public long quarantineMillis() {
    return QUARANTINE_MILLIS;
  }

  @Override
  public long longestQuarantineMillis() {
    return LONGEST_QUARANTINE_MILLIS;
  }

  @Override
  public int cpuPermits() {
    return CPU_PERMITS;
  }

  @Override
  public int permits() {
    return PERMITS;
  }

  @Override
  public int waiting() {
    return WAITING;
  }

  @Override
  public double samplingRate() {
    return SAMPLING_RATE;
  }

  @Override
  public Class<? extends Annotation> annotationType() {
    return DeviceSettings.class;
  }
}
