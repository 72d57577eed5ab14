// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.reader.ModelFormatException;

/** A converter of one operator of TensorFlow Lite to operations of NNAPI. Stateless. */
@FunctionalInterface
interface OperatorConverter {
  /**
   * Adds the operations, and with them the operands of all outputs.
   *
   * @throws ModelFormatException from {@link Node#refuse} where NNAPI cannot express the operator
   */
  void convert(Node node) throws ModelFormatException;
}
