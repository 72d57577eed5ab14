// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.CacheToken;
import io.thalamus.model.Deadline;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Priority;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The settings of one prepare. Immutable.
 *
 * @param preference what the application wants
 * @param priority the rank of the model's executions
 * @param deadline before which the prepare must be done
 * @param control what the device asks at checkpoints of a long compilation
 * @param cache where the compilation is stored, where it is
 */
public record PrepareConfig(
    ExecutionPreference preference,
    Priority priority,
    Deadline deadline,
    ExecutionControl control,
    Optional<Cache> cache) {
  /** Everything as usual, no deadline, no cache. */
  public static final PrepareConfig DEFAULT =
      new PrepareConfig(
          ExecutionPreference.FAST_SINGLE_ANSWER,
          Priority.MEDIUM,
          Deadline.NONE,
          ExecutionControl.NONE,
          Optional.empty());

  public PrepareConfig {
    Objects.requireNonNull(preference, "preference");
    Objects.requireNonNull(priority, "priority");
    Objects.requireNonNull(deadline, "deadline");
    Objects.requireNonNull(control, "control");
    Objects.requireNonNull(cache, "cache");
  }

  public PrepareConfig with(ExecutionPreference value) {
    return new PrepareConfig(value, priority, deadline, control, cache);
  }

  public PrepareConfig with(Priority value) {
    return new PrepareConfig(preference, value, deadline, control, cache);
  }

  public PrepareConfig with(Deadline value) {
    return new PrepareConfig(preference, priority, value, control, cache);
  }

  public PrepareConfig with(ExecutionControl value) {
    return new PrepareConfig(preference, priority, deadline, value, cache);
  }

  public PrepareConfig with(Cache value) {
    return new PrepareConfig(preference, priority, deadline, control, Optional.of(value));
  }

  /**
   * The files of one compilation.
   *
   * @param modelCache as many as the device declared
   * @param dataCache as many as the device declared
   * @param token names the compilation
   */
  public record Cache(List<CacheFile> modelCache, List<CacheFile> dataCache, CacheToken token) {
    public Cache {
      modelCache = List.copyOf(modelCache);
      dataCache = List.copyOf(dataCache);
      Objects.requireNonNull(token, "token");
    }

    /** Closes all files. */
    public void close() {
      modelCache.forEach(CacheFile::close);
      dataCache.forEach(CacheFile::close);
    }
  }
}
