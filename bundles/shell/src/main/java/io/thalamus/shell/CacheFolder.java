// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationCache.Trouble;
import io.thalamus.api.CompilationCaching;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.StepCaching;
import io.thalamus.api.StepCaching.Origin;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Units;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.FrameworkUtil;

/** Where commands keep compilations, and under which token. Stateless. */
final class CacheFolder {
  private static final String USUAL = "-";
  private static final String OPTION = "cache";

  private CacheFolder() {}

  /** Adds the option. */
  static Syntax addTo(Syntax syntax) {
    return syntax.option(
        OPTION, "DIR", "keep compilations in DIR, or in the storage's cache for -: see nn:cache");
  }

  /** The directory of {@code --cache}, where that is given. */
  static Optional<Path> asked(Syntax syntax, Arguments parsed, Invocation invocation)
      throws UsageException, CommandException {
    Optional<String> word = parsed.text(OPTION);
    if (word.isPresent() && word.get().isBlank()) {
      throw syntax.usage("--cache DIR names a directory, or - for the storage's cache");
    }
    return word.isPresent() ? Optional.of(directory(word.get(), invocation)) : Optional.empty();
  }

  /** The caching that {@code --cache} asks for. */
  static Optional<CompilationCaching> asked(
      Syntax syntax, Arguments parsed, Invocation invocation, LoadedModel model)
      throws UsageException, CommandException {
    return asked(syntax, parsed, invocation).map(directory -> of(directory, model));
  }

  /** A directory by a word of the command line. */
  static Path directory(String word, Invocation invocation) throws CommandException {
    return word.equals(USUAL) ? usual() : invocation.path(word);
  }

  /** The one in the storage directory. */
  static Path usual() throws CommandException {
    Bundle bundle = FrameworkUtil.getBundle(CacheFolder.class);
    String storage =
        bundle == null ? null : bundle.getBundleContext().getProperty("thalamus.storage");
    if (storage == null) {
      throw new CommandException("there is no storage directory here; name a directory");
    }
    return Path.of(storage, "cache");
  }

  /** Returns caching of a model under the token of its contents. */
  static CompilationCaching of(Path directory, LoadedModel model) {
    return new CompilationCaching(directory, model.token(), ModelsCommand.name(model.path()));
  }

  /** What hinders compilations from being kept in a directory: now, or when it was last tried. */
  static List<String> obstacles(CompilationCache cache, Path directory) {
    Path plain = directory.toAbsolutePath().normalize();
    return Stream.concat(
            cache.obstacle(plain).stream(),
            cache.troubles().stream()
                .filter(trouble -> trouble.directory().equals(plain))
                .map(Trouble::cause))
        .distinct()
        .toList();
  }

  /** What the cache did, in a few words. */
  static String describe(List<StepCaching> steps) {
    long restored = count(steps, Origin.RESTORED);
    long stored = count(steps, Origin.STORED);
    if (restored == steps.size()) {
      return "from the cache";
    }
    if (restored > 0) {
      return Units.count(restored)
          + " of "
          + Units.plural(steps.size(), "step")
          + " from the cache";
    }
    if (stored > 0) {
      return "compiled, and kept for the next time";
    }
    return count(steps, Origin.NOT_STORED) > 0
        ? "compiled, and not kept: the files cannot be used now"
        : "compiled: no device of the plan caches";
  }

  private static long count(List<StepCaching> steps, Origin origin) {
    return steps.stream().filter(step -> step.origin() == origin).count();
  }
}
