// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationCache.Check;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.console.Candidates;
import io.thalamus.console.Command;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.console.text.Units;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.results.CacheChecksResult;
import io.thalamus.shell.results.CacheEntry;
import io.thalamus.shell.results.CacheGoneResult;
import io.thalamus.shell.results.CacheResult;
import io.thalamus.shell.results.CacheWhyResult;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalDouble;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:cache}: stored compilations. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=cache"})
public final class CacheCommand extends Command {
  private static final Syntax SYNTAX =
      CompileOptionsSyntax.addTo(
          Syntax.of(
                  "nn:cache",
                  "[ls | verify | gc | why MODEL] [DIR]",
                  "Compilations that are stored: what there is; whether their devices can open it;"
                      + " removing what is worth least; why MODEL would be compiled"
                      + " anew. DIR is usually the storage's cache.",
                  0,
                  3)
              .offering(Candidates.words("ls", "verify", "gc", "why"), Inputs.MODEL)
              .option("bytes", "N", "gc: what may stay (usually the configured quota)"));

  private final CompilationCache cache;
  private final Models models;

  /** Called by the component runtime. */
  @Activate
  public CacheCommand(@Reference CompilationCache cache, @Reference Models models) {
    super(SYNTAX);
    this.cache = cache;
    this.models = models;
  }

  @Descriptor("compilations that are stored: list, check, remove, and why one would not be used")
  public Result cache(
      CommandSession session,
      @Descriptor("[ls | verify | gc | why MODEL] [DIR] " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::act);
  }

  private Result act(Invocation invocation) throws NeuralNetworksException {
    List<String> words = invocation.arguments().operands();
    String action = words.isEmpty() ? "ls" : words.getFirst();
    return switch (action) {
      case "ls" -> {
        Path directory = directory(words, 1, invocation);
        yield new CacheResult(
            directory.toString(),
            CacheEntry.of(cache.entries(directory)),
            CacheFolder.obstacles(cache, directory),
            cache.looks(),
            invocation.style());
      }
      case "verify" -> verify(directory(words, 1, invocation), invocation);
      case "gc" -> collect(directory(words, 1, invocation), invocation);
      case "why" -> why(words, invocation);
      default -> throw invocation.usage("'" + action + "' is none of ls, verify, gc and why MODEL");
    };
  }

  private static Path directory(List<String> words, int index, Invocation invocation) {
    if (words.size() > index + 1) {
      throw invocation.usage("'" + words.get(index + 1) + "' is one word too many");
    }
    return words.size() > index
        ? CacheFolder.directory(words.get(index), invocation)
        : CacheFolder.usual();
  }

  private Result verify(Path directory, Invocation invocation) throws NeuralNetworksException {
    List<Check> checks = cache.verify(directory);
    CacheChecksResult result =
        new CacheChecksResult(
            directory.toString(), CacheEntry.ofChecks(checks), invocation.style());
    long bad = checks.stream().filter(check -> check.state() == Check.State.BAD).count();
    if (bad == 0) {
      return result;
    }
    throw invocation.failure(
        result,
        bad == 1
            ? "1 entry is damaged; the next compilation writes it anew"
            : Units.count(bad) + " entries are damaged; the next compilations write them anew");
  }

  private Result collect(Path directory, Invocation invocation) throws NeuralNetworksException {
    OptionalDouble bytes = invocation.arguments().positive("bytes");
    long limit = bytes.isPresent() ? Math.round(bytes.getAsDouble()) : cache.quotaBytes();
    return CacheGoneResult.of(
        directory.toString(),
        cache.collect(directory, limit),
        cache.entries(directory),
        invocation.style());
  }

  private Result why(List<String> words, Invocation invocation) throws NeuralNetworksException {
    if (words.size() < 2) {
      throw invocation.usage("nn:cache why MODEL asks for a model");
    }
    Path directory = directory(words, 2, invocation);
    CompilationOptions options = CompileOptionsSyntax.options(invocation.arguments());
    try (OpenModel model = models.open(words.get(1), invocation.path(words.get(1)))) {
      return new CacheWhyResult(
          model.loaded().path().toString(),
          cache.why(model.model(), options.with(CacheFolder.of(directory, model.loaded()))),
          invocation.style());
    }
  }
}
