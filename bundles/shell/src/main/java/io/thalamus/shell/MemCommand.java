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

/** {@code nn:mem}: the memories that applications have made. Thread-safe. */
@Component(
    service = MemCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=mem"})
public final class MemCommand {
  static final Syntax SYNTAX =
      Syntax.of(
          "nn:mem",
          "",
          "The memories that applications made for inputs and outputs: what they hold, and where.",
          0,
          0);

  private final NeuralNetworks networks;

  /**
   * Called by the component runtime.
   *
   * @param networks knows the memories
   */
  @Activate
  public MemCommand(@Reference NeuralNetworks networks) {
    this.networks = networks;
  }

  /** The command. */
  @Descriptor("the memories that applications made: name, bytes, where, what for")
  public Result mem(
      CommandSession session, @Descriptor("[--json]; nn:mem --help says more") String[] arguments)
      throws UsageException {
    Arguments parsed = SYNTAX.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(SYNTAX, invocation.style(parsed));
    }
    return new MemResult(networks.memories(), invocation.style(parsed));
  }
}
