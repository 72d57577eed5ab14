// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;

/**
 * The best boxes that do not overlap better ones, in as many places as there may be at most: those
 * that are left hold 0. Where better boxes only lower the scores of others, round by round the best
 * is taken, and the scores of all that overlap it are lowered.
 */
final class Suppression {
  private static final int CORNERS = 4;

  /** Rounds that stand one after the other in a program. */
  private static final int MOST_ROUNDS = 256;

  private final Node node;
  private final int boxes;
  private final int scores;
  private final int count;
  private final int most;

  private Suppression(Node node) {
    this.node = node;
    this.boxes = node.in(0);
    this.scores = node.in(1);
    this.most = node.onlyInt(2);
    Shape shape = node.operand(boxes).shape();
    node.require(
        shape.rank() == 2
            && shape.isFullySpecified()
            && shape.dimension(1) == CORNERS
            && node.operand(scores).shape().equals(Shape.of(shape.dimension(0)))
            && node.operand(boxes).type() == OperandCode.TENSOR_FLOAT32
            && most > 0,
        "it takes %s boxes of shape %s".formatted(most, shape));
    this.count = shape.dimension(0);
  }

  static void addTo(Converters table) {
    table.add(BuiltinOperator.NON_MAX_SUPPRESSION_V4, node -> new Suppression(node).hard(1));
    table.add(BuiltinOperator.NON_MAX_SUPPRESSION_V5, Suppression::soft);
  }

  private static void soft(Node node) {
    node.require(node.isKnown(5), "by how much it lowers scores is not known beforehand");
    float sigma = node.floats(5)[0];
    if (sigma > 0) {
      new Suppression(node).lowered(-0.5f / sigma);
    } else {
      new Suppression(node).hard(2);
    }
  }

  /** The number that an input holds, as a vector. */
  private int limit(int input) {
    return Reshape.reshaped(node, node.in(input), Shape.of(1));
  }

  private int value(float value) {
    return node.number(node.operand(scores), value);
  }

  /** TensorFlow Lite leaves out a box at the limit, and the extension only one above it. */
  private int overlap() {
    return node.isKnown(3) ? value(Math.nextDown(node.floats(3)[0])) : limit(3);
  }

  /** Places that are found count from 1 on the way, so that those that are left are 0. */
  private void hard(int countOutput) {
    int found =
        node.compute(
            ThalamusExtension.NON_MAX_SUPPRESSION,
            OperandCode.TENSOR_INT32,
            Shape.of(0, 3),
            Reshape.reshaped(node, boxes, Shape.of(1, count, CORNERS)),
            Reshape.reshaped(node, scores, Shape.of(1, 1, count)),
            node.int32Vector(most),
            overlap(),
            limit(4),
            node.bool(false));
    int column =
        node.compute(
            OperationCode.GATHER,
            OperandCode.TENSOR_INT32,
            Shape.of(0, 1),
            found,
            node.int32(1),
            node.int32Vector(2));
    int counted =
        node.compute(
            OperationCode.ADD,
            OperandCode.TENSOR_INT32,
            Shape.of(0, 1),
            column,
            node.int32Tensor(Shape.of(1, 1), 1));
    int longer = node.temporary(OperandCode.TENSOR_INT32, Shape.of(0, 1), Quantization.NONE);
    int zeros = Truths.filled(node, node.operand(column), Shape.of(most, 1), 0);
    node.emit(ThalamusExtension.CONCATENATION, longer, counted, zeros, node.int32(0));
    Shape rows = Shape.of(most, 1);
    int all =
        node.compute(
            OperationCode.SLICE,
            OperandCode.TENSOR_INT32,
            rows,
            longer,
            node.int32Vector(0, 0),
            node.int32Vector(most, 1));
    int places = Reshape.reshaped(node, all, Shape.of(most));
    int isFound =
        Truths.reals(
            node,
            Truths.compared(
                node, OperationCode.GREATER, places, node.int32Vector(0), Shape.of(most)));
    int less = node.compute(OperationCode.SUB, places, places, node.int32Vector(1));
    int indexes = node.compute(OperationCode.MAXIMUM, places, less, node.int32Vector(0));
    give(indexes, isFound);
    if (countOutput == 2) {
      Operand like = node.operand(isFound);
      int picked =
          node.compute(OperationCode.GATHER, like, Shape.of(most), scores, node.int32(0), indexes);
      node.emit(OperationCode.MUL, node.out(1), picked, isFound);
    }
    number(isFound, countOutput);
  }

  private void give(int places, int isFound) {
    node.emit(OperationCode.MUL, node.out(0), places, whole(isFound, Shape.of(most)));
  }

  private int whole(int reals, Shape shape) {
    return node.compute(OperationCode.CAST, OperandCode.TENSOR_INT32, shape, reals);
  }

  private void number(int isFound, int output) {
    int sum =
        node.compute(
            OperationCode.REDUCE_SUM,
            node.operand(isFound),
            Shape.of(1),
            isFound,
            node.int32Vector(0),
            node.bool(true));
    node.emit(OperationCode.CAST, node.out(output), sum);
  }

