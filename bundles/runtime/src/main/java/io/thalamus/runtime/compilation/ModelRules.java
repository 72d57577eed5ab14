// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.model.Model;
import io.thalamus.runtime.partition.FeatureLevels;

/** What is valid, and since when. Thread-safe. */
public interface ModelRules extends FeatureLevels {
  /**
   * Checks a model.
   *
   * @return the model as devices get it: without trailing arguments that equal their defaults,
   *     since devices that speak an older version do not know them
   * @throws NeuralNetworksException with BAD_DATA and the rule that is broken
   */
  Model check(Model model) throws NeuralNetworksException;
}
