// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Result;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:devices}: the devices that are here. Thread-safe. */
@Component(
    service = DevicesCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=devices"})
public final class DevicesCommand {
  static final Syntax SYNTAX =
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
    this.networks = networks;
  }

  /** The command. */
  @Descriptor("the devices that are here: type, version, feature level, state")
  public Result devices(
      CommandSession session,
      @Descriptor("[-v] [--json]; nn:devices --help says more") String[] arguments)
      throws UsageException {
    Arguments parsed = SYNTAX.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(SYNTAX, invocation.style(parsed));
    }
    return new DevicesResult(networks.devices(), parsed.has("verbose"), invocation.style(parsed));
  }
}
