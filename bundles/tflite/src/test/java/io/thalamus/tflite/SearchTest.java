// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.ResizeBilinearOptions;
import org.tensorflow.lite.schema.ResizeNearestNeighborOptions;
import org.tensorflow.lite.schema.TensorType;

/** Results whose sizes only an execution determines, and functions of the extension. */
class SearchTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private void assertConverts(String expected) throws ModelFormatException {
    assertEquals(expected, ModelText.of(TestFiles.read(file).model()));
  }

  /** The file states one row; the operation gives what it finds. */
  @Test
  void theNumberOfPlacesIsOpen() throws ModelFormatException {
    int x = file.floats("x", 2, 3);
    int y = file.tensor("y", TensorType.INT64, null, 1, 2);
    file.operator(BuiltinOperator.WHERE, new int[] {x}, y).graph(new int[] {x}, y);
    Model model = TestFiles.read(file).model();
    assertEquals(Shape.of(0, 2), model.main().output(0).shape());
    assertEquals(
        "io.thalamus/NON_ZERO(x, false) -> y\nio.thalamus/CAST(y) -> y", ModelText.of(model));
  }

  @Test
  void anglesAndBitsAreOperationsOfTheExtension() throws ModelFormatException {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.operator(BuiltinOperator.ATAN2, new int[] {x, x}, y).graph(new int[] {x}, y);
    assertConverts("io.thalamus/ATAN2(x, x) -> y");
  }

  /** The order is that of (value, place), which UNIQUE gives for numbers that stand for both. */
  @Test
  void whatIsFoundIsSorted() throws ModelFormatException {
    int x = file.floats("x", 9);
    int found = file.open("found", TensorType.FLOAT32, -1);
    int k = file.tensor("k", TensorType.INT32, null, 1);
    int y = file.open("y", TensorType.FLOAT32, -1);
    int places = file.open("places", TensorType.INT32, -1);
    int count = file.open("count", TensorType.INT32, -1);
    file.operator(BuiltinOperator.UNIQUE, new int[] {x}, found, count)
        .operator(BuiltinOperator.TOPK_V2, new int[] {found, k}, y, places)
        .graph(new int[] {x, k}, y, places);
    assertConverts(
        """
        io.thalamus/UNIQUE(x, false) -> found, %0:?, count, %1:?
        io.thalamus/UNIQUE(found, true) -> %2:?, %3:?, %4:?, %5:?
        GREATER_EQUAL(%4:?, [0]) -> %6:?
        io.thalamus/NON_ZERO(%6:?, true) -> %7:1x?
        io.thalamus/GATHER_ND(%7:1x?, [0]) -> %8:?
        io.thalamus/FLOOR_DIV(%8:?, [46340]) -> %9:?
        GATHER([46340], 0, %9:?) -> %10:?
        MUL(%4:?, %10:?, 0) -> %11:?
        SUB(%8:?, %11:?, 0) -> %12:?
        io.thalamus/UNIQUE(%12:?, true) -> %13:?, %14:?, %15:?, %16:?
        GATHER(found, 0, %14:?) -> %17:?
        SLICE(%17:?, [0], k) -> y
        SLICE(%14:?, [0], k) -> places\
        """);
  }

  private void resize(boolean isBilinear, boolean isAligned, boolean isHalf) {
    int x = file.floats("x", 1, 5, 6, 2);
    int size = file.tensor("size", TensorType.INT32, null, 2);
    int y = file.open("y", TensorType.FLOAT32, 1, -1, -1, 2);
    file.operator(
            isBilinear ? BuiltinOperator.RESIZE_BILINEAR : BuiltinOperator.RESIZE_NEAREST_NEIGHBOR,
            isBilinear
                ? BuiltinOptions.ResizeBilinearOptions
                : BuiltinOptions.ResizeNearestNeighborOptions,
            flat ->
                isBilinear
                    ? ResizeBilinearOptions.createResizeBilinearOptions(flat, isAligned, isHalf)
                    : ResizeNearestNeighborOptions.createResizeNearestNeighborOptions(
                        flat, isAligned, isHalf),
            new int[] {x, size},
            y)
        .graph(new int[] {x, size}, y);
  }

  /** Columns are converted as rows are, behind them; the size becomes numbers from 0 on first. */
  private void assertConvertsRows(String rows) throws ModelFormatException {
    String text = ModelText.of(TestFiles.read(file).model());
    String expected =
        """
        io.thalamus/AS_STRIDED(size, [1], [1], 0) -> %0:1
        FILL(%0:1, 1) -> %1:?
        io.thalamus/NON_ZERO(%1:?, true) -> %2:1x?
        io.thalamus/GATHER_ND(%2:1x?, [0]) -> %3:?
        CAST(%3:?) -> %4:?
        CAST(%0:1) -> %5:1
        """
            + rows;
    assertEquals(expected, text.substring(0, Math.min(expected.length(), text.length())));
  }

  @Test
  void nearestPixelsAreGathered() throws ModelFormatException {
    resize(false, false, true);
    assertConvertsRows(
        """
        DIV([5.0], %5:1, 0) -> %6:1
        ADD(%4:?, [0.5], 0) -> %7:?
        MUL(%7:?, %6:1, 0) -> %8:?
        FLOOR(%8:?) -> %9:?
        MAXIMUM(%9:?, [0.0]) -> %10:?
        MINIMUM(%10:?, [4.0]) -> %11:?
        CAST(%11:?) -> %12:?
        GATHER(x, 1, %12:?) -> %13:1x?x6x2
        """);
  }

  @Test
  void neighboursAreMixed() throws ModelFormatException {
    resize(true, true, false);
    assertConvertsRows(
        """
        SUB(%5:1, [1.0], 0) -> %6:1
        MAXIMUM(%6:1, [1.0]) -> %7:1
        DIV([4.0], %7:1, 0) -> %8:1
        MUL(%4:?, %8:1, 0) -> %9:?
        MAXIMUM(%9:?, [0.0]) -> %10:?
        MINIMUM(%10:?, [4.0]) -> %11:?
        FLOOR(%11:?) -> %12:?
        CAST(%12:?) -> %13:?
        GATHER(x, 1, %13:?) -> %14:1x?x6x2
        ADD(%12:?, [1.0], 0) -> %15:?
        MAXIMUM(%15:?, [0.0]) -> %16:?
        MINIMUM(%16:?, [4.0]) -> %17:?
        CAST(%17:?) -> %18:?
        GATHER(x, 1, %18:?) -> %19:1x?x6x2
        SUB(%11:?, %12:?, 0) -> %20:?
        EXPAND_DIMS(%20:?, 1) -> %21:?x1
        EXPAND_DIMS(%21:?x1, 2) -> %22:?x1x1
        SUB(%19:1x?x6x2, %14:1x?x6x2, 0) -> %23:1x?x6x2
        MUL(%23:1x?x6x2, %22:?x1x1, 0) -> %24:1x?x6x2
        ADD(%14:1x?x6x2, %24:1x?x6x2, 0) -> %25:1x?x6x2
        """);
  }
}
