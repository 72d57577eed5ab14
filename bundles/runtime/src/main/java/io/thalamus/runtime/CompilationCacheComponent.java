// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Model;
import io.thalamus.runtime.caching.StepCache;
import io.thalamus.runtime.compilation.Compiler;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** The view of stored compilations. Thread-safe. */
@Component(service = CompilationCache.class)
public final class CompilationCacheComponent implements CompilationCache {
  private final StepCache cache;
  private final Compiler compiler;

  @Activate
  public CompilationCacheComponent(@Reference StepCache cache, @Reference Compiler compiler) {
    this.cache = cache;
    this.compiler = compiler;
  }

  /** A look at a directory. */
  @FunctionalInterface
  private interface Look<T> {
    T at(Path directory) throws IOException;
  }

  private static <T> T look(Path directory, Look<T> look) throws NeuralNetworksException {
    try {
      return look.at(Objects.requireNonNull(directory, "directory"));
    } catch (IOException e) {
      throw new NeuralNetworksException(
          ResultCode.BAD_DATA,
          "the caching directory " + directory + " cannot be read: " + e.getMessage(),
          e);
    }
  }

  @Override
  public List<Entry> entries(Path directory) throws NeuralNetworksException {
    return look(directory, cache::entries);
  }

  @Override
  public List<Check> verify(Path directory) throws NeuralNetworksException {
    return look(directory, cache::verify);
  }

  @Override
  public List<Entry> collect(Path directory, long bytes) throws NeuralNetworksException {
    return look(directory, path -> cache.collect(path, bytes));
  }

  @Override
  public long quotaBytes() {
    return cache.quotaBytes();
  }

  @Override
  public List<Trouble> troubles() {
    return cache.troubles();
  }

  @Override
  public List<Looks> looks() {
    return cache.looks();
  }

  @Override
  public Optional<String> obstacle(Path directory) {
    return cache.obstacle(Objects.requireNonNull(directory, "directory"));
  }

  @Override
  public int forget(Model model, CompilationOptions options) throws NeuralNetworksException {
    return compiler.forget(
        Objects.requireNonNull(model, "model"), Objects.requireNonNull(options, "options"));
  }

  @Override
  public List<Forecast> why(Model model, CompilationOptions options)
      throws NeuralNetworksException {
    return compiler.forecast(
        Objects.requireNonNull(model, "model"), Objects.requireNonNull(options, "options"));
  }
}
