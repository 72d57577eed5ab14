// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperandCode;
import java.util.ArrayList;
import java.util.List;

/**
 * The places of the arguments that all two-dimensional windows have, behind the tensors: four
 * paddings (left, right, top, bottom) or one implicit scheme, then the strides (width, height),
 * then what the operation adds.
 *
 * @param first index of the first of them
 * @param isExplicit whether the padding is given in cells
 */
record WindowArguments(int first, boolean isExplicit) {
  /** The arguments of one form. */
  static List<Argument> signature(boolean isExplicit) {
    List<String> names =
        isExplicit
            ? List.of(
                "padding left",
                "padding right",
                "padding top",
                "padding bottom",
                "stride width",
                "stride height")
            : List.of("padding scheme", "stride width", "stride height");
    List<Argument> arguments = new ArrayList<>(names.size());
    for (String name : names) {
      arguments.add(Argument.argument(name, OperandCode.INT32));
    }
    return arguments;
  }

  /** Index of the first argument behind the strides. */
  int next() {
    return first + (isExplicit ? 6 : 3);
  }

  /** The window along the width of an input. */
  Window width(OperationView operation, int input, int size, int dilation)
      throws ValidationException {
    return window(operation, input, size, dilation, 0);
  }

  /** The window along the height of an input. */
  Window height(OperationView operation, int input, int size, int dilation)
      throws ValidationException {
    return window(operation, input, size, dilation, 1);
  }

  private Window window(OperationView operation, int input, int size, int dilation, int axis)
      throws ValidationException {
    int stride = stride(operation, axis);
    return isExplicit
        ? Window.explicit(size, stride, dilation, before(operation, axis), after(operation, axis))
        : Window.implicit(input, size, stride, dilation, scheme(operation));
  }

  /** The scheme of implicit padding. */
  int scheme(OperationView operation) {
    return operation.input(first).int32();
  }

  /** The explicit padding in front, along the width (0) or the height (1). */
  int before(OperationView operation, int axis) {
    return operation.input(first + 2 * axis).int32();
  }

  /** The explicit padding behind, along the width (0) or the height (1). */
  int after(OperationView operation, int axis) {
    return operation.input(first + 2 * axis + 1).int32();
  }

  /** The stride along the width (0) or the height (1). */
  int stride(OperationView operation, int axis) {
    return operation.input(next() - 2 + axis).int32();
  }
}
