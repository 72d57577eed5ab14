// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Networks with QuantizeLinear and DequantizeLinear, or with operators on stored integers, compute
 * on stored integers. The numbers are chosen so that nothing is halfway between two of them.
 */
class QuantizedNetworkTest {
  private static final int UINT8 = 2;
  private static final int INT8 = 3;
  private static final int INT32 = 6;
  private static final long[] SCALAR = {};

  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private void constants(int weights) {
    file.floats("xs", SCALAR, 0.5f)
        .bytes("xz", UINT8, SCALAR, 10)
        .floats("ys", SCALAR, 0.25f)
        .bytes("yz", UINT8, SCALAR, 3)
        .floats("ws", new long[] {2}, 0.5f, 2)
        .bytes("wz", weights, new long[] {2}, 0, 0);
  }

  private static List<OperationType> types(Model model) {
    return model.main().operations().stream().map(Operation::type).toList();
  }

  private static float[] run(Model model, float... input) throws Exception {
    return TestGraph.floats(TestGraph.run(new CpuDevice("1.0.0"), model, TestGraph.bytes(input)));
  }

  private static Operation only(Subgraph graph, OperationType type) {
    return graph.operations().stream()
        .filter(each -> each.type().equals(type))
        .findFirst()
        .orElseThrow();
  }

