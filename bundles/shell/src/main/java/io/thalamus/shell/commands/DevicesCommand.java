// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.Command;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.bundles.IsolatedProcess;
import io.thalamus.shell.results.DevicesResult;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:devices}: the devices that are here. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=devices"})
public final class DevicesCommand extends Command {
  private static final Syntax SYNTAX =
      Syntax.of("nn:devices", "", "The devices that are here: what they are and can do.")
          .flag("verbose", "v", "capabilities, cache needs, memory and extensions as well");

  private final NeuralNetworks networks;
  private final Supplier<Map<String, IsolatedProcess>> processes;

  /** Called by the component runtime. */
  @Activate
  public DevicesCommand(@Reference NeuralNetworks networks, BundleContext context) {
    this(networks, () -> IsolatedProcess.all(context));
  }

  /**
   * For use without a framework.
   *
   * @param processes gives those of isolated devices
   */
  DevicesCommand(NeuralNetworks networks, Supplier<Map<String, IsolatedProcess>> processes) {
    super(SYNTAX);
    this.networks = networks;
    this.processes = processes;
  }

  @Descriptor("the devices that are here: type, version, feature level, state")
  public Result devices(CommandSession session, @Descriptor(OPTIONS) String[] words) {
    return run(
        SYNTAX,
        session,
        words,
        invocation ->
            new DevicesResult(
                networks.devices(),
                processes.get(),
                invocation.arguments().has("verbose"),
                invocation.style()));
  }
}
