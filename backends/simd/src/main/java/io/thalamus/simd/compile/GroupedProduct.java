// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.simd.compile.PackedWeights.Weights;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.PackedMatrix;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Stored;
import io.thalamus.simd.program.Tensor;
import java.util.Arrays;

/** A float convolution of groups of channels, each with a filter of its own. Immutable. */
final class GroupedProduct implements Step {
  private final FloatProduct[] groups;

  private GroupedProduct(FloatProduct[] groups) {
    this.groups = groups;
  }

  /**
   * The step of GROUPED_CONV_2D.
   *
   * @param patches of all channels
   */
  static Step lower(
      Node node, Tensors tensors, Patches patches, Parameters parameters, Budget budget) {
    Tensor output = tensors.output(node);
    int groups = parameters.groups();
    int channels = patches.channels() / groups;
    int columns = node.operation().view().input(1).shape().dimension(0) / groups;
    int depth = patches.taps() * channels;
    float[] values = Stored.floats(node.operation().view().input(1).value().orElseThrow());
    float[] bias = Stored.floats(node.operation().view().input(2).value().orElseThrow());
    FloatProduct[] products = new FloatProduct[groups];
    for (int group = 0; group < groups; group++) {
      int first = group * columns;
      Weights weights =
          tensors
              .weights()
              .next(
                  () ->
                      new Weights(
                          node.inputs().get(1),
                          PackedMatrix.of(
                              depth,
                              columns,
                              (row, column) -> values[(first + column) * depth + row]),
                          null));
      products[group] =
          new FloatProduct(
              patches.of(group * channels, channels),
              new Product(
                  weights.matrix(),
                  Arrays.copyOfRange(bias, first, first + columns),
                  patches.rows()),
              node.added().isPresent() ? tensors.get(node.added().getAsInt()) : null,
              output,
              groups * columns,
              first,
              Clamp.of(node.activation()),
              budget);
    }
    return new GroupedProduct(products);
  }

  @Override
  public int tiles() {
    return groups.length * groups[0].tiles();
  }

  @Override
  public int scratchFloats() {
    return groups[0].scratchFloats();
  }

  @Override
  public void run(Frame frame, Scratch scratch, int tile) {
    int each = groups[0].tiles();
    groups[tile / each].run(frame, scratch, tile % each);
  }
}
