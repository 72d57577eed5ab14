// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.runtime.call.Answer.Refused;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.measurement.OperationSignature;
import io.thalamus.runtime.measurement.Refusals;
import io.thalamus.runtime.measurement.StepTimes;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The times that one device took to prepare models, as long as it is here. Thread-safe.
 *
 * <p>Only like work is compared: the same operations on operands of the same types and dimensions,
 * for the same preference, and all of it compiled, compiled into cache files, or restored from
 * these. A model with control flow or open dimensions is like no other. Nothing outlives the
 * device: its settings decide what it makes of a model, and with others it comes anew.
 */
final class PrepareTimes {
  /** The kinds of work that are remembered; those that came up least lately are forgotten. */
  static final int MOST = 256;

  private record Work(
      String signature, ExecutionPreference preference, boolean restores, boolean hasFiles) {
    // Written out, as the JVM takes milliseconds to derive it when it is first called.
    @Override
    public int hashCode() {
      return signature.hashCode();
    }
  }

  /** The times of like work. Thread-safe. */
  static final class Alike {
    private final StepTimes times = new StepTimes(Optional.empty());
    private final Refusals refusals = new Refusals();

    /** Work was done, and took so long. */
    void took(long nanos) {
      times.add(nanos);
      refusals.end();
    }

    /**
     * Returns the refusal of work whose deadline comes before its lower bound; null if it may
     * begin. A deadline that has passed is for the device to refuse.
     */
    <T> Refused<T> refusal(Deadline deadline) {
      if (!deadline.isSet() || deadline.hasPassed()) {
        return null;
      }
      long left = deadline.remaining().toNanos();
      double least = refusals.lowered(times.least().orElse(0));
      // A deadline is missed when it is reached.
      if (left > least) {
        return null;
      }
      refusals.add();
      return new Refused<>(
          ErrorStatus.MISSED_DEADLINE_PERSISTENT,
          Cause.COMPILATION_TOO_SHORT.message() + ": " + Refusals.reason(left, least));
    }
  }

  /** In the order of their last use. Under its own lock. */
  private final Map<Work, Alike> known =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Work, Alike> eldest) {
          return size() > MOST;
        }
      };

  /** Returns the times of work like this; those of none before, where it is like no other. */
  Alike of(Model model, PrepareConfig config, boolean restores) {
    Optional<String> signature = OperationSignature.of(model);
    if (signature.isEmpty()) {
      return new Alike();
    }
    Work work =
        new Work(signature.get(), config.preference(), restores, config.cache().isPresent());
    synchronized (known) {
      return known.computeIfAbsent(work, any -> new Alike());
    }
  }
}
