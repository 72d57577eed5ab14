// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.model.OperandType;
import io.thalamus.simd.program.ElementKind;
import io.thalamus.simd.program.Tensor;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The tensors of a graph at their places in a frame, by operand, the weights that are packed for
 * kernels, and what steps share besides. Used by the thread that compiles.
 */
public record Tensors(Tensor[] tensors, PackedWeights weights, Map<Object, Object> shared) {
  Tensors(Tensor[] tensors, PackedWeights weights) {
    this(tensors, weights, new HashMap<>());
  }

  /** Returns true if tensors of a type stand in frames. */
  static boolean isStored(OperandType type) {
    return ElementKind.find(type).isPresent();
  }

  /**
   * Returns what is made for the first step that needs it.
   *
   * @param key equal for what is the same, and of a type that only such keys have
   */
  @SuppressWarnings("unchecked")
  <T> T once(Object key, Supplier<T> make) {
    return (T) shared.computeIfAbsent(key, _ -> make.get());
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
