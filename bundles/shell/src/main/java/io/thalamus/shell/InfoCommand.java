// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.picture.GraphPicture;
import io.thalamus.shell.tensor.OutputFile;
import java.util.Optional;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:info}: what a model is. Thread-safe. */
@Component(
    service = InfoCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=info"})
public final class InfoCommand {
  static final Syntax SYNTAX =
      Syntax.of(
              "nn:info",
              "MODEL",
              "What a model is: operations, inputs, outputs, constants, work, normalization. MODEL"
                  + " is a file, or the name of a loaded model.",
              1,
              1)
          .option("svg", "FILE", "draw the graph of operations");

  private final Models models;

  /**
   * Called by the component runtime.
   *
   * @param models opens models
   */
  @Activate
  public InfoCommand(@Reference Models models) {
    this.models = models;
  }

  /** The command. */
  @Descriptor("what a model is: operations, inputs, outputs, constants, MACs, normalization")
  public Result info(
      CommandSession session,
      @Descriptor("MODEL [--svg FILE] [--json]; nn:info --help says more") String[] arguments)
      throws UsageException, CommandException {
    Arguments parsed = SYNTAX.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(SYNTAX, invocation.style(parsed));
    }
    String word = parsed.operands().getFirst();
    try (OpenModel model = models.open(word, invocation.path(word))) {
      InfoResult result = InfoResult.of(model.loaded(), invocation.style(parsed));
      Optional<String> file = parsed.text("svg");
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
