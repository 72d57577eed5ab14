// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import io.thalamus.model.WideTypes;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.ReducerOptions;
import org.tensorflow.lite.schema.ResizeBilinearOptions;
import org.tensorflow.lite.schema.StridedSliceOptions;
import org.tensorflow.lite.schema.TensorType;

/** Parts at places that an execution computes, integers as data, and 16-bit activations. */
class ComputedPlacesTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private void assertConverts(String expected) throws ModelFormatException {
    assertEquals(expected, ModelText.of(TestFiles.read(file).model()));
  }

  /** The index may count from the end. */
  @Test
  void oneComputedPlaceIsGathered() throws ModelFormatException {
    int x = file.floats("x", 6, 4);
    int at = file.tensor("at", TensorType.INT32, null, 1);
    int end = file.tensor("end", TensorType.INT32, null, 1);
    int one = file.ints("one", 1);
    int y = file.floats("y", 4);
    file.operator(
            BuiltinOperator.STRIDED_SLICE,
            BuiltinOptions.StridedSliceOptions,
            flat -> StridedSliceOptions.createStridedSliceOptions(flat, 0, 0, 0, 0, 1, false),
            new int[] {x, at, end, one},
            y)
        .graph(new int[] {x, at, end}, y);
    assertConverts(
        """
        io.thalamus/FLOOR_DIV(at, [6]) -> %0:1
        MUL(%0:1, [6], 0) -> %1:1
        SUB(at, %1:1, 0) -> %2:1
        GATHER(x, 0, %2:1) -> %3:1x4
        RESHAPE(%3:1x4, [4]) -> y\
        """);
  }

  @Test
  void someNeighboursFromAComputedPlaceOnAreGathered() throws ModelFormatException {
    int x = file.floats("x", 6);
    int begin = file.tensor("begin", TensorType.INT32, null, 1);
    int size = file.ints("size", 2);
    int y = file.floats("y", 2);
    file.operator(BuiltinOperator.SLICE, new int[] {x, begin, size}, y)
        .graph(new int[] {x, begin}, y);
    assertConverts(
        """
        MAXIMUM(begin, [0]) -> %0:1
        MINIMUM(%0:1, [4]) -> %1:1
        ADD([0, 1], %1:1, 0) -> %2:2
        GATHER(x, 0, %2:2) -> %3:2
        RESHAPE(%3:2, [2]) -> y\
        """);
  }

  @Test
  void anUpdateIsChosenWhereItLies() throws ModelFormatException {
    int x = file.floats("x", 3);
    int update = file.floats("u", 2);
    int start = file.tensor("s", TensorType.INT32, null, 1);
    int y = file.floats("y", 3);
    file.operator(BuiltinOperator.DYNAMIC_UPDATE_SLICE, new int[] {x, update, start}, y)
        .graph(new int[] {x, update, start}, y);
    assertConverts(
        """
        MAXIMUM(s, [0]) -> %0:1
        MINIMUM(%0:1, [1]) -> %1:1
        SUB([0, 1, 2], %1:1, 0) -> %2:3
        GREATER_EQUAL(%2:3, [0]) -> %3:3
        LESS(%2:3, [2]) -> %4:3
        LOGICAL_AND(%3:3, %4:3) -> %5:3
        MAXIMUM(%2:3, [0]) -> %6:3
        MINIMUM(%6:3, [1]) -> %7:3
        GATHER(u, 0, %7:3) -> %8:3
        io.thalamus/AS_STRIDED(%5:3, [3], [1], 0) -> %9:3
        SELECT(%9:3, %8:3, x) -> y\
        """);
  }

  /** A file of some bytes must not ask for an index of gigabytes. */
  @Test
  void hugeUpdatesAreRefused() {
    int x = file.floats("x", 2_000_000_000);
    int update = file.floats("u", 2);
    int start = file.tensor("s", TensorType.INT32, null, 1);
    int y = file.floats("y", 2_000_000_000);
    file.operator(BuiltinOperator.DYNAMIC_UPDATE_SLICE, new int[] {x, update, start}, y)
        .graph(new int[] {x, update, start}, y);
    String message =
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file)).getMessage();
    assertEquals(
        "operator 0 DYNAMIC_UPDATE_SLICE (output 'y'): constants derived from the file grow out of"
            + " proportion to it at tensor 0 'x'",
        message);
  }

  /** NNAPI rounds a quotient of integers down, TensorFlow Lite towards 0. */
  @Test
  void quotientsOfIntegersAreCutOff() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT32, null, 2);
    int z = file.tensor("z", TensorType.INT32, null, 2);
    int y = file.tensor("y", TensorType.INT32, null, 2);
    file.operator(BuiltinOperator.DIV, new int[] {x, z}, y).graph(new int[] {x, z}, y);
    assertConverts(
        """
        LESS(x, [0]) -> %0:2
        LESS(z, [0]) -> %1:2
        NOT_EQUAL(%0:2, %1:2) -> %2:2
        ABS(x) -> %3:2
        ABS(z) -> %4:2
        DIV(%3:2, %4:2, 0) -> %5:2
        SUB([0], %5:2, 0) -> %6:2
        SELECT(%2:2, %6:2, %5:2) -> y\
        """);
  }

  @Test
  void integersAreReducedByHalves() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT32, null, 4, 2);
    int axis = file.ints("axis", 0);
    int y = file.tensor("y", TensorType.INT32, null, 2);
    file.operator(
            BuiltinOperator.SUM,
            BuiltinOptions.ReducerOptions,
            flat -> ReducerOptions.createReducerOptions(flat, false),
            new int[] {x, axis},
            y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        io.thalamus/AS_STRIDED(x, [4, 2], [2, 1], 0) -> %0:4x2
        io.thalamus/AS_STRIDED(%0:4x2, [4, 2], [2, 1], 0) -> %1:4x2
        io.thalamus/AS_STRIDED(%1:4x2, [2, 2], [2, 1], 0) -> %2:2x2
        io.thalamus/AS_STRIDED(%1:4x2, [2, 2], [2, 1], 4) -> %3:2x2
        ADD(%2:2x2, %3:2x2, 0) -> %4:2x2
        io.thalamus/AS_STRIDED(%4:2x2, [1, 2], [2, 1], 0) -> %5:1x2
        io.thalamus/AS_STRIDED(%4:2x2, [1, 2], [2, 1], 2) -> %6:1x2
        ADD(%5:1x2, %6:1x2, 0) -> %7:1x2
        io.thalamus/AS_STRIDED(%7:1x2, [2], [1], 0) -> y\
        """);
  }

  @Test
  void integersOf64BitsAreThoseOfTheCaller() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT64, null, 2);
    int y = file.tensor("y", TensorType.INT64, null, 2);
    file.operator(BuiltinOperator.NEG, new int[] {x}, y).graph(new int[] {x}, y);
    assertConverts(
        """
        io.thalamus/CAST(x) -> %0:2
        NEG(%0:2) -> y
        io.thalamus/CAST(y) -> y\
        """);
    assertEquals(WideTypes.TENSOR_INT64, TestFiles.read(file).model().main().output(0).type());
  }

  /** In real numbers, rounded to the grid of the output: 0.5 for its steps. */
  @Test
  void activationsOf16BitsAreComputedAsTheirRealNumbers() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT16, Quantized.of(0.25f, 0), 1, 2);
    int w = file.constant("w", TensorType.INT8, Quantized.of(0.5f, 0), new byte[] {4, 2}, 1, 2);
    byte[] eight = {8, 0, 0, 0, 0, 0, 0, 0};
    int b = file.constant("b", TensorType.INT64, Quantized.of(0.125f, 0), eight, 1);
    int y = file.tensor("y", TensorType.INT16, Quantized.of(0.5f, 0), 1, 1);
    file.operator(
            BuiltinOperator.FULLY_CONNECTED,
            BuiltinOptions.FullyConnectedOptions,
            flat ->
                FullyConnectedOptions.createFullyConnectedOptions(
                    flat, (byte) 0, (byte) 0, false, false),
            new int[] {x, w, b},
            y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        io.thalamus/CAST(x) -> %0:1x2
        MUL(%0:1x2, [0.25], 0) -> %1:1x2
        FULLY_CONNECTED(%1:1x2, [2.0, 1.0], [1.0], 0) -> %2:1x1
        MUL(%2:1x1, [2.0], 0) -> %3:1x1
        ADD(%3:1x1, [0.5], 0) -> %4:1x1
        FLOOR(%4:1x1) -> %5:1x1
        MINIMUM(%5:1x1, [32767.0]) -> %6:1x1
        MAXIMUM(%6:1x1, [-32768.0]) -> %7:1x1
        MUL(%7:1x1, [0.5], 0) -> %8:1x1
        MUL(%8:1x1, [2.0], 0) -> %9:1x1
        ADD(%9:1x1, [0.5], 0) -> %10:1x1
        FLOOR(%10:1x1) -> %11:1x1
        MINIMUM(%11:1x1, [32767.0]) -> %12:1x1
        MAXIMUM(%12:1x1, [-32768.0]) -> %13:1x1
        io.thalamus/CAST(%13:1x1) -> y\
        """);
    assertEquals(
        OperandCode.TENSOR_QUANT16_SYMM, TestFiles.read(file).model().main().input(0).type());
  }

  /** From 2 rows to 3, in steps of 683 of 1024. */
  @Test
  void placesOf16BitImagesAreCountedIn1024ths() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT16, Quantized.of(1f, 0), 1, 2, 1, 1);
    int size = file.ints("size", 3, 1);
    int y = file.tensor("y", TensorType.INT16, Quantized.of(1f, 0), 1, 3, 1, 1);
    file.operator(
            BuiltinOperator.RESIZE_BILINEAR,
            BuiltinOptions.ResizeBilinearOptions,
            flat -> ResizeBilinearOptions.createResizeBilinearOptions(flat, false, false),
            new int[] {x, size},
            y)
        .graph(new int[] {x}, y);
    String text = ModelText.of(TestFiles.read(file).model());
    // (1024 * 2 + 1) / 3 is 683: the places are 0, 683 and 1366, of which the last is the last row.
    String weights = "[1.0, 0.0, %s, %s, 0.0, 1.0]".formatted(1 - 683 / 1024f, 683 / 1024f);
    assertTrue(text.contains("io.thalamus/BATCH_MATMUL(" + weights), text);
  }

  /** The sizes in the file are no more than a place for those of an execution. */
  @Test
  void partsOfTruthsOfOpenSizesHaveNone() throws ModelFormatException {
    int x = file.tensor("x", TensorType.BOOL, null, 4, 4);
    int begin = file.tensor("begin", TensorType.INT32, null, 2);
    int sizes = file.ints("sizes", 1, -1);
    int y = file.open("y", TensorType.BOOL, -1, -1);
    file.operator(BuiltinOperator.SLICE, new int[] {x, begin, sizes}, y)
        .graph(new int[] {x, begin}, y);
    assertEquals(Shape.of(0, 0), TestFiles.read(file).model().main().output(0).shape());
  }

  @Test
  void segmentsAreNotCountedByTheSizesOfTheFile() {
    int x = file.tensor("x", TensorType.INT32, null, 4);
    int places = file.tensor("places", TensorType.INT32, null, 4);
    int y = file.open("y", TensorType.INT32, -1);
    file.operator(BuiltinOperator.SEGMENT_SUM, new int[] {x, places}, y)
        .graph(new int[] {x, places}, y);
    assertEquals(
        "operator 0 SEGMENT_SUM (output 'y'): the number of its segments is not known beforehand",
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file)).getMessage());
  }

  @Test
  void computedMarginsOfIntegersAreRefusedAsSuch() {
    int x = file.tensor("x", TensorType.INT32, null, 4);
    int margins = file.tensor("margins", TensorType.INT32, null, 1, 2);
    int y = file.tensor("y", TensorType.INT32, null, 6);
    file.operator(BuiltinOperator.PADV2, new int[] {x, margins, file.scalar("seven", 7)}, y)
        .graph(new int[] {x, margins}, y);
    assertEquals(
        "operator 0 PADV2 (output 'y'): tensor 1 'margins' is not constant, as NNAPI wants it",
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file)).getMessage());
  }

  @Test
  void aConstantWithoutElementsIsNoDamage() {
    int x = file.tensor("x", TensorType.INT32, null, 1);
    int none = file.ints("none");
    int y = file.tensor("y", TensorType.INT32, null, 1);
    file.operator(BuiltinOperator.ADD, new int[] {x, none}, y).graph(new int[] {x}, y);
    assertEquals(
        "operator 0 ADD (output 'y'): tensor 1 'none' has no elements, and NNAPI has no such"
            + " constant",
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file)).getMessage());
  }
}
