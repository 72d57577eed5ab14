// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.flatbuffers.FlexBuffersBuilder;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.WideTypes;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.AddOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.LeakyReluOptions;
import org.tensorflow.lite.schema.SoftmaxOptions;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.UnidirectionalSequenceLSTMOptions;

/** Functions of values, recurrence, detection and control flow. */
class FunctionConversionTest {
  private static final byte INT8 = TensorType.INT8;

  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private Model read() throws ModelFormatException {
    return TestFiles.read(file).model();
  }

  private String refusal() {
    return assertThrows(ModelFormatException.class, this::read).getMessage();
  }

  @Test
  void arithmeticFusesItsActivation() throws ModelFormatException {
    int a = file.floats("a", 2, 3);
    int b = file.floats("b", 3);
    int y = file.floats("y", 2, 3);
    file.operator(
            BuiltinOperator.ADD,
            BuiltinOptions.AddOptions,
            flat -> AddOptions.createAddOptions(flat, ActivationFunctionType.RELU_N1_TO_1, false),
            new int[] {a, b},
            y)
        .graph(new int[] {a, b}, y);
    assertEquals("ADD(a, b, 2) -> y", ModelText.of(read()));
  }

  @Test
  void missingSettingsMeanTheirDefaults() throws ModelFormatException {
    int a = file.floats("a", 2, 3);
    int y = file.floats("y", 2, 3);
    file.operator(BuiltinOperator.ADD, new int[] {a, a}, y).graph(new int[] {a}, y);
    assertEquals("ADD(a, a, 0) -> y", ModelText.of(read()));
  }

  @Test
  void activationThatThereIsNotIsRefused() {
    int a = file.floats("a", 2, 3);
    int y = file.floats("y", 2, 3);
    file.operator(
            BuiltinOperator.ADD,
            BuiltinOptions.AddOptions,
            flat -> AddOptions.createAddOptions(flat, (byte) 9, false),
            new int[] {a, a},
            y)
        .graph(new int[] {a}, y);
    assertEquals(
        "operator 0 ADD (output 'y'): it has fused activation 9, which there is not", refusal());
  }

  @Test
  void settingsOfAnotherOperatorAreRefused() {
    int a = file.floats("a", 2, 3);
    int y = file.floats("y", 2, 3);
    file.operator(
            BuiltinOperator.MUL,
            BuiltinOptions.AddOptions,
            flat -> AddOptions.createAddOptions(flat, ActivationFunctionType.NONE, false),
            new int[] {a, a},
            y)
        .graph(new int[] {a}, y);
    assertTrue(refusal().contains("has settings of another operator"), refusal());
  }

  @Test
  void compositesOfOlderOperations() throws ModelFormatException {
    int a = file.floats("a", 2);
    int b = file.floats("b", 2);
    int d = file.floats("d", 2);
    int s = file.floats("s", 2);
    int c = file.floats("c", 2);
    file.operator(BuiltinOperator.SQUARED_DIFFERENCE, new int[] {a, b}, d)
        .operator(BuiltinOperator.SQUARE, new int[] {a}, s)
        .operator(BuiltinOperator.CEIL, new int[] {a}, c)
        .graph(new int[] {a, b}, d, s, c);
    assertEquals(
        """
        SUB(a, b, 0) -> %0:2
        MUL(%0:2, %0:2, 0) -> d
        MUL(a, a, 0) -> s
        NEG(a) -> %1:2
        FLOOR(%1:2) -> %2:2
        NEG(%2:2) -> c\
        """,
        ModelText.of(read()));
  }

