// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.model.Model;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.bundles.Trial;
import io.thalamus.shell.bundles.Trials;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.picture.GraphPicture;
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

/** {@code nn:plan}: which operation would go where. Thread-safe. */
@Component(
    service = PlanCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=plan"})
public final class PlanCommand {
  static final Syntax SYNTAX =
      Compiling.addTo(
          Syntax.of(
                  "nn:plan",
                  "MODEL",
                  "Which operation goes where, at which cost, and what crosses each boundary.",
                  1,
                  1)
              .flag("verbose", "v", "a line for each operation")
              .option("what-if", "D", "without a device, or with one: -simd, or +npu,-simd")
              .option("svg", "FILE", "draw the graph with a colour for each device"));

  private final NeuralNetworks networks;
  private final Models models;
  private final Trials trials;

  /**
   * Called by the component runtime.
   *
   * @param networks plans
   * @param models opens models
   * @param trials lets plans ask devices that are not installed
   */
  @Activate
  public PlanCommand(
      @Reference NeuralNetworks networks, @Reference Models models, @Reference Trials trials) {
    this.networks = networks;
    this.models = models;
    this.trials = trials;
  }

  /** The command. */
  @Descriptor("which operation goes where, at which cost, and what crosses each boundary")
  public Result plan(
      CommandSession session,
      @Descriptor(
              "MODEL [-v] [--what-if D] [--svg FILE] [--device D] [--preference P] [--priority P]"
                  + " [--fallback F] [--policy P] [--power-budget SHARE] [--sampling RATE]"
                  + " [--json]; nn:plan --help says more")
          String[] arguments)
      throws UsageException, CommandException {
    Arguments parsed = SYNTAX.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(SYNTAX, invocation.style(parsed));
    }
    String word = parsed.operands().getFirst();
    try (OpenModel model = models.open(word, invocation.path(word))) {
      Plan plan = plan(model.model(), parsed);
      PlanResult result =
          new PlanResult(
              model.loaded().path().toString(),
              plan,
              parsed.has("verbose"),
              invocation.style(parsed));
      Optional<String> file = parsed.text("svg");
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
    } catch (NeuralNetworksException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  private Plan plan(Model model, Arguments parsed)
      throws NeuralNetworksException, UsageException, CommandException {
    CompilationOptions options = Compiling.options(parsed);
    Optional<String> changes = parsed.text("what-if");
    return changes.isEmpty() ? networks.plan(model, options) : plan(model, options, changes.get());
  }

  /** The plan with the devices that --what-if leaves. */
  private Plan plan(Model model, CompilationOptions options, String changes)
      throws NeuralNetworksException, UsageException, CommandException {
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
        throw SYNTAX.usage("--what-if " + changes + ": write +DEVICE or -DEVICE");
      }
      if (change.startsWith("+")) {
        devices.add(device);
        if (!here.contains(device)) {
          others.add(device);
        }
      } else if (!here.contains(device)) {
        throw new CommandException(
            "--what-if "
                + change
                + ": no device "
                + device
                + " serves; there are: "
                + String.join(", ", here));
      } else {
        devices.remove(device);
      }
    }
    if (devices.isEmpty()) {
      throw SYNTAX.usage("--what-if " + changes + " leaves no device");
    }
    return planWith(
        List.copyOf(others), () -> networks.plan(model, options.withDevices(List.copyOf(devices))));
  }

  /** What is planned while devices are here. */
  @FunctionalInterface
  private interface Planning {
    Plan run() throws NeuralNetworksException;
  }

  private Plan planWith(List<String> others, Planning planning)
      throws NeuralNetworksException, CommandException {
    if (others.isEmpty()) {
      return planning.run();
    }
    try (Trial _ = trials.begin(others.getFirst())) {
      return planWith(others.subList(1, others.size()), planning);
    }
  }
}
