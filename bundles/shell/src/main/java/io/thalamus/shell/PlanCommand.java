// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
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
              .option("what-if", "D", "without a device, or with one: -simd, or +cpu,-simd")
              .option("svg", "FILE", "draw the graph with a colour for each device"));

  private final NeuralNetworks networks;
  private final Models models;

  /**
   * Called by the component runtime.
   *
   * @param networks plans
   * @param models opens models
   */
  @Activate
  public PlanCommand(@Reference NeuralNetworks networks, @Reference Models models) {
    this.networks = networks;
    this.models = models;
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
      Plan plan = networks.plan(model.model(), options(parsed));
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

  /** The options with the devices that --what-if leaves. */
  private CompilationOptions options(Arguments parsed) throws UsageException, CommandException {
    CompilationOptions options = Compiling.options(parsed);
    Optional<String> changes = parsed.text("what-if");
    if (changes.isEmpty()) {
      return options;
    }
    List<String> here =
        networks.devices().stream()
            .filter(device -> device.state() == DeviceDescription.State.AVAILABLE)
            .map(DeviceDescription::id)
            .toList();
    Set<String> devices =
        new LinkedHashSet<>(options.devices().isEmpty() ? here : options.devices());
    for (String change : changes.get().split(",")) {
      String device = change.length() > 1 ? change.substring(1) : "";
      if (device.isEmpty() || !change.startsWith("+") && !change.startsWith("-")) {
        throw SYNTAX.usage("--what-if " + changes.get() + ": write +DEVICE or -DEVICE");
      }
      if (!here.contains(device)) {
        throw new CommandException(
            "--what-if "
                + change
                + ": no device "
                + device
                + " is here to ask; nn:install it first; there are: "
                + String.join(", ", here));
      }
      if (change.startsWith("+")) {
        devices.add(device);
      } else {
        devices.remove(device);
      }
    }
    if (devices.isEmpty()) {
      throw SYNTAX.usage("--what-if " + changes.get() + " leaves no device");
    }
    return options.withDevices(List.copyOf(devices));
  }
}