  @Test
  void quantizedSoftmaxWithTheUsualScaleIsDirect() throws ModelFormatException {
    int x = file.tensor("x", INT8, Quantized.of(0.1f, 5), 1, 4);
    int y = file.tensor("y", INT8, Quantized.of(1f / 256, -128), 1, 4);
    int z = file.tensor("z", INT8, Quantized.of(1f / 255, -128), 1, 4);
    for (int output : new int[] {y, z}) {
      file.operator(
          BuiltinOperator.SOFTMAX,
          BuiltinOptions.SoftmaxOptions,
          flat -> SoftmaxOptions.createSoftmaxOptions(flat, 0.5f),
          new int[] {x},
          output);
    }
    file.graph(new int[] {x}, y, z);
    assertEquals(
        """
        SOFTMAX(x, 0.5) -> y
        DEQUANTIZE(x) -> %0:1x4
        SOFTMAX(%0:1x4, 0.5) -> %1:1x4
        QUANTIZE(%1:1x4) -> z\
        """,
        ModelText.of(read()));
  }

  @Test
  void leakyReluIsPreluWithOneSlope() throws ModelFormatException {
    int x = file.floats("x", 1, 4);
    int q = file.tensor("q", INT8, Quantized.of(0.1f, 5), 1, 4);
    int y = file.floats("y", 1, 4);
    int z = file.tensor("z", INT8, Quantized.of(0.2f, 5), 1, 4);
    file.operator(
            BuiltinOperator.LEAKY_RELU,
            BuiltinOptions.LeakyReluOptions,
            flat -> LeakyReluOptions.createLeakyReluOptions(flat, 0.3f),
            new int[] {x},
            y)
        .operator(
            BuiltinOperator.LEAKY_RELU,
            BuiltinOptions.LeakyReluOptions,
            flat -> LeakyReluOptions.createLeakyReluOptions(flat, 0.3f),
            new int[] {q},
            z)
        .graph(new int[] {x, q}, y, z);
    Model model = read();
    assertEquals(
        """
        PRELU(x, [0.3]) -> y
        PRELU(q, TENSOR_QUANT8_ASYMM_SIGNED:1) -> z\
        """,
        ModelText.of(model));
    Operand slope = model.main().operands().get(model.main().operations().get(1).inputs().get(1));
    assertEquals(0.3f, slope.quantization().scale());
  }

  @Test
  void requantizationGoesThroughRealNumbers() throws ModelFormatException {
    int x = file.tensor("x", TensorType.UINT8, Quantized.of(0.1f, 133), 1, 4);
    int y = file.tensor("y", INT8, Quantized.of(0.1f, 5), 1, 4);
    file.operator(BuiltinOperator.QUANTIZE, new int[] {x}, y).graph(new int[] {x}, y);
    assertEquals(
        """
        DEQUANTIZE(x) -> %0:1x4
        QUANTIZE(%0:1x4) -> y\
        """,
        ModelText.of(read()));
  }

  @Test
  void halfPrecisionWeightsAreWidenedOnce() throws ModelFormatException {
    int x = file.floats("x", 2);
    byte[] halves =
        ByteBuffer.allocate(4)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putShort(Float.floatToFloat16(1.5f))
            .putShort(Float.floatToFloat16(-2f))
            .array();
    int h = file.constant("h", TensorType.FLOAT16, null, halves, 2);
    int w = file.floats("w", 2);
    int y = file.floats("y", 2);
    file.operator(BuiltinOperator.DEQUANTIZE, new int[] {h}, w)
        .operator(BuiltinOperator.MAXIMUM, new int[] {x, w}, y)
        .graph(new int[] {x}, y);
    Model model = read();
    assertEquals("MAXIMUM(x, h) -> y", ModelText.of(model));
    Operand widened = model.main().operands().get(model.main().operations().get(0).inputs().get(1));
    assertArrayEquals(new float[] {1.5f, -2f}, LayerConversionTest.floats(widened));
  }

  @Test
  void indexOfTheLargestIsWidenedForTheCaller() throws ModelFormatException {
    int x = file.floats("x", 2, 4);
    int axis = file.scalar("axis", -1);
    int y = file.tensor("y", TensorType.INT64, null, 2);
    file.operator(BuiltinOperator.ARG_MAX, new int[] {x, axis}, y).graph(new int[] {x}, y);
    Model model = read();
    assertEquals(
        """
        ARGMAX(x, 1) -> y
        io.thalamus/CAST(y) -> y\
        """,
        ModelText.of(model));
    assertEquals(WideTypes.TENSOR_INT64, model.main().output(0).type());
  }

