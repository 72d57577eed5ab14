// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.MatrixMultiply.Parameters;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.Optional;

/** Products of matrices. */
public final class MatrixMultiply {
  private MatrixMultiply() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    Lowering lowering = new Convolution.Weighted(MatrixMultiply::lower);
    table
        .add(
            OperationCode.FULLY_CONNECTED,
            MatrixMultiply::isPossible,
            lowering,
            Convolution.Weighted.types())
        .add(
            ThalamusExtension.FULLY_CONNECTED,
            MatrixMultiply::isPossible,
            lowering,
            ElementTypes.quantized8());
    BatchMatrices.register(table);
  }

  private static boolean isPossible(OperationView operation) {
    return Convolution.Weighted.isPossible(operation)
        && Convolution.Weighted.isClampPossible(operation, 3);
  }

  /** As a convolution of filters of one tap over one line. */
  private static Step lower(Node node, Tensors tensors, Budget budget) {
    Parameters parameters = node.operation().parameters(Parameters.class);
    Patches patches = rows(tensors.input(node, 0), parameters.batches(), parameters.inputSize());
    return Products.lower(
        node, tensors, patches, tensors.output(node), parameters.quantized(), budget);
  }

  /** Returns the rows of an input, seen as a matrix. */
  static Patches rows(Tensor input, int rows, int columns) {
    Shape matrix = Shape.of(1, 1, rows, columns);
    Window one = new Window(1, 1, 1, 0, 0);
    return new Patches(
        new Tensor(input.view().with(matrix, Optional.empty()), input.array(), input.offset()),
        one,
        one,
        1,
        rows);
  }
}
