// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;

/**
 * Images in a size that only an execution determines, of which NNAPI has none: rows and columns are
 * gathered by computed places, and two neighbours mixed where that is asked for.
 */
final class ComputedResize {
  private static final int ROWS = 1;
  private static final int COLUMNS = 2;

  private final Node node;
  private final boolean isBilinear;
  private final boolean isAligned;
  private final boolean isHalf;
  private final boolean isWide;

  private ComputedResize(Node node, boolean isBilinear, boolean isAligned, boolean isHalf) {
    this.node = node;
    this.isWide = isBilinear && Wide16.isQuantized(node.input(0));
    this.isBilinear = isBilinear;
    this.isAligned = isAligned;
    this.isHalf = isHalf;
  }

  /**
   * Converts it.
   *
   * @param isBilinear whether neighbours are mixed, not the nearest one taken
   * @param isAligned whether the corners of both images lie on each other
   * @param isHalf whether places are the centers of pixels
   */
  static void convert(Node node, boolean isBilinear, boolean isAligned, boolean isHalf) {
    Operand image = node.inOperand(0);
    Shape shape = image.shape();
    node.require(
        image.type() == OperandCode.TENSOR_FLOAT32
            && shape.rank() == 4
            && shape.dimension(ROWS) > 0
            && shape.dimension(COLUMNS) > 0
            && node.shapeOf(1).equals(Shape.of(2)),
        "it resizes %s of shape %s to a computed size".formatted(image.type().text(), shape));
    ComputedResize resize = new ComputedResize(node, isBilinear, isAligned, isHalf);
    int tall = node.temporary(image, shape.with(ROWS, 0));
    resize.along(node.in(0), ROWS, tall);
    int output = node.out(0);
    node.builder().reshape(output, shape.with(ROWS, 0).with(COLUMNS, 0));
    resize.along(tall, COLUMNS, output);
  }

  private void along(int image, int axis, int output) {
    int from = node.operand(image).shape().dimension(axis);
    int count = Computed.element(node, node.in(1), axis - ROWS);
    int place = place(from, count, real(Sizes.counted(node, count)));
    if (!isBilinear) {
      int nearest = isAligned ? pair(OperationCode.ADD, place, 0.5f) : place;
      int index = within(node.compute(OperationCode.FLOOR, place, nearest), from - 1);
      node.emit(OperationCode.GATHER, output, image, node.int32(axis), whole(index));
      return;
    }
    int inside = within(place, from - 1);
    int low = node.compute(OperationCode.FLOOR, place, inside);
    int first = taken(image, axis, low);
    int second = taken(image, axis, within(pair(OperationCode.ADD, low, 1), from - 1));
    int part = node.compute(OperationCode.SUB, place, inside, low);
    for (int i = axis; i < 3; i++) {
      Operand row = node.operand(part);
      Shape shape = i == axis ? Shape.of(0, 1) : Shape.of(0, 1, 1);
      part = node.compute(OperationCode.EXPAND_DIMS, row, shape, part, node.int32(i - axis + 1));
    }
    int step = node.compute(OperationCode.SUB, first, second, first);
    int added = node.compute(OperationCode.MUL, first, step, part);
    node.emit(OperationCode.ADD, output, first, added);
  }

  /** The places in the image of all rows or columns of the result. */
  private int place(int from, int count, int number) {
    int to = real(count);
    int length = node.number(node.operand(to), from);
    if (isAligned) {
      length = node.number(node.operand(to), from - 1);
      int steps = pair(OperationCode.SUB, to, 1);
      // The only place of a result of one row is 0 whatever the scale.
      to = node.compute(OperationCode.MAXIMUM, to, steps, node.number(node.operand(to), 1));
    }
    if (isWide) {
      return wide(number, length, to);
    }
    int scale = node.compute(OperationCode.DIV, to, length, to);
    int center = isHalf ? pair(OperationCode.ADD, number, 0.5f) : number;
    int place = node.compute(OperationCode.MUL, number, center, scale);
    return isHalf && isBilinear ? pair(OperationCode.SUB, place, 0.5f) : place;
  }

  /** The same in whole steps of {@link WideResize}. */
  private int wide(int number, int length, int to) {
    int steps = pair(OperationCode.MUL, length, WideResize.STEPS);
    int half = floor(pair(OperationCode.MUL, to, 0.5f));
    int sum = node.compute(OperationCode.ADD, to, steps, half);
    int scale = floor(node.compute(OperationCode.DIV, to, sum, to));
    int place = node.compute(OperationCode.MUL, number, number, scale);
    if (isHalf) {
      int middle = floor(pair(OperationCode.MUL, scale, 0.5f));
      int moved = node.compute(OperationCode.ADD, place, place, middle);
      place = pair(OperationCode.SUB, moved, WideResize.STEPS / 2f);
    }
    return pair(OperationCode.MUL, place, 1f / WideResize.STEPS);
  }

  private int floor(int numbers) {
    return node.compute(OperationCode.FLOOR, numbers, numbers);
  }

  private int taken(int image, int axis, int places) {
    Operand data = node.operand(image);
    Shape shape = data.shape().with(axis, 0);
    return node.compute(OperationCode.GATHER, data, shape, image, node.int32(axis), whole(places));
  }

  private int pair(OperationCode code, int operand, float number) {
    return node.compute(code, operand, operand, node.number(node.operand(operand), number));
  }

  private int within(int places, int most) {
    Operand like = node.operand(places);
    int low = node.compute(OperationCode.MAXIMUM, places, places, node.number(like, 0));
    return node.compute(OperationCode.MINIMUM, places, low, node.number(like, most));
  }

  private int real(int numbers) {
    return cast(numbers, OperandCode.TENSOR_FLOAT32);
  }

  private int whole(int numbers) {
    return cast(numbers, OperandCode.TENSOR_INT32);
  }

  private int cast(int numbers, OperandCode type) {
    return node.compute(OperationCode.CAST, type, node.operand(numbers).shape(), numbers);
  }
}
