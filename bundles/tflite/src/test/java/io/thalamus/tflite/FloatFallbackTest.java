// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;

/** Quantized operators that NNAPI has on real numbers only, and operators that it does not have. */
class FloatFallbackTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private void assertConverts(String expected) throws ModelFormatException {
    assertEquals(expected, ModelText.of(TestFiles.read(file).model()));
  }

  private int quantized(String name, float scale, int zeroPoint, int... shape) {
    return file.tensor(name, TensorType.INT8, Quantized.of(scale, zeroPoint), shape);
  }

  @Test
  void aQuantizedFunctionIsComputedOnRealNumbers() throws ModelFormatException {
    int x = quantized("x", 0.5f, -128, 2);
    int y = quantized("y", 0.25f, -100, 2);
    file.operator(BuiltinOperator.RSQRT, new int[] {x}, y).graph(new int[] {x}, y);
    assertConverts(
        """
        DEQUANTIZE(x) -> %0:2
        RSQRT(%0:2) -> %1:2
        QUANTIZE(%1:2) -> y\
        """);
  }

  /** Real numbers of one tensor are computed once, whoever needs them; those of constants here. */
  @Test
  void realNumbersAreSharedAndThoseOfConstantsAreConstant() throws ModelFormatException {
    int x = quantized("x", 0.5f, -128, 2);
    int power = file.constant("p", TensorType.INT8, Quantized.of(0.5f, 1), new byte[] {5, 3}, 2);
    int y = quantized("y", 0.25f, -100, 2);
    int z = quantized("z", 0.25f, -100, 2);
    file.operator(BuiltinOperator.POW, new int[] {x, power}, y)
        .operator(BuiltinOperator.EXP, new int[] {x}, z)
        .graph(new int[] {x}, y, z);
    assertConverts(
        """
        DEQUANTIZE(x) -> %0:2
        POW(%0:2, p) -> %1:2
        QUANTIZE(%1:2) -> y
        EXP(%0:2) -> %2:2
        QUANTIZE(%2:2) -> z\
        """);
  }

  @Test
  void allThatIsRefusedIsNamed() {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    int z = file.floats("z", 2);
    int w = file.floats("w", 2);
    file.custom("Fancy", new byte[] {1}, new int[] {x}, y)
        .operator(BuiltinOperator.RELU, new int[] {y}, z)
        .custom("FlexFft", new byte[] {1}, new int[] {x}, w)
        .graph(new int[] {x}, z, w);
    assertEquals(
        "2 operators cannot be expressed: operator 0 CUSTOM Fancy (output 'y'): neither NNAPI 1.3"
            + " nor the extension io.thalamus has an operation for it; operator 2 CUSTOM FlexFft"
            + " (output 'w'): it is an operator of TensorFlow itself; export the model without"
            + " SELECT_TF_OPS",
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file)).getMessage());
  }
}
