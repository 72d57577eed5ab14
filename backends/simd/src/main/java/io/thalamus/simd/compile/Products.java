// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.Accumulation;
import io.thalamus.operations.OperandView;
import io.thalamus.simd.compile.PackedWeights.Weights;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.PackedMatrix;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.kernel.Requantizer;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Stored;
import io.thalamus.simd.program.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/** Makes steps of operations that are matrix products with constant weights. */
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
    MemorySegment bias = node.operation().view().input(2).value().orElseThrow();
    int depth = patches.columns();
    int columns = node.operation().view().input(1).shape().dimension(0);
    if (quantized.isEmpty()) {
      return new FloatProduct(
          patches,
          new Product(packed(node, tensors, 1), Stored.floats(bias), patches.rows()),
          node.added().isPresent() ? tensors.get(node.added().getAsInt()) : null,
          output,
          Clamp.of(node.activation()),
          budget);
    }
    Accumulation accumulation = quantized.get();
    Weights weights =
        integers(node, tensors, patches, columns, accumulation.filterZeroPoint(), 1, depth);
    return new QuantizedProduct(
        patches,
        Product.ofIntegers(weights.matrix(), patches.rows()),
        Optional.of(new Requantizer(accumulation, Stored.ints(bias))),
        output,
        weights.parts(),
        budget);
  }

  /**
   * The packed weights of an integer product, which input 1 holds.
   *
   * @param patches the left matrix
   * @param columns of the result
   * @param rowStride elements from one step of the depth to the next
   * @param columnStride elements from one column to the next
   */
  static Weights integers(
      Node node,
      Tensors tensors,
      Patches patches,
      int columns,
      int zeroPoint,
      int rowStride,
      int columnStride) {
    OperandView filter = node.operation().view().input(1);
    int depth = patches.columns();
    return tensors
        .weights()
        .next(
            () -> {
              byte[] values = filter.value().orElseThrow().toArray(ValueLayout.JAVA_BYTE);
              int flip = Stored.flip(filter.type());
              int zero = zeroPoint - flip;
              PackedMatrix.Elements elements =
                  (row, column) ->
                      (byte) (values[row * rowStride + column * columnStride] ^ flip) - zero;
              int largest = largestInput(patches.source());
              return new Weights(
                  node.inputs().get(1),
                  PackedMatrix.of(depth, columns, elements),
                  ExactParts.of(elements, depth, columns, patches.channels(), largest));
            });
  }

  /** The packed weights of an input that holds a row of floats for each column of the result. */
  static PackedMatrix packed(Node node, Tensors tensors, int input) {
    OperandView view = node.operation().view().input(input);
    int columns = view.shape().dimension(0);
    int depth = (int) (view.shape().elementCount() / columns);
    return tensors
        .weights()
        .next(
            () -> {
              float[] values = Stored.floats(view.value().orElseThrow());
              return new Weights(
                  node.inputs().get(input),
                  PackedMatrix.of(depth, columns, (row, column) -> values[column * depth + row]),
                  null);
            })
        .matrix();
  }

  /** The largest magnitude of a stored input less its zero point. */
  static int largestInput(Tensor input) {
    int zeroPoint = input.signedZeroPoint();
    return Math.max(Byte.MAX_VALUE - zeroPoint, zeroPoint - Byte.MIN_VALUE);
  }
}
