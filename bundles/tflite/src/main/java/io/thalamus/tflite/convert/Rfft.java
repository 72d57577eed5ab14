// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.Arrays;
import java.util.function.ToIntFunction;
import org.tensorflow.lite.schema.BuiltinOperator;

/**
 * RFFT2D, and what becomes of its complex numbers. NNAPI has no complex numbers: their real and
 * their imaginary parts are two tensors, each a product with a constant matrix.
 */
final class Rfft {
  private Rfft() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.RFFT2D, Rfft::transform);
    table.add(BuiltinOperator.COMPLEX_ABS, Rfft::absolute);
    table.add(BuiltinOperator.REAL, node -> part(node, Complex::real));
    table.add(BuiltinOperator.IMAG, node -> part(node, Complex::imaginary));
  }

  /**
   * A tensor of complex numbers.
   *
   * @param real the operand with their real parts, of any shape with so many elements
   * @param imaginary the same of their imaginary parts
   * @param shape their own
   */
  record Complex(int real, int imaginary, Shape shape) {}

  private static void transform(Node node) {
    int[] length = node.ints(1);
    Shape shape = node.shapeOf(0);
    int rank = shape.rank();
    node.require(
        shape.isFullySpecified()
            && rank >= 2
            && length.length == 2
            && length[0] > 0
            && length[1] > 0,
        "it transforms data of shape " + shape + " to lengths " + Arrays.toString(length));
    int columns = shape.dimension(rank - 1);
    int rows = Math.toIntExact(shape.elementCount() / columns);
    int data = Reshape.reshaped(node, node.in(0), Shape.of(rows, columns));
    int bins = length[1] / 2 + 1;
    int real = product(node, data, bins, length[1], true);
    int imaginary = product(node, data, bins, length[1], false);
    int height = shape.dimension(rank - 2);
    Shape result = shape.with(rank - 2, length[0]).with(rank - 1, bins);
    node.setComplex(
        0,
        length[0] == 1 && height == 1
            ? new Complex(real, imaginary, result)
            : alongColumns(node, real, imaginary, height, result));
  }

  /** The same along the other axis, of complex numbers: four products. */
  private static Complex alongColumns(
      Node node, int real, int imaginary, int height, Shape result) {
    int bins = result.dimension(result.rank() - 1);
    int length = result.dimension(result.rank() - 2);
    int images = node.operand(real).shape().dimension(0) / height;
    Shape image = Shape.of(images, height, bins);
    int[] parts = new int[4];
    for (int i = 0; i < parts.length; i++) {
      int turned =
          Strided.permuted(node, Reshape.reshaped(node, i < 2 ? real : imaginary, image), 0, 2, 1);
      int rows = Reshape.reshaped(node, turned, Shape.of(images * bins, height));
      parts[i] = product(node, rows, length, length, i % 2 == 0);
    }
    int sum = node.compute(OperationCode.SUB, parts[0], parts[0], parts[3]);
    int turn = node.compute(OperationCode.ADD, parts[0], parts[1], parts[2]);
    Shape columns = Shape.of(images, bins, length);
    return new Complex(
        Strided.permuted(node, Reshape.reshaped(node, sum, columns), 0, 2, 1),
        Strided.permuted(node, Reshape.reshaped(node, turn, columns), 0, 2, 1),
        result);
  }

  private static int product(Node node, int data, int bins, int length, boolean real) {
    int columns = node.operand(data).shape().dimension(1);
    float[] matrix = node.constants().room((long) bins * columns, node.input(0));
    for (int bin = 0; bin < bins; bin++) {
      for (int i = 0; i < Math.min(columns, length); i++) {
        double angle = 2 * Math.PI * ((long) bin * i % length) / length;
        matrix[bin * columns + i] = (float) (real ? Math.cos(angle) : -Math.sin(angle));
      }
    }
    return MatrixMultiply.times(node, data, node.float32Tensor(Shape.of(bins, columns), matrix));
  }

  private static void absolute(Node node) {
    Complex input = node.complex(0);
    int squares = square(node, input.real());
    int sum = node.compute(OperationCode.ADD, squares, squares, square(node, input.imaginary()));
    Reshape.emit(node, node.compute(OperationCode.SQRT, sum, sum), input.shape());
  }

  private static int square(Node node, int operand) {
    return node.compute(OperationCode.MUL, operand, operand, operand);
  }

  private static void part(Node node, ToIntFunction<Complex> choice) {
    Complex input = node.complex(0);
    Reshape.emit(node, choice.applyAsInt(input), input.shape());
  }
}