  @Test
  void sequenceStateStartsAtZero() throws ModelFormatException {
    int[] inputs = new int[24];
    Arrays.fill(inputs, -1);
    inputs[0] = file.floats("x", 1, 5, 3);
    for (int i = 1; i <= 4; i++) {
      inputs[i] = file.zeros("w" + i, TensorType.FLOAT32, null, 2, 3);
      inputs[i + 4] = file.zeros("r" + i, TensorType.FLOAT32, null, 2, 2);
      inputs[i + 11] = file.zeros("b" + i, TensorType.FLOAT32, null, 2);
    }
    inputs[18] = file.variable("outputState", TensorType.FLOAT32, 1, 2);
    inputs[19] = file.variable("cellState", TensorType.FLOAT32, 1, 2);
    int y = file.floats("y", 1, 5, 2);
    file.operator(
            BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM,
            BuiltinOptions.UnidirectionalSequenceLSTMOptions,
            flat ->
                UnidirectionalSequenceLSTMOptions.createUnidirectionalSequenceLSTMOptions(
                    flat, ActivationFunctionType.TANH, 0.5f, 0.25f, false, false, false),
            inputs,
            y)
        .graph(new int[] {inputs[0]}, y);
    assertEquals(
        "UNIDIRECTIONAL_SEQUENCE_LSTM(x, w1, w2, w3, w4, r1, r2, r3, r4, -, -, -, b1, b2, b3, b4,"
            + " -, -, [0.0, 0.0], [0.0, 0.0], 4, 0.5, 0.25, false, -, -, -, -) -> y",
        ModelText.of(read()));
  }

  @Test
  void variableOfAnotherOperatorIsRefused() {
    int x = file.floats("x", 2);
    int v = file.variable("v", TensorType.FLOAT32, 2);
    int y = file.floats("y", 2);
    file.operator(BuiltinOperator.ADD, new int[] {x, v}, y).graph(new int[] {x}, y);
    assertEquals(
        "operator 0 ADD (output 'y'): tensor 1 'v' keeps its value from call to call, which NNAPI"
            + " does not have",
        refusal());
  }

  private void detector(int scoresOfEach) {
    FlexBuffersBuilder settings = new FlexBuffersBuilder();
    int map = settings.startMap();
    settings.putInt("max_detections", 10);
    settings.putInt("max_classes_per_detection", 1);
    settings.putBoolean("use_regular_nms", false);
    settings.putFloat("nms_score_threshold", 0.25);
    settings.putFloat("nms_iou_threshold", 0.5);
    settings.putInt("num_classes", 4);
    settings.putFloat("y_scale", 10);
    settings.putFloat("x_scale", 10);
    settings.putFloat("h_scale", 5);
    settings.putFloat("w_scale", 5);
    settings.endMap(null, map);
    ByteBuffer bytes = settings.finish();
    byte[] options = new byte[bytes.remaining()];
    bytes.get(options);
    int boxes = file.tensor("boxes", TensorType.UINT8, Quantized.of(0.1f, 3), 1, 6, 4);
    int scores = file.tensor("scores", TensorType.UINT8, Quantized.of(0.1f, 3), 1, 6, scoresOfEach);
    int anchors = file.zeros("anchors", TensorType.UINT8, Quantized.of(0.1f, 3), 6, 4);
    int[] outputs = new int[4];
    for (int i = 0; i < 4; i++) {
      outputs[i] = file.floats("out" + i);
    }
    file.custom(
            "TFLite_Detection_PostProcess", options, new int[] {boxes, scores, anchors}, outputs)
        .graph(new int[] {boxes, scores}, outputs);
  }

