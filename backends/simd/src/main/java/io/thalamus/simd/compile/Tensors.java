// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.model.OperandType;
import io.thalamus.simd.program.ElementKind;
import io.thalamus.simd.program.Tensor;

/**
 * The tensors of a graph at their places in a frame, by operand, and the weights that are packed
 * for kernels. Used by the thread that compiles.
 */
public record Tensors(Tensor[] tensors, PackedWeights weights) {
  /** Returns true if tensors of a type stand in frames. */
  static boolean isStored(OperandType type) {
    return ElementKind.find(type).isPresent();
  }

  /** The tensor of an operand that stands in the frame. */
  Tensor get(int operand) {
    return tensors[operand];
  }

  /** Returns the tensor of a node's input number {@code index}. */
  Tensor input(Node node, int index) {
    return tensors[node.inputs().get(index)];
  }

  /** Returns the tensor of a node's output. */
  Tensor output(Node node) {
    return tensors[node.output()];
  }
}
