// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.model;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ReadOptions;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A model in use by one command, which closes it. Used by one thread. */
public interface OpenModel extends AutoCloseable {
  /** The model and where it came from. */
  LoadedModel loaded();

  /** The model. */
  default Model model() {
    return loaded().model();
  }

  /**
   * Reads the model with other choices: it is this model from then on.
   *
   * @throws NeuralNetworksException where its file leaves no such choice
   */
  void choose(ReadOptions options) throws NeuralNetworksException;

  /**
   * Reads the model for the dimensions of inputs, where its file leaves these open and it was read
   * with others.
   *
   * @param inputs in their order
   */
  default void fit(List<Tensor> inputs) throws NeuralNetworksException {
    Map<String, Shape> shapes =
        loaded().file().shapesFor(inputs.stream().map(Tensor::shape).toList());
    if (!shapes.isEmpty()) {
      choose(loaded().options().withShapes(shapes));
    }
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