  @Test
  void detectionWithoutABackgroundGetsOne() throws ModelFormatException {
    detector(4);
    assertEquals(
        """
        DEQUANTIZE(boxes) -> %0:1x6x4
        DEQUANTIZE(scores) -> %1:1x6x4
        PAD(%1:1x6x4, [0, 0, 0, 0, 1, 0]) -> %2:1x6x5\
        """,
        ModelText.of(read()).lines().limit(3).collect(Collectors.joining("\n")));
  }

  @Test
  void detectionDequantizesAndSpeaksInFloats() throws ModelFormatException {
    detector(5);
    Model model = read();
    assertEquals(
        """
        DEQUANTIZE(boxes) -> %0:1x6x4
        DEQUANTIZE(scores) -> %1:1x6x5
        DETECTION_POSTPROCESSING(%1:1x6x5, %0:1x6x4, anchors, 10.0, 10.0, 5.0, 5.0, false, 10, 1,\
         100, 0.25, 0.5, false) -> out2, out0, %2:1x10, %3:1
        CAST(%2:1x10) -> out1
        CAST(%3:1) -> out3\
        """,
        ModelText.of(model));
    assertEquals(Shape.of(1, 10, 4), model.main().output(0).shape());
  }

  @Test
  void unknownCustomOperatorIsNamed() {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.custom("Fancy", new byte[] {1}, new int[] {x}, y).graph(new int[] {x}, y);
    assertEquals(
        "operator 0 CUSTOM Fancy (output 'y'): neither NNAPI 1.3 nor the extension io.thalamus has"
            + " an operation for it",
        refusal());
  }

  /** A loop whose body hands one value through, which in NNAPI an operation must write. */
  @Test
  void loopsReferToTheirGraphs() throws ModelFormatException {
    int n = file.tensor("n", TensorType.INT32, null);
    int x = file.floats("x", 2);
    int m = file.tensor("m", TensorType.INT32, null);
    int y = file.floats("y", 2);
    file.loop(2, 1, new int[] {n, x}, m, y).graph(new int[] {n, x}, m, y);
    int bodyN = file.tensor("bodyN", TensorType.INT32, null);
    int bodyX = file.floats("bodyX", 2);
    int bodyY = file.floats("bodyY", 2);
    file.operator(BuiltinOperator.ADD, new int[] {bodyX, bodyX}, bodyY)
        .graph(new int[] {bodyN, bodyX}, bodyN, bodyY);
    int condN = file.tensor("condN", TensorType.INT32, null);
    int condX = file.floats("condX", 2);
    int ten = file.scalar("ten", 10);
    int less = file.tensor("less", TensorType.BOOL, null);
    file.operator(BuiltinOperator.LESS, new int[] {condN, ten}, less)
        .graph(new int[] {condN, condX}, less);
    Model model = read();
    assertEquals("WHILE(@0, @1, n, x) -> m, y", ModelText.of(model));
    assertEquals("LESS(condN, ten) -> less", ModelText.of(model.referenced().get(0)));
    assertEquals(
        "ADD(bodyX, bodyX, 0) -> bodyY\nCAST(bodyN) -> bodyN",
        ModelText.of(model.referenced().get(1)));
  }

  @Test
  void graphThatRefersToItselfIsRefused() {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.loop(0, 0, new int[] {x}, y).graph(new int[] {x}, y);
    assertEquals("operator 0 WHILE (output 'y'): graph 0 refers to itself", refusal());
  }

  @Test
  void deepNestingIsRefused() {
    for (int i = 1; i <= 5000; i++) {
      int x = file.floats("x", 2);
      int y = file.floats("y", 2);
      file.loop(i, i, new int[] {x}, y).graph(new int[] {x}, y);
    }
    assertTrue(refusal().endsWith("its graphs are nested more than 32 deep"), refusal());
  }

