// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Diagonals of matrices. */
final class Matrices {
  private Matrices() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.MATRIX_DIAG, Matrices::diagonal);
    table.add(BuiltinOperator.MATRIX_SET_DIAG, Matrices::setDiagonal);
  }

  private static int count(Shape shape, int last) {
    int count = 1;
    for (int i = 0; i < shape.rank() - last; i++) {
      count = Math.multiplyExact(count, shape.dimension(i));
    }
    return count;
  }

  /** Each number with zeros behind it, as many as a row has: so they stand on the diagonal. */
  private static void diagonal(Node node) {
    int input = node.in(0);
    Operand data = node.operand(input);
    Shape shape = data.shape();
    node.require(shape.isFullySpecified() && shape.rank() > 0, "it takes data of shape " + shape);
    int size = shape.dimension(shape.rank() - 1);
    int matrices = count(shape, 1);
    int cells = Math.multiplyExact(matrices, size);
    int column = Reshape.reshaped(node, input, Shape.of(cells, 1));
    int zeros = Truths.filled(node, data, Shape.of(cells, size), 0);
    int wide =
        node.compute(
            ThalamusExtension.CONCATENATION,
            data,
            Shape.of(cells, Math.addExact(size, 1)),
            column,
            zeros,
            node.int32(1));
    int diagonal = node.temporary(data, Shape.of(matrices, size, size));
    long matrix = (long) size * (size + 1);
    Strided.emit(
        node, wide, node.operand(diagonal).shape(), 0, new long[] {matrix, size, 1}, diagonal);
    int[] full = Arrays.copyOf(shape.toArray(), shape.rank() + 1);
    full[shape.rank()] = size;
    Reshape.emit(node, diagonal, Shape.of(full));
  }

  private static void setDiagonal(Node node) {
    int input = node.in(0);
    Operand data = node.operand(input);
    Shape shape = data.shape();
    node.require(shape.isFullySpecified() && shape.rank() > 1, "it takes data of shape " + shape);
    int rows = shape.dimension(shape.rank() - 2);
    int columns = shape.dimension(shape.rank() - 1);
    int size = Math.min(rows, columns);
    int matrices = count(shape, 2);
    node.require(
        node.shapeOf(1).isFullySpecified()
            && node.shapeOf(1).elementCount() == (long) matrices * size,
        "a diagonal of shape " + node.shapeOf(1) + " does not fit data of shape " + shape);
    Shape all = Shape.of(matrices, rows, columns);
    int spread = node.temporary(data, all);
    int values = Reshape.reshaped(node, node.in(1), Shape.of(matrices, size));
    long[] strides = rows == size ? new long[] {size, 1, 0} : new long[] {size, 0, 1};
    Strided.emit(node, values, all, 0, strides, spread);
    byte[] places =
        new byte[node.constants().range(Math.multiplyExact(rows, columns), node.output(0)).length];
    for (int i = 0; i < size; i++) {
      places[i * columns + i] = 1;
    }
    int mask =
        node.constant(
            OperandCode.TENSOR_BOOL8,
            Shape.of(1, rows, columns),
            Quantization.NONE,
            new ConstantCopy(places));
    int masks = node.temporary(OperandCode.TENSOR_BOOL8, all, Quantization.NONE);
    Strided.broadcast(node, mask, all, masks);
    int matrix = Reshape.reshaped(node, input, all);
    int chosen = node.compute(OperationCode.SELECT, data, all, masks, spread, matrix);
    Reshape.emit(node, chosen, node.out(0));
  }
}
