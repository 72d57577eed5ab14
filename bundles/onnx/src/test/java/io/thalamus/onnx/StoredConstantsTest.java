// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.subgraph;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.LittleEndian;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The constants of networks in 8 bits are the bytes of the file, in the order of the operation that
 * takes them; real numbers are made for those operations alone that compute with them.
 */
class StoredConstantsTest {
  private static final int UINT8 = 2;
  private static final int INT8 = 3;
  private static final int BOOL = 9;
  private static final int FLOAT16 = 10;
  private static final long[] SCALAR = {};

  private final Random random = new Random(seed());
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private static long seed() {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("StoredConstantsTest seed " + seed);
    return seed;
  }

  /** Adds bytes of any value as {@code w}, and returns them. */
  private int[] weights(int type, long... dims) {
    int count = (int) Arrays.stream(dims).reduce(1, Math::multiplyExact);
    int least = type == UINT8 ? 0 : -128;
    int[] weights = random.ints(count, least, least + 256).toArray();
    file.bytes("w", type, dims, weights);
    return weights;
  }

  /** Has {@code wd} stand for {@code w}, with scales and zero points along an axis. */
  private void dequantize(int type, int axis, int... zeros) {
    long[] dims = zeros.length == 1 ? SCALAR : new long[] {zeros.length};
    file.floats("ws", dims, scales(zeros.length))
        .bytes("wz", type, dims, zeros)
        .node("DequantizeLinear", List.of("w", "ws", "wz"), "wd", integer("axis", axis));
  }

  private static float[] scales(int count) {
    float[] scales = new float[count];
    for (int i = 0; i < count; i++) {
      scales[i] = 0.013f + 0.1f * i;
    }
    return scales;
  }

  /** An operator between QuantizeLinear and DequantizeLinear, on {@code d} and what is named. */
  private Model read(
      long[] input,
      long[] output,
      int type,
      String operator,
      String weights,
      OnnxFileBuilder.Message... settings)
      throws Exception {
    byte[] bytes =
        file.floats("xs", SCALAR, 0.5f)
            .bytes("xz", type, SCALAR, 10)
            .input("x", FLOAT, input)
            .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
            .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
            .node(operator, List.of("d", weights), "c", settings)
            .node("QuantizeLinear", List.of("c", "xs", "xz"), "p")
            .node("DequantizeLinear", List.of("p", "xs", "xz"), "y")
            .output("y", FLOAT, output)
            .build();
    return TestFiles.read(bytes);
  }

  private static Operand weights(Model model, OperationType type) {
    return weights(model.main(), type);
  }

  private static Operand weights(Subgraph graph, OperationType type) {
    Operation found =
        graph.operations().stream()
            .filter(each -> each.type().equals(type))
            .findFirst()
            .orElseThrow(() -> new AssertionError(graph.operations()));
    return graph.operands().get(found.inputs().get(1));
  }

  private static byte[] bytes(Operand operand) {
    return ((Constant) operand.lifetime()).bytes().toArray(ValueLayout.JAVA_BYTE);
  }

  private static float[] floats(Operand operand) {
    return ((Constant) operand.lifetime()).bytes().toArray(LittleEndian.FLOAT);
  }

