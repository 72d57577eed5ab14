// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import java.util.List;
import java.util.stream.Stream;

/** Collects the families. */
final class StandardOperations {
  private StandardOperations() {}

  static List<OperationDefinition> definitions() {
    return Stream.of(
            Activation.definitions(),
            Comparison.definitions(),
            ControlFlow.definitions(),
            Convolution.definitions(),
            Detection.definitions(),
            Elementwise.definitions(),
            LshProjection.definitions(),
            Lstm.definitions(),
            MatrixMultiply.definitions(),
            Normalization.definitions(),
            Pooling.definitions(),
            Quantize.definitions(),
            QuantizedLstm.definitions(),
            RandomMultinomial.definitions(),
            Rearrange.definitions(),
            Recurrent.definitions(),
            Reduction.definitions(),
            Regions.definitions(),
            Reshape.definitions(),
            Resize.definitions(),
            Selection.definitions(),
            Slice.definitions(),
            Softmax.definitions(),
            SpaceDepthBatch.definitions(),
            UnaryMath.definitions())
        .flatMap(List::stream)
        .toList();
  }
}
