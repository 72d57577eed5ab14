// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.TensorType;

/** Weights whose rows are scaled in blocks, by numbers that stand in other tensors. */
class BlockScalesTest {
  private static final Shape WEIGHTS = Shape.of(3, 4);

  /** The integers 1 2 3 4, -1 -2 -3 -4 and 5 6 7 -8, two to a byte. */
  private static final byte[] PAIRS = {0x21, 0x43, (byte) 0xEF, (byte) 0xCD, 0x65, (byte) 0x87};

  /** The same by 1 10, 0.5 2 and 4 0.25, each of which scales two. */
  private static final float[] SCALED = {1, 2, 30, 40, -0.5f, -1, -6, -8, 20, 24, 1.75f, -2};

  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private int halves(float... values) {
    byte[] bytes = new byte[2 * values.length];
    for (int i = 0; i < values.length; i++) {
      short half = Float.floatToFloat16(values[i]);
      bytes[2 * i] = (byte) half;
      bytes[2 * i + 1] = (byte) (half >> 8);
    }
    return file.constant("scales", TensorType.FLOAT16, null, bytes, values.length / 2, 2);
  }

  private Model layer(int x, int weights, int y) throws ModelFormatException {
    file.operator(
            BuiltinOperator.FULLY_CONNECTED,
            BuiltinOptions.FullyConnectedOptions,
            flat ->
                FullyConnectedOptions.createFullyConnectedOptions(
                    flat, (byte) 0, (byte) 0, false, false),
            new int[] {x, weights, -1},
            y)
        .graph(new int[] {x}, y);
    return TestFiles.read(file).model();
  }

  private Model layer(int weights) throws ModelFormatException {
    return layer(file.floats("x", 1, 4), weights, file.floats("y", 1, 3));
  }

  private static float[] weights(Model model) {
    return model.main().operands().stream()
        .filter(operand -> operand.shape().equals(WEIGHTS))
        .map(Operand::lifetime)
        .map(lifetime -> ((Lifetime.Constant) lifetime).bytes())
        .map(bytes -> bytes.toArray(ValueLayout.JAVA_FLOAT_UNALIGNED))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void eachBlockHasItsScale() throws ModelFormatException {
    int scales = halves(1, 10, 0.5f, 2, 4, 0.25f);
    Model model = layer(file.blocks("w", TensorType.INT4, PAIRS, scales, -1, 2, 3, 4));
    assertArrayEquals(SCALED, weights(model));
  }

  @Test
  void eachBlockHasItsZeroPoint() throws ModelFormatException {
    float[] numbers = {1, 2, 3};
    int scales =
        file.constant(
            "scales", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(numbers), 3, 1);
    int zeroPoints = file.ints("zeros", 1, 0, -1);
    byte[] bytes = {1, 2, 3, 4, -1, -2, -3, -4, 5, 6, 7, -128};
    Model model = layer(file.blocks("w", TensorType.INT8, bytes, scales, zeroPoints, 4, 3, 4));
    assertArrayEquals(new float[] {0, 1, 2, 3, -2, -4, -6, -8, 18, 21, 24, -381}, weights(model));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "3 | tensor 3 'w' is quantized in blocks of 3 elements, which its rows do not consist of",
        "0 | tensor 3 'w' is quantized in blocks of 0 elements, which its rows do not consist of",
        "1 | the file is damaged: tensor 0 'scales' does not have a number for each of the 12"
            + " blocks of tensor 3 'w'"
      })
  void blocksMustFit(int size, String refusal) {
    int scales = halves(1, 1, 1, 1, 1, 1);
    int x = file.floats("x", 1, 4);
    int y = file.floats("y", 1, 3);
    int weights = file.blocks("w", TensorType.INT4, PAIRS, scales, -1, size, 3, 4);
    Exception thrown = assertThrows(ModelFormatException.class, () -> layer(x, weights, y));
    assertEquals(refusal, thrown.getMessage());
  }

  @Test
  void scalesMustBeThere() {
    int weights = file.blocks("w", TensorType.INT4, PAIRS, 9, -1, 2, 3, 4);
    Exception thrown = assertThrows(ModelFormatException.class, () -> layer(weights));
    assertEquals(
        "the file is damaged: the blocks of tensor 0 'w' have tensor number 9 of 3",
        thrown.getMessage());
  }

  /** A sum of integers has one scale, so that such a layer is one of real numbers. */
  @ParameterizedTest
  @ValueSource(bytes = {TensorType.INT8, TensorType.INT16})
  void integersMeetRealWeights(byte type) throws ModelFormatException {
    int scales = halves(1, 10, 0.5f, 2, 4, 0.25f);
    byte[] bytes = {1, 2, 3, 4, -1, -2, -3, -4, 5, 6, 7, -8};
    int weights = file.blocks("w", TensorType.INT8, bytes, scales, -1, 2, 3, 4);
    int x = file.tensor("x", type, Quantized.of(1, 0), 1, 4);
    Model model = layer(x, weights, file.tensor("y", type, Quantized.of(1, 0), 1, 3));
    assertArrayEquals(SCALED, weights(model));
  }

  @Test
  void nothingIsComputedInBlocks() {
    int scales = halves(1, 1);
    int x = file.floats("x", 4);
    int y = file.blocks("y", TensorType.INT8, new byte[0], scales, -1, 2, 4);
    file.operator(BuiltinOperator.QUANTIZE, new int[] {x}, y).graph(new int[] {x}, y);
    Exception thrown = assertThrows(ModelFormatException.class, () -> TestFiles.read(file));
    assertEquals(
        "operator 0 QUANTIZE (output 'y'): tensor 2 'y' is quantized in blocks, which is read of"
            + " constants for floats only",
        thrown.getMessage());
  }
}
