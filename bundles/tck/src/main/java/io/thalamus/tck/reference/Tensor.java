// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.model.OperandCode;
import java.util.Objects;

/**
 * The value of an operand. The arrays must not be changed.
 *
 * @param type the type of an element
 * @param shape the dimensions; none for a scalar
 * @param scale of a quantized type; 0 for none
 * @param zeroPoint of a quantized type
 * @param real what the elements stand for; truth values are 0 and 1
 */
public record Tensor(OperandCode type, int[] shape, double scale, int zeroPoint, Bounds real) {
  public Tensor {
    Objects.requireNonNull(type, "type");
    if (elements(shape) != real.size()) {
      throw new IllegalArgumentException(
          real.size() + " values for " + elements(shape) + " elements");
    }
  }

  public int rank() {
    return shape.length;
  }

  public int size() {
    return real.size();
  }

  static int elements(int[] shape) {
    int elements = 1;
    for (int dimension : shape) {
      if (dimension < 0) {
        throw new IllegalArgumentException("a dimension is " + dimension);
      }
      elements = Math.multiplyExact(elements, dimension);
    }
    return elements;
  }

  /** The bounds of the numbers that are stored: those of the elements themselves, or quantized. */
  public Bounds stored() {
    return Numbers.isQuantized(type) && scale > 0
        ? real.monotone(value -> Math.rint(value / scale) + zeroPoint)
        : real;
  }
}
