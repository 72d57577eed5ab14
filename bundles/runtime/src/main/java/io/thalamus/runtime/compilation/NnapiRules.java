// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.DefaultArguments;
import io.thalamus.operations.ModelValidator;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;

/** The rules of NNAPI 1.3, as {@code operations} has them. Immutable. */
public final class NnapiRules implements ModelRules {
  private final OperationCatalog catalog = OperationCatalog.standard();
  private final ModelValidator validator = new ModelValidator(catalog);

  @Override
  public Model check(Model model) throws NeuralNetworksException {
    try {
      validator.validate(model);
      return DefaultArguments.strip(model, catalog);
    } catch (ValidationException e) {
      throw new NeuralNetworksException(
          ResultCode.BAD_DATA, "the model is invalid: " + e.getMessage(), e);
    }
  }

  @Override
  public FeatureLevel of(Model model, Subgraph graph, Operation operation) {
    try {
      return validator.level(model, graph, operation);
    } catch (ValidationException e) {
      throw new IllegalStateException("asked for the level of an invalid operation", e);
    }
  }
}
