// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.CompilationCache.Check;
import io.thalamus.api.CompilationCache.Entry;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A stored compilation as commands show it. Immutable.
 *
 * @param name in the directory
 * @param model the label of its model; empty where unknown
 * @param part of the model
 * @param device empty where unknown
 * @param version of the device
 * @param state what a check found; empty without one
 * @param reason of the state
 */
public record CacheEntry(
    String name,
    String model,
    String part,
    String device,
    String version,
    int files,
    long sizeBytes,
    Instant lastUsed,
    boolean isBeingWritten,
    Optional<Check.State> state,
    Optional<String> reason) {
  /** Returns entries without a state. */
  public static List<CacheEntry> of(List<Entry> entries) {
    return entries.stream().map(entry -> of(entry, Optional.empty())).toList();
  }

  /** Returns entries with the states that a check found. */
  public static List<CacheEntry> ofChecks(List<Check> checks) {
    return checks.stream().map(check -> of(check.entry(), Optional.of(check))).toList();
  }

  private static CacheEntry of(Entry entry, Optional<Check> check) {
    return new CacheEntry(
        entry.name(),
        entry.label(),
        entry.step(),
        entry.device(),
        entry.version(),
        entry.files(),
        entry.bytes(),
        entry.lastUsed(),
        entry.isBeingWritten(),
        check.map(Check::state),
        check.map(Check::reason));
  }

  /** Returns the model for people. */
  String shownModel() {
    return model.isEmpty() ? "?" : model;
  }

  /** Returns the device for people. */
  String shownDevice() {
    return device.isEmpty() ? "?" : device;
  }

  /** Returns the part for people. */
  String shownPart() {
    return isBeingWritten ? part + " (being written)" : part;
  }
}
