// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import io.thalamus.cpu.ElementKernels;
import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelException;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;

/** Functions of one element, computed in double and rounded once; changes of its type. */
final class UnaryMath {
  private static final double TWO_OVER_ROOT_PI = 2 / Math.sqrt(Math.PI);

  /** From here on the error function is 1 in float: its complement is below 2^-26. */
  private static final double LARGE = 4;

  private UnaryMath() {}

  static void register(KernelTable.Builder table) {
    table
        .floats(
            ThalamusExtension.ERF,
            operation -> ElementKernels.floating(operation, x -> (float) erf(x)))
        .add(
            ThalamusExtension.BITCAST,
            UnaryMath::bitcast,
            OperandCode.TENSOR_FLOAT32,
            OperandCode.TENSOR_INT32)
        .add(ThalamusExtension.CAST, UnaryMath::cast, ElementTypes.castable());
  }

  private static Kernel bitcast(ResolvedOperation operation) {
    long count = operation.outputShape(0).elementCount();
    return (in, out, scratch, work) -> {
      MemorySegment.copy(in[0], 0, out[0], 0, Integer.BYTES * count);
      work.done(count);
    };
  }

  /**
   * Java's casts from double cut fractions off and saturate. Integers of 64 bits that are beyond 32
   * are refused: a graph that goes on with others would be wrong without a sign.
   */
  private static Kernel cast(ResolvedOperation operation) {
    Elements from = Elements.of(operation.view().input(0).type());
    Elements to = Elements.of(operation.view().output().type());
    boolean isNarrowed = from == Elements.INT64 && to == Elements.INT32;
    return ElementKernels.each(
        operation,
        (in, out, i) -> {
          double number = from.getDouble(in[0], i);
          if (isNarrowed && number != (int) number) {
            throw new KernelException(
                "element %d is %.0f; int64 beyond 32 bits cannot be computed with"
                    .formatted(i, number));
          }
          if (to.isFloat() || to == Elements.INT64) {
            to.setDouble(out[0], i, number);
          } else if (from.isFloat()) {
            to.setInt(out[0], i, (int) Math.clamp(number, to.least(), to.most()));
          } else {
            to.setInt(out[0], i, (int) number);
          }
        });
  }

  /**
   * {@code erf(x) = 2 / sqrt(pi) * exp(-x^2) * sum of 2^n x^(2n+1) / (1 * 3 * ... * (2n+1))}, all
   * of whose terms have one sign: NIST Digital Library of Mathematical Functions, 7.6.2.
   */
  private static double erf(double x) {
    if (Math.abs(x) >= LARGE) {
      return Math.signum(x);
    }
    double square = x * x;
    double term = x;
    double sum = x;
    for (int n = 1; Math.abs(term) > Math.ulp(sum) / 2; n++) {
      term *= 2 * square / (2 * n + 1);
      sum += term;
    }
    return TWO_OVER_ROOT_PI * Math.exp(-square) * sum;
  }
}
