// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;

/**
 * The least feature level that has an operation in the form in which a graph uses it. Devices that
 * speak less are not given it, whatever they promise.
 */
@FunctionalInterface
public interface FeatureLevels {
  /** The level that an operation of a graph of a valid model needs. */
  FeatureLevel of(Model model, Subgraph graph, Operation operation);
}