  /** Bytes of the file, each from the place in it that a function gives. */
  private static byte[] placed(int[] weights, IntUnaryOperator place) {
    byte[] bytes = new byte[weights.length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) weights[place.applyAsInt(i)];
    }
    return bytes;
  }

  // ---- no real numbers are made ----

  /** Floats take four bytes for each weight: less than that is allocated altogether. */
  @ParameterizedTest
  @CsvSource({"Conv, 1", "Conv, 2", "MatMul, 1", "Gemm, 1"})
  void noFloatsAreMadeForQuantizedLayers(String operator, int kernel) throws Exception {
    int units = 2048 / kernel;
    boolean isConvolution = operator.equals("Conv");
    boolean isByRow = !operator.equals("MatMul");
    long[] dims =
        isConvolution ? new long[] {units, units, kernel, kernel} : new long[] {units, units};
    int count = weights(INT8, dims).length;
    dequantize(INT8, isByRow ? 0 : 1, new int[units]);
    file.floats("b", new long[] {units}, new float[units]);
    OnnxFileBuilder.Message[] settings =
        operator.equals("Gemm")
            ? new OnnxFileBuilder.Message[] {integer("transB", 1)}
            : new OnnxFileBuilder.Message[0];
    long[] input = isConvolution ? new long[] {1, units, kernel, kernel} : new long[] {3, units};
    long[] output = isConvolution ? new long[] {1, units, 1, 1} : new long[] {3, units};
    file.floats("xs", SCALAR, 0.5f)
        .bytes("xz", UINT8, SCALAR, 10)
        .input("x", FLOAT, input)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
        .node(
            operator,
            operator.equals("MatMul") ? List.of("d", "wd") : List.of("d", "wd", "b"),
            "c",
            settings)
        .node("QuantizeLinear", List.of("c", "xs", "xz"), "p")
        .node("DequantizeLinear", List.of("p", "xs", "xz"), "y")
        .output("y", FLOAT, output);
    byte[] bytes = file.build();
    TestFiles.read(bytes);
    ThreadMXBean thread = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = thread.getCurrentThreadAllocatedBytes();
    Model model = TestFiles.read(bytes);
    long allocated = thread.getCurrentThreadAllocatedBytes() - before;
    Operand weights = weights(model, ThalamusExtension.CONV_2D);
    assertEquals(OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, weights.type());
    assertTrue(allocated < 3L * count, allocated + " bytes for " + count + " weights");
    if (isByRow && kernel == 1) {
      // Nothing moves: the model refers to the file.
      assertInstanceOf(ConstantReference.class, weights.lifetime());
      assertTrue(allocated < count / 2, allocated + " bytes for " + count + " weights");
    }
  }

  // ---- the integers are those of the file ----

  @ParameterizedTest
  @CsvSource({"2, 7", "3, -3", "3, 0"})
  void convolutionOfOneScale(int type, int zero) throws Exception {
    int[] stored = weights(type, 6, 5, 3, 2);
    dequantize(type, 0, zero);
    Model model = read(new long[] {1, 5, 4, 4}, new long[] {1, 6, 2, 3}, type, "Conv", "wd");
    Operand weights = weights(model, ThalamusExtension.CONV_2D);
    // From channels first to channels last.
    byte[] expected = placed(stored, i -> i / 30 * 30 + i % 5 * 6 + i / 5 % 6);
    assertArrayEquals(expected, bytes(weights));
    if (zero == 0) {
      assertArrayEquals(
          new float[] {0.013f, 0.013f, 0.013f, 0.013f, 0.013f, 0.013f},
          assertInstanceOf(PerChannel.class, weights.quantization()).scales());
    } else {
      assertEquals(zero, weights.quantization().zeroPoint());
      assertEquals(0.013f, weights.quantization().scale());
    }
  }

  /** Weights of another sign than data get that of the data, and so does their zero point. */
  @ParameterizedTest
  @CsvSource({"2, 3, 7", "3, 2, -3"})
  void layerWithWeightsOfAnotherSign(int type, int data, int zero) throws Exception {
    int[] stored = weights(type, 6, 5);
    dequantize(type, 0, zero);
    Model model = read(new long[] {3, 6}, new long[] {3, 5}, data, "MatMul", "wd");
    Operand weights = weights(model, ThalamusExtension.FULLY_CONNECTED);
    int shift = data == UINT8 ? 128 : -128;
    byte[] expected = new byte[stored.length];
    for (int i = 0; i < expected.length; i++) {
      expected[i] = (byte) (stored[i % 6 * 5 + i / 6] + shift);
    }
    assertArrayEquals(expected, bytes(weights));
    assertEquals(zero + shift, weights.quantization().zeroPoint());
  }

  @Test
  void depthwiseConvolutionWithAScaleForEachChannel() throws Exception {
    int[] stored = weights(INT8, 4, 1, 3, 3);
    dequantize(INT8, 0, 0, 0, 0, 0);
    Model model =
        read(
            new long[] {1, 4, 3, 3},
            new long[] {1, 4, 1, 1},
            UINT8,
            "Conv",
            "wd",
            integer("group", 4));
    Operand weights = weights(model, ThalamusExtension.DEPTHWISE_CONV_2D);
    assertArrayEquals(placed(stored, i -> i % 4 * 9 + i / 4), bytes(weights));
    PerChannel quantization = assertInstanceOf(PerChannel.class, weights.quantization());
    assertEquals(3, quantization.channelDimension());
    assertArrayEquals(scales(4), quantization.scales());
  }

  /** Columns of scales, turned by the file and back by the layer, under another shape between. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void layerOfMovedWeights(boolean isReshaped) throws Exception {
    int[] stored = weights(INT8, 4, 6);
    dequantize(INT8, 0, 0, 0, 0, 0);
    if (isReshaped) {
      file.integers("apart", new long[] {4}, 4, 1, 3, 2)
          .integers("together", new long[] {2}, 6, 4)
          .node("Reshape", List.of("wd", "apart"), "wa")
          .node("Transpose", List.of("wa"), "wt", ints("perm", 2, 3, 1, 0))
          .node("Reshape", List.of("wt", "together"), "wm");
    } else {
      file.node("Transpose", List.of("wd"), "wm", ints("perm", 1, 0));
    }
    Model model = read(new long[] {3, 6}, new long[] {3, 4}, INT8, "MatMul", "wm");
    Operand weights = weights(model, ThalamusExtension.CONV_2D);
    assertArrayEquals(placed(stored, i -> i), bytes(weights));
    assertArrayEquals(
        scales(4), assertInstanceOf(PerChannel.class, weights.quantization()).scales());
  }

  /** Each weight is one of a phase; the places without one hold the integer that stands for 0. */
  @ParameterizedTest
  @CsvSource({"2, 7", "3, 0"})
  void transposedConvolutionWithMissingTaps(int type, int zero) throws Exception {
    int[] stored = weights(type, 2, 3, 3, 3);
    dequantize(type, 1, zero);
    Model model =
        read(
            new long[] {1, 2, 2, 2},
            new long[] {1, 3, 5, 5},
            type,
            "ConvTranspose",
            "wd",
            ints("strides", 2, 2));
    byte[] bytes = bytes(weights(model, ThalamusExtension.CONV_2D));
    int[] counts = new int[256];
    for (byte each : bytes) {
      counts[each & 0xff]++;
    }
    for (int each : stored) {
      counts[each & 0xff]--;
    }
    assertTrue(bytes.length > stored.length);
    assertEquals(bytes.length - stored.length, counts[zero & 0xff]);
    assertEquals(1, Arrays.stream(counts).filter(count -> count != 0).count());
  }

  /** A term of data whose dimensions stand in another order, and back. */
  @Test
  void termOfOneScale() throws Exception {
    int[] stored = weights(UINT8, 1, 2, 3, 4);
    dequantize(UINT8, 0, 9);
    file.floats("xs", SCALAR, 0.5f)
        .bytes("xz", UINT8, SCALAR, 10)
        .input("x", FLOAT, 1, 3, 4, 2)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
        .node("Transpose", List.of("d"), "t", ints("perm", 0, 3, 1, 2))
        .node("Add", List.of("t", "wd"), "a")
        .node("Transpose", List.of("a"), "c", ints("perm", 0, 2, 3, 1))
        .node("QuantizeLinear", List.of("c", "xs", "xz"), "p")
        .node("DequantizeLinear", List.of("p", "xs", "xz"), "y")
        .output("y", FLOAT, 1, 3, 4, 2);
    Operand term = weights(TestFiles.read(file.build()), ThalamusExtension.ADD);
    assertEquals(9, term.quantization().zeroPoint());
    assertArrayEquals(placed(stored, i -> i % 2 * 12 + i / 2), bytes(term));
  }

  /** Weights and terms around the body of a loop are seen in it: as bytes, and as real numbers. */
  @Test
  void weightsAroundALoop() throws Exception {
    int[] stored = weights(UINT8, 4, 4);
    dequantize(UINT8, 0, 7);
    OnnxFileBuilder body =
        new OnnxFileBuilder()
            .input("i", INT64)
            .input("on", BOOL)
            .input("s", FLOAT, 4, 4)
            .node("QuantizeLinear", List.of("s", "xs", "xz"), "q")
            .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
            .node("MatMul", List.of("d", "wd"), "m")
            .node("QuantizeLinear", List.of("m", "xs", "xz"), "p")
            .node("DequantizeLinear", List.of("p", "xs", "xz"), "r")
            .node("Sub", List.of("r", "wd"), "t")
            .output("on", BOOL)
            .output("t", FLOAT, 4, 4);
    file.floats("xs", SCALAR, 0.5f)
        .bytes("xz", UINT8, SCALAR, 10)
        .bytes("yes", BOOL, SCALAR, 1)
        .input("n", INT64)
        .input("x", FLOAT, 4, 4)
        .node("Loop", List.of("n", "yes", "x"), "y", subgraph("body", body))
        .output("y", FLOAT, 4, 4);
    Subgraph found =
        TestFiles.read(file.build()).referenced().stream()
            .filter(graph -> graph.operations().size() > 2)
            .findFirst()
            .orElseThrow();
    assertArrayEquals(
        placed(stored, i -> i % 4 * 4 + i / 4),
        bytes(weights(found, ThalamusExtension.FULLY_CONNECTED)));
    float[] expected = new float[stored.length];
    for (int i = 0; i < expected.length; i++) {
      expected[i] = (stored[i] - 7) * 0.013f;
    }
    assertArrayEquals(expected, floats(weights(found, OperationCode.SUB)));
  }

  // ---- real numbers where they are computed with ----

  /** Zero points beside 0 along an axis, which no quantized operation takes. */
  @ParameterizedTest
  @CsvSource({"2, 7, 200", "3, -3, 100"})
  void layersOfOtherGridsStayReal(int type, int first, int second) throws Exception {
    int[] stored = weights(type, 2, 300);
    dequantize(type, 0, first, second);
    Model model = read(new long[] {3, 300}, new long[] {3, 2}, type, "Gemm", "wd", turned());
    Operand weights = weights(model, OperationCode.FULLY_CONNECTED);
    assertEquals(OperandCode.TENSOR_FLOAT32, weights.type());
    float[] expected = new float[stored.length];
    for (int i = 0; i < expected.length; i++) {
      double scale = scales(2)[i / 300];
      expected[i] = (float) ((stored[i] - (i < 300 ? first : second)) * scale);
    }
    assertArrayEquals(expected, floats(weights));
  }

  private static OnnxFileBuilder.Message turned() {
    return integer("transB", 1);
  }

  /** Real numbers of FLOAT16 are rounded to it, in a layer that stays real too. */
  @Test
  void halvesAreRounded() throws Exception {
    int[] stored = weights(INT8, 300, 2);
    file.floats("s32", SCALAR, 0.013f)
        .node("Cast", List.of("s32"), "ws", integer("to", FLOAT16))
        .node("DequantizeLinear", List.of("w", "ws"), "wd")
        .input("x", FLOAT, 3, 300)
        .node("Cast", List.of("x"), "h", integer("to", FLOAT16))
        .node("MatMul", List.of("h", "wd"), "m")
        .node("Cast", List.of("m"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 3, 2);
    Operand weights = weights(TestFiles.read(file.build()), OperationCode.FULLY_CONNECTED);
    float scale = Float.float16ToFloat(Float.floatToFloat16(0.013f));
    float[] expected = new float[stored.length];
    for (int i = 0; i < expected.length; i++) {
      float product = stored[i % 300 * 2 + i / 300] * scale;
      expected[i] = Float.float16ToFloat(Float.floatToFloat16(product));
    }
    assertArrayEquals(expected, floats(weights));
  }

  /** A part of a constant, and what is computed of one, are real numbers. */
  @Test
  void foldedConstantsAreReal() throws Exception {
    int[] stored = weights(INT8, 2, 3);
    dequantize(INT8, 0, 0, 0);
    file.node("Slice", List.of("wd", "one", "two"), "part")
        .integers("one", new long[] {1}, 1)
        .integers("two", new long[] {1}, 2)
        .node("Mul", List.of("wd", "part"), "product")
        .input("x", FLOAT, 2, 3)
        .node("Add", List.of("x", "product"), "y")
        .output("y", FLOAT, 2, 3);
    float[] scales = scales(2);
    float[] expected = new float[6];
    for (int i = 0; i < 6; i++) {
      expected[i] = stored[i] * scales[i / 3] * (stored[3 + i % 3] * scales[1]);
    }
    assertArrayEquals(expected, TestFiles.run(file, new float[6]));
  }

  /** The numbers 3 and 6 of HardSwish are found where they are stored as bytes. */
  @Test
  void storedNumbersAreSeen() throws Exception {
    file.bytes("three", INT8, SCALAR, 6)
        .bytes("six", INT8, SCALAR, 12)
        .floats("half", SCALAR, 0.5f)
        .floats("none", SCALAR, 0)
        .floats("limit", SCALAR, 6)
        .input("x", FLOAT, 1, 4)
        .node("DequantizeLinear", List.of("three", "half"), "t")
        .node("DequantizeLinear", List.of("six", "half"), "s")
        .node("Add", List.of("x", "t"), "a")
        .node("Clip", List.of("a", "none", "limit"), "c")
        .node("Mul", List.of("x", "c"), "m")
        .node("Div", List.of("m", "s"), "y")
        .output("y", FLOAT, 1, 4);
    assertEquals(
        List.of(OperationCode.HARD_SWISH),
        TestFiles.read(file.build()).main().operations().stream().map(Operation::type).toList());
  }

  /** A scale for each block of one row is none for each index along the axis of the blocks. */
  @Test
  void blocksOfOneRowHaveAScaleForEachColumn() throws Exception {
    int[] stored = weights(INT8, 1, 3);
    file.opset(21)
        .floats("ws", new long[] {1, 3}, scales(3))
        .node(
            "DequantizeLinear",
            List.of("w", "ws"),
            "wd",
            integer("axis", 0),
            integer("block_size", 1))
        .input("x", FLOAT, 1, 3)
        .node("Add", List.of("x", "wd"), "y")
        .output("y", FLOAT, 1, 3);
    float[] expected = new float[3];
    for (int i = 0; i < 3; i++) {
      expected[i] = stored[i] * scales(3)[i];
    }
    assertArrayEquals(expected, TestFiles.run(file, new float[3]));
  }
}
