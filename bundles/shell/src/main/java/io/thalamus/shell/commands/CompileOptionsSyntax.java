// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.console.Arguments;
import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.CommandException;
import io.thalamus.console.Syntax;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Priority;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/** The options that say how a model is compiled, which several commands share. Stateless. */
final class CompileOptionsSyntax {
  private CompileOptionsSyntax() {}

  /** Adds the options. */
  static Syntax addTo(Syntax syntax) {
    return device(syntax)
        .choice(
            "preference",
            "P",
            "fast-single-answer (usual), low-power or sustained-speed",
            ExecutionPreference.class)
        .choice("priority", "P", "low, medium (usual) or high", Priority.class)
        .choice(
            "fallback", "F", "where a device fails: allow (usual), warn or deny", Fallback.class)
        .option(
            "policy",
            "P",
            "who chooses the devices: nnapi, search, or another that is here",
            Candidates.of(Kind.POLICIES))
        .option("power-budget", "SHARE", "at most this share of the energy of the cpu alone")
        .option("sampling", "RATE", "the share of executions, 0 to 1, compared with the reference");
  }

  /** Adds the option that names devices. */
  static Syntax device(Syntax syntax) {
    return syntax.option(
        "device", "D", "use only this device, or these: cpu,simd", Candidates.of(Kind.DEVICES));
  }

  /** Returns the options that the user wants. */
  static CompilationOptions options(Arguments arguments) {
    CompilationOptions options =
        CompilationOptions.DEFAULT.withDevices(arguments.list("device").orElse(List.of()));
    options =
        options
            .with(
                arguments
                    .choice("preference", ExecutionPreference.class)
                    .orElse(options.preference()))
            .with(arguments.choice("priority", Priority.class).orElse(options.priority()))
            .with(arguments.choice("fallback", Fallback.class).orElse(options.fallback()));
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
      throw CommandException.usage("--sampling RATE is a share of all executions: at most 1");
    }
    return sampling.isPresent() ? options.withSampling(sampling.getAsDouble()) : options;
  }
}
