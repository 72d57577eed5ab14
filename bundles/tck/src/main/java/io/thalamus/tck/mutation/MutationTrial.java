// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.Priority;
import io.thalamus.operations.ModelValidator;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import io.thalamus.tck.mutation.Verdict.Layer;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.VectorFormatException;
import java.util.BitSet;
import java.util.Objects;
import java.util.Optional;

/**
 * Tries mutations on one device, which must refuse what decoding lets pass, with INVALID_ARGUMENT
 * from both {@code supportedOperations} and {@code prepare}, as AOSP demands. Thread-safe.
 */
final class MutationTrial {
  private final Device device;
  private final ModelValidator validator = OperationCatalog.standard().validator();

  public MutationTrial(Device device) {
    this.device = Objects.requireNonNull(device, "device");
  }

  /** AOSP's choice: not the examples that only bring the same operations in another guise. */
  public static boolean isChosen(Example example) {
    return !example.name().contains("inputs_as_internal")
        && !example.name().contains("all_tensors_as_inputs");
  }

  /** Returns whether a device takes the valid example, or, where it must fail, refuses it whole. */
  public boolean isApplicable(Example example) {
    try (DecodedExample decoded = example.decode()) {
      Model model = decoded.model();
      BitSet supported = device.supportedOperations(model);
      return supported.nextClearBit(0) >= model.main().operations().size();
    } catch (VectorFormatException e) {
      return false;
    } catch (DeviceException e) {
      return example.expectFailure() && e.status() == ErrorStatus.INVALID_ARGUMENT;
    } catch (RuntimeException | Error e) {
      return true; // found by the requests, which need the model prepared
    }
  }

  /** Applies a mutation, and asks each layer whether it refuses. */
  public Verdict attempt(Mutation mutation) {
    RawPreparation mutated = mutation.apply();
    Optional<ExecutionPreference> preference = ExecutionPreference.ofCode(mutated.preference());
    Optional<Priority> priority = Priority.ofHalCode(mutated.priority());
    if (preference.isEmpty() || priority.isEmpty()) {
      return new Verdict(Layer.DECODING, "there is no such preference or priority");
    }
    try (DecodedExample decoded = mutated.example().decode()) {
      return attempt(
          decoded.model(), PrepareConfig.DEFAULT.with(preference.get()).with(priority.get()));
    } catch (VectorFormatException e) {
      return new Verdict(Layer.DECODING, e.getMessage());
    }
  }

  private Verdict attempt(Model model, PrepareConfig config) {
    Optional<String> objection = objection(model);
    return acceptance("supportedOperations", () -> device.supportedOperations(model))
        .or(() -> acceptance("prepare", () -> device.prepare(model, config).close()))
        .map(accepted -> new Verdict(Layer.NOBODY, accepted))
        .orElseGet(
            () ->
                objection
                    .map(message -> new Verdict(Layer.VALIDATION, message))
                    .orElseGet(() -> new Verdict(Layer.DEVICE, "refused by the device alone")));
  }

  /** Executes a mutated request, by each way that can have the fault. */
  static Verdict attempt(PreparedModel prepared, RequestFamily.Fault fault, RequestFamily family) {
    // As in AOSP, whether timing is asked for is left to chance, but to the same one each time.
    ExecutionConfig config =
        ExecutionConfig.DEFAULT.withMeasureTiming(fault.description().hashCode() % 2 == 0);
    Optional<String> accepted =
        family == RequestFamily.NULL_FENCE
            ? Optional.empty()
            : acceptance(
                "execute",
                () -> {
                  ExecutionResult result = prepared.execute(fault.request(), config);
                  if (result instanceof ExecutionResult.Failed failed) {
                    throw new DeviceException(failed.status(), failed.message());
                  }
                });
    return accepted
        .or(
            () ->
                acceptance(
                    "executeFenced",
                    () -> prepared.executeFenced(fault.request(), fault.waitFor(), config)))
        .map(message -> new Verdict(Layer.NOBODY, message))
        .orElseGet(() -> new Verdict(Layer.DEVICE, "refused by the device"));
  }

  private Optional<String> objection(Model model) {
    try {
      validator.validate(model);
      return Optional.empty();
    } catch (ValidationException e) {
      return Optional.of(e.getMessage());
    } catch (RuntimeException e) {
      // The device's own verdict counts, and will most likely show the same fault.
      return Optional.empty();
    }
  }

  /** Returns what a call did that should have been refused; empty where it was refused. */
  private static Optional<String> acceptance(String name, Call call) {
    try {
      call.run();
      return Optional.of(name + " accepted it");
    } catch (DeviceException e) {
      return e.status() == ErrorStatus.INVALID_ARGUMENT
          ? Optional.empty()
          : Optional.of(name + " ended with " + e.status() + ": " + e.getMessage());
    } catch (RuntimeException | Error e) {
      return Optional.of(name + " " + Outcome.Failed.of(e).reason());
    }
  }

  @FunctionalInterface
  private interface Call {
    void run() throws DeviceException;
  }
}
