// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.request.TestRequest;
import io.thalamus.vectors.Outcome;
import java.util.Optional;
import java.util.function.BiConsumer;

/** Asks a prepared model to execute mutated requests. */
final class RequestTrial {
  private final PreparedModel prepared;

  RequestTrial(PreparedModel prepared) {
    this.prepared = prepared;
  }

  /** Tells of every fault of a family what was not refused; empty where all was. */
  void attempt(
      RequestFamily family, TestRequest valid, BiConsumer<String, Optional<String>> listener) {
    for (RequestFamily.Fault fault : family.of(valid)) {
      // As in AOSP, whether timing is asked for is left to chance, but to the same one each time.
      ExecutionConfig config =
          ExecutionConfig.DEFAULT.withMeasureTiming(fault.description().hashCode() % 2 == 0);
      Optional<String> accepted =
          family.isForFencedOnly() ? Optional.empty() : executed(fault, config);
      listener.accept(
          fault.description(), accepted.isPresent() ? accepted : executedFenced(fault, config));
    }
  }

  private Optional<String> executed(RequestFamily.Fault fault, ExecutionConfig config) {
    try {
      ExecutionResult result = prepared.execute(fault.request(), config);
      return result.status() == ErrorStatus.INVALID_ARGUMENT
          ? Optional.empty()
          : Optional.of("execute ended with " + result.status());
    } catch (RuntimeException | Error e) {
      return Optional.of("execute " + Outcome.Failed.of(e).reason());
    }
  }

  private Optional<String> executedFenced(RequestFamily.Fault fault, ExecutionConfig config) {
    try {
      prepared.executeFenced(fault.request(), fault.waitFor(), config);
      return Optional.of("executeFenced accepted it");
    } catch (DeviceException e) {
      return e.status() == ErrorStatus.INVALID_ARGUMENT
          ? Optional.empty()
          : Optional.of("executeFenced ended with " + e.status());
    } catch (RuntimeException | Error e) {
      return Optional.of("executeFenced " + Outcome.Failed.of(e).reason());
    }
  }
}
