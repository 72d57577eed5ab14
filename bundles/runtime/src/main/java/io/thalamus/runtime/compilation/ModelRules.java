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
   * @throws NeuralNetworksException with BAD_DATA and the rule that is broken
   */
  void check(Model model) throws NeuralNetworksException;
}
