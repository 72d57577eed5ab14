// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.reader.ModelFormatException;

/** The way from one kind of operator to operations. */
@FunctionalInterface
interface OperatorConverter {
  /**
   * Gives the outputs of an operator.
   *
   * @throws ModelFormatException with the reason, where it cannot be expressed
   */
  void convert(Node node) throws ModelFormatException;
}
