// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.NamedDefinition.areShapesKnown;

import io.thalamus.model.Shape;
import io.thalamus.operations.Accumulation;
import io.thalamus.operations.Broadcast;
import io.thalamus.operations.Check;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.FunctionDefinition;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationParameters;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.operations.Signature;
import io.thalamus.operations.TypeLevels;
import io.thalamus.operations.ValidationException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** Products of matrices: BATCH_MATMUL, FULLY_CONNECTED. */
public final class MatrixMultiply {
  private static final int[] TRANSPOSED = {2, 3};
  private static final int EVEN = 4;

  private MatrixMultiply() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                ThalamusExtension.BATCH_MATMUL,
                Signature.since(V1_2)
                    .inputs(
                        data("first", TypeLevels.since(V1_2, ElementTypes.numbers()))
                            .rank(2, Integer.MAX_VALUE),
                        argument("second", T).rank(2, Integer.MAX_VALUE),
                        argument("first transposed", BOOL),
                        argument("second transposed", BOOL),
                        argument("rounded to even", BOOL).from(V1_2))
                    .outputs(argument("output", T)),
                MatrixMultiply::shapes,
                MatrixMultiply::products)
            .checkedBy(MatrixMultiply::check)
            .countedBy(MatrixMultiply::macs),
        io.thalamus.operations.MatrixMultiply.even(ThalamusExtension.FULLY_CONNECTED));
  }

  /**
   * The place of a matrix in its operand.
   *
   * @param offset index of its first element
   * @param rowStride elements from one row to the next
   * @param columnStride elements from one column to the next
   */
  public record Matrix(long offset, long rowStride, long columnStride) {}

  /** Two matrices that are multiplied; the results stand one after the other. */
  public record Pair(Matrix first, Matrix second) {}

  /**
   * The parameters of BATCH_MATMUL: {@code result[row, column] = sum(first[row, i] * second[i,
   * column])} for each pair.
   *
   * @param rows of the first matrices and of the results
   * @param inner columns of the first and rows of the second matrices
   * @param columns of the second matrices and of the results
   * @param pairs one for each result
   * @param quantized how sums become stored results, the same for all columns; empty for others
   */
  public record Products(
      int rows, int inner, int columns, List<Pair> pairs, Optional<Accumulation> quantized)
      implements OperationParameters {
    public Products {
      pairs = List.copyOf(pairs);
    }
  }

  private static void check(OperationView operation, Check check) throws ValidationException {
    boolean areValuesKnown =
        operation.input(2).value().isPresent() && operation.input(3).value().isPresent();
    if (areValuesKnown && areShapesKnown(operation, 0, 1)) {
      shapes(operation);
    }
  }

  private static OptionalLong macs(OperationView operation) {
    Shape left = operation.inputs().isEmpty() ? Shape.NONE : operation.input(0).shape();
    Shape out = operation.outputs().isEmpty() ? Shape.NONE : operation.output().shape();
    if (left.rank() < 2 || out.rank() < 2 || !out.isFullySpecified()) {
      return OptionalLong.empty();
    }
    // The summed dimension is one of the left operand's last two; the other is the result's.
    int rows = out.dimension(out.rank() - 2);
    int last = left.dimension(left.rank() - 1);
    int before = left.dimension(left.rank() - 2);
    int summed = before == rows ? last : before;
    return summed == 0 ? OptionalLong.empty() : OptionalLong.of(out.elementCount() * summed);
  }

  private static boolean isTransposed(OperationView operation, int input) {
    return operation.input(TRANSPOSED[input]).bool();
  }

  private static int rows(OperationView operation, int input) {
    return fromBehind(operation, input, isTransposed(operation, input) ? 1 : 2);
  }

  private static int columns(OperationView operation, int input) {
    return fromBehind(operation, input, isTransposed(operation, input) ? 2 : 1);
  }

  private static int fromBehind(OperationView operation, int input, int place) {
    Shape shape = operation.input(input).shape();
    return shape.dimension(shape.rank() - place);
  }

  /** The dimensions before those of the matrices; Shape.NONE where there is one matrix. */
  private static Shape batch(OperandView input) {
    int[] dimensions = input.shape().toArray();
    return Shape.of(Arrays.copyOf(dimensions, dimensions.length - 2));
  }

  private static List<Shape> shapes(OperationView operation) throws ValidationException {
    if (columns(operation, 0) != rows(operation, 1)) {
      throw new ValidationException(
          "matrices of %d and of %d rows cannot be multiplied: %s and %s"
              .formatted(
                  columns(operation, 0),
                  rows(operation, 1),
                  operation.input(0).shape(),
                  operation.input(1).shape()));
    }
    Shape batch = Broadcast.shape(batch(operation.input(0)), batch(operation.input(1)));
    int[] dimensions = Arrays.copyOf(batch.toArray(), batch.rank() + 2);
    dimensions[batch.rank()] = rows(operation, 0);
    dimensions[batch.rank() + 1] = columns(operation, 1);
    return List.of(Shape.of(dimensions));
  }

  private static Products products(OperationView operation) throws ValidationException {
    Shape firstBatch = batch(operation.input(0));
    Shape secondBatch = batch(operation.input(1));
    Shape batch = Broadcast.shape(firstBatch, secondBatch);
    int[] firstStrides = Broadcast.strides(firstBatch, batch);
    int[] secondStrides = Broadcast.strides(secondBatch, batch);
    List<Pair> pairs = new ArrayList<>();
    int[] index = new int[batch.rank()];
    for (long left = batch.elementCount(); left > 0; left--) {
      int first = 0;
      int second = 0;
      for (int i = 0; i < index.length; i++) {
        first += index[i] * firstStrides[i];
        second += index[i] * secondStrides[i];
      }
      pairs.add(new Pair(matrix(operation, 0, first), matrix(operation, 1, second)));
      for (int i = index.length - 1; i >= 0 && ++index[i] == batch.dimension(i); i--) {
        index[i] = 0;
      }
    }
    return new Products(
        rows(operation, 0),
        columns(operation, 0),
        columns(operation, 1),
        pairs,
        accumulation(operation));
  }

  private static Matrix matrix(OperationView operation, int input, int number) {
    long size = (long) rows(operation, input) * columns(operation, input);
    return isTransposed(operation, input)
        ? new Matrix(number * size, 1, rows(operation, input))
        : new Matrix(number * size, columns(operation, input), 1);
  }

  /** By default as TensorFlow Lite, whose products of matrices round twice, unlike its layers. */
  private static Optional<Accumulation> accumulation(OperationView operation) {
    OperandView first = operation.input(0);
    OperandView second = operation.input(1);
    OperandView output = operation.output();
    return FusedActivation.NONE
        .storedRange(output)
        .map(
            range ->
                new Accumulation(
                    first.zeroPoint(),
                    second.zeroPoint(),
                    output.zeroPoint(),
                    List.of(factor(operation)),
                    range));
  }

  private static Requantization factor(OperationView operation) {
    float product = operation.input(0).scale() * operation.input(1).scale();
    float output = operation.output().scale();
    return operation.bool(EVEN, false)
        ? Requantization.of(product / output, Rounding.EVEN)
        : Requantization.of((double) product / output, Rounding.DOUBLE);
  }
}
