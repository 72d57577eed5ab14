// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;

/** The rules that say whether a model is valid, and since when. Thread-safe. */
@FunctionalInterface
public interface ModelRules {
  /**
   * Returns the least feature level that has an operation in the form in which a graph of a valid
   * model uses it. Devices that speak less are not given it, whatever they promise.
   */
  FeatureLevel level(Model model, Subgraph graph, Operation operation);

  /**
   * Checks a model. By default every model is valid.
   *
   * @return the model as devices get it: without trailing arguments that equal their defaults,
   *     since devices that speak an older version do not know them
   * @throws NeuralNetworksException with BAD_DATA and the rule that is broken
   */
  default Model check(Model model) throws NeuralNetworksException {
    return model;
  }
}
