// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.model.Elements;
import io.thalamus.operations.ResolvedOperation;
import java.lang.foreign.MemorySegment;
import java.util.function.IntUnaryOperator;

/** Kernels that compute each result by itself. */
public final class ElementKernels {
  private ElementKernels() {}

  /** The computation of the result at a place. */
  @FunctionalInterface
  public interface Element {
    void compute(MemorySegment[] inputs, MemorySegment[] outputs, long index);
  }

  /** A function of a float. */
  @FunctionalInterface
  public interface FloatUnaryOperator {
    float apply(float x);
  }

  /** Computes all elements of the first output in their order. */
  public static Kernel each(ResolvedOperation operation, Element element) {
    long count = operation.outputShape(0).elementCount();
    return (inputs, outputs, scratch, work) -> {
      for (long i = 0; i < count; i++) {
        work.done(1);
        element.compute(inputs, outputs, i);
      }
    };
  }

  /** A function of the real values of a floating-point type. */
  public static Kernel floating(ResolvedOperation operation, FloatUnaryOperator function) {
    Elements elements = Elements.of(operation.view().output().type());
    return each(
        operation,
        (in, out, i) -> elements.setFloat(out[0], i, function.apply(elements.getFloat(in[0], i))));
  }

  /** A function from stored inputs to stored results. */
  public static Kernel stored(ResolvedOperation operation, IntUnaryOperator function) {
    Elements from = Elements.of(operation.view().input(0).type());
    Elements to = Elements.of(operation.view().output().type());
    return each(
        operation,
        (in, out, i) -> to.setInt(out[0], i, function.applyAsInt(from.getInt(in[0], i))));
  }
}
