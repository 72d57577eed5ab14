// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.model;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.model.Model;
import java.util.Optional;

/** A model in use by one command, which closes it. Used by one thread. */
public interface OpenModel extends AutoCloseable {
  /** The model and where it came from. */
  LoadedModel loaded();

  /** The model. */
  default Model model() {
    return loaded().model();
  }

  /** Returns the cache of its compilations unless a command names another; empty for none. */
  Optional<CacheOptions> caching();

  /**
   * The model compiled; closed with this, or kept for the next command.
   *
   * @throws NeuralNetworksException where it cannot be compiled so
   */
  Compilation compile(CompilationOptions options) throws NeuralNetworksException;

  @Override
  void close();
}
