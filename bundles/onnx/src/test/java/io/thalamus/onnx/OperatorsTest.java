// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.reader.ModelFormatException;
import java.util.Collections;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Operators that ONNX's own tests do not reach, against numbers from their definitions. */
class OperatorsTest {
  private static final int UINT8 = 2;
  private static final int INT8 = 3;
  private static final int INT32 = 6;
  private static final int FLOAT16 = 10;

  private final OnnxFileBuilder file = new OnnxFileBuilder();

  /** {@code 1 * tanh(log(1 + e)) = 0.86509839}, {@code mish(0) = 0}. */
  @Test
  void mish() throws Exception {
    file.input("x", FLOAT, 2).node("Mish", List.of("x"), "y").output("y", FLOAT, 2);
    assertArrayEquals(new float[] {0.86509839f, 0}, TestFiles.run(file, 1, 0), 1e-6f);
  }

  @Test
  void upsampleRepeatsNeighbours() throws Exception {
    file.opset(9)
        .input("x", FLOAT, 1, 1, 1, 2)
        .floats("scales", new long[] {4}, 1, 1, 2, 2)
        .node("Upsample", List.of("x", "scales"), "y")
        .output("y", FLOAT, 1, 1, 2, 4);
    assertArrayEquals(new float[] {3, 3, 4, 4, 3, 3, 4, 4}, TestFiles.run(file, 3, 4));
  }

