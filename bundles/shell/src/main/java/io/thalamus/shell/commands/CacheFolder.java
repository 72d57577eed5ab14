// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationCache.Trouble;
import io.thalamus.api.LoadedModel;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Syntax;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.FrameworkUtil;

/** The directory and token under which commands store compilations. Stateless. */
final class CacheFolder {
  private static final String USUAL = "-";
  private static final String OPTION = "cache";

  private CacheFolder() {}

  static Syntax addTo(Syntax syntax) {
    return syntax.option(
        OPTION,
        "DIR",
        "keep compilations in DIR, or in the storage's cache for -: see nn:cache",
        Inputs.FILE);
  }

  /** Returns the directory of {@code --cache}, where that is given. */
  static Optional<Path> asked(Invocation invocation) {
    Optional<String> word = invocation.arguments().text(OPTION);
    if (word.isPresent() && word.get().isBlank()) {
      throw invocation.usage("--cache DIR names a directory, or - for the storage's cache");
    }
    return word.isPresent() ? Optional.of(directory(word.get(), invocation)) : Optional.empty();
  }

  /** Returns the caching of a model that {@code --cache} asks for. */
  static Optional<CacheOptions> asked(Invocation invocation, LoadedModel model) {
    return asked(invocation).map(directory -> of(directory, model));
  }

  /** Returns the directory that a word of the command line means. */
  static Path directory(String word, Invocation invocation) {
    return word.equals(USUAL) ? usual() : invocation.path(word);
  }

  /** Returns the cache in the storage directory. */
  static Path usual() {
    Bundle bundle = FrameworkUtil.getBundle(CacheFolder.class);
    String storage =
        bundle == null ? null : bundle.getBundleContext().getProperty("thalamus.storage");
    if (storage == null) {
      throw new CommandException("there is no storage directory here; name a directory");
    }
    return Path.of(storage, "cache");
  }

  /** Returns caching of a model under the token of its contents. */
  static CacheOptions of(Path directory, LoadedModel model) {
    return new CacheOptions(directory, model.token(), ModelsCommand.name(model.path()));
  }

  /** Returns why compilations cannot be stored in a directory: now, or when it was last tried. */
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
}
