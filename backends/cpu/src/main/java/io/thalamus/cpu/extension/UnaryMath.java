// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.ThalamusExtension;

/** Functions of one element, computed in double and rounded once. */
final class UnaryMath {
  private static final double TWO_OVER_ROOT_PI = 2 / Math.sqrt(Math.PI);

  /** From here on the error function is 1 in float: its complement is below 2^-26. */
  private static final double LARGE = 4;

  private UnaryMath() {}

  static void register(KernelTable.Builder table) {
    table.add(ThalamusExtension.ERF, UnaryMath::erf, ElementTypes.floats());
  }

  private static Kernel erf(ResolvedOperation operation) {
    Elements elements = Elements.of(operation.view().output().type());
    long count = operation.outputShape(0).elementCount();
    return (in, out, scratch, work) -> {
      for (long i = 0; i < count; i++) {
        work.done(1);
        elements.setFloat(out[0], i, (float) erf(elements.getFloat(in[0], i)));
      }
    };
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
