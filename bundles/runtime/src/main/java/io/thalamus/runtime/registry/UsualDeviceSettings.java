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
    return 5_000;
  }

  @Override
  public long executionFloorMillis() {
    return 3_000;
  }

  @Override
  public int executionFactor() {
    return 10;
  }

  @Override
  public long firstExecutionMillis() {
    return 30_000;
  }

  @Override
  public long prepareMillis() {
    return 60_000;
  }

  @Override
  public long answerMillis() {
    return 10_000;
  }

  @Override
  public int failures() {
    return 5;
  }

  @Override
  public long windowMillis() {
    return 30_000;
  }

  @Override
  public long quarantineMillis() {
    return 1_000;
  }

  @Override
  public long longestQuarantineMillis() {
    return 600_000;
  }

  @Override
  public int cpuPermits() {
    return 0;
  }

  @Override
  public int permits() {
    return 2;
  }

  @Override
  public int waiting() {
    return 1_024;
  }

  @Override
  public double samplingRate() {
    return 0;
  }

  @Override
  public Class<? extends Annotation> annotationType() {
    return DeviceSettings.class;
  }
}
