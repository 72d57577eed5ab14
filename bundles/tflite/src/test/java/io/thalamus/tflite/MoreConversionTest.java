// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.Model;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.LocalResponseNormalizationOptions;
import org.tensorflow.lite.schema.ResizeNearestNeighborOptions;
import org.tensorflow.lite.schema.SequenceRNNOptions;
import org.tensorflow.lite.schema.SpaceToDepthOptions;
import org.tensorflow.lite.schema.StridedSliceOptions;
import org.tensorflow.lite.schema.TensorType;

/** The rarer operators, where the two sides order or spell their arguments differently. */
class MoreConversionTest {
  private static final byte INT8 = TensorType.INT8;

  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private Model assertConverts(String expected) throws ModelFormatException {
    Model model = TestFiles.read(file).model();
    assertEquals(expected, ModelText.of(model));
    return model;
  }

  private void assertRefuses(String expected) {
    assertEquals(
        expected,
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file)).getMessage());
  }

  @Test
  void padValueOfQuantizedDataIsAStoredInteger() throws ModelFormatException {
    Quantized quantized = Quantized.of(0.5f, 10);
    int x = file.tensor("x", INT8, quantized, 1, 2);
    byte[] margins = TfliteFileBuilder.intBytes(0, 0, 1, 2);
    int pads = file.constant("pads", TensorType.INT32, null, margins, 2, 2);
    int value = file.constant("value", INT8, Quantized.of(0.25f, 2), new byte[] {6});
    int y = file.tensor("y", INT8, quantized, 1, 5);
    file.operator(BuiltinOperator.PADV2, new int[] {x, pads, value}, y).graph(new int[] {x}, y);
    assertConverts("PAD_V2(x, [0, 0, 1, 2], 12) -> y");
  }

  @Test
  void cropsAreSlicedOff() throws ModelFormatException {
    int x = file.floats("x", 4, 2, 3, 1);
    int block = file.ints("block", 2, 2);
    byte[] crops = TfliteFileBuilder.intBytes(0, 1, 2, 0);
    int crop = file.constant("crops", TensorType.INT32, null, crops, 2, 2);
    int y = file.floats("y", 1, 3, 4, 1);
    file.operator(BuiltinOperator.BATCH_TO_SPACE_ND, new int[] {x, block, crop}, y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        BATCH_TO_SPACE_ND(x, [2, 2]) -> %0:1x4x6x1
        SLICE(%0:1x4x6x1, [0, 0, 2, 0], [1, 3, 4, 1]) -> y\
        """);
  }

  @Test
  void spaceToBatchAndDepth() throws ModelFormatException {
    int x = file.floats("x", 1, 3, 4, 1);
    int block = file.ints("block", 2, 2);
    byte[] margins = TfliteFileBuilder.intBytes(0, 1, 0, 0);
    int pads = file.constant("pads", TensorType.INT32, null, margins, 2, 2);
    int y = file.floats("y", 4, 2, 2, 1);
    int z = file.floats("z", 4, 1, 1, 4);
    file.operator(BuiltinOperator.SPACE_TO_BATCH_ND, new int[] {x, block, pads}, y)
        .operator(
            BuiltinOperator.SPACE_TO_DEPTH,
            BuiltinOptions.SpaceToDepthOptions,
            flat -> SpaceToDepthOptions.createSpaceToDepthOptions(flat, 2),
            new int[] {y},
            z)
        .graph(new int[] {x}, z);
    assertConverts(
        """
        SPACE_TO_BATCH_ND(x, [2, 2], [0, 1, 0, 0]) -> y
        SPACE_TO_DEPTH(y, 2) -> z\
        """);
  }

  @Test
  void branchesReferToTheirGraphs() throws ModelFormatException {
    int condition = file.tensor("condition", TensorType.BOOL, null);
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.branch(1, 2, new int[] {condition, x}, y).graph(new int[] {condition, x}, y);
    for (int code : new int[] {BuiltinOperator.RELU, BuiltinOperator.NEG}) {
      int a = file.floats("a", 2);
      int b = file.floats("b", 2);
      file.operator(code, new int[] {a}, b).graph(new int[] {a}, b);
    }
    Model model = assertConverts("IF(condition, @0, @1, x) -> y");
    assertEquals("RELU(a) -> b", ModelText.of(model.referenced().get(0)));
    assertEquals("NEG(a) -> b", ModelText.of(model.referenced().get(1)));
  }

  @Test
  void nearestNeighborAlwaysSaysItsLayout() throws ModelFormatException {
    int x = file.floats("x", 1, 4, 4, 2);
    int size = file.ints("size", 6, 8);
    int y = file.floats("y", 1, 6, 8, 2);
    int z = file.floats("z", 1, 6, 8, 2);
    for (int output : new int[] {y, z}) {
      file.operator(
          BuiltinOperator.RESIZE_NEAREST_NEIGHBOR,
          BuiltinOptions.ResizeNearestNeighborOptions,
          flat ->
              ResizeNearestNeighborOptions.createResizeNearestNeighborOptions(
                  flat, output == z, false),
          new int[] {x, size},
          output);
    }
    file.graph(new int[] {x}, y, z);
    assertConverts(
        """
        RESIZE_NEAREST_NEIGHBOR(x, 8, 6, false) -> y
        RESIZE_NEAREST_NEIGHBOR(x, 8, 6, false, true, false) -> z\
        """);
  }

  @Test
  void sliceToTheEndHasItsSize() throws ModelFormatException {
    int x = file.floats("x", 3, 5);
    int begin = file.ints("begin", 1, 2);
    int size = file.ints("size", 2, -1);
    int y = file.floats("y", 2, 3);
    file.operator(BuiltinOperator.SLICE, new int[] {x, begin, size}, y).graph(new int[] {x}, y);
    assertConverts("SLICE(x, [1, 2], [2, 3]) -> y");
  }

  @Test
  void sliceOfOneElementKeepsOneDimension() throws ModelFormatException {
    int x = file.floats("x", 5);
    int begin = file.ints("begin", 2);
    int end = file.ints("end", 3);
    int strides = file.ints("strides", 1);
    int y = file.floats("y");
    file.operator(
            BuiltinOperator.STRIDED_SLICE,
            BuiltinOptions.StridedSliceOptions,
            flat -> StridedSliceOptions.createStridedSliceOptions(flat, 0, 0, 0, 0, 1, false),
            new int[] {x, begin, end, strides},
            y)
        .graph(new int[] {x}, y);
    assertConverts("STRIDED_SLICE(x, [2], [3], [1], 0, 0, 0) -> y");
  }

  @Test
  void newAxesAndEllipsesAreStrides() throws ModelFormatException {
    int x = file.floats("x", 2, 3, 5);
    int begin = file.ints("begin", 0, 0, -1);
    int end = file.ints("end", 0, 0, 0);
    int strides = file.ints("strides", 1, 1, -2);
    int y = file.floats("y", 1, 2, 3, 2);
    file.operator(
            BuiltinOperator.STRIDED_SLICE,
            BuiltinOptions.StridedSliceOptions,
            flat -> StridedSliceOptions.createStridedSliceOptions(flat, 0, 0, 2, 1, 0, false),
            new int[] {x, begin, end, strides},
            y)
        .graph(new int[] {x}, y);
    assertConverts("io.thalamus/AS_STRIDED(x, [1, 2, 3, 2], [0, 15, 5, -2], 4) -> y");
  }

  /** Of equal elements NNAPI takes the last one, TensorFlow Lite the first. */
  @Test
  void choices() throws ModelFormatException {
    int condition = file.tensor("condition", TensorType.BOOL, null, 2);
    int a = file.floats("a", 2);
    int b = file.floats("b", 2);
    int k = file.scalar("k", 1);
    int y = file.floats("y", 2);
    int top = file.floats("top", 1);
    int where = file.tensor("where", TensorType.INT32, null, 1);
    int sum = file.floats("sum", 2);
    file.operator(BuiltinOperator.SELECT_V2, new int[] {condition, a, b}, y)
        .operator(BuiltinOperator.TOPK_V2, new int[] {a, k}, top, where)
        .operator(BuiltinOperator.ADD_N, new int[] {a, b, y}, sum)
        .graph(new int[] {condition, a, b}, top, where, sum);
    assertConverts(
        """
        SELECT(condition, a, b) -> y
        io.thalamus/REVERSE(a, [0]) -> %0:2
        TOPK_V2(%0:2, 1) -> top, %1:1
        SUB([1], %1:1, 0) -> where
        ADD(a, b, 0) -> %2:2
        ADD(%2:2, y, 0) -> sum\
        """);
  }

  @Test
  void choicesBroadcast() throws ModelFormatException {
    int condition = file.tensor("condition", TensorType.BOOL, null, 2, 1);
    int a = file.floats("a", 3);
    int b = file.floats("b", 2, 3);
    int y = file.floats("y", 2, 3);
    file.operator(BuiltinOperator.SELECT_V2, new int[] {condition, a, b}, y)
        .graph(new int[] {condition, a, b}, y);
    assertConverts(
        """
        io.thalamus/AS_STRIDED(condition, [2, 3], [1, 0], 0) -> %0:2x3
        io.thalamus/AS_STRIDED(a, [2, 3], [0, 1], 0) -> %1:2x3
        SELECT(%0:2x3, %1:2x3, b) -> y\
        """);
  }

  @Test
  void normalizationAndRecurrence() throws ModelFormatException {
    int x = file.floats("x", 1, 2, 2, 4);
    int y = file.floats("y", 1, 2, 2, 4);
    int s = file.floats("s", 3, 1, 2);
    int w = file.zeros("w", TensorType.FLOAT32, null, 2, 2);
    int r = file.zeros("r", TensorType.FLOAT32, null, 2, 2);
    int b = file.zeros("b", TensorType.FLOAT32, null, 2);
    int h = file.variable("h", TensorType.FLOAT32, 1, 2);
    int z = file.floats("z", 3, 1, 2);
    file.operator(
            BuiltinOperator.LOCAL_RESPONSE_NORMALIZATION,
            BuiltinOptions.LocalResponseNormalizationOptions,
            flat ->
                LocalResponseNormalizationOptions.createLocalResponseNormalizationOptions(
                    flat, 2, 1f, 0.5f, 0.75f),
            new int[] {x},
            y)
        .operator(
            BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_RNN,
            BuiltinOptions.SequenceRNNOptions,
            flat ->
                SequenceRNNOptions.createSequenceRNNOptions(
                    flat, true, ActivationFunctionType.RELU, false),
            new int[] {s, w, r, b, h},
            z)
        .graph(new int[] {x, s}, y, z);
    assertConverts(
        """
        LOCAL_RESPONSE_NORMALIZATION(x, 2, 1.0, 0.5, 0.75) -> y
        UNIDIRECTIONAL_SEQUENCE_RNN(s, w, r, b, [0.0, 0.0], 1, 1) -> z\
        """);
  }
}
