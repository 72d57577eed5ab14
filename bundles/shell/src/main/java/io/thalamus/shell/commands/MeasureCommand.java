// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.console.Command;
import io.thalamus.console.Invocation;
import io.thalamus.console.Progress;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.model.ReadChoices;
import io.thalamus.shell.results.PlanResult;
import java.time.Duration;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:measure}: times that plans can go by. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=measure"})
public final class MeasureCommand extends Command {
  private static final Syntax SYNTAX =
      ReadChoices.addTo(
          CompileOptionsSyntax.addTo(
              Syntax.of(
                      "nn:measure",
                      "MODEL",
                      "Times a model's operations on each device, one by one and together. The"
                          + " times are stored in the storage directory; nn:plan shows them, and"
                          + " the policy 'search' goes by them.")
                  .offering(Inputs.MODEL)
                  .option("seconds", "S", "how long, for all devices together (10)")));

  private static final double USUAL_SECONDS = 10;

  private final NeuralNetworks networks;
  private final Models models;

  /** Called by the component runtime. */
  @Activate
  public MeasureCommand(@Reference NeuralNetworks networks, @Reference Models models) {
    super(SYNTAX);
    this.networks = networks;
    this.models = models;
  }

  @Descriptor("time the operations of a model on each device, for predictions and policies")
  public Result measure(CommandSession session, @Descriptor("MODEL " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::time);
  }

  private Result time(Invocation invocation) throws NeuralNetworksException {
    Duration patience = BenchCommand.seconds(invocation.arguments(), USUAL_SECONDS);
    try (OpenModel model = models.open(invocation);
        Progress progress = invocation.progress()) {
      progress.say("measuring");
      Plan plan =
          networks.measure(
              model.model(), CompileOptionsSyntax.options(invocation.arguments()), patience);
      return new PlanResult(model.loaded().path().toString(), plan, false, invocation.style());
    }
  }
}
