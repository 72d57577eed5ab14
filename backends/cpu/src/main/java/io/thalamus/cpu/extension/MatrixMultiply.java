// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.operations.Accumulation;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.MatrixMultiply.Pair;
import io.thalamus.operations.extension.MatrixMultiply.Products;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;

/** Products of matrices, summed in the order of their columns. */
final class MatrixMultiply {
  private MatrixMultiply() {}

  static void register(KernelTable.Builder table) {
    table
        .floats(ThalamusExtension.BATCH_MATMUL, MatrixMultiply::floating)
        .add(ThalamusExtension.BATCH_MATMUL, MatrixMultiply::integers, TENSOR_INT32)
        .quantized8(ThalamusExtension.BATCH_MATMUL, MatrixMultiply::quantized);
  }

  /** Computes one element of a result, whose factors stand where the steps say. */
  @FunctionalInterface
  private interface Element {
    /**
     * The sum of the products of {@code count} pairs.
     *
     * @param at index of the result
     */
    void compute(
        MemorySegment[] in,
        MemorySegment[] out,
        long first,
        long firstStep,
        long second,
        long secondStep,
        long at);
  }

  private static Kernel kernel(Products products, Element element) {
    return (in, out, scratch, work) -> {
      long at = 0;
      for (Pair pair : products.pairs()) {
        for (int row = 0; row < products.rows(); row++) {
          long first = pair.first().offset() + row * pair.first().rowStride();
          for (int column = 0; column < products.columns(); column++) {
            work.done(products.inner());
            long second = pair.second().offset() + column * pair.second().columnStride();
            element.compute(
                in,
                out,
                first,
                pair.first().columnStride(),
                second,
                pair.second().rowStride(),
                at++);
          }
        }
      }
    };
  }

  private static Kernel floating(ResolvedOperation operation) {
    Products products = operation.parameters(Products.class);
    Elements elements = Elements.of(operation.view().output().type());
    return kernel(
        products,
        (in, out, first, firstStep, second, secondStep, at) -> {
          float sum = 0;
          for (int i = 0; i < products.inner(); i++) {
            sum +=
                elements.getFloat(in[0], first + i * firstStep)
                    * elements.getFloat(in[1], second + i * secondStep);
          }
          elements.setFloat(out[0], at, sum);
        });
  }

  private static Kernel integers(ResolvedOperation operation) {
    Products products = operation.parameters(Products.class);
    Elements elements = Elements.INT32;
    return kernel(
        products,
        (in, out, first, firstStep, second, secondStep, at) -> {
          int sum = 0;
          for (int i = 0; i < products.inner(); i++) {
            sum +=
                elements.getInt(in[0], first + i * firstStep)
                    * elements.getInt(in[1], second + i * secondStep);
          }
          elements.setInt(out[0], at, sum);
        });
  }

  private static Kernel quantized(ResolvedOperation operation) {
    Products products = operation.parameters(Products.class);
    Accumulation accumulation = products.quantized().orElseThrow();
    Elements elements = Elements.of(operation.view().output().type());
    return kernel(
        products,
        (in, out, first, firstStep, second, secondStep, at) -> {
          int sum = 0;
          for (int i = 0; i < products.inner(); i++) {
            int a = elements.getInt(in[0], first + i * firstStep) - accumulation.inputZeroPoint();
            int b =
                elements.getInt(in[1], second + i * secondStep) - accumulation.filterZeroPoint();
            sum += a * b;
          }
          elements.setInt(out[0], at, accumulation.stored(sum, 0));
        });
  }
}
