// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.Lifetime;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class MacsTest {
  private static OptionalLong macs(OperationType type, Shape output, Shape input, Shape... rest) {
    SubgraphBuilder builder = new SubgraphBuilder();
    OperandCode floats = OperandCode.TENSOR_FLOAT32;
    List<Integer> inputs = new ArrayList<>();
    inputs.add(builder.input("in", floats, input, Quantization.NONE));
    for (Shape shape : rest) {
      inputs.add(
          builder.constant(
              "w", floats, shape, Quantization.NONE, new Lifetime.ConstantCopy(new byte[4])));
    }
    int out = builder.output("out", floats, output, Quantization.NONE);
    builder.operation(type, inputs, List.of(out));
    Subgraph graph = builder.build();
    return OperationCatalog.standard().macs(graph, graph.operations().getFirst());
  }

  @Test
  void convolutionsCountTheirFilterForEachOutput() {
    // The first convolution of MobileNetV2 for 224x224: 10.8 M.
    assertEquals(
        OptionalLong.of(112L * 112 * 32 * 3 * 3 * 3),
        macs(
            OperationCode.CONV_2D,
            Shape.of(1, 112, 112, 32),
            Shape.of(1, 224, 224, 3),
            Shape.of(32, 3, 3, 3)));
    assertEquals(
        OptionalLong.of(112L * 112 * 32 * 3 * 3),
        macs(
            OperationCode.DEPTHWISE_CONV_2D,
            Shape.of(1, 112, 112, 32),
            Shape.of(1, 112, 112, 32),
            Shape.of(1, 3, 3, 32)));
    assertEquals(
        OptionalLong.of(4L * 4 * 8 * 3 * 3 * 2),
        macs(
            OperationCode.TRANSPOSE_CONV_2D,
            Shape.of(1, 8, 8, 2),
            Shape.of(1, 4, 4, 8),
            Shape.of(2, 3, 3, 8)));
  }

  @Test
  void matrixProductsCountTheSummedDimension() {
    assertEquals(
        OptionalLong.of(640 * 128),
        macs(
            OperationCode.FULLY_CONNECTED, Shape.of(1, 128), Shape.of(1, 640), Shape.of(128, 640)));
    assertEquals(
        OptionalLong.of(2L * 3 * 5 * 7),
        macs(
            ThalamusExtension.BATCH_MATMUL,
            Shape.of(2, 3, 5),
            Shape.of(2, 3, 7),
            Shape.of(2, 7, 5)));
    assertEquals(
        OptionalLong.of(2L * 3 * 5 * 7),
        macs(
            ThalamusExtension.BATCH_MATMUL,
            Shape.of(2, 3, 5),
            Shape.of(2, 7, 3),
            Shape.of(2, 7, 5)));
  }

  @Test
  void recurrentCellsCountTheirMatricesForEachStep() {
    // mnist_lstm: 28 steps of four gates, 28 inputs and 20 cells: 107,520 of its 113,120.
    Shape in = Shape.of(20, 28);
    Shape back = Shape.of(20, 20);
    assertEquals(
        OptionalLong.of(107_520),
        macs(
            OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM,
            Shape.of(1, 28, 20),
            Shape.of(1, 28, 28),
            in,
            in,
            in,
            in,
            back,
            back,
            back,
            back,
            Shape.of(20)));
  }

  @Test
  void openDimensionsAreNotGuessed() {
    assertEquals(
        OptionalLong.empty(),
        macs(
            OperationCode.CONV_2D,
            Shape.of(1, 0, 0, 32),
            Shape.of(1, 0, 0, 3),
            Shape.of(32, 3, 3, 3)));
    assertEquals(OptionalLong.of(0), macs(OperationCode.RELU, Shape.of(1, 0), Shape.of(1, 0)));
  }
}
