// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The behaviour of a device since it arrived. A value of the moment it was asked for.
 *
 * @param failures how many calls it failed
 * @param quarantines how often it was put into quarantine
 * @param quarantinedUntil when it is tried again; empty where it is not in quarantine
 * @param samples how many of its steps were executed again on the reference
 * @param mismatches in how many of them its answer was another
 * @param stuckCalls calls that were given up and have not returned
 * @param lastFailure the call that failed last and why; empty where none has failed
 */
public record DeviceHealth(
    long failures,
    long quarantines,
    Optional<Instant> quarantinedUntil,
    long samples,
    long mismatches,
    List<StuckCall> stuckCalls,
    Optional<String> lastFailure) {
  /** Nothing is known against it. */
  public static final DeviceHealth GOOD =
      new DeviceHealth(0, 0, Optional.empty(), 0, 0, List.of(), Optional.empty());

  public DeviceHealth {
    Objects.requireNonNull(quarantinedUntil, "quarantinedUntil");
    stuckCalls = List.copyOf(stuckCalls);
    Objects.requireNonNull(lastFailure, "lastFailure");
  }

  /**
   * A call that nobody waits for any more, and whose thread the driver does not give back. Java
   * cannot end it; while it runs, the class loader of the driver stays.
   *
   * @param thread the name of the thread
   * @param call what the device was asked to do
   * @param classLoader the driver's, by its bundle where it has one
   * @param age since the call began
   */
  public record StuckCall(String thread, String call, String classLoader, Duration age) {
    public StuckCall {
      Objects.requireNonNull(thread, "thread");
      Objects.requireNonNull(call, "call");
      Objects.requireNonNull(classLoader, "classLoader");
      Objects.requireNonNull(age, "age");
    }
  }
}
