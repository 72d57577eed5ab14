// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.MatrixMultiply;
import io.thalamus.operations.extension.MatrixMultiply.Matrix;
import io.thalamus.operations.extension.MatrixMultiply.Products;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Pairs;

/**
 * Products of matrices of 32-bit integers, as masks of attention are made by: sums of the rows of
 * the second matrix, times a number of the first each. For small ones; stateless.
 */
final class IntegerMatrices {
  /** Calls of an operation. */
  private static final long MOST_CALLS = 1 << 12;

  /** Elements of a result: some tens of microseconds. */
  private static final int LONGEST = 1 << 16;

  private IntegerMatrices() {}

  /** Adds the operation to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        ThalamusExtension.BATCH_MATMUL,
        IntegerMatrices::isPossible,
        IntegerMatrices::emit,
        OperandCode.TENSOR_INT32);
  }

  private static boolean isPossible(OperationView operation) {
    return Convolution.areProductsPossible(operation)
        && StaticGraph.parameters(operation, Products.class)
            .filter(products -> products.pairs().size() * 2L * products.inner() < MOST_CALLS)
            .filter(products -> (long) products.rows() * products.columns() < LONGEST)
            .filter(
                products ->
                    products.pairs().stream().allMatch(pair -> pair.second().columnStride() == 1))
            .isPresent();
  }

  private static void emit(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Products products = operation.parameters(Products.class);
    long result = (long) products.rows() * products.columns();
    for (int i = 0; i < products.pairs().size(); i++) {
      MatrixMultiply.Pair pair = products.pairs().get(i);
      Place sum = null;
      for (int k = 0; k < products.inner(); k++) {
        boolean isLast = k == products.inner() - 1;
        Place to = isLast ? operands.output() : program.place(result * Integer.BYTES);
        long at = isLast ? i * result : 0;
        if (sum == null) {
          multiply(products, pair, k, operands, to, at, program);
        } else {
          Place product = program.place(result * Integer.BYTES);
          multiply(products, pair, k, operands, product, 0, program);
          add(sum, product, to, at, (int) result, program);
        }
        sum = to;
        program.nextStep();
      }
    }
  }

  /** Writes a column of the first matrix times a row of the second. */
  private static void multiply(
      Products products,
      MatrixMultiply.Pair pair,
      int k,
      Lowering.Operands operands,
      Place to,
      long at,
      ProgramBuilder program) {
    Matrix first = pair.first();
    Matrix second = pair.second();
    Pairs row =
        new Pairs(
            Pair.INT_MUL,
            products.columns(),
            true,
            false,
            Math.toIntExact(first.rowStride()),
            0,
            FusedActivation.NONE);
    program.call(
        row,
        products.rows(),
        operands.input(0).at((first.offset() + k * first.columnStride()) * Integer.BYTES),
        to.at(at * Integer.BYTES),
        operands.input(1).at((second.offset() + k * second.rowStride()) * Integer.BYTES));
  }

  private static void add(
      Place one, Place other, Place to, long at, int count, ProgramBuilder program) {
    Pairs sum = new Pairs(Pair.INT_ADD, count, false, false, FusedActivation.NONE);
    program.call(sum, one.at(0), to.at(at * Integer.BYTES), other.at(0));
  }
}
