// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.model.KeptModel;
import io.thalamus.shell.model.Models;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:models}, {@code nn:load} and {@code nn:unload}: models that stay. Thread-safe. */
@Component(
    service = ModelsCommand.class,
    property = {
      "osgi.command.scope=nn",
      "osgi.command.function=models",
      "osgi.command.function=load",
      "osgi.command.function=unload"
    })
public final class ModelsCommand {
  static final Syntax MODELS =
      Syntax.of("nn:models", "", "The loaded models, and where their operations are.", 0, 0);

  static final Syntax LOAD =
      CacheFolder.addTo(
          Syntax.of(
                  "nn:load",
                  "FILE",
                  "Loads a model and keeps it: its compilations live on while devices come and go.",
                  1,
                  1)
              .option("name", "N", "what to call it; usually as its file or folder is called"));

  static final Syntax UNLOAD =
      Syntax.of("nn:unload", "NAME", "Forgets a loaded model and its compilations.", 1, 1);

  private final Models models;

  /**
   * Called by the component runtime.
   *
   * @param models keeps them
   */
  @Activate
  public ModelsCommand(@Reference Models models) {
    this.models = models;
  }

  /** The command. */
  @Descriptor("the loaded models, and where their operations are")
  public Result models(
      CommandSession session,
      @Descriptor("[--json]; nn:models --help says more") String[] arguments)
      throws UsageException {
    Arguments parsed = MODELS.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(MODELS, invocation.style(parsed));
    }
    return ModelsResult.of(models.kept(), invocation.style(parsed));
  }

  /** The command. */
  @Descriptor("load a model and keep it under a name")
  public Result load(
      CommandSession session,
      @Descriptor("FILE [--name N] [--cache DIR] [--json]; nn:load --help says more")
          String[] arguments)
      throws UsageException, CommandException {
    Arguments parsed = LOAD.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(LOAD, invocation.style(parsed));
    }
    Path file = invocation.path(parsed.operands().getFirst());
    String name = parsed.text("name").orElseGet(() -> name(file));
    if (name.isBlank() || name.contains("/")) {
      throw LOAD.usage("'" + name + "' is no name for a model; give --name N");
    }
    Optional<Path> directory = CacheFolder.asked(LOAD, parsed, invocation);
    KeptModel model =
        models.keep(name, file, loaded -> directory.map(folder -> CacheFolder.of(folder, loaded)));
    return ModelsResult.of(List.of(model), invocation.style(parsed));
  }

  /** The command. */
  @Descriptor("forget a loaded model and its compilations")
  public Result unload(
      CommandSession session,
      @Descriptor("NAME [--json]; nn:unload --help says more") String[] arguments)
      throws UsageException, CommandException {
    Arguments parsed = UNLOAD.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(UNLOAD, invocation.style(parsed));
    }
    models.unload(parsed.operands().getFirst());
    return ModelsResult.of(models.kept(), invocation.style(parsed));
  }

  /** The file's name without its ending; its folder's where every model's file is called so. */
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
