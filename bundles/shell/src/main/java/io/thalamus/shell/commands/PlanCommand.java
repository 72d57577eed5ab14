// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.model.Model;
import io.thalamus.shell.bundles.DryRun;
import io.thalamus.shell.bundles.DryRuns;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.model.ReadChoices;
import io.thalamus.shell.picture.GraphPicture;
import io.thalamus.shell.results.PlanResult;
import io.thalamus.shell.tensor.OutputFile;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:plan}: the device of each operation. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=plan"})
public final class PlanCommand extends Command {
  private static final Syntax SYNTAX =
      ReadChoices.addTo(
          CompileOptionsSyntax.addTo(
              Syntax.of(
                      "nn:plan",
                      "MODEL",
                      "Which operation goes where, at which cost, and what crosses each boundary.")
                  .offering(Inputs.MODEL)
                  .flag("verbose", "v", "a line for each operation")
                  .option("what-if", "D", "without a device, or with one: -simd, or +npu,-simd")
                  .option(
                      "svg", "FILE", "draw the graph with a colour for each device", Inputs.FILE)));

  private final NeuralNetworks networks;
  private final Models models;
  private final DryRuns dryRuns;

  /** Called by the component runtime. */
  @Activate
  public PlanCommand(
      @Reference NeuralNetworks networks, @Reference Models models, @Reference DryRuns dryRuns) {
    super(SYNTAX);
    this.networks = networks;
    this.models = models;
    this.dryRuns = dryRuns;
  }

  @Descriptor("which operation goes where, at which cost, and what crosses each boundary")
  public Result plan(CommandSession session, @Descriptor("MODEL " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::plan);
  }

  private Result plan(Invocation invocation) throws NeuralNetworksException {
    try (OpenModel model = models.open(invocation)) {
      PlanResult result =
          new PlanResult(
              model.loaded().path().toString(),
              plan(model.model(), invocation),
              invocation.arguments().has("verbose"),
              invocation.style());
      Optional<String> file = invocation.arguments().text("svg");
      if (file.isPresent()) {
        OutputFile.write(
            invocation.path(file.get()),
            GraphPicture.ofDevices(
                model.model().main(),
                ModelsCommand.name(model.loaded().path()),
                result.summary(),
                result.devices(),
                result.times()));
      }
      return result;
    }
  }

  private Plan plan(Model model, Invocation invocation) throws NeuralNetworksException {
    CompilationOptions options = CompileOptionsSyntax.options(invocation.arguments());
    Optional<String> changes = invocation.arguments().text("what-if");
    return changes.isEmpty()
        ? networks.plan(model, options)
        : plan(model, options, changes.get(), invocation);
  }

  /** Returns the plan with the devices that --what-if leaves. */
  private Plan plan(Model model, CompilationOptions options, String changes, Invocation invocation)
      throws NeuralNetworksException {
    List<String> here =
        networks.devices().stream()
            .filter(device -> device.state() == DeviceDescription.State.AVAILABLE)
            .map(DeviceDescription::id)
            .toList();
    Set<String> devices =
        new LinkedHashSet<>(options.devices().isEmpty() ? here : options.devices());
    Set<String> others = new LinkedHashSet<>();
    for (String change : changes.split(",")) {
      String device = change.length() > 1 ? change.substring(1) : "";
      if (device.isEmpty() || !change.startsWith("+") && !change.startsWith("-")) {
        throw invocation.usage("--what-if " + changes + ": write +DEVICE or -DEVICE");
      }
      if (change.startsWith("+")) {
        devices.add(device);
        if (!here.contains(device)) {
          others.add(device);
        }
      } else if (!here.contains(device)) {
        throw CommandException.missing(
            "--what-if %s: no device %s serves".formatted(change, device), here);
      } else {
        devices.remove(device);
      }
    }
    if (devices.isEmpty()) {
      throw invocation.usage("--what-if " + changes + " leaves no device");
    }
    return planWith(
        List.copyOf(others), () -> networks.plan(model, options.withDevices(List.copyOf(devices))));
  }

  /** A plan that is made while devices are here. */
  @FunctionalInterface
  private interface Planning {
    Plan run() throws NeuralNetworksException;
  }

  private Plan planWith(List<String> others, Planning planning) throws NeuralNetworksException {
    if (others.isEmpty()) {
      return planning.run();
    }
    try (DryRun _ = dryRuns.begin(others.getFirst())) {
      return planWith(others.subList(1, others.size()), planning);
    }
  }
}
