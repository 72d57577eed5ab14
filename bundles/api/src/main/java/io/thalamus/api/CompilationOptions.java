// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Priority;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Consumer;

/**
 * The wishes of an application for a compilation. Immutable; start from {@link #DEFAULT}.
 *
 * @param preference speed or power
 * @param priority rank among the models of the same application
 * @param timeout for the compilation; NNAPI allows it only with exactly one device
 * @param devices ids or names of the only devices to use; empty for all
 * @param fallback what to do where a device fails
 * @param policy the name of the partition policy that chooses the devices; empty for the configured
 *     one, which is {@code nnapi} unless somebody configured another
 * @param powerBudget the energy that an inference may need, as a share of what the CPU device would
 *     need for all of it, by the power usage that devices declare. A policy that cannot keep it
 *     comes as near as it can, and the plan says so; {@code nnapi} does not look at it
 * @param sampling the share of executions, 0 to 1, whose answers are compared with the reference; a
 *     device that computed something wrong is not used any more, and the execution gets the
 *     reference's answer; empty for what the runtime is configured to
 * @param caching where compilations are stored; empty for nowhere. Problems with the files never
 *     fail a compilation
 * @param client the one of the application's own clients that the compilation is for, by a name of
 *     its choice; empty for the application itself. The application's share of a device is shared
 *     fairly between its clients, and priorities rank the models of one client
 */
public record CompilationOptions(
    ExecutionPreference preference,
    Priority priority,
    Optional<Duration> timeout,
    List<String> devices,
    Fallback fallback,
    Optional<String> policy,
    OptionalDouble powerBudget,
    OptionalDouble sampling,
    Optional<CacheOptions> caching,
    Optional<String> client) {
  /** All devices, fast single answers, medium priority, fallback allowed. */
  public static final CompilationOptions DEFAULT =
      new CompilationOptions(
          ExecutionPreference.FAST_SINGLE_ANSWER,
          Priority.MEDIUM,
          Optional.empty(),
          List.of(),
          Fallback.ALLOW,
          Optional.empty(),
          OptionalDouble.empty(),
          OptionalDouble.empty(),
          Optional.empty(),
          Optional.empty());

  public CompilationOptions {
    Objects.requireNonNull(preference, "preference");
    Objects.requireNonNull(priority, "priority");
    Objects.requireNonNull(timeout, "timeout");
    Objects.requireNonNull(fallback, "fallback");
    Objects.requireNonNull(policy, "policy");
    Objects.requireNonNull(caching, "caching");
    Objects.requireNonNull(client, "client");
    if (powerBudget.isPresent() && !(powerBudget.getAsDouble() > 0)) {
      throw new IllegalArgumentException("a power budget is greater than 0, not " + powerBudget);
    }
    if (sampling.isPresent() && !(sampling.getAsDouble() >= 0 && sampling.getAsDouble() <= 1)) {
      throw new IllegalArgumentException("sampling must be from 0 to 1: " + sampling);
    }
    devices = List.copyOf(devices);
  }

  public CompilationOptions with(ExecutionPreference value) {
    return with(to -> to.preference = value);
  }

  public CompilationOptions with(Priority value) {
    return with(to -> to.priority = value);
  }

  public CompilationOptions withTimeout(Duration value) {
    return with(to -> to.timeout = Optional.of(value));
  }

  public CompilationOptions withDevices(List<String> value) {
    return with(to -> to.devices = value);
  }

  public CompilationOptions with(Fallback value) {
    return with(to -> to.fallback = value);
  }

  public CompilationOptions withPolicy(String value) {
    return with(to -> to.policy = Optional.of(value));
  }

  public CompilationOptions withPowerBudget(double value) {
    return with(to -> to.powerBudget = OptionalDouble.of(value));
  }

  public CompilationOptions withSampling(double value) {
    return with(to -> to.sampling = OptionalDouble.of(value));
  }

  /** NNAPI's setCaching. */
  public CompilationOptions with(CacheOptions value) {
    return with(to -> to.caching = Optional.of(value));
  }

  /** The same for a client of the application, whose name is not empty. */
  public CompilationOptions withClient(String value) {
    if (value.isEmpty()) {
      throw new IllegalArgumentException("the name of a client is empty");
    }
    return with(to -> to.client = Optional.of(value));
  }

  private CompilationOptions with(Consumer<Builder> change) {
    Builder to = new Builder(this);
    change.accept(to);
    return new CompilationOptions(
        to.preference,
        to.priority,
        to.timeout,
        to.devices,
        to.fallback,
        to.policy,
        to.powerBudget,
        to.sampling,
        to.caching,
        to.client);
  }

  /** Options while one of them is replaced. */
  private static final class Builder {
    ExecutionPreference preference;
    Priority priority;
    Optional<Duration> timeout;
    List<String> devices;
    Fallback fallback;
    Optional<String> policy;
    OptionalDouble powerBudget;
    OptionalDouble sampling;
    Optional<CacheOptions> caching;
    Optional<String> client;

    Builder(CompilationOptions from) {
      preference = from.preference;
      priority = from.priority;
      timeout = from.timeout;
      devices = from.devices;
      fallback = from.fallback;
      policy = from.policy;
      powerBudget = from.powerBudget;
      sampling = from.sampling;
      caching = from.caching;
      client = from.client;
    }
  }

  /** The reaction to a device that fails or leaves. */
  public enum Fallback {
    /** Its work is repeated elsewhere; the report of the execution tells. */
    ALLOW,
    /** The same, with a warning in the log. */
    WARN,
    /** The execution fails; the message names operation and reason. */
    DENY
  }
}
