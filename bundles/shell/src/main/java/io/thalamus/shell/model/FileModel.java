// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.model;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.model.reader.ReadOptions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/** A model that was opened for one command only. */
final class FileModel implements OpenModel {
  private final NeuralNetworks networks;
  private LoadedModel loaded;
  private final Deque<Compilation> compilations = new ArrayDeque<>();

  FileModel(NeuralNetworks networks, LoadedModel loaded) {
    this.networks = networks;
    this.loaded = loaded;
  }

  @Override
  public LoadedModel loaded() {
    return loaded;
  }

  @Override
  public void choose(ReadOptions options) throws NeuralNetworksException {
    LoadedModel other = loaded.with(options);
    close();
    loaded = other;
  }

  @Override
  public Optional<CacheOptions> caching() {
    return Optional.empty();
  }

  @Override
  public Compilation compile(CompilationOptions options) throws NeuralNetworksException {
    Compilation compilation = networks.compile(loaded.model(), options);
    compilations.push(compilation);
    return compilation;
  }

  @Override
  public void close() {
    compilations.forEach(Compilation::close);
    compilations.clear();
    loaded.close();
  }
}
