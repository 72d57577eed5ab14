// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

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
import java.time.Duration;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:measure}: times that plans can go by. Thread-safe. */
@Component(
    service = MeasureCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=measure"})
public final class MeasureCommand {
  static final Syntax SYNTAX =
      Compiling.addTo(
          Syntax.of(
                  "nn:measure",
                  "MODEL",
                  "Times a model's operations on each device, one by one and together. The times"
                      + " are kept in the storage directory; nn:plan shows them, and the policy"
                      + " 'search' goes by them.",
                  1,
                  1)
              .option("seconds", "S", "how long, for all devices together (10)"));

  private static final double USUAL_SECONDS = 10;

  private final NeuralNetworks networks;
  private final Models models;

  /**
   * Called by the component runtime.
   *
   * @param networks measures
   * @param models opens models
   */
  @Activate
  public MeasureCommand(@Reference NeuralNetworks networks, @Reference Models models) {
    this.networks = networks;
    this.models = models;
  }

  /** The command. */
  @Descriptor("time the operations of a model on each device, for predictions and policies")
  public Result measure(
      CommandSession session,
      @Descriptor(
              "MODEL [--seconds S] [--device D] [--preference P] [--priority P] [--fallback F]"
                  + " [--policy P] [--power-budget SHARE] [--sampling RATE] [--json]; nn:measure"
                  + " --help says more")
          String[] arguments)
      throws UsageException, CommandException {
    Arguments parsed = SYNTAX.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(SYNTAX, invocation.style(parsed));
    }
    double seconds = parsed.positive("seconds").orElse(USUAL_SECONDS);
    String word = parsed.operands().getFirst();
    try (OpenModel model = models.open(word, invocation.path(word));
        Progress progress = Progress.of(invocation)) {
      progress.say("measuring");
      Plan plan =
          networks.measure(
              model.model(),
              Compiling.options(parsed),
              Duration.ofNanos(Math.round(seconds * 1e9)));
      return new PlanResult(
          model.loaded().path().toString(), plan, false, invocation.style(parsed));
    } catch (NeuralNetworksException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }
}
