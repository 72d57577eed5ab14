// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.results.DevicesResult;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:devices}: the devices that are here. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=devices"})
public final class DevicesCommand extends Command {
  private static final Syntax SYNTAX =
      Syntax.of("nn:devices", "", "The devices that are here: what they are and can do.", 0, 0)
          .flag("verbose", "v", "capabilities, cache needs, memory and extensions as well");

  private final NeuralNetworks networks;

  /**
   * Called by the component runtime.
   *
   * @param networks knows the devices
   */
  @Activate
  public DevicesCommand(@Reference NeuralNetworks networks) {
    super(SYNTAX);
    this.networks = networks;
  }

  /** Runs the command. */
  @Descriptor("the devices that are here: type, version, feature level, state")
  public Result devices(CommandSession session, @Descriptor(OPTIONS) String[] words)
      throws CommandException {
    return run(
        SYNTAX,
        session,
        words,
        invocation ->
            new DevicesResult(
                networks.devices(), invocation.arguments().has("verbose"), invocation.style()));
  }
}