  /** The limits are no integers; {@code -4 + 1.5 = -2.5} and {@code 2 - 1.5 = 0.5}. */
  @ParameterizedTest
  @ValueSource(ints = {INT8, INT32})
  void integersShrinkByFractions(int type) throws Exception {
    file.input("x", FLOAT, 7)
        .node("Cast", List.of("x"), "q", integer("to", type))
        .node("Shrink", List.of("q"), "s", real("lambd", 1.5f), real("bias", 1.5f))
        .node("Cast", List.of("s"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 7);
    assertArrayEquals(
        new float[] {-126, -2, 0, 0, 0, 0, 1}, TestFiles.run(file, -128, -4, -1, 0, 1, 2, 3));
  }

  /** {@code 6 + 4.5 = 10.5}; 5 is not beyond its limit. */
  @Test
  void unsignedIntegersGrowByFractions() throws Exception {
    file.input("x", FLOAT, 4)
        .node("Cast", List.of("x"), "q", integer("to", UINT8))
        .node("Shrink", List.of("q"), "s", real("lambd", 5f), real("bias", -4.5f))
        .node("Cast", List.of("s"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 4);
    assertArrayEquals(new float[] {0, 0, 10, 204}, TestFiles.run(file, 0, 5, 6, 200));
  }

  @Test
  void whatIsNoNumberHasNoSign() throws Exception {
    file.input("x", FLOAT, 4).node("Sign", List.of("x"), "y").output("y", FLOAT, 4);
    assertArrayEquals(
        new float[] {Float.NaN, -1, 0, 1},
        TestFiles.run(file, Float.NaN, Float.NEGATIVE_INFINITY, -0f, 1e-30f));
  }

  @Test
  void blocksWithoutTheirSizeAreRefused() {
    file.opset(21)
        .input("x", FLOAT, 2, 4)
        .floats("s", new long[] {2, 2}, 1, 2, 3, 4)
        .node("QuantizeLinear", List.of("x", "s"), "q")
        .node("Cast", List.of("q"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 2, 4);
    Exception refusal =
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()));
    assertEquals(
        "node 0 QuantizeLinear 'the QuantizeLinear': FLOAT 2x2 is for blocks, but its block_size is"
            + " missing",
        refusal.getMessage());
  }

  /** {@code sqrt(3 * 3 + 4 * 4) = 5}. */
  @Test
  void globalLpPool() throws Exception {
    file.input("x", FLOAT, 1, 1, 1, 2)
        .node("GlobalLpPool", List.of("x"), "y")
        .output("y", FLOAT, 1, 1, 1, 1);
    assertArrayEquals(new float[] {5}, TestFiles.run(file, 3, -4), 1e-6f);
  }

  @Test
  void eyeLike() throws Exception {
    file.input("x", FLOAT, 2, 3)
        .node("EyeLike", List.of("x"), "e", integer("k", 1))
        .node("Add", List.of("x", "e"), "y")
        .output("y", FLOAT, 2, 3);
    assertArrayEquals(new float[] {1, 3, 3, 4, 5, 7}, TestFiles.run(file, 1, 2, 3, 4, 5, 6));
  }

  @Test
  void whatIsNoNumberIsReplaced() throws Exception {
    file.input("x", FLOAT, 2)
        .floats("zero", new long[] {1}, 0)
        .node("IsNaN", List.of("x"), "n")
        .node("Where", List.of("n", "zero", "x"), "y")
        .output("y", FLOAT, 2);
    assertArrayEquals(new float[] {0, 7}, TestFiles.run(file, Float.NaN, 7));
  }

  /** Values of a caller are rounded to even: 0.5 and 1.5 steps become 0 and 2. */
  @Test
  void givenHalvesAreRoundedToEven() throws Exception {
    file.input("x", FLOAT, 4)
        .floats("s", new long[] {}, 2)
        .bytes("z", UINT8, new long[] {}, 1)
        .node("QuantizeLinear", List.of("x", "s", "z"), "q")
        .node("DequantizeLinear", List.of("q", "s", "z"), "y")
        .output("y", FLOAT, 4);
    assertArrayEquals(new float[] {0, 4, -2, 508}, TestFiles.run(file, 1, 3, -5, 1e9f));
  }

  /** Indexes from the end, and steps backwards. */
  @Test
  void sliceBackwards() throws Exception {
    file.input("x", FLOAT, 5)
        .integers("from", new long[] {1}, -1)
        .integers("to", new long[] {1}, Long.MIN_VALUE)
        .integers("axis", new long[] {1}, 0)
        .integers("step", new long[] {1}, -2)
        .node("Slice", List.of("x", "from", "to", "axis", "step"), "y")
        .output("y", FLOAT, 3);
    assertArrayEquals(new float[] {5, 3, 1}, TestFiles.run(file, 1, 2, 3, 4, 5));
  }

  /** The scale is the largest element, 2: cubics are those of Keys with -0.75. */
  @ParameterizedTest
  @CsvSource({
    "linear, half_pixel, 1 1.25 1.75 2",
    "linear, asymmetric, 1 1.5 2 2",
    "linear, align_corners, 1 1.333333 1.666667 2",
    "nearest, asymmetric, 1 1 2 2",
    "cubic, half_pixel, 0.894531 1.226562 1.773438 2.105469"
  })
  void resizedByAComputedScale(String mode, String transformation, String expected)
      throws Exception {
    file.input("x", FLOAT, 2)
        .node("ReduceMax", List.of("x"), "scales")
        .node(
            "Resize",
            List.of("x", "", "scales"),
            "y",
            text("mode", mode),
            text("coordinate_transformation_mode", transformation),
            text("nearest_mode", "floor"))
        .output("y", FLOAT, 4);
    float[] wanted = new float[4];
    for (int i = 0; i < wanted.length; i++) {
      wanted[i] = Float.parseFloat(expected.split(" ")[i]);
    }
    assertArrayEquals(wanted, TestFiles.run(file, 1, 2), 1e-5f);
  }

  /** Of places that are computed, the last update counts. */
  @Test
  void scatteredUpdates() throws Exception {
    file.input("x", FLOAT, 3)
        .integers("at", new long[] {2}, 2, -3)
        .floats("new", new long[] {2}, 8, 9)
        .node("ScatterElements", List.of("x", "at", "new"), "y")
        .output("y", FLOAT, 3);
    assertArrayEquals(new float[] {9, 2, 8}, TestFiles.run(file, 1, 2, 3));
  }

  /** Against the JVM's own functions, on both sides of where their formulas change. */
  @Test
  void functionsOfAngles() throws Exception {
    compare("Atan", Math::atan, -1e6f, -2, -1, -0.41f, 0, 0.1f, 0.42f, 1, 3, 1e30f);
    compare("Asin", Math::asin, -1, -0.9f, 0, 1e-4f, 0.5f, 1);
    compare("Acos", Math::acos, -1, -0.9f, 0, 0.5f, 0.99999f, 1);
    compare("Sinh", Math::sinh, -9, -1, -0.99f, 1e-5f, 0.3f, 1, 20);
    compare("Cosh", Math::cosh, -9, 0, 0.3f, 20);
    compare("Asinh", x -> Math.signum(x) * asinh(Math.abs(x)), -50, -0.4f, 0, 1e-5f, 0.6f, 90);
    compare("Acosh", x -> Math.log(x + Math.sqrt(x * x - 1)), 1, 1.5f, 30);
    compare("Atanh", x -> (Math.log1p(x) - Math.log1p(-x)) / 2, -0.99f, -0.2f, 0, 1e-5f, 0.3f);
    compare("Cos", Math::cos, -4, 0, 1, 3);
  }

  private static double asinh(double x) {
    return Math.log1p(x + x * x / (1 + Math.sqrt(x * x + 1)));
  }

  private static void compare(String operator, DoubleUnaryOperator function, float... inputs)
      throws Exception {
    OnnxFileBuilder file =
        new OnnxFileBuilder()
            .opset(20)
            .input("x", FLOAT, inputs.length)
            .node(operator, List.of("x"), "y")
            .output("y", FLOAT, inputs.length);
    float[] outputs = TestFiles.run(file, inputs);
    for (int i = 0; i < inputs.length; i++) {
      double expected = function.applyAsDouble(inputs[i]);
      assertEquals(expected, outputs[i], 1e-6 + 1e-5 * Math.abs(expected), operator + inputs[i]);
    }
  }

  @Test
  void infinity() throws Exception {
    file.input("x", FLOAT, 4)
        .floats("zero", new long[] {1}, 0)
        .node("IsInf", List.of("x"), "n", integer("detect_negative", 0))
        .node("Where", List.of("n", "zero", "x"), "y")
        .output("y", FLOAT, 4);
    float low = Float.NEGATIVE_INFINITY;
    assertArrayEquals(
        new float[] {0, low, 2, Float.MAX_VALUE},
        TestFiles.run(file, Float.POSITIVE_INFINITY, low, 2, Float.MAX_VALUE));
  }

  /** Of {@code [[1, 2], [3, 4]]}: transposed, a diagonal, a sum, products with and without one. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "ij->ji; 1 3 2 4",
        "ii->i; 1 4",
        "ii; 5",
        "ba; 1 3 2 4",
        "ij,jk->ik; 7 10 15 22",
        "ij,jk; 7 10 15 22",
        "ij,kj->ik; 5 11 11 25",
        "ij,ij->i; 5 25",
        "ij,kl->; 100",
        "ij,jk,kl->il; 37 54 81 118",
        "...i,...i->...; 5 25",
        "i...->...i; 1 3 2 4",
      })
  void sumsOfProducts(String equation, String expected) throws Exception {
    String left = equation.contains("->") ? equation.split("->")[0] : equation;
    List<String> inputs = Collections.nCopies(left.split(",").length, "x");
    String[] numbers = expected.trim().split(" ");
    float[] values = new float[numbers.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = Float.parseFloat(numbers[i]);
    }
    file.input("x", FLOAT, 2, 2)
        .node("Einsum", inputs, "y", text("equation", equation))
        .output("y", FLOAT, values.length);
    assertArrayEquals(values, TestFiles.run(file, 1, 2, 3, 4), equation);
  }

  /** Blocks of two elements overlap in the middle one, where both are added. */
  @Test
  void columnsBecomeAnImage() throws Exception {
    file.input("x", FLOAT, 1, 2, 2)
        .integers("image", new long[] {1}, 3)
        .integers("block", new long[] {1}, 2)
        .node("Col2Im", List.of("x", "image", "block"), "y")
        .output("y", FLOAT, 1, 1, 3);
    assertArrayEquals(new float[] {1, 2 + 10, 20}, TestFiles.run(file, 1, 2, 10, 20));
  }

  /** The largest end stands for the beginning where steps go backwards, as ONNX Runtime has it. */
  @Test
  void sliceBackwardsToTheLargestEnd() throws Exception {
    file.input("x", FLOAT, 4)
        .integers("from", new long[] {1}, 2)
        .integers("to", new long[] {1}, Long.MAX_VALUE)
        .integers("axis", new long[] {1}, 0)
        .integers("step", new long[] {1}, -1)
        .node("Slice", List.of("x", "from", "to", "axis", "step"), "y")
        .output("y", FLOAT, 3);
    assertArrayEquals(new float[] {3, 2, 1}, TestFiles.run(file, 1, 2, 3, 4));
  }

  /** Old masks are those of what is dropped, which is nothing. */
  @ParameterizedTest
  @CsvSource({"10, 0", "12, 1"})
  void masksOfDropout(int opset, float expected) throws Exception {
    file.opset(opset)
        .input("x", FLOAT, 2)
        .node("Dropout", List.of("x"), List.of("same", "mask"))
        .node("Cast", List.of("mask"), "m", integer("to", FLOAT))
        .node("Sub", List.of("x", "same"), "zero")
        .node("Add", List.of("zero", "m"), "y")
        .output("y", FLOAT, 2);
    assertArrayEquals(new float[] {expected, expected}, TestFiles.run(file, 5, 6));
  }

  /** Where gates are coupled, a cell forgets as much as it takes in. */
  @Test
  void coupledGates() throws Exception {
    file.input("x", FLOAT, 2, 1, 1)
        .floats("w", new long[] {1, 4, 1}, 0.5f, -1, 7, 2)
        .floats("r", new long[] {1, 4, 1}, 0.25f, 0.5f, 9, -1)
        .node(
            "LSTM",
            List.of("x", "w", "r"),
            "y",
            integer("hidden_size", 1),
            integer("input_forget", 1))
        .output("y", FLOAT, 2, 1, 1, 1);
    double[] x = {1.5, -0.5};
    float[] expected = new float[2];
    double h = 0;
    double c = 0;
    for (int step = 0; step < 2; step++) {
      double in = 1 / (1 + Math.exp(-0.5 * x[step] - 0.25 * h));
      double out = 1 / (1 + Math.exp(x[step] - 0.5 * h));
      c = (1 - in) * c + in * Math.tanh(2 * x[step] - h);
      h = out * Math.tanh(c);
      expected[step] = (float) h;
    }
    assertArrayEquals(expected, TestFiles.run(file, 1.5f, -0.5f), 1e-6f);
  }

  /** Near a quarter of a turn a tangent hangs on the last bits, which FLOAT16 has not. */
  @Test
  void tangentsOfHalves() throws Exception {
    file.input("x", FLOAT, 1)
        .node("Cast", List.of("x"), "half", integer("to", FLOAT16))
        .node("Tan", List.of("half"), "tan")
        .node("Cast", List.of("tan"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 1);
    assertArrayEquals(new float[] {(float) Math.tan(1.5625)}, TestFiles.run(file, 1.5625f), 0.01f);
  }

  /** The least of a place and what is meant for it, of 64-bit integers. */
  @Test
  void leastOfScatteredIntegers() throws Exception {
    file.opset(18)
        .input("x", FLOAT, 3)
        .node("Cast", List.of("x"), "places", integer("to", INT64))
        .integers("all", new long[] {4}, 5, 5, 5, 5)
        .integers("updates", new long[] {3}, 7, 3, 4)
        .node(
            "ScatterElements",
            List.of("all", "places", "updates"),
            "least",
            text("reduction", "min"))
        .node("Cast", List.of("least"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 4);
    assertArrayEquals(new float[] {5, 5, 3, 5}, TestFiles.run(file, 1, 2, 2));
  }

  /** What gates are given is limited; what a cell holds is not, as ONNX Runtime has it. */
  @Test
  void limitsOfGates() throws Exception {
    file.input("x", FLOAT, 1, 1, 1)
        .floats("w", new long[] {1, 4, 1}, 0, 0, 0, 5)
        .floats("r", new long[] {1, 4, 1}, 0, 0, 0, 0)
        .floats("h", new long[] {1, 1, 1}, 0)
        .floats("c", new long[] {1, 1, 1}, 2)
        .node(
            "LSTM",
            List.of("x", "w", "r", "", "", "h", "c"),
            "y",
            integer("hidden_size", 1),
            real("clip", 0.5f))
        .output("y", FLOAT, 1, 1, 1, 1);
    double cell = 0.5 * 2 + 0.5 * Math.tanh(0.5);
    float expected = (float) (0.5 * Math.tanh(cell));
    assertArrayEquals(new float[] {expected}, TestFiles.run(file, 1), 1e-6f);
  }

  @Test
  void nothingIsInfiniteWhereNothingIsAsked() throws Exception {
    file.input("x", FLOAT, 2)
        .node(
            "IsInf",
            List.of("x"),
            "is",
            integer("detect_positive", 0),
            integer("detect_negative", 0))
        .node("Cast", List.of("is"), "none", integer("to", FLOAT))
        .floats("one", new long[0], 1)
        .node("Min", List.of("x", "one"), "least")
        .node("Add", List.of("least", "none"), "y")
        .output("y", FLOAT, 2);
    assertArrayEquals(new float[] {1, 0.5f}, TestFiles.run(file, Float.POSITIVE_INFINITY, 0.5f));
  }

  /** The largest of nothing is the least number that its type has. */
  @ParameterizedTest
  @CsvSource({"ReduceMax, -2147483648", "ReduceMin, 2147483647"})
  void extremesOfNothing(String operator, float expected) throws Exception {
    file.input("x", FLOAT, 2)
        .bytes("none", INT32, new long[] {2, 0})
        .node(operator, List.of("none"), "n", ints("axes", 1), integer("keepdims", 0))
        .node("Cast", List.of("n"), "f", integer("to", FLOAT))
        .node("Add", List.of("x", "f"), "y")
        .output("y", FLOAT, 2);
    assertArrayEquals(new float[] {expected, expected}, TestFiles.run(file, 0, 0));
  }

  /** Steps of 3 by windows of 1: two positions of six, and one element is left over at each end. */
  @ParameterizedTest
  @CsvSource({"SAME_UPPER, 2, 5", "SAME_LOWER, 1, 4"})
  void windowsThatStepsPassOver(String padding, float first, float second) throws Exception {
    file.input("x", FLOAT, 1, 1, 6)
        .node(
            "MaxPool",
            List.of("x"),
            "y",
            ints("kernel_shape", 1),
            ints("strides", 3),
            text("auto_pad", padding))
        .output("y", FLOAT, 1, 1, 2);
    assertArrayEquals(new float[] {first, second}, TestFiles.run(file, 1, 2, 3, 4, 5, 6));
  }

  /** Functions of no elements, and results without any along two axes. */
  @Test
  void functionsOfNothing() throws Exception {
    file.input("x", FLOAT, 1)
        .floats("none", new long[] {2, 0, 3, 0})
        .floats("row", new long[] {1, 1, 1, 1}, 2)
        .node("Elu", List.of("none"), "e")
        .node("Add", List.of("e", "row"), "y")
        .output("y", FLOAT, 2, 0, 3, 0);
    assertArrayEquals(new float[0], TestFiles.run(file, 1));
  }
}
