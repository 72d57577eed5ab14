// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.console.Arguments;
import io.thalamus.console.Command;
import io.thalamus.console.Invocation;
import io.thalamus.console.Progress;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.execution.BurstRun;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.model.ReadChoices;
import io.thalamus.shell.results.BurstResult;
import java.util.List;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:burst}: the latencies of a burst. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=burst"})
public final class BurstCommand extends Command {
  private static final Syntax SYNTAX =
      ReadChoices.addTo(
          CompileOptionsSyntax.addTo(
              Syntax.of(
                      "nn:burst",
                      "MODEL [INPUT...]",
                      "Many executions in quick succession by burst: their latencies while it runs,"
                          + " and throughput, after three seconds of warm-up that are not counted."
                          + " Without INPUT, random values are fed.")
                  .offering(Inputs.MODEL, Inputs.FILE)
                  .option(
                      "rate",
                      "R",
                      "executions in a second, whose latency counts from when they are due (as many"
                          + " as possible)")
                  .option("seconds", "S", "how long to measure (3)")
                  .option("mean", "M", "pictures: see nn:run")
                  .option("std", "S", "pictures: see nn:run")));

  private static final double USUAL_SECONDS = 3;

  private final NeuralNetworks networks;
  private final Models models;

  /**
   * Called by the component runtime.
   *
   * @param networks compiles
   * @param models opens models
   */
  @Activate
  public BurstCommand(@Reference NeuralNetworks networks, @Reference Models models) {
    super(SYNTAX);
    this.networks = networks;
    this.models = models;
  }

  /** Runs the command. */
  @Descriptor("the latencies of many executions by burst, live")
  public Result burst(
      CommandSession session, @Descriptor("MODEL [INPUT...] " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::measure);
  }

  private Result measure(Invocation invocation) throws NeuralNetworksException {
    Arguments arguments = invocation.arguments();
    try (Inputs inputs = new Inputs(invocation);
        OpenModel model = models.open(invocation);
        Progress progress = invocation.progress()) {
      List<Tensor> values = inputs.readOrRandom(model);
      String name = model.loaded().path().toString();
      BurstRun run =
          new BurstRun(networks, model.model(), values, CompileOptionsSyntax.options(arguments));
      BurstRun.Figures figures =
          run.run(
              arguments.positive("rate"),
              BenchCommand.seconds(arguments, USUAL_SECONDS),
              now -> progress.say(new BurstResult(name, now, invocation.style()).text()));
      return new BurstResult(name, figures, invocation.style());
    }
  }
}
