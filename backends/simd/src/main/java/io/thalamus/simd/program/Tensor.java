// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.OperandView;

/**
 * A tensor of a graph at its place in a frame. Immutable.
 *
 * @param view type, shape and quantization
 * @param array of the frame: 0 where most tensors stand, side by side, or one of its own, as inputs
 *     and outputs have
 * @param offset of the first element in that array
 */
public record Tensor(OperandView view, int array, int offset) {
  public Shape shape() {
    return view.shape();
  }

  public int dimension(int axis) {
    return view.shape().dimension(axis);
  }

  /** The number of elements. */
  public int size() {
    return Math.toIntExact(view.shape().elementCount());
  }

  /** Returns the same with height and width exchanged, of which one is 1. */
  public Tensor turned() {
    Shape turned = Shape.of(dimension(0), dimension(2), dimension(1), dimension(3));
    return new Tensor(view.with(turned, view.value()), array, offset);
  }

  /** Returns the arrays in which the elements stand. */
  public ElementKind kind() {
    return ElementKind.find(view.type()).orElseThrow();
  }

  /** Returns true if the elements are floats of 32 bits. */
  public boolean isFloat() {
    return view.type() == OperandCode.TENSOR_FLOAT32;
  }

  /** Returns the bits by whose exclusive or stored bytes become signed: 0x80 for unsigned ones. */
  public int flip() {
    return Stored.flip(view.type());
  }

  /** The zero point of the stored bytes once they are signed. */
  public int signedZeroPoint() {
    return view.zeroPoint() - flip();
  }
}
