// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.Trait;
import io.thalamus.tflite.file.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A rewriting of elementwise operations on tensors with more than four dimensions, which most of
 * NNAPI's do not take: neighbouring dimensions are joined when all inputs go along them in the same
 * way. Stateless.
 */
final class RankReduction {
  private static final int MAX_RANK = 4;

  private RankReduction() {}

  /**
   * Adds the operation on tensors with fewer dimensions.
   *
   * @return false when it can be added as it is: it has few dimensions, is not elementwise, or
   *     takes any number of dimensions that cannot be joined
   * @throws Refusal when NNAPI does not have it with so many dimensions
   */
  static boolean emit(Node node, OperationType operation, List<Integer> inputs, int output) {
    Operand target = node.operand(output);
    Optional<OperationDefinition> definition = OperationCatalog.standard().find(operation);
    if (target.shape().rank() <= MAX_RANK
        || definition.isEmpty()
        || !definition.get().traits().contains(Trait.ELEMENTWISE)) {
      return false;
    }
    boolean takesAnyRank =
        definition.get().signature().inputForms().getFirst().stream()
            .allMatch(argument -> argument.mostRank() > MAX_RANK);
    if (takesAnyRank && !areShapesKnown(node, inputs, target)) {
      return false;
    }
    List<Shape> shapes = new ArrayList<>();
    shapes.add(target.shape());
    for (int input : inputs) {
      Operand operand = node.operand(input);
      shapes.add(operand.type().isTensor() ? aligned(node, operand, target) : Shape.NONE);
    }
    List<Shape> joined = joined(shapes);
    boolean isReduced = target.shape().isFullySpecified() && joined.getFirst().rank() <= MAX_RANK;
    if (takesAnyRank && !isReduced) {
      return false;
    }
    if (!isReduced && areShapesKnown(node, inputs, target)) {
      emitSpread(node, operation, inputs, output);
      return true;
    }
    node.require(isReduced, "it has " + target.shape().rank() + " dimensions; NNAPI has at most 4");
    List<Integer> reshaped = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      Operand operand = node.operand(inputs.get(i));
      reshaped.add(
          operand.type().isTensor()
              ? Reshape.reshaped(node, inputs.get(i), joined.get(i + 1))
              : inputs.get(i));
    }
    int result = node.temporary(target, joined.getFirst());
    node.emit(operation, reshaped, result);
    Strided.reshape(node, result, target.shape(), output);
    return true;
  }

  /** Adds the operation on single rows, for which each input is repeated to the whole shape. */
  private static void emitSpread(
      Node node, OperationType operation, List<Integer> inputs, int output) {
    Operand target = node.operand(output);
    Shape row = Shape.of(Math.toIntExact(target.shape().elementCount()));
    List<Integer> rows = new ArrayList<>();
    for (int input : inputs) {
      Operand operand = node.operand(input);
      int whole = input;
      if (operand.type().isTensor() && !operand.shape().equals(target.shape())) {
        whole = node.temporary(operand, target.shape());
        Strided.broadcast(node, input, target.shape(), whole);
      }
      rows.add(operand.type().isTensor() ? Reshape.reshaped(node, whole, row) : input);
    }
    int result = node.temporary(target, row);
    node.emit(operation, rows, result);
    Strided.reshape(node, result, target.shape(), output);
  }

  private static boolean areShapesKnown(Node node, List<Integer> inputs, Operand target) {
    return target.isSizeKnown() && inputs.stream().allMatch(i -> node.operand(i).isSizeKnown());
  }

  /** The shape with dimensions of 1 in front, so that it is as long as the output's. */
  private static Shape aligned(Node node, Operand operand, Operand target) {
    int rank = target.shape().rank();
    int missing = rank - operand.shape().rank();
    node.require(
        missing >= 0 && operand.shape().isFullySpecified(),
        "shape " + operand.shape() + " does not broadcast to " + target.shape());
    int[] dimensions = new int[rank];
    for (int i = 0; i < rank; i++) {
      dimensions[i] = i < missing ? 1 : operand.shape().dimension(i - missing);
    }
    return Shape.of(dimensions);
  }

  private static List<Shape> joined(List<Shape> shapes) {
    Shape output = shapes.getFirst();
    List<List<Integer>> dimensions = new ArrayList<>();
    shapes.forEach(_ -> dimensions.add(new ArrayList<>()));
    for (int i = 0; i < output.rank(); i++) {
      boolean joins = i > 0 && joins(shapes, dimensions, i);
      for (int s = 0; s < shapes.size(); s++) {
        if (shapes.get(s).rank() == 0) {
          continue;
        }
        List<Integer> own = dimensions.get(s);
        int dimension = shapes.get(s).dimension(i);
        if (joins) {
          own.set(own.size() - 1, Math.multiplyExact(own.getLast(), dimension));
        } else {
          own.add(dimension);
        }
      }
    }
    return dimensions.stream()
        .map(own -> Shape.of(own.stream().mapToInt(Integer::intValue).toArray()))
        .toList();
  }

  /**
   * Returns whether each shape repeats both a dimension and all that is joined in front of it, or
   * neither.
   */
  private static boolean joins(List<Shape> shapes, List<List<Integer>> joined, int axis) {
    Shape output = shapes.getFirst();
    int before = joined.getFirst().getLast();
    for (int i = 0; i < shapes.size(); i++) {
      Shape shape = shapes.get(i);
      if (shape.rank() == 0) {
        continue;
      }
      int own = joined.get(i).getLast();
      boolean plain = shape.dimension(axis) == output.dimension(axis) && own == before;
      boolean repeated = shape.dimension(axis) == 1 && own == 1;
      if (!plain && !repeated) {
        return false;
      }
    }
    return true;
  }
}
