// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.Shape;
import java.util.Objects;

/**
 * An operation whose shapes are all known, with its parameters: all that a kernel is made from.
 *
 * @param view types, shapes, quantization and constants
 * @param parameters of the operation's family
 */
public record ResolvedOperation(OperationView view, OperationParameters parameters) {
  public ResolvedOperation {
    Objects.requireNonNull(view, "view");
    Objects.requireNonNull(parameters, "parameters");
  }

  /** The parameters as the family's record. */
  public <P extends OperationParameters> P parameters(Class<P> family) {
    return family.cast(parameters);
  }

  /** The shape of an input. */
  public Shape inputShape(int index) {
    return view.input(index).shape();
  }

  /** The shape of an output. */
  public Shape outputShape(int index) {
    return view.output(index).shape();
  }
}
