// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.Accumulation;
import io.thalamus.operations.OperandView;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.PackedMatrix;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.kernel.Requantizer;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Stored;
import io.thalamus.simd.program.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Makes steps of operations that are matrix products with constant weights, one row each unit. */
public final class Products {
  private Products() {}

  /**
   * The step of an operation whose input 1 holds a row of weights for each column of the result,
   * and whose input 2 is the bias.
   *
   * @param patches the left matrix
   * @param quantized how sums become stored results; empty for floats
   */
  static Step lower(
      Node node,
      Tensors tensors,
      Patches patches,
      Tensor output,
      Optional<Accumulation> quantized,
      Budget budget) {
    OperandView filter = node.operation().view().input(1);
    MemorySegment weights = filter.value().orElseThrow();
    MemorySegment bias = node.operation().view().input(2).value().orElseThrow();
    int depth = patches.columns();
    int columns = filter.shape().dimension(0);
    if (quantized.isEmpty()) {
      float[] values = Stored.floats(weights);
      PackedMatrix right =
          PackedMatrix.of(depth, columns, (row, column) -> values[column * depth + row]);
      return new FloatProduct(
          patches,
          new Product(right, Stored.floats(bias)),
          node.added().isPresent() ? tensors.get(node.added().getAsInt()) : null,
          output,
          Clamp.of(node.activation()),
          budget);
    }
    Accumulation accumulation = quantized.get();
    int[] values = Stored.bytes(weights, filter.type());
    PackedMatrix.Elements elements =
        (row, column) -> values[column * depth + row] - accumulation.filterZeroPoint();
    ExactParts parts =
        ExactParts.of(elements, depth, columns, patches.channels(), largestInput(patches.source()));
    return new QuantizedProduct(
        patches,
        new Product(PackedMatrix.of(depth, columns, elements), new float[columns]),
        new Requantizer(accumulation, Stored.ints(bias), parts.largest()),
        output,
        parts.bounds(),
        budget);
  }

  /** The largest magnitude of a stored input less its zero point. */
  static int largestInput(Tensor input) {
    int zeroPoint = input.signedZeroPoint();
    return Math.max(Byte.MAX_VALUE - zeroPoint, zeroPoint - Byte.MIN_VALUE);
  }
}
