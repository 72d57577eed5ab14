// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Priority;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.failure.UsageException;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalDouble;

/** The options that say how a model is to be compiled, which several commands share. Stateless. */
final class Compiling {
  private Compiling() {}

  /** Adds the options. */
  static Syntax addTo(Syntax syntax) {
    return syntax
        .option("device", "D", "use only this device, or these: cpu,simd")
        .option("preference", "P", "fast-single-answer (usual), low-power or sustained-speed")
        .option("priority", "P", "low, medium (usual) or high")
        .option("fallback", "F", "where a device fails: allow (usual), warn or deny")
        .option("policy", "P", "who chooses the devices: nnapi, search, or another that is here")
        .option("power-budget", "SHARE", "at most this share of the energy of the cpu alone")
        .option("sampling", "RATE", "the share of executions, 0 to 1, compared with the reference");
  }

  /** What was asked for. */
  static CompilationOptions options(Arguments arguments) throws UsageException {
    CompilationOptions options = CompilationOptions.DEFAULT;
    Optional<String> device = arguments.text("device");
    if (device.isPresent()) {
      options = options.withDevices(Arrays.stream(device.get().split(",")).distinct().toList());
    }
    Optional<ExecutionPreference> preference =
        arguments.choice("preference", ExecutionPreference.class);
    if (preference.isPresent()) {
      options = options.with(preference.get());
    }
    Optional<Priority> priority = arguments.choice("priority", Priority.class);
    if (priority.isPresent()) {
      options = options.with(priority.get());
    }
    Optional<Fallback> fallback = arguments.choice("fallback", Fallback.class);
    if (fallback.isPresent()) {
      options = options.with(fallback.get());
    }
    Optional<String> policy = arguments.text("policy");
    if (policy.isPresent()) {
      options = options.withPolicy(policy.get());
    }
    OptionalDouble budget = arguments.positive("power-budget");
    if (budget.isPresent()) {
      options = options.withPowerBudget(budget.getAsDouble());
    }
    OptionalDouble sampling = arguments.positive("sampling");
    if (sampling.isPresent() && sampling.getAsDouble() > 1) {
      throw new UsageException("--sampling RATE is a share of all executions: at most 1");
    }
    return sampling.isPresent() ? options.withSampling(sampling.getAsDouble()) : options;
  }
}
