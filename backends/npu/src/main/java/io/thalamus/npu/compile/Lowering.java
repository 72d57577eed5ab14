// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.operations.ResolvedOperation;
import java.util.List;

/** Makes layers of an operation. Stateless and thread-safe. */
@FunctionalInterface
interface Lowering {
  /**
   * The layers, in their order; none where the device does not take this form.
   *
   * @param operation with shapes and parameters
   * @param inputs by input, its place; null for what is no tensor of stored values
   * @param output its place
   * @param context what else is needed
   */
  List<Layer<?>> lower(
      ResolvedOperation operation, List<Tensor> inputs, Tensor output, LoweringContext context);

  /**
   * Returns true if the result is the first input with other dimensions, and there is no layer at
   * all.
   */
  default boolean isAlias() {
    return false;
  }
}
