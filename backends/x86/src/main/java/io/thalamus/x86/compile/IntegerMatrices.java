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
import io.thalamus.x86.kernel.Transposed;

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
    if (areDots(products)) {
      emitDots(products, operands, program);
      return;
    }
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
          add(sum, product.at(0), to, at, (int) result, program);
        }
        sum = to;
        program.nextStep();
      }
    }
  }

  /** Returns whether each result is that of a row and a column which follow those before them. */
  private static boolean areDots(Products products) {
    boolean areDots = products.rows() == 1 && products.columns() == 1 && products.inner() > 1;
    for (int i = 0; areDots && i < products.pairs().size(); i++) {
      Matrix first = products.pairs().get(i).first();
      Matrix second = products.pairs().get(i).second();
      long at = (long) i * products.inner();
      areDots =
          first.offset() == at
              && second.offset() == at
              && first.columnStride() == 1
              && second.rowStride() == 1;
    }
    return areDots;
  }

  /** Multiplies all at once, and adds what stands in equal places of all rows. */
  private static void emitDots(
      Products products, Lowering.Operands operands, ProgramBuilder program) {
    int count = products.pairs().size();
    int inner = products.inner();
    int row = count * Integer.BYTES;
    Place all = program.place((long) inner * row);
    Pairs times = new Pairs(Pair.INT_MUL, count * inner, false, false, FusedActivation.NONE);
    program.call(times, operands.input(0).at(0), all.at(0), operands.input(1).at(0));
    program.nextStep();
    Place turned = program.place((long) inner * row);
    Transposed columns = new Transposed(count, inner, inner * Integer.BYTES, row);
    program.call(columns, all.at(0), turned.at(0));
    program.nextStep();
    Place sum = turned;
    for (int k = 1; k < inner; k++) {
      Place to = k == inner - 1 ? operands.output() : program.place(row);
      add(sum, turned.at((long) k * row), to, 0, count, program);
      program.nextStep();
      sum = to;
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
      Place one, Spot other, Place to, long at, int count, ProgramBuilder program) {
    Pairs sum = new Pairs(Pair.INT_ADD, count, false, false, FusedActivation.NONE);
    program.call(sum, one.at(0), to.at(at * Integer.BYTES), other);
  }
}
