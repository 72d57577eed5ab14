// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BatchMatMulOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.MirrorPadMode;
import org.tensorflow.lite.schema.MirrorPadOptions;
import org.tensorflow.lite.schema.PackOptions;
import org.tensorflow.lite.schema.TensorType;

/** Operators that NNAPI 1.3 lacks become operations of the extension io.thalamus. */
class ExtensionConversionTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private void assertConverts(String expected) throws ModelFormatException {
    assertEquals(expected, ModelText.of(TestFiles.read(file).model()));
  }

  @Test
  void productsOfComputedMatrices() throws ModelFormatException {
    int x = file.floats("x", 2, 3, 4);
    int y = file.floats("y", 5, 4);
    int z = file.floats("z", 2, 3, 5);
    file.operator(
            BuiltinOperator.BATCH_MATMUL,
            BuiltinOptions.BatchMatMulOptions,
            flat -> BatchMatMulOptions.createBatchMatMulOptions(flat, false, true, false),
            new int[] {x, y},
            z)
        .graph(new int[] {x, y}, z);
    assertConverts("io.thalamus/BATCH_MATMUL(x, y, false, true) -> z");
  }

  @Test
  void mirrors() throws ModelFormatException {
    int x = file.floats("x", 2, 3);
    byte[] margins = TfliteFileBuilder.intBytes(0, 1, 2, 0);
    int pads = file.constant("pads", TensorType.INT32, null, margins, 2, 2);
    int y = file.floats("y", 3, 5);
    file.operator(
            BuiltinOperator.MIRROR_PAD,
            BuiltinOptions.MirrorPadOptions,
            flat -> MirrorPadOptions.createMirrorPadOptions(flat, MirrorPadMode.SYMMETRIC),
            new int[] {x, pads},
            y)
        .graph(new int[] {x}, y);
    assertConverts("io.thalamus/MIRROR_PAD(x, [0, 1, 2, 0], 1) -> y");
  }

  @Test
  void reversal() throws ModelFormatException {
    int x = file.floats("x", 2, 3);
    int axes = file.ints("axes", 1);
    int y = file.floats("y", 2, 3);
    file.operator(BuiltinOperator.REVERSE_V2, new int[] {x, axes}, y).graph(new int[] {x}, y);
    assertConverts("io.thalamus/REVERSE(x, [1]) -> y");
  }

  @Test
  void slicesByTuples() throws ModelFormatException {
    int x = file.floats("x", 4, 3);
    int indexes = file.tensor("i", TensorType.INT32, null, 2, 1);
    int y = file.floats("y", 2, 3);
    file.operator(BuiltinOperator.GATHER_ND, new int[] {x, indexes}, y)
        .graph(new int[] {x, indexes}, y);
    assertConverts("io.thalamus/GATHER_ND(x, i) -> y");
  }

  @Test
  void divisionRoundedDown() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT32, null, 2);
    int y = file.tensor("y", TensorType.INT32, null, 2);
    int z = file.tensor("z", TensorType.INT32, null, 2);
    file.operator(BuiltinOperator.FLOOR_DIV, new int[] {x, y}, z).graph(new int[] {x, y}, z);
    assertConverts("io.thalamus/FLOOR_DIV(x, y) -> z");
  }

  @Test
  void squaredDifferencesOfQuantizedValues() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT8, Quantized.of(0.5f, 3), 2);
    int y = file.tensor("y", TensorType.INT8, Quantized.of(0.25f, 0), 2);
    int z = file.tensor("z", TensorType.INT8, Quantized.of(2, -128), 2);
    file.operator(BuiltinOperator.SQUARED_DIFFERENCE, new int[] {x, y}, z)
        .graph(new int[] {x, y}, z);
    assertConverts("io.thalamus/SQUARED_DIFFERENCE(x, y) -> z");
  }

  @Test
  void integersPackedTogether() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT32, null, 3);
    int y = file.tensor("y", TensorType.INT32, null, 3);
    int z = file.tensor("z", TensorType.INT32, null, 3, 2);
    file.operator(
            BuiltinOperator.PACK,
            BuiltinOptions.PackOptions,
            flat -> PackOptions.createPackOptions(flat, 2, -1),
            new int[] {x, y},
            z)
        .graph(new int[] {x, y}, z);
    assertConverts("io.thalamus/PACK(1, x, y) -> z");
  }
}
