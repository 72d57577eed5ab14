// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Objects;

/**
 * One value of a subgraph: a tensor, a scalar or a reference to another subgraph. Immutable.
 *
 * @param type the type of an element
 * @param shape the dimensions as far as they are known
 * @param quantization how stored integers stand for real numbers
 * @param lifetime when there is a value, and where
 * @param name for people; may be empty
 */
public record Operand(
    OperandType type, Shape shape, Quantization quantization, Lifetime lifetime, String name) {
  public Operand {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(shape, "shape");
    Objects.requireNonNull(quantization, "quantization");
    Objects.requireNonNull(lifetime, "lifetime");
    Objects.requireNonNull(name, "name");
  }

  /**
   * Returns whether the bytes of a value can be counted: a scalar, or a tensor with known
   * dimensions.
   */
  public boolean isSizeKnown() {
    return !type.isTensor() || (shape.rank() > 0 && shape.isFullySpecified());
  }

  /**
   * The bytes of a value.
   *
   * @throws IllegalStateException where dimensions are unknown
   */
  public long byteSize() {
    if (!isSizeKnown()) {
      throw new IllegalStateException("operand " + name + " has unknown dimensions " + shape);
    }
    return type.isTensor()
        ? Math.multiplyExact(shape.elementCount(), type.elementSize())
        : type.elementSize();
  }

  /** Returns it for people: {@code input_1 TENSOR_FLOAT32 1x32x32x3}. */
  public String text() {
    String prefix = name.isEmpty() ? "" : name + " ";
    return prefix + type.text() + (type.isTensor() ? " " + shape : "");
  }

  /** This operand with another lifetime. */
  public Operand with(Lifetime changed) {
    return new Operand(type, shape, quantization, changed, name);
  }

  /** This operand with other dimensions. */
  public Operand with(Shape changed) {
    return new Operand(type, changed, quantization, lifetime, name);
  }
}
