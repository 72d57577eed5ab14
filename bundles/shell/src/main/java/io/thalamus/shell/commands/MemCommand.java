// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.Command;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.results.MemResult;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:mem}: the memories that applications have made. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=mem"})
public final class MemCommand extends Command {
  private static final Syntax SYNTAX =
      Syntax.of(
          "nn:mem",
          "",
          "The memories that applications made for inputs and outputs: what they hold, and where.");

  private final NeuralNetworks networks;

  /** Called by the component runtime. */
  @Activate
  public MemCommand(@Reference NeuralNetworks networks) {
    super(SYNTAX);
    this.networks = networks;
  }

  @Descriptor("the memories that applications made: name, bytes, where, what for")
  public Result mem(CommandSession session, @Descriptor(OPTIONS) String[] words) {
    return run(
        SYNTAX,
        session,
        words,
        invocation -> new MemResult(networks.memories(), invocation.style()));
  }
}
