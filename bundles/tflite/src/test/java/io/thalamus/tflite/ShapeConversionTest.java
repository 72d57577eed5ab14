// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.reader.ModelFormatException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.ConcatenationOptions;
import org.tensorflow.lite.schema.GatherOptions;
import org.tensorflow.lite.schema.PackOptions;
import org.tensorflow.lite.schema.ReducerOptions;
import org.tensorflow.lite.schema.ReshapeOptions;
import org.tensorflow.lite.schema.ResizeBilinearOptions;
import org.tensorflow.lite.schema.SplitOptions;
import org.tensorflow.lite.schema.SqueezeOptions;
import org.tensorflow.lite.schema.StridedSliceOptions;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.UnpackOptions;

/** Operators that move elements: axes, constants of 64 bits, and what NNAPI 1.3 has to compose. */
class ShapeConversionTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private void assertConverts(String expected) throws ModelFormatException {
    assertEquals(expected.strip(), ModelText.of(TestFiles.read(file).model()));
  }

  @Test
  void reshapeWithSettingsOnly() throws ModelFormatException {
    int x = file.floats("x", 1, 2, 6);
    int y = file.floats("y", 3, 4);
    file.operator(
            BuiltinOperator.RESHAPE,
            BuiltinOptions.ReshapeOptions,
            flat ->
                ReshapeOptions.createReshapeOptions(
                    flat, ReshapeOptions.createNewShapeVector(flat, new int[] {3, -1})),
            new int[] {x},
            y)
        .graph(new int[] {x}, y);
    assertConverts("RESHAPE(x, [3, 4]) -> y");
  }

  @Test
  void squeezeNamesEveryDimension() throws ModelFormatException {
    int x = file.floats("x", 1, 3, 1, 2);
    int y = file.floats("y", 3, 2);
    file.operator(
            BuiltinOperator.SQUEEZE,
            BuiltinOptions.SqueezeOptions,
            flat ->
                SqueezeOptions.createSqueezeOptions(
                    flat, SqueezeOptions.createSqueezeDimsVector(flat, new int[] {-2, 0})),
            new int[] {x},
            y)
        .graph(new int[] {x}, y);
    assertConverts("SQUEEZE(x, [0, 2]) -> y");
  }

  @Test
  void packIsExpandAndJoin() throws ModelFormatException {
    int a = file.floats("a", 2, 3);
    int b = file.floats("b", 2, 3);
    int y = file.floats("y", 2, 3, 2);
    file.operator(
            BuiltinOperator.PACK,
            BuiltinOptions.PackOptions,
            flat -> PackOptions.createPackOptions(flat, 2, -1),
            new int[] {a, b},
            y)
        .graph(new int[] {a, b}, y);
    assertConverts(
        """
        EXPAND_DIMS(a, 2) -> %0:2x3x1
        EXPAND_DIMS(b, 2) -> %1:2x3x1
        CONCATENATION(%0:2x3x1, %1:2x3x1, 2) -> y\
        """);
  }

  @Test
  void unpackIsSplitAndSqueeze() throws ModelFormatException {
    int x = file.floats("x", 2, 3);
    int a = file.floats("a", 3);
    int b = file.floats("b", 3);
    file.operator(
            BuiltinOperator.UNPACK,
            BuiltinOptions.UnpackOptions,
            flat -> UnpackOptions.createUnpackOptions(flat, 2, 0),
            new int[] {x},
            a,
            b)
        .graph(new int[] {x}, a, b);
    assertConverts(
        """
        SPLIT(x, 0, 2) -> %0:1x3, %1:1x3
        SQUEEZE(%0:1x3, [0]) -> a
        SQUEEZE(%1:1x3, [0]) -> b\
        """);
  }

  @Test
  void splitTakesItsAxisFirst() throws ModelFormatException {
    int axis = file.scalar("axis", -1);
    int x = file.floats("x", 2, 4);
    int a = file.floats("a", 2, 2);
    int b = file.floats("b", 2, 2);
    file.operator(
            BuiltinOperator.SPLIT,
            BuiltinOptions.SplitOptions,
            flat -> SplitOptions.createSplitOptions(flat, 2),
            new int[] {axis, x},
            a,
            b)
        .graph(new int[] {x}, a, b);
    assertConverts("SPLIT(x, 1, 2) -> a, b");
  }

  @Test
  void unevenSplitIsSlices() throws ModelFormatException {
    int x = file.floats("x", 2, 5);
    int sizes = file.ints("sizes", 2, -1);
    int axis = file.scalar("axis", 1);
    int a = file.floats("a", 2, 2);
    int b = file.floats("b", 2, 3);
    file.operator(BuiltinOperator.SPLIT_V, new int[] {x, sizes, axis}, a, b)
        .graph(new int[] {x}, a, b);
    assertConverts(
        """
        SLICE(x, [0, 0], [2, 2]) -> a
        SLICE(x, [0, 2], [2, 3]) -> b\
        """);
  }

  @Test
  void stridedSliceNamesTheDimensionsThatItLeavesWhole() throws ModelFormatException {
    int x = file.floats("x", 4, 6);
    int begin = file.ints("begin", 1);
    int end = file.ints("end", 2);
    int strides = file.ints("strides", 1);
    int y = file.floats("y", 6);
    file.operator(
            BuiltinOperator.STRIDED_SLICE,
            BuiltinOptions.StridedSliceOptions,
            flat -> StridedSliceOptions.createStridedSliceOptions(flat, 0, 0, 0, 0, 1, false),
            new int[] {x, begin, end, strides},
            y)
        .graph(new int[] {x}, y);
    assertConverts("STRIDED_SLICE(x, [1, 0], [2, 0], [1, 1], 2, 2, 1) -> y");
  }

  @Test
  void joinsWithActivationOfItsOwn() throws ModelFormatException {
    int a = file.floats("a", 1, 2);
    int b = file.floats("b", 1, 3);
    int y = file.floats("y", 1, 5);
    file.operator(
            BuiltinOperator.CONCATENATION,
            BuiltinOptions.ConcatenationOptions,
            flat ->
                ConcatenationOptions.createConcatenationOptions(
                    flat, -1, ActivationFunctionType.RELU6),
            new int[] {a, b},
            y)
        .graph(new int[] {a, b}, y);
    assertConverts(
        """
        CONCATENATION(a, b, 1) -> %0:1x5
        RELU6(%0:1x5) -> y\
        """);
  }

  @Test
  void wideConstantsAreNarrowed() throws ModelFormatException {
    int x = file.floats("x", 1, 2);
    byte[] margins =
        ByteBuffer.allocate(32)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(0)
            .putLong(0)
            .putLong(1)
            .putLong(2)
            .array();
    int pads = file.constant("pads", TensorType.INT64, null, margins, 2, 2);
    int y = file.floats("y", 1, 5);
    file.operator(BuiltinOperator.PAD, new int[] {x, pads}, y).graph(new int[] {x}, y);
    assertConverts("PAD(x, [0, 0, 1, 2]) -> y");
  }

  @Test
  void tooWideConstantsAreRefused() {
    int x = file.floats("x", 1);
    byte[] margins =
        ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN).putLong(1L << 40).putLong(2).array();
    int pads = file.constant("pads", TensorType.INT64, null, margins, 1, 2);
    int y = file.floats("y", 5);
    file.operator(BuiltinOperator.PAD, new int[] {x, pads}, y).graph(new int[] {x}, y);
    ModelFormatException refusal =
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file));
    assertEquals(
        "operator 0 PAD (output 'y'): tensor 1 'pads' holds 1099511627776, which does not fit 32"
            + " bits",
        refusal.getMessage());
  }

  @Test
  void meanSaysWithANumberWhatSumSaysWithABool() throws ModelFormatException {
    int x = file.floats("x", 1, 4, 4, 2);
    int axes = file.ints("axes", -2, 1, 2);
    int mean = file.floats("mean", 1, 2);
    int sum = file.floats("sum", 1, 1, 1, 2);
    file.operator(
            BuiltinOperator.MEAN,
            BuiltinOptions.ReducerOptions,
            flat -> ReducerOptions.createReducerOptions(flat, false),
            new int[] {x, axes},
            mean)
        .operator(
            BuiltinOperator.SUM,
            BuiltinOptions.ReducerOptions,
            flat -> ReducerOptions.createReducerOptions(flat, true),
            new int[] {x, axes},
            sum)
        .graph(new int[] {x}, mean, sum);
    assertConverts(
        """
        MEAN(x, [2, 1], 0) -> mean
        REDUCE_SUM(x, [2, 1], true) -> sum\
        """);
  }

  @Test
  void resizeSaysWidthFirst() throws ModelFormatException {
    int x = file.floats("x", 1, 4, 4, 2);
    int size = file.ints("size", 6, 8);
    int y = file.floats("y", 1, 6, 8, 2);
    int z = file.floats("z", 1, 6, 8, 2);
    file.operator(
            BuiltinOperator.RESIZE_BILINEAR,
            BuiltinOptions.ResizeBilinearOptions,
            flat -> ResizeBilinearOptions.createResizeBilinearOptions(flat, false, false),
            new int[] {x, size},
            y)
        .operator(
            BuiltinOperator.RESIZE_BILINEAR,
            BuiltinOptions.ResizeBilinearOptions,
            flat -> ResizeBilinearOptions.createResizeBilinearOptions(flat, false, true),
            new int[] {x, size},
            z)
        .graph(new int[] {x}, y, z);
    assertConverts(
        """
        RESIZE_BILINEAR(x, 8, 6) -> y
        RESIZE_BILINEAR(x, 8, 6, false, false, true) -> z\
        """);
  }

  @Test
  void gatherOfOneIndexDropsTheDimension() throws ModelFormatException {
    int x = file.floats("x", 3, 4);
    int index = file.scalar("index", 1);
    int y = file.floats("y", 3);
    file.operator(
            BuiltinOperator.GATHER,
            BuiltinOptions.GatherOptions,
            flat -> GatherOptions.createGatherOptions(flat, 1, 0),
            new int[] {x, index},
            y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        GATHER(x, 1, index) -> %0:3x1
        RESHAPE(%0:3x1, [3]) -> y\
        """);
  }

  @Test
  void shapeIsKnownWhileReading() throws ModelFormatException {
    int x = file.floats("x", 3, 4);
    int shape = file.tensor("shape", TensorType.INT32, null, 2);
    file.operator(BuiltinOperator.SHAPE, new int[] {x}, shape).graph(new int[] {x}, shape);
    assertConverts("CAST([3, 4]) -> %0:2");
  }
}
