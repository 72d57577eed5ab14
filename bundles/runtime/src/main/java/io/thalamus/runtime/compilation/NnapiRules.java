// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.DefaultArguments;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationExtension;
import io.thalamus.operations.ValidationException;
import io.thalamus.runtime.partition.ModelRules;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.component.annotations.ReferencePolicyOption;

/**
 * The rules of NNAPI 1.3, as {@code operations} has them, and those of the extensions that are
 * here. Thread-safe; an extension that comes or goes counts for models that are checked later.
 */
@Component(service = ModelRules.class)
public final class NnapiRules implements ModelRules {
  private final List<OperationExtension> extensions = new ArrayList<>();
  private volatile OperationCatalog catalog = OperationCatalog.standard();

  /** An extension has come. One that cannot be is kept aside until those before it have gone. */
  @Reference(
      cardinality = ReferenceCardinality.MULTIPLE,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  public synchronized void addExtension(OperationExtension extension) {
    extensions.add(extension);
    collect();
  }

  /** An extension goes. */
  public synchronized void removeExtension(OperationExtension extension) {
    extensions.remove(extension);
    collect();
  }

  private void collect() {
    OperationCatalog all = OperationCatalog.standard();
    for (OperationExtension extension : extensions) {
      try {
        all = all.with(extension);
      } catch (IllegalArgumentException e) {
        Compiler.log().log(Level.WARNING, "an extension is refused: {0}", e.getMessage());
      }
    }
    catalog = all;
  }

  @Override
  public Model check(Model model) throws NeuralNetworksException {
    OperationCatalog known = catalog;
    try {
      known.validator().validate(model);
      return DefaultArguments.strip(model, known);
    } catch (ValidationException e) {
      throw new NeuralNetworksException(
          ResultCode.BAD_DATA, "the model is invalid: " + e.getMessage(), e);
    }
  }

  @Override
  public FeatureLevel level(Model model, Subgraph graph, Operation operation) {
    try {
      return catalog.validator().level(model, graph, operation);
    } catch (ValidationException e) {
      // An extension that has come since the model was checked: the device judges.
      Compiler.log().log(Level.DEBUG, "{0}: {1}", operation.type().text(), e.getMessage());
      return FeatureLevel.V1_3;
    }
  }
}
