// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.Trait;
import java.util.ArrayList;
import java.util.List;

/**
 * Operations on single elements of tensors with more than four dimensions, which NNAPI does not
 * have: neighbouring dimensions are joined where all inputs go along them in the same way.
 */
final class RankReduction {
  private static final int MAX_RANK = 4;

  private RankReduction() {}

  /** Returns whether an operation must be said otherwise. */
  static boolean isBeyond(Node node, OperationType operation, int output) {
    return node.operand(output).shape().rank() > MAX_RANK
        && OperationCatalog.standard().find(operation).stream()
            .anyMatch(definition -> definition.traits().contains(Trait.ELEMENTWISE));
  }

  /** Adds the operation on tensors with fewer dimensions. */
  static void emit(Node node, OperationType operation, List<Integer> inputs, int output)
      throws ModelFormatException {
    Operand target = node.operand(output);
    List<Shape> shapes = new ArrayList<>();
    shapes.add(target.shape());
    for (int input : inputs) {
      Operand operand = node.operand(input);
      shapes.add(operand.type().isTensor() ? aligned(node, operand, target) : Shape.NONE);
    }
    List<Shape> joined = joined(shapes);
    node.require(
        target.shape().isFullySpecified() && joined.getFirst().rank() <= MAX_RANK,
        "it has " + target.shape().rank() + " dimensions; NNAPI has at most 4");
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
  }

  /** The shape with dimensions of 1 in front, so that it is as long as the output's. */
  private static Shape aligned(Node node, Operand operand, Operand target)
      throws ModelFormatException {
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
      boolean joins = i > 0 && joins(shapes, i);
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

  /** Returns whether each shape repeats both of two neighbouring dimensions, or neither. */
  private static boolean joins(List<Shape> shapes, int axis) {
    Shape output = shapes.getFirst();
    for (Shape shape : shapes) {
      if (shape.rank() == 0) {
        continue;
      }
      boolean plain =
          shape.dimension(axis) == output.dimension(axis)
              && shape.dimension(axis - 1) == output.dimension(axis - 1);
      boolean repeated = shape.dimension(axis) == 1 && shape.dimension(axis - 1) == 1;
      if (!plain && !repeated) {
        return false;
      }
    }
    return true;
  }
}
