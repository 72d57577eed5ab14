// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.console.Command;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.model.ReadChoices;
import io.thalamus.shell.picture.GraphPicture;
import io.thalamus.shell.results.InfoResult;
import io.thalamus.shell.tensor.OutputFile;
import java.util.Optional;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:info}: the facts of a model. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=info"})
public final class InfoCommand extends Command {
  private static final Syntax SYNTAX =
      ReadChoices.addTo(
          Syntax.of(
                  "nn:info",
                  "MODEL",
                  "What a model is: operations, inputs, outputs, constants, work, normalization."
                      + " MODEL is a file, or the name of a loaded model.")
              .offering(Inputs.MODEL)
              .option("svg", "FILE", "draw the graph of operations", Inputs.FILE));

  private final Models models;

  /** Called by the component runtime. */
  @Activate
  public InfoCommand(@Reference Models models) {
    super(SYNTAX);
    this.models = models;
  }

  @Descriptor("what a model is: operations, inputs, outputs, constants, MACs, normalization")
  public Result info(CommandSession session, @Descriptor("MODEL " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::describe);
  }

  private Result describe(Invocation invocation) {
    try (OpenModel model = models.open(invocation)) {
      InfoResult result = InfoResult.of(model.loaded(), invocation.style());
      Optional<String> file = invocation.arguments().text("svg");
      if (file.isPresent()) {
        OutputFile.write(
            invocation.path(file.get()),
            GraphPicture.ofFamilies(
                model.model().main(), ModelsCommand.name(model.loaded().path()), result.summary()));
      }
      return result;
    }
  }
}