  /** Channels {@code 0.5 * (2x)} and {@code 2 * (-1x) + 3}, each at least 0. */
  @Test
  void convolutionWithAScaleForEachChannel() throws Exception {
    constants(INT8);
    file.input("x", FLOAT, 1, 1, 2, 2)
        .bytes("w", INT8, new long[] {2, 1, 1, 1}, 2, -1)
        .integers("b", new long[] {2}, 0, 3)
        .floats("bs", new long[] {2}, 0.25f, 1)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
        .node("DequantizeLinear", List.of("w", "ws", "wz"), "wd", integer("axis", 0))
        .node("Cast", List.of("b"), "b32", integer("to", INT32))
        .node("DequantizeLinear", List.of("b32", "bs"), "bd", integer("axis", 0))
        .node("Conv", List.of("d", "wd", "bd"), "c")
        .node("Relu", List.of("c"), "r")
        .node("QuantizeLinear", List.of("r", "ys", "yz"), "p")
        .node("DequantizeLinear", List.of("p", "ys", "yz"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    Model model = TestFiles.read(file.build());
    Operation convolution = only(model.main(), ThalamusExtension.CONV_2D);
    assertEquals(
        OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL,
        model.main().operands().get(convolution.inputs().get(1)).type());
    assertArrayEquals(new float[] {1, 0, 2, 5, 1, 7, 0, 0}, run(model, 1, -2, 2, 5));
  }

  /**
   * A transposed convolution of a scale for each channel is one of bytes, which are moved: channels
   * {@code 0.5 * (w * x)} and {@code 2 * (w * x) + 3} by integers w, each at least 0.
   */
  @ParameterizedTest
  @CsvSource({"2, 0", "4, 1"})
  void transposedConvolutionWithAScaleForEachChannel(int kernel, int pad) throws Exception {
    int size = 2 + kernel - 2 * pad;
    int[] weights = new int[2 * kernel * kernel];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = i % 5 - 2;
    }
    constants(INT8);
    file.input("x", FLOAT, 1, 1, 2, 2)
        .bytes("w", INT8, new long[] {1, 2, kernel, kernel}, weights)
        .integers("b", new long[] {2}, 0, 3)
        .floats("bs", new long[] {2}, 0.25f, 1)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
        .node("DequantizeLinear", List.of("w", "ws", "wz"), "wd", integer("axis", 1))
        .node("Cast", List.of("b"), "b32", integer("to", INT32))
        .node("DequantizeLinear", List.of("b32", "bs"), "bd", integer("axis", 0))
        .node(
            "ConvTranspose",
            List.of("d", "wd", "bd"),
            "c",
            ints("strides", 2, 2),
            ints("pads", pad, pad, pad, pad))
        .node("Relu", List.of("c"), "r")
        .node("QuantizeLinear", List.of("r", "ys", "yz"), "p")
        .node("DequantizeLinear", List.of("p", "ys", "yz"), "y")
        .output("y", FLOAT, 1, 2, size, size);
    Model model = TestFiles.read(file.build());
    Operation convolution = only(model.main(), ThalamusExtension.CONV_2D);
    for (OperationType type : List.of(OperationCode.CONV_2D, OperationCode.RELU)) {
      assertFalse(types(model).contains(type), "it has " + type.text());
    }
    assertEquals(
        OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL,
        model.main().operands().get(convolution.inputs().get(1)).type());
    Operation moved = only(model.main(), OperationCode.DEPTH_TO_SPACE);
    assertEquals(
        OperandCode.TENSOR_QUANT8_ASYMM,
        model.main().operands().get(moved.outputs().getFirst()).type());
    float[] x = {1, -2, 2, 5};
    float[] expected = new float[2 * size * size];
    for (int i = 0; i < expected.length; i++) {
      int unit = i / size / size;
      float sum = 0;
      for (int k = 0; k < x.length; k++) {
        int row = i / size % size + pad - k / 2 * 2;
        int column = i % size + pad - k % 2 * 2;
        if (row >= 0 && row < kernel && column >= 0 && column < kernel) {
          sum += x[k] * weights[(unit * kernel + row) * kernel + column];
        }
      }
      expected[i] = Math.max(0, unit == 0 ? 0.5f * sum : 2 * sum + 3);
    }
    assertArrayEquals(expected, run(model, x));
  }

  /** {@code [x0 + 3 * x1, 2 * x0 - 2 * x1]} by columns of scales 0.5 and 2. */
  @Test
  void productWithAScaleForEachColumn() throws Exception {
    constants(INT8);
    file.input("x", FLOAT, 2, 2)
        .bytes("w", INT8, new long[] {2, 2}, 2, 1, 6, -1)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
        .node("DequantizeLinear", List.of("w", "ws", "wz"), "wd", integer("axis", 1))
        .node("MatMul", List.of("d", "wd"), "c")
        .node("QuantizeLinear", List.of("c", "ys", "yz"), "p")
        .node("DequantizeLinear", List.of("p", "ys", "yz"), "y")
        .output("y", FLOAT, 2, 2);
    Model model = TestFiles.read(file.build());
    Operation convolution = only(model.main(), ThalamusExtension.CONV_2D);
    assertTrue(
        model.main().operands().get(convolution.inputs().get(1)).quantization()
            instanceof PerChannel);
    assertArrayEquals(new float[] {7, -0.75f, 2.5f, 1}, run(model, 1, 2, 1, 0.5f));
  }

  /** A value that is read as real numbers too stays an operation on real numbers. */
  @Test
  void aResultThatIsReadAsItIsStaysReal() throws Exception {
    constants(INT8);
    file.input("x", FLOAT, 2)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
        .node("Add", List.of("d", "d"), "c")
        .node("QuantizeLinear", List.of("c", "ys", "yz"), "p")
        .node("DequantizeLinear", List.of("p", "ys", "yz"), "e")
        .node("Sub", List.of("c", "e"), "y")
        .output("y", FLOAT, 2);
    // 200 is beyond what 8 bits in steps of 0.25 hold: (255 - 3) / 4 = 63.
    assertArrayEquals(new float[] {0, 200 - 63}, run(TestFiles.read(file.build()), 1, 100));
  }

  @Test
  void whatMovesElementsDoesSoBeforeTheyAreReal() throws Exception {
    constants(INT8);
    file.input("x", FLOAT, 1, 2, 2, 2)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
        .node("MaxPool", List.of("d"), "m", ints("kernel_shape", 1, 2))
        .node("Transpose", List.of("m"), "t", ints("perm", 0, 2, 1, 3))
        .node("QuantizeLinear", List.of("t", "xs", "xz"), "p")
        .node("DequantizeLinear", List.of("p", "xs", "xz"), "y")
        .output("y", FLOAT, 1, 2, 2, 1);
    Model model = TestFiles.read(file.build());
    assertEquals(1, types(model).stream().filter(ThalamusExtension.QUANTIZE::equals).count());
    assertEquals(OperationCode.DEQUANTIZE, types(model).getLast());
    assertArrayEquals(new float[] {2, 6, 4, 8}, run(model, 1, 2, 3, 4, 5, 6, 7, 8));
  }

  /** Stored sums, products and joins of ONNX Runtime's operators. */
  @ParameterizedTest
  @ValueSource(strings = {"QLinearAdd", "QLinearMul", "QLinearConcat"})
  void operatorsOnStoredIntegers(String operator) throws Exception {
    constants(INT8);
    file.floats("os", SCALAR, 0.5f);
    boolean isJoined = operator.equals("QLinearConcat");
    List<String> pairs = List.of("q", "xs", "xz", "k", "xs", "xz");
    List<String> target = List.of("os", "yz");
    List<String> inputs = new ArrayList<>(isJoined ? target : pairs);
    inputs.addAll(isJoined ? pairs : target);
    file.input("x", FLOAT, 2)
        .bytes("k", UINT8, new long[] {2}, 14, 6)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("com.microsoft." + operator, inputs, "p", integer("axis", 0))
        .node("DequantizeLinear", List.of("p", "os", "yz"), "y")
        .output("y", FLOAT, isJoined ? 4 : 2);
    Model model = TestFiles.read(file.build());
    float[] expected =
        switch (operator) {
          case "QLinearAdd" -> new float[] {5, 1};
          case "QLinearMul" -> new float[] {6, -1.5f};
          default -> new float[] {3, 3, 2, -1.5f};
        };
    float[] input = {3, 3};
    assertArrayEquals(expected, run(model, input));
    OperationType wanted =
        switch (operator) {
          case "QLinearAdd" -> ThalamusExtension.ADD;
          case "QLinearMul" -> ThalamusExtension.MUL;
          default -> OperationCode.CONCATENATION;
        };
    Operation found = only(model.main(), wanted);
    if (!isJoined) {
      assertEquals(
          OperandCode.TENSOR_QUANT8_ASYMM,
          model.main().operands().get(found.outputs().getFirst()).type());
    }
  }

  /** Sums of 2,000 products that a float cannot hold, as integers. */
  @Test
  void sumsOfProductsAreExactAsIntegers() throws Exception {
    int depth = 2000;
    int[] a = new int[depth];
    int[] b = new int[depth];
    long expected = 0;
    for (int i = 0; i < depth; i++) {
      a[i] = 255 - i % 7;
      b[i] = i % 9 == 1 ? 1 : 254 - i % 5;
      expected += (long) a[i] * b[i];
    }
    assertTrue((long) (float) expected != expected, "" + expected);
    file.input("x", FLOAT, 1, depth)
        .bytes("w", UINT8, new long[] {depth, 1}, b)
        .node("Cast", List.of("x"), "q", integer("to", UINT8))
        .node("MatMulInteger", List.of("q", "w"), "i")
        .integers("d", SCALAR, 1000)
        .node("Cast", List.of("d"), "d32", integer("to", INT32))
        .node("Mod", List.of("i", "d32"), "m")
        .node("Cast", List.of("m"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 1, 1);
    float[] x = new float[depth];
    for (int i = 0; i < depth; i++) {
      x[i] = a[i];
    }
    assertArrayEquals(new float[] {expected % 1000}, run(TestFiles.read(file.build()), x));
  }

  /** A convolution whose activations are quantized when it runs is computed in floats. */
  @Test
  void dynamicConvolutionsAreComputedInFloats() throws Exception {
    file.input("x", FLOAT, 1, 1, 2, 2)
        .bytes("w", INT8, new long[] {2, 1, 1, 1}, 2, -1)
        .floats("ws", SCALAR, 0.5f)
        .node("DynamicQuantizeLinear", List.of("x"), List.of("q", "s", "z"))
        .node("ConvInteger", List.of("q", "w", "z"), "i")
        .node("Cast", List.of("i"), "f", integer("to", FLOAT))
        .node("Mul", List.of("s", "ws"), "scale")
        .node("Mul", List.of("f", "scale"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    Model model = TestFiles.read(file.build());
    assertTrue(types(model).contains(OperationCode.CONV_2D), types(model)::toString);
    assertEquals(ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR, types(model).getFirst());
    // The scale is (255 - 0) / 255.
    assertArrayEquals(
        new float[] {3, 255, 0, 7, -1.5f, -127.5f, 0, -3.5f}, run(model, 3, 255, 0, 7));
    assertArrayEquals(new float[8], run(model, 0, 0, 0, 0), "a value of zeros");
  }

  /**
   * A layer whose activations are quantized when it runs multiplies bytes: {@code (w - wz) * ws *
   * x}, but for the steps that x is rounded to.
   */
  @ParameterizedTest
  @CsvSource({"2, 0", "2, 128", "3, 0", "3, -7"})
  void dynamicLayersMultiplyBytes(int type, int zero) throws Exception {
    int size = 300;
    int units = 5;
    long seed = Long.getLong("thalamus.seed", 7);
    System.out.println("dynamic layers: seed " + seed);
    Random random = new Random(seed);
    int[] weights = random.ints(size * units, type == UINT8 ? 0 : -128, 128).toArray();
    int[] zeros = new int[units];
    Arrays.fill(zeros, zero);
    file.input("x", FLOAT, 1, 2, size)
        .bytes("w", type, new long[] {size, units}, weights)
        .bytes("wz", type, new long[] {units}, zeros)
        .floats("ws", SCALAR, 0.5f)
        .node("DynamicQuantizeLinear", List.of("x"), List.of("q", "s", "z"))
        .node("MatMulInteger", List.of("q", "w", "z", "wz"), "i")
        .node("Cast", List.of("i"), "f", integer("to", FLOAT))
        .node("Mul", List.of("s", "ws"), "scale")
        .node("Mul", List.of("f", "scale"), "y")
        .output("y", FLOAT, 1, 2, units);
    Model model = TestFiles.read(file.build());
    assertTrue(types(model).contains(ThalamusExtension.MATMUL_INTEGER), types(model)::toString);
    assertTrue(types(model).size() <= 8, types(model)::toString);
    float[] x = new float[2 * size];
    for (int i = 0; i < x.length; i++) {
      x[i] = 4 * random.nextFloat() - 1;
    }
    float[] results = run(model, x);
    // Each element of x is wrong by half a step at the most, a step being a 255th of the range.
    double step = 4.0 / 255;
    for (int row = 0; row < 2; row++) {
      for (int unit = 0; unit < units; unit++) {
        double sum = 0;
        double doubt = 0;
        for (int i = 0; i < size; i++) {
          double weight = 0.5 * (weights[i * units + unit] - zero);
          sum += weight * x[row * size + i];
          doubt += weight * weight;
        }
        // Six standard deviations of that many errors that are spread evenly.
        double allowed = 6 * step / Math.sqrt(12) * Math.sqrt(doubt);
        assertEquals(sum, results[row * units + unit], allowed, "row " + row + ", unit " + unit);
      }
    }
  }

  /** NNAPI's conversions have at most four dimensions. */
  @Test
  void whatMovesElementsToFiveDimensionsDoesSoOnRealNumbers() throws Exception {
    constants(INT8);
    file.input("x", FLOAT, 1, 2, 2)
        .integers("shape", new long[] {5}, 1, 1, 2, 1, 2)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
        .node("Reshape", List.of("d", "shape"), "r")
        .node("Transpose", List.of("r"), "y", ints("perm", 0, 1, 4, 3, 2))
        .output("y", FLOAT, 1, 1, 2, 1, 2);
    assertArrayEquals(new float[] {1, 3, 2, 4}, run(TestFiles.read(file.build()), 1, 2, 3, 4));
  }

  /**
   * Sums of products are scaled once and rounded to the nearest integer, of two that are as near to
   * the even one. NNAPI's CONV_2D rounds twice, which some of these sums meet.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void productsAreRoundedOnce(boolean isStored) throws Exception {
    float inputScale = 0.1f;
    float[] scales = {0.0125f, 0.03f, 0.5f};
    float outputScale = 0.4f;
    long seed = Long.getLong("thalamus.seed", 5);
    System.out.println("products: seed " + seed);
    Random random = new Random(seed);
    int count = 20_000;
    int depth = 6;
    int[] stored = random.ints((long) count * depth, 0, 256).toArray();
    int[] weights = random.ints(3L * depth, -127, 128).toArray();
    int[] bias = random.ints(3, -500, 500).toArray();
    file.floats("xs", SCALAR, inputScale)
        .bytes("xz", UINT8, SCALAR, 117)
        .floats("ys", SCALAR, outputScale)
        .bytes("yz", UINT8, SCALAR, 128)
        .floats("ws", new long[] {3}, scales)
        .bytes("wz", INT8, new long[] {3}, 0, 0, 0)
        .bytes("w", INT8, new long[] {3, depth, 1, 1}, weights)
        .integers("b", new long[] {3}, bias[0], bias[1], bias[2])
        .node("Cast", List.of("b"), "b32", integer("to", INT32))
        .input("x", FLOAT, 1, depth, count, 1)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q");
    if (isStored) {
      file.node("QLinearConv", List.of("q", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b32"), "p");
    } else {
      float[] units = new float[3];
      for (int c = 0; c < 3; c++) {
        units[c] = inputScale * scales[c];
      }
      file.floats("bs", new long[] {3}, units)
          .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
          .node("DequantizeLinear", List.of("w", "ws", "wz"), "wd", integer("axis", 0))
          .node("DequantizeLinear", List.of("b32", "bs"), "bd", integer("axis", 0))
          .node("Conv", List.of("d", "wd", "bd"), "c")
          .node("QuantizeLinear", List.of("c", "ys", "yz"), "p");
    }
    file.node("Cast", List.of("p"), "y", integer("to", FLOAT)).output("y", FLOAT, 1, 3, count, 1);
    float[] x = new float[stored.length];
    for (int i = 0; i < x.length; i++) {
      x[i] = (stored[i] - 117) * inputScale;
    }
    float[] y = run(TestFiles.read(file.build()), x);
    int twice = 0;
    for (int c = 0; c < 3; c++) {
      float factor = inputScale * scales[c] / outputScale;
      Requantization doubled =
          Requantization.of((double) inputScale * scales[c] / outputScale, Rounding.DOUBLE);
      for (int i = 0; i < count; i++) {
        int sum = bias[c];
        for (int k = 0; k < depth; k++) {
          sum += (stored[k * count + i] - 117) * weights[c * depth + k];
        }
        // Exact in double, then the float that ONNX Runtime has.
        double whole = Math.rint((float) ((double) sum * factor));
        assertEquals(Math.clamp(whole + 128, 0, 255), y[c * count + i], c + ", " + i);
        twice += whole == doubled.apply(sum) ? 0 : 1;
      }
    }
    assertTrue(twice > 0, "no sum is rounded in another way by two roundings");
  }

  /**
   * Two matrices that both are computed, as in attention: of sums that two roundings would put a
   * step away, such as 416 times a factor that gives 7.491.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void productsOfMatricesAreRoundedOnce(boolean isStored) throws Exception {
    float[] scales = {0.007874016f, 0.0015515715f, 0.00067846477f};
    String[] names = {"a", "b", "y"};
    for (int i = 0; i < scales.length; i++) {
      file.floats(names[i] + "s", SCALAR, scales[i]).bytes(names[i] + "z", INT8, SCALAR, 0);
    }
    int rows = 60;
    int depth = 4;
    file.input("a", FLOAT, rows, depth)
        .input("b", FLOAT, depth, rows)
        .node("QuantizeLinear", List.of("a", "as", "az"), "qa")
        .node("QuantizeLinear", List.of("b", "bs", "bz"), "qb");
    if (isStored) {
      List<String> all = List.of("qa", "as", "az", "qb", "bs", "bz", "ys", "yz");
      file.node("QLinearMatMul", all, "p");
    } else {
      file.node("DequantizeLinear", List.of("qa", "as", "az"), "da")
          .node("DequantizeLinear", List.of("qb", "bs", "bz"), "db")
          .node("MatMul", List.of("da", "db"), "m")
          .node("QuantizeLinear", List.of("m", "ys", "yz"), "p");
    }
    file.node("Cast", List.of("p"), "y", integer("to", FLOAT)).output("y", FLOAT, rows, rows);
    Random random = new Random(7);
    int[][] stored = new int[2][];
    float[][] real = new float[2][rows * depth];
    for (int i = 0; i < 2; i++) {
      stored[i] = random.ints((long) rows * depth, -60, 61).toArray();
      for (int k = 0; k < real[i].length; k++) {
        real[i][k] = stored[i][k] * scales[i];
      }
    }
    Model model = TestFiles.read(file.build());
    byte[][] inputs = {TestGraph.bytes(real[0]), TestGraph.bytes(real[1])};
    float[] y = TestGraph.floats(TestGraph.run(new CpuDevice("1.0.0"), model, inputs));
    Requantization doubled =
        Requantization.of((double) (scales[0] * scales[1]) / scales[2], Rounding.DOUBLE);
    int twice = 0;
    for (int i = 0; i < y.length; i++) {
      int sum = 0;
      for (int k = 0; k < depth; k++) {
        sum += stored[0][i / rows * depth + k] * stored[1][k * rows + i % rows];
      }
      double whole = Math.rint(sum * (scales[0] * scales[1] / scales[2]));
      assertEquals((int) Math.clamp(whole, -128, 127), (int) y[i], "sum " + sum);
      twice += whole == doubled.apply(sum) ? 0 : 1;
    }
    assertTrue(twice > 0, "no sum is rounded in another way by two roundings");
  }

  /** All sums of two bytes of one scale in steps of twice that: every other one is a tie. */
  @ParameterizedTest
  @ValueSource(strings = {"Add", "Sub"})
  void tiesOfSumsGoToTheEvenOne(String operator) throws Exception {
    file.floats("xs", SCALAR, 0.25f)
        .bytes("xz", UINT8, SCALAR, 0)
        .floats("ys", SCALAR, 0.5f)
        .bytes("yz", UINT8, SCALAR, 101)
        .input("x", FLOAT, 256, 1)
        .input("u", FLOAT, 1, 256)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("QuantizeLinear", List.of("u", "xs", "xz"), "v")
        .node("DequantizeLinear", List.of("q", "xs", "xz"), "a")
        .node("DequantizeLinear", List.of("v", "xs", "xz"), "b")
        .node(operator, List.of("a", "b"), "c")
        .node("QuantizeLinear", List.of("c", "ys", "yz"), "p")
        .node("Cast", List.of("p"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 256, 256);
    Model model = TestFiles.read(file.build());
    OperationType sum = operator.equals("Add") ? ThalamusExtension.ADD : ThalamusExtension.SUB;
    assertTrue(types(model).contains(sum), types(model)::toString);
    float[] x = new float[256];
    for (int i = 0; i < 256; i++) {
      x[i] = i * 0.25f;
    }
    byte[] both = TestGraph.bytes(x);
    float[] y = TestGraph.floats(TestGraph.run(new CpuDevice("1.0.0"), model, both, both));
    for (int i = 0; i < 256; i++) {
      for (int j = 0; j < 256; j++) {
        int steps = operator.equals("Add") ? i + j : i - j;
        double whole = Math.clamp(Math.rint(steps / 2.0) + 101, 0, 255);
        assertEquals(whole, y[i * 256 + j], i + ", " + j);
      }
    }
  }

  /**
   * The means of each two bytes, of which every other one is a tie: the even one of the stored
   * integers is taken, as ONNX Runtime adds the zero point before it rounds.
   */
  @Test
  void tiesOfMeansGoToTheEvenOne() throws Exception {
    file.floats("xs", SCALAR, 0.25f)
        .bytes("xz", UINT8, SCALAR, 3)
        .input("x", FLOAT, 1, 1, 200, 2)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("DequantizeLinear", List.of("q", "xs", "xz"), "d")
        .node("AveragePool", List.of("d"), "c", ints("kernel_shape", 1, 2))
        .node("QuantizeLinear", List.of("c", "xs", "xz"), "p")
        .node("Cast", List.of("p"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 1, 1, 200, 1);
    float[] x = new float[400];
    for (int i = 0; i < 200; i++) {
      x[2 * i] = i * 0.25f;
      x[2 * i + 1] = (i + i % 2) * 0.25f;
    }
    float[] y = run(TestFiles.read(file.build()), x);
    for (int i = 0; i < 200; i++) {
      assertEquals(Math.rint((2 * i + i % 2) / 2.0 + 3), y[i], "mean " + i);
    }
  }

  /** ONNX Runtime cuts fractions off where stored integers are sampled. */
  @Test
  void sampledIntegersAreCutTowardsZero() throws Exception {
    file.floats("scales", new long[] {4}, 1, 1, 1, 2)
        .input("x", FLOAT, 1, 1, 1, 2)
        .node("Cast", List.of("x"), "q", integer("to", INT8))
        .node("Resize", List.of("q", "", "scales"), "r", text("mode", "linear"))
        .node("Cast", List.of("r"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 1, 1, 1, 4);
    Model model = TestFiles.read(file.build());
    // A quarter and three quarters of the way: 2.75 and 6.25, -2.75 and -6.25.
    assertArrayEquals(new float[] {1, 2, 6, 8}, run(model, 1, 8));
    assertArrayEquals(new float[] {-1, -2, -6, -8}, run(model, -1, -8));
  }
}
