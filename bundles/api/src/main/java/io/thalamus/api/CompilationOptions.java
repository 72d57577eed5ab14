// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Priority;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * What an application wants of a compilation. Immutable; start from {@link #DEFAULT}.
 *
 * @param preference speed or power
 * @param priority rank among the models of the same application
 * @param timeout for the compilation; NNAPI allows it only with exactly one device
 * @param devices ids or names of the only devices to use; empty for all
 * @param fallback what to do where a device fails
 */
public record CompilationOptions(
    ExecutionPreference preference,
    Priority priority,
    Optional<Duration> timeout,
    List<String> devices,
    Fallback fallback) {
  /** All devices, fast single answers, medium priority, fallback allowed. */
  public static final CompilationOptions DEFAULT =
      new CompilationOptions(
          ExecutionPreference.FAST_SINGLE_ANSWER,
          Priority.MEDIUM,
          Optional.empty(),
          List.of(),
          Fallback.ALLOW);

  public CompilationOptions {
    Objects.requireNonNull(preference, "preference");
    Objects.requireNonNull(priority, "priority");
    Objects.requireNonNull(timeout, "timeout");
    Objects.requireNonNull(fallback, "fallback");
    devices = List.copyOf(devices);
  }

  public CompilationOptions with(ExecutionPreference value) {
    return new CompilationOptions(value, priority, timeout, devices, fallback);
  }

  public CompilationOptions with(Priority value) {
    return new CompilationOptions(preference, value, timeout, devices, fallback);
  }

  public CompilationOptions withTimeout(Duration value) {
    return new CompilationOptions(preference, priority, Optional.of(value), devices, fallback);
  }

  public CompilationOptions withDevices(List<String> value) {
    return new CompilationOptions(preference, priority, timeout, value, fallback);
  }

  public CompilationOptions with(Fallback value) {
    return new CompilationOptions(preference, priority, timeout, devices, value);
  }

  /** What happens where a device fails or leaves. */
  public enum Fallback {
    /** Its work is repeated elsewhere; the report of the execution tells. */
    ALLOW,
    /** The same, with a warning in the log. */
    WARN,
    /** The execution fails; the message names operation and reason. */
    DENY
  }
}
