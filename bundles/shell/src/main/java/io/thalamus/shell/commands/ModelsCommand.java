// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.Command;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.ReadChoices;
import io.thalamus.shell.model.ResidentModel;
import io.thalamus.shell.results.ModelsResult;
import io.thalamus.shell.session.Kept;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:models}, {@code nn:load} and {@code nn:unload}: models that stay. Thread-safe. */
@Component(
    service = Command.class,
    property = {
      "osgi.command.scope=nn",
      "osgi.command.function=models",
      "osgi.command.function=load",
      "osgi.command.function=unload"
    })
public final class ModelsCommand extends Command {
  private static final String KEEP = "keep";

  private static final Syntax MODELS =
      Syntax.of("nn:models", "", "The loaded models, and where their operations are.");

  private static final Syntax LOAD =
      ReadChoices.addTo(
          CacheFolder.addTo(
              Syntax.of(
                      "nn:load",
                      "FILE",
                      "Loads a model and keeps it: its compilations live on while devices come and"
                          + " go.")
                  .offering(Inputs.FILE)
                  .option("name", "N", "what to call it; usually as its file or folder is called")
                  .flag(KEEP, null, "have each process load it when it begins")));

  private static final Syntax UNLOAD =
      Syntax.of("nn:unload", "NAME", "Forgets a loaded model and its compilations.")
          .offering(Candidates.of(Kind.MODELS))
          .flag(KEEP, null, "have no process load it any more");

  private final Models models;
  private final Kept kept;

  /** Called by the component runtime. */
  @Activate
  public ModelsCommand(@Reference Models models, @Reference Kept kept) {
    super(MODELS, LOAD, UNLOAD);
    this.models = models;
    this.kept = kept;
  }

  @Descriptor("the loaded models, and where their operations are")
  public Result models(CommandSession session, @Descriptor(OPTIONS) String[] words) {
    return run(
        MODELS, session, words, invocation -> ModelsResult.of(models.kept(), invocation.style()));
  }

  @Descriptor("load a model and keep it under a name")
  public Result load(CommandSession session, @Descriptor("FILE " + OPTIONS) String[] words) {
    return run(LOAD, session, words, this::load);
  }

  private Result load(Invocation invocation) {
    Path file = invocation.path(invocation.operand());
    String name = invocation.arguments().text("name").orElseGet(() -> name(file));
    if (name.isBlank() || name.contains("/")) {
      throw invocation.usage("'" + name + "' is no name for a model; give --name N");
    }
    Optional<Path> directory = CacheFolder.asked(invocation);
    ResidentModel model =
        models.keep(
            name,
            file,
            invocation,
            loaded -> directory.map(folder -> CacheFolder.of(folder, loaded)));
    if (invocation.arguments().has(KEEP)) {
      List<String> words = new ArrayList<>(List.of("load", file.toString(), "--name", name));
      directory.ifPresent(folder -> words.addAll(List.of("--cache", folder.toString())));
      words.addAll(ReadChoices.words(invocation));
      kept.load(name, words);
    }
    return ModelsResult.of(List.of(model), invocation.style());
  }

  @Descriptor("forget a loaded model and its compilations")
  public Result unload(CommandSession session, @Descriptor("NAME " + OPTIONS) String[] words) {
    return run(
        UNLOAD,
        session,
        words,
        invocation -> {
          models.unload(invocation.operand());
          if (invocation.arguments().has(KEEP)) {
            kept.unload(invocation.operand());
          }
          return ModelsResult.of(models.kept(), invocation.style());
        });
  }

  /** Returns a file's name without its ending, or its folder's for a file called model. */
  static String name(Path file) {
    String name = String.valueOf(file.getFileName());
    int dot = name.lastIndexOf('.');
    String bare = dot > 0 ? name.substring(0, dot) : name;
    Path folder = file.toAbsolutePath().normalize().getParent();
    return bare.equals("model") && folder != null && folder.getFileName() != null
        ? folder.getFileName().toString()
        : bare;
  }
}