  @Test
  void quantizedSequenceIsWrittenOutStepByStep() throws ModelFormatException {
    Quantized state = Quantized.of(1f / 128, 3);
    int[] inputs = new int[24];
    Arrays.fill(inputs, -1);
    inputs[0] = file.tensor("x", INT8, Quantized.of(0.5f, 1), 2, 3, 4);
    for (int i = 1; i <= 4; i++) {
      inputs[i] = file.zeros("w" + i, INT8, Quantized.of(0.01f, 0), 5, 4);
      inputs[i + 4] = file.zeros("r" + i, INT8, Quantized.of(0.01f, 0), 5, 5);
      inputs[i + 11] = file.zeros("b" + i, TensorType.INT32, Quantized.of(1e-4f, 0), 5);
    }
    inputs[18] = file.tensor("outputState", INT8, state, 2, 5);
    inputs[19] = file.tensor("cellState", TensorType.INT16, Quantized.of(1f / 4096, 0), 2, 5);
    int[] gates = new int[5];
    for (int i = 0; i < 4; i++) {
      gates[i] = file.floats("gate" + i, 0);
    }
    gates[4] = file.tensor("hidden", INT8, Quantized.of(0.25f, 7), 0);
    int y = file.tensor("y", INT8, state, 2, 3, 5);
    file.operatorWithIntermediates(
            BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM,
            BuiltinOptions.UnidirectionalSequenceLSTMOptions,
            flat ->
                UnidirectionalSequenceLSTMOptions.createUnidirectionalSequenceLSTMOptions(
                    flat, ActivationFunctionType.TANH, 0.5f, 0.25f, false, false, false),
            gates,
            inputs,
            y)
        .graph(new int[] {inputs[0]}, y);
    Model model = read();
    String cell =
        ", w1, w2, w3, w4, r1, r2, r3, r4, -, -, -, b1, b2, b3, b4, -, -, %s, -, -, -, -, 0.5,"
            + " 0.25, 2.4414062E-4, 2.4414062E-4, 2.4414062E-4, 2.4414062E-4, -7, 0.25)";
    String zeros = "TENSOR_QUANT8_ASYMM_SIGNED:2x5, TENSOR_QUANT16_SYMM:2x5";
    assertEquals(
        """
        TRANSPOSE(x, [1, 0, 2]) -> %0:3x2x4
        RESHAPE(%0:3x2x4, [6, 4]) -> %1:6x4
        SPLIT(%1:6x4, 0, 3) -> %2:2x4, %3:2x4, %4:2x4
        QUANTIZED_LSTM(%2:2x4FIRST -> %5:2x5, %6:2x5, %7:2x5
        QUANTIZED_LSTM(%3:2x4SECOND -> %8:2x5, %9:2x5, %10:2x5
        QUANTIZED_LSTM(%4:2x4THIRD -> %11:2x5, %12:2x5, %13:2x5
        CONCATENATION(%7:2x5, %10:2x5, %13:2x5, 0) -> %14:6x5
        RESHAPE(%14:6x5, [3, 2, 5]) -> %15:3x2x5
        TRANSPOSE(%15:3x2x5, [1, 0, 2]) -> y\
        """
            .replace("FIRST", cell.formatted(zeros))
            .replace("SECOND", cell.formatted("%5:2x5, %6:2x5"))
            .replace("THIRD", cell.formatted("%8:2x5, %9:2x5")),
        ModelText.of(model));
    Operand start = model.main().operands().get(model.main().operations().get(3).inputs().get(18));
    byte[] zero = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    assertArrayEquals(zero, ((ConstantCopy) start.lifetime()).value());
  }

  @Test
  void outputThatIsAnInputIsCopied() throws ModelFormatException {
    int x = file.floats("x", 2);
    file.graph(new int[] {x}, x, x);
    Model model = read();
    assertEquals("CAST(x) -> x\nCAST(x) -> x", ModelText.of(model));
    assertEquals(2, model.main().outputIndexes().stream().distinct().count());
  }

  @Test
  void valueReadBeforeItIsComputedIsDamage() {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    int z = file.floats("z", 2);
    file.operator(BuiltinOperator.ADD, new int[] {x, z}, y)
        .operator(BuiltinOperator.ADD, new int[] {x, y}, z)
        .graph(new int[] {x}, z);
    assertTrue(refusal().contains("tensor 2 'z' is read before it is computed"), refusal());
  }
}
