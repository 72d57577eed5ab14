// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationCache.Check;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Units;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalDouble;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:cache}: compilations that are kept. Thread-safe. */
@Component(
    service = CacheCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=cache"})
public final class CacheCommand {
  static final Syntax SYNTAX =
      Compiling.addTo(
          Syntax.of(
                  "nn:cache",
                  "[ls | verify | gc | why MODEL] [DIR]",
                  "Compilations that are kept: what there is; whether their devices can open it;"
                      + " removing what was not used for longest; why MODEL would be compiled"
                      + " anew. DIR is usually the storage's cache.",
                  0,
                  3)
              .option("bytes", "N", "gc: what may stay (usually the configured quota)"));

  private final CompilationCache cache;
  private final Models models;

  /**
   * Called by the component runtime.
   *
   * @param cache knows what is kept
   * @param models opens models
   */
  @Activate
  public CacheCommand(@Reference CompilationCache cache, @Reference Models models) {
    this.cache = cache;
    this.models = models;
  }

  /** The command. */
  @Descriptor("compilations that are kept: list, check, remove, and why one would not be used")
  public Result cache(
      CommandSession session,
      @Descriptor(
              "[ls | verify | gc | why MODEL] [DIR] [--bytes N] [--device D] [--preference P]"
                  + " [--priority P] [--fallback F] [--policy P] [--power-budget SHARE]"
                  + " [--sampling RATE] [--json]; nn:cache --help says more")
          String[] arguments)
      throws UsageException, CommandException {
    Arguments parsed = SYNTAX.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(SYNTAX, invocation.style(parsed));
    }
    List<String> words = parsed.operands();
    String action = words.isEmpty() ? "ls" : words.getFirst();
    try {
      return switch (action) {
        case "ls" -> list(directory(words, 1, invocation), parsed, invocation);
        case "verify" -> verify(directory(words, 1, invocation), parsed, invocation);
        case "gc" -> collect(directory(words, 1, invocation), parsed, invocation);
        case "why" -> why(words, parsed, invocation);
        default -> throw SYNTAX.usage("'" + action + "' is none of ls, verify, gc and why MODEL");
      };
    } catch (NeuralNetworksException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  private static Path directory(List<String> words, int index, Invocation invocation)
      throws UsageException, CommandException {
    if (words.size() > index + 1) {
      throw SYNTAX.usage("'" + words.get(index + 1) + "' is one word too many");
    }
    return words.size() > index
        ? CacheFolder.directory(words.get(index), invocation)
        : CacheFolder.usual();
  }

  private Result list(Path directory, Arguments parsed, Invocation invocation)
      throws NeuralNetworksException {
    return new CacheResult(
        directory.toString(),
        cache.entries(directory),
        CacheFolder.obstacles(cache, directory),
        invocation.style(parsed));
  }

  private Result verify(Path directory, Arguments parsed, Invocation invocation)
      throws NeuralNetworksException, CommandException {
    List<Check> checks = cache.verify(directory);
    CacheChecksResult result =
        new CacheChecksResult(directory.toString(), checks, invocation.style(parsed));
    long bad = checks.stream().filter(check -> check.state() == Check.State.BAD).count();
    if (bad == 0) {
      return result;
    }
    // The results belong on standard output even though the command fails.
    invocation.out().println(result.show());
    invocation.out().flush();
    throw new CommandException(
        bad == 1
            ? "1 entry is damaged; the next compilation writes it anew"
            : Units.count(bad) + " entries are damaged; the next compilations write them anew");
  }

  private Result collect(Path directory, Arguments parsed, Invocation invocation)
      throws NeuralNetworksException, UsageException {
    OptionalDouble bytes = parsed.positive("bytes");
    long limit = bytes.isPresent() ? Math.round(bytes.getAsDouble()) : cache.quotaBytes();
    return new CacheGoneResult(
        directory.toString(),
        cache.collect(directory, limit),
        cache.entries(directory),
        invocation.style(parsed));
  }

  private Result why(List<String> words, Arguments parsed, Invocation invocation)
      throws NeuralNetworksException, UsageException, CommandException {
    if (words.size() < 2) {
      throw SYNTAX.usage("nn:cache why MODEL asks for a model");
    }
    Path directory = directory(words, 2, invocation);
    CompilationOptions options = Compiling.options(parsed);
    try (OpenModel model = models.open(words.get(1), invocation.path(words.get(1)))) {
      return new CacheWhyResult(
          model.loaded().path().toString(),
          cache.why(model.model(), options.with(CacheFolder.of(directory, model.loaded()))),
          invocation.style(parsed));
    }
  }
}
