// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Reasons;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.json.JsonModel;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.model.ReadChoices;
import io.thalamus.shell.results.ExportResult;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:export}: a model as text. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=export"})
public final class ExportCommand extends Command {
  private static final String ENDING = ".json";

  private static final Syntax SYNTAX =
      ReadChoices.addTo(
          Syntax.of(
                  "nn:export",
                  "MODEL DIR-or-FILE",
                  "Writes a model as JSON, with its larger constants in a file beside it: into the"
                      + " folder DIR, or as FILE, which ends in .json. nn:load and all commands"
                      + " read it again.")
              .offering(Inputs.MODEL, Candidates.of(Kind.FILES)));

  private final Models models;

  /** Called by the component runtime. */
  @Activate
  public ExportCommand(@Reference Models models) {
    super(SYNTAX);
    this.models = models;
  }

  @Descriptor("write a model as JSON, which is read again")
  public Result export(
      CommandSession session, @Descriptor("MODEL DIR-or-FILE " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::write);
  }

  private Result write(Invocation invocation) {
    String word = invocation.arguments().operands().get(1);
    Path target = invocation.path(word);
    try (OpenModel model = models.open(invocation)) {
      Path file = target;
      if (Files.isDirectory(target)) {
        file = target.resolve(ModelsCommand.name(model.loaded().path()) + ENDING);
      } else if (!String.valueOf(target.getFileName()).endsWith(ENDING)) {
        throw new CommandException(
            word + " is no folder, and no name of a file that ends in " + ENDING);
      }
      JsonModel.Written written = JsonModel.write(model.loaded().file(), file.normalize());
      return ExportResult.of(
          model.loaded().path().toString(), model.model(), written, invocation.style());
    } catch (IOException e) {
      throw new CommandException("cannot write to " + word + ": " + Reasons.ofWriting(e), e);
    }
  }
}
