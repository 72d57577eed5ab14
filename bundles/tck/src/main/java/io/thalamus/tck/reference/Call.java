// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.model.OperandCode;
import java.util.List;

/**
 * One operation with the values of its inputs.
 *
 * @param inputs null for one that is left out
 * @param outputs what the outputs are declared as; their values are not known yet
 */
record Call(List<Tensor> inputs, List<Output> outputs) {

  /** An output as declared. */
  record Output(OperandCode type, double scale, int zeroPoint) {}

  Tensor in(int index) {
    return inputs.get(index);
  }

  boolean has(int index) {
    return index < inputs.size() && inputs.get(index) != null;
  }

  int int32(int index) {
    return (int) exact(index, 0);
  }

  int int32(int index, int otherwise) {
    return has(index) ? int32(index) : otherwise;
  }

  boolean bool(int index, boolean otherwise) {
    return has(index) ? exact(index, 0) != 0 : otherwise;
  }

  double number(int index) {
    return exact(index, 0);
  }

  int[] ints(int index) {
    int[] values = new int[in(index).size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = (int) exact(index, i);
    }
    return values;
  }

  private double exact(int index, int element) {
    Bounds real = in(index).real();
    if (!real.isExact(element)) {
      throw new UnsupportedOperationException("an argument that is only known within bounds");
    }
    return real.middle()[element];
  }

  Output out(int index) {
    return outputs.get(index);
  }

  OperandCode type() {
    return outputs.getFirst().type();
  }

  /** Returns whether an input and the first output store equal numbers for equal values. */
  boolean isAlike(int index) {
    Tensor input = in(index);
    return input.type() == type()
        && input.scale() == out(0).scale()
        && input.zeroPoint() == out(0).zeroPoint();
  }

  /** An axis, negative ones counted from behind. */
  static int axis(int axis, int rank) {
    return axis < 0 ? axis + rank : axis;
  }
}