  private int pair(OperationCode code, int first, int second) {
    Operand like = node.operand(scores);
    Shape wide = node.operand(first).shape();
    Shape other = node.operand(second).shape();
    Shape shape = wide.elementCount() < other.elementCount() ? other : wide;
    return node.compute(code, like, shape, first, second);
  }

  /** A corner's coordinate of all boxes, or of one. */
  private int corner(int from, int rows, int index) {
    int corner = node.temporary(node.operand(scores), Shape.of(rows));
    Strided.emit(node, from, Shape.of(rows), index, new long[] {CORNERS}, corner);
    return corner;
  }

  /** The least and largest coordinates: y, x, y, x. */
  private int[] edges(int from, int rows) {
    int[] corners = new int[CORNERS];
    for (int i = 0; i < CORNERS; i++) {
      corners[i] = corner(from, rows, i);
    }
    return new int[] {
      pair(OperationCode.MINIMUM, corners[0], corners[2]),
      pair(OperationCode.MINIMUM, corners[1], corners[3]),
      pair(OperationCode.MAXIMUM, corners[0], corners[2]),
      pair(OperationCode.MAXIMUM, corners[1], corners[3])
    };
  }

  private int area(int[] edges) {
    return pair(
        OperationCode.MUL,
        pair(OperationCode.SUB, edges[2], edges[0]),
        pair(OperationCode.SUB, edges[3], edges[1]));
  }

  private int side(int[] all, int[] one, int axis) {
    int side =
        pair(
            OperationCode.SUB,
            pair(OperationCode.MINIMUM, all[axis + 2], one[axis + 2]),
            pair(OperationCode.MAXIMUM, all[axis], one[axis]));
    return pair(OperationCode.MAXIMUM, side, value(0));
  }

  /** Intersection by union; where one of the boxes has no area, the intersection has none. */
  private int overlaps(int[] all, int areas, int[] one) {
    int common = pair(OperationCode.MUL, side(all, one, 0), side(all, one, 1));
    int union = pair(OperationCode.SUB, pair(OperationCode.ADD, areas, area(one)), common);
    return pair(
        OperationCode.DIV, common, pair(OperationCode.MAXIMUM, union, value(Float.MIN_NORMAL)));
  }

  private void lowered(float scale) {
    node.require(
        most <= MOST_ROUNDS, "it lowers scores in " + most + " rounds, of at most " + MOST_ROUNDS);
    int[] all = edges(boxes, count);
    int areas = area(all);
    int places = node.int32Vector(node.constants().range(count, node.output(0)));
    Shape each = Shape.of(count);
    int lowest = Truths.filled(node, node.operand(scores), each, -Float.MAX_VALUE);
    int least = pair(OperationCode.MAXIMUM, limit(4), value(-Float.MAX_VALUE));
    int hidden = pair(OperationCode.MINIMUM, limit(3), value(Float.MAX_VALUE));
    int left = scores;
    List<Integer> taken = new ArrayList<>();
    List<Integer> best = new ArrayList<>();
    for (int round = 0; round < most; round++) {
      int place = node.temporary(OperandCode.TENSOR_INT32, Shape.of(1), Quantization.NONE);
      Operand like = node.operand(scores);
      int row = Reshape.reshaped(node, left, Shape.of(1, count));
      node.emit(OperationCode.ARGMAX, place, row, node.int32(1));
      taken.add(place);
      best.add(node.compute(OperationCode.GATHER, like, Shape.of(1), left, node.int32(0), place));
      if (round == most - 1) {
        break;
      }
      int box =
          node.compute(
              OperationCode.GATHER, like, Shape.of(1, CORNERS), boxes, node.int32(0), place);
      int overlaps = overlaps(all, areas, edges(box, 1));
      int squares = pair(OperationCode.MUL, overlaps, overlaps);
      int exponents = pair(OperationCode.MUL, squares, value(scale));
      int factors = node.compute(OperationCode.EXP, exponents, exponents);
      int isGone =
          node.compute(
              OperationCode.LOGICAL_OR,
              OperandCode.TENSOR_BOOL8,
              each,
              Truths.compared(node, OperationCode.GREATER_EQUAL, overlaps, hidden, each),
              Truths.compared(node, OperationCode.EQUAL, places, place, each));
      int fallen = Truths.compared(node, OperationCode.LESS_EQUAL, left, least, each);
      int out =
          node.compute(OperationCode.LOGICAL_OR, OperandCode.TENSOR_BOOL8, each, isGone, fallen);
      int lower = pair(OperationCode.MUL, left, factors);
      left = node.compute(OperationCode.SELECT, like, each, out, lowest, lower);
    }
    int found = joined(best, OperandCode.TENSOR_FLOAT32);
    int isFound =
        Truths.reals(
            node, Truths.compared(node, OperationCode.GREATER, found, least, Shape.of(most)));
    give(joined(taken, OperandCode.TENSOR_INT32), isFound);
    node.emit(OperationCode.MUL, node.out(1), found, isFound);
    number(isFound, 2);
  }

  private int joined(List<Integer> parts, OperandCode type) {
    int joined = node.temporary(type, Shape.of(most), Quantization.NONE);
    List<Integer> inputs = new ArrayList<>(parts);
    inputs.add(node.int32(0));
    node.emit(ThalamusExtension.CONCATENATION, inputs, joined);
    return joined;
  }
}
