// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.flatbuffers.FlatBufferBuilder;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import java.lang.foreign.ValueLayout;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.Conv2DOptions;
import org.tensorflow.lite.schema.DepthwiseConv2DOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.Pool2DOptions;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.TransposeConvOptions;

/** Layers with weights, and pooling: operand order, padding, quantization of filter and bias. */
class LayerConversionTest {
  private static final byte INT8 = TensorType.INT8;
  private static final byte INT32 = TensorType.INT32;
  private static final byte FLOAT32 = TensorType.FLOAT32;

  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private static ToIntFunction<FlatBufferBuilder> conv(
      byte padding, int width, int height, byte activation, int dilationW, int dilationH) {
    return flat ->
        Conv2DOptions.createConv2DOptions(
            flat, padding, width, height, activation, dilationW, dilationH);
  }

  private Model read() throws ModelFormatException {
    return TestFiles.read(file).model();
  }

  private Operand operand(Model model, String name) {
    return model.main().operands().stream()
        .filter(operand -> operand.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void convolutionTakesPaddingStridesAndActivation() throws ModelFormatException {
    int x = file.floats("x", 1, 9, 9, 3);
    int w = file.zeros("w", FLOAT32, null, 8, 3, 3, 3);
    int b = file.zeros("b", FLOAT32, null, 8);
    int y = file.floats("y", 1, 5, 9, 8);
    file.operator(
            BuiltinOperator.CONV_2D,
            BuiltinOptions.Conv2DOptions,
            conv(Padding.SAME, 1, 2, ActivationFunctionType.RELU6, 1, 1),
            new int[] {x, w, b},
            y)
        .graph(new int[] {x}, y);
    Model model = read();
    assertEquals("CONV_2D(x, w, b, 1, 1, 2, 3) -> y", ModelText.of(model));
    assertInstanceOf(ConstantReference.class, operand(model, "w").lifetime());
    assertInstanceOf(Lifetime.ConstantCopy.class, operand(model, "b").lifetime());
  }

  @Test
  void dilatedConvolutionHasTheLongForm() throws ModelFormatException {
    int x = file.floats("x", 1, 9, 9, 3);
    int w = file.zeros("w", FLOAT32, null, 8, 3, 3, 3);
    int b = file.zeros("b", FLOAT32, null, 8);
    int y = file.floats("y", 1, 3, 5, 8);
    file.operator(
            BuiltinOperator.CONV_2D,
            BuiltinOptions.Conv2DOptions,
            conv(Padding.VALID, 1, 1, ActivationFunctionType.NONE, 2, 3),
            new int[] {x, w, b},
            y)
        .graph(new int[] {x}, y);
    assertEquals("CONV_2D(x, w, b, 2, 1, 1, 0, false, 2, 3) -> y", ModelText.of(read()));
  }

  @Test
  void shallowFilterMeansGroups() throws ModelFormatException {
    int x = file.floats("x", 1, 4, 4, 6);
    int w = file.zeros("w", FLOAT32, null, 4, 1, 1, 3);
    int b = file.zeros("b", FLOAT32, null, 4);
    int y = file.floats("y", 1, 4, 4, 4);
    file.operator(
            BuiltinOperator.CONV_2D,
            BuiltinOptions.Conv2DOptions,
            conv(Padding.SAME, 1, 1, ActivationFunctionType.NONE, 1, 1),
            new int[] {x, w, b},
            y)
        .graph(new int[] {x}, y);
    assertEquals("GROUPED_CONV_2D(x, w, b, 1, 1, 1, 2, 0, false) -> y", ModelText.of(read()));
  }

  @Test
  void perChannelFilterGetsSymmetricTypeAndUnscaledBias() throws ModelFormatException {
    Quantized filter = new Quantized(new float[] {0.5f, 0.25f}, new long[] {0, 0}, 0);
    int x = file.tensor("x", INT8, Quantized.of(0.1f, 5), 1, 4, 4, 3);
    int w = file.zeros("w", INT8, filter, 2, 1, 1, 3);
    int b = file.zeros("b", INT32, new Quantized(new float[] {.05f, .025f}, new long[2], 0), 2);
    int y = file.tensor("y", INT8, Quantized.of(0.2f, -3), 1, 4, 4, 2);
    file.operator(
            BuiltinOperator.CONV_2D,
            BuiltinOptions.Conv2DOptions,
            conv(Padding.SAME, 1, 1, ActivationFunctionType.RELU, 1, 1),
            new int[] {x, w, b},
            y)
        .graph(new int[] {x}, y);
    Model model = read();
    assertEquals("CONV_2D(x, w, b, 1, 1, 1, 1) -> y", ModelText.of(model));
    assertEquals(OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, operand(model, "w").type());
    assertEquals(new PerChannel(0, new float[] {0.5f, 0.25f}), operand(model, "w").quantization());
    assertEquals(0, operand(model, "b").quantization().scale());
    assertEquals(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED, operand(model, "x").type());
    assertEquals(5, operand(model, "x").quantization().zeroPoint());
  }

  @Test
  void biasGetsTheProductOfTheScalesWhateverTheFileSays() throws ModelFormatException {
    int x = file.tensor("x", TensorType.UINT8, Quantized.of(0.1f, 128), 1, 4, 4, 3);
    int w = file.zeros("w", TensorType.UINT8, Quantized.of(0.3f, 7), 2, 1, 1, 3);
    int b = file.zeros("b", INT32, Quantized.of(0.0299f, 0), 2);
    int y = file.tensor("y", TensorType.UINT8, Quantized.of(0.2f, 3), 1, 4, 4, 2);
    file.operator(
            BuiltinOperator.CONV_2D,
            BuiltinOptions.Conv2DOptions,
            conv(Padding.SAME, 1, 1, ActivationFunctionType.NONE, 1, 1),
            new int[] {x, w, b},
            y)
        .graph(new int[] {x}, y);
    Model model = read();
    assertEquals(0.1f * 0.3f, operand(model, "b").quantization().scale());
    assertEquals(OperandCode.TENSOR_QUANT8_ASYMM, operand(model, "w").type());
  }

  @Test
  void depthwiseTakesTheMultiplierFromTheShapes() throws ModelFormatException {
    int x = file.floats("x", 1, 5, 5, 2);
    int w = file.zeros("w", FLOAT32, null, 1, 3, 3, 6);
    int y = file.floats("y", 1, 3, 3, 6);
    file.operator(
            BuiltinOperator.DEPTHWISE_CONV_2D,
            BuiltinOptions.DepthwiseConv2DOptions,
            flat ->
                DepthwiseConv2DOptions.createDepthwiseConv2DOptions(
                    flat, Padding.VALID, 1, 1, 0, ActivationFunctionType.NONE, 1, 1),
            new int[] {x, w, -1},
            y)
        .graph(new int[] {x}, y);
    assertEquals(
        "DEPTHWISE_CONV_2D(x, w, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 2, 1, 1, 3, 0) -> y",
        ModelText.of(read()));
  }

  @Test
  void transposedConvolutionPutsTheDataFirst() throws ModelFormatException {
    int shape = file.ints("shape", 1, 8, 8, 2);
    int w = file.floats("w", 2, 2, 2, 3);
    int x = file.floats("x", 1, 4, 4, 3);
    int y = file.floats("y", 1, 8, 8, 2);
    file.operator(
            BuiltinOperator.TRANSPOSE_CONV,
            BuiltinOptions.TransposeConvOptions,
            flat ->
                TransposeConvOptions.createTransposeConvOptions(
                    flat, Padding.SAME, 2, 2, ActivationFunctionType.NONE),
            new int[] {shape, w, x},
            y)
        .graph(new int[] {w, x}, y);
    assertEquals(
        "TRANSPOSE_CONV_2D(x, w, [0.0, 0.0], [1, 8, 8, 2], 1, 2, 2, 0, false) -> y",
        ModelText.of(read()));
  }

  @Test
  void hybridWeightsBecomeFloats() throws ModelFormatException {
    Quantized filter = new Quantized(new float[] {0.5f, 2f}, new long[] {0, 0}, 0);
    int x = file.floats("x", 1, 1, 1, 3);
    int w = file.constant("w", INT8, filter, new byte[] {1, -2, 3, -4, 5, -128}, 2, 1, 1, 3);
    int b = file.zeros("b", FLOAT32, null, 2);
    int y = file.floats("y", 1, 1, 1, 2);
    file.operator(
            BuiltinOperator.CONV_2D,
            BuiltinOptions.Conv2DOptions,
            conv(Padding.SAME, 1, 1, ActivationFunctionType.NONE, 1, 1),
            new int[] {x, w, b},
            y)
        .graph(new int[] {x}, y);
    Operand weights = operand(read(), "w");
    assertEquals(OperandCode.TENSOR_FLOAT32, weights.type());
    assertArrayEquals(new float[] {.5f, -1f, 1.5f, -8f, 10f, -256f}, floats(weights));
  }

  /** So they are in files of the first converters. */
  @Test
  void hybridWeightsWithoutASignHaveOne() throws ModelFormatException {
    Quantized filter = new Quantized(new float[] {0.5f}, new long[] {0}, 0);
    int x = file.floats("x", 1, 3);
    int w = file.constant("w", TensorType.UINT8, filter, new byte[] {1, -2, 3, -4, 5, -128}, 2, 3);
    int y = file.floats("y", 1, 2);
    file.operator(
            BuiltinOperator.FULLY_CONNECTED,
            BuiltinOptions.FullyConnectedOptions,
            flat ->
                FullyConnectedOptions.createFullyConnectedOptions(
                    flat, ActivationFunctionType.NONE, (byte) 0, false, false),
            new int[] {x, w, -1},
            y)
        .graph(new int[] {x}, y);
    assertArrayEquals(new float[] {.5f, -1f, 1.5f, -2f, 2.5f, -64f}, floats(operand(read(), "w")));
  }

  @Test
  void fullyConnectedFindsTheShapeThatTheFileDoesNotState() throws ModelFormatException {
    int x = file.floats("x", 2, 1, 3);
    int w = file.zeros("w", FLOAT32, null, 4, 3);
    int y = file.floats("y");
    file.operator(
            BuiltinOperator.FULLY_CONNECTED,
            BuiltinOptions.FullyConnectedOptions,
            flat ->
                FullyConnectedOptions.createFullyConnectedOptions(
                    flat, ActivationFunctionType.NONE, (byte) 0, false, false),
            new int[] {x, w, -1},
            y)
        .graph(new int[] {x}, y);
    assertEquals(Shape.of(2, 4), read().main().output(0).shape());
  }

  @Test
  void fullyConnectedKeepsMoreDimensionsByReshaping() throws ModelFormatException {
    int x = file.floats("x", 2, 5, 4);
    int w = file.zeros("w", FLOAT32, null, 3, 4);
    int y = file.floats("y", 2, 5, 3);
    file.operator(
            BuiltinOperator.FULLY_CONNECTED,
            BuiltinOptions.FullyConnectedOptions,
            flat ->
                FullyConnectedOptions.createFullyConnectedOptions(
                    flat, ActivationFunctionType.RELU, (byte) 0, true, false),
            new int[] {x, w, -1},
            y)
        .graph(new int[] {x}, y);
    assertEquals(
        """
        FULLY_CONNECTED(x, w, [0.0, 0.0, 0.0], 1) -> %0:10x3
        RESHAPE(%0:10x3, [2, 5, 3]) -> y\
        """,
        ModelText.of(read()));
  }

  @Test
  void perChannelDenseLayerBecomesAConvolution() throws ModelFormatException {
    Quantized filter = new Quantized(new float[] {0.5f, 0.25f}, new long[] {0, 0}, 0);
    int x = file.tensor("x", INT8, Quantized.of(0.1f, 5), 1, 3);
    int w = file.zeros("w", INT8, filter, 2, 3);
    int b = file.zeros("b", INT32, null, 2);
    int y = file.tensor("y", INT8, Quantized.of(0.2f, -3), 1, 2);
    file.operator(
            BuiltinOperator.FULLY_CONNECTED,
            BuiltinOptions.FullyConnectedOptions,
            flat ->
                FullyConnectedOptions.createFullyConnectedOptions(
                    flat, ActivationFunctionType.NONE, (byte) 0, false, false),
            new int[] {x, w, b},
            y)
        .graph(new int[] {x}, y);
    Model model = read();
    assertEquals(
        """
        RESHAPE(x, [1, 1, 1, 3]) -> %0:1x1x1x3
        CONV_2D(%0:1x1x1x3, w, b, 2, 1, 1, 0) -> %1:1x1x1x2
        RESHAPE(%1:1x1x1x2, [1, 2]) -> y\
        """,
        ModelText.of(model));
    assertEquals(Shape.of(2, 1, 1, 3), operand(model, "w").shape());
  }

  @Test
  void shuffledWeightsAreRefusedByName() {
    int x = file.tensor("x", TensorType.UINT8, Quantized.of(0.1f, 5), 1, 3);
    int w = file.zeros("w", TensorType.UINT8, Quantized.of(0.1f, 5), 2, 3);
    int y = file.tensor("y", TensorType.UINT8, Quantized.of(0.2f, 3), 1, 2);
    file.operator(
            BuiltinOperator.FULLY_CONNECTED,
            BuiltinOptions.FullyConnectedOptions,
            flat ->
                FullyConnectedOptions.createFullyConnectedOptions(
                    flat, ActivationFunctionType.NONE, (byte) 1, false, false),
            new int[] {x, w, -1},
            y)
        .graph(new int[] {x}, y);
    String message = assertThrows(ModelFormatException.class, this::read).getMessage();
    assertTrue(message.startsWith("operator 0 FULLY_CONNECTED (output 'y'): "), message);
  }

  @Test
  void poolsWidthBeforeHeight() throws ModelFormatException {
    int x = file.floats("x", 1, 8, 9, 2);
    int y = file.floats("y", 1, 4, 3, 2);
    file.operator(
            BuiltinOperator.MAX_POOL_2D,
            BuiltinOptions.Pool2DOptions,
            flat ->
                Pool2DOptions.createPool2DOptions(
                    flat, Padding.VALID, 3, 2, 3, 2, ActivationFunctionType.NONE),
            new int[] {x},
            y)
        .graph(new int[] {x}, y);
    assertEquals("MAX_POOL_2D(x, 2, 3, 2, 3, 2, 0) -> y", ModelText.of(read()));
  }

  @Test
  void poolThatRequantizesGoesThroughFloats() throws ModelFormatException {
    int x = file.tensor("x", INT8, Quantized.of(0.1f, 5), 1, 4, 4, 2);
    int y = file.tensor("y", INT8, Quantized.of(0.2f, 5), 1, 2, 2, 2);
    file.operator(
            BuiltinOperator.AVERAGE_POOL_2D,
            BuiltinOptions.Pool2DOptions,
            flat ->
                Pool2DOptions.createPool2DOptions(
                    flat, Padding.SAME, 2, 2, 2, 2, ActivationFunctionType.NONE),
            new int[] {x},
            y)
        .graph(new int[] {x}, y);
    assertEquals(
        """
        DEQUANTIZE(x) -> %0:1x4x4x2
        AVERAGE_POOL_2D(%0:1x4x4x2, 1, 2, 2, 2, 2, 0) -> %1:1x2x2x2
        QUANTIZE(%1:1x2x2x2) -> y\
        """,
        ModelText.of(read()));
  }

  /** Where averages may lie between two bytes, TensorFlow Lite rounds away from zero. */
  @ParameterizedTest
  @CsvSource({
    "INT8, 2, VALID, true",
    "INT8, 3, SAME, true",
    "INT8, 3, VALID, false",
    "INT8, 1, SAME, false",
    "INT8, 6, VALID, true",
    "UINT8, 2, VALID, false"
  })
  void averagesOfSignedBytes(String type, int window, String padding, boolean isAway)
      throws ModelFormatException {
    byte stored = type.equals("INT8") ? INT8 : TensorType.UINT8;
    byte around = padding.equals("SAME") ? Padding.SAME : Padding.VALID;
    int size = around == Padding.SAME ? 6 : 7 - window;
    int x = file.tensor("x", stored, Quantized.of(0.1f, 5), 1, 6, 6, 2);
    int y = file.tensor("y", stored, Quantized.of(0.1f, 5), 1, size, size, 2);
    file.operator(
            BuiltinOperator.AVERAGE_POOL_2D,
            BuiltinOptions.Pool2DOptions,
            flat ->
                Pool2DOptions.createPool2DOptions(
                    flat, around, 1, 1, window, window, ActivationFunctionType.RELU6),
            new int[] {x},
            y)
        .graph(new int[] {x}, y);
    String text = ModelText.of(read());
    assertEquals(isAway, text.contains("io.thalamus"), text);
  }

  static float[] floats(Operand operand) {
    return ((Lifetime.Constant) operand.lifetime())
        .bytes()
        .toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
  }
}
