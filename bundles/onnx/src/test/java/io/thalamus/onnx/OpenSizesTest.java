// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tck.check.TestGraph;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What computes with values of which only an execution determines the sizes. */
class OpenSizesTest {
  private final OnnxFileBuilder file = new OnnxFileBuilder();
  private final List<Boolean> isReal = new ArrayList<>();

  private OnnxFileBuilder.Message[] none() {
    return new OnnxFileBuilder.Message[0];
  }

  /** The positive elements of x, as PyTorch writes {@code x[x > 0]}. */
  private void positives(long... shape) {
    file.input("x", FLOAT, shape)
        .floats("zero", new long[0], 0)
        .node("Greater", List.of("x", "zero"), "is")
        .node("NonZero", List.of("is"), "axes")
        .node("Transpose", List.of("axes"), "places", ints("perm", 1, 0))
        .node("GatherND", List.of("x", "places"), "p");
  }

  private void output(String name, int type, long... shape) {
    file.output(name, type, shape);
    isReal.add(type == FLOAT);
  }

  private List<double[]> run(float... x) throws Exception {
    Model model = TestFiles.read(file.build());
    List<double[]> results = new ArrayList<>();
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      for (byte[] bytes : TestGraph.run(prepared, model.main(), TestGraph.bytes(x))) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        boolean isFloat = isReal.get(results.size());
        double[] numbers = new double[bytes.length / (isFloat ? 4 : 8)];
        Arrays.setAll(numbers, i -> isFloat ? buffer.getFloat() : buffer.getLong());
        results.add(numbers);
      }
    }
    return results;
  }

  private static double[] numbers(String text) {
    return text == null
        ? new double[0]
        : Arrays.stream(text.split(" ")).mapToDouble(Double::parseDouble).toArray();
  }

  private static float[] floats(String text) {
    double[] numbers = numbers(text);
    float[] floats = new float[numbers.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (float) numbers[i];
    }
    return floats;
  }

  @ParameterizedTest
  @CsvSource({"1 -2 3 0, 1 3, 4, 2", "-1 -2 -3 0, , 0, 0", "1 2 3 4, 1 2 3 4, 10, 4"})
  void chosenElementsAreAddedAndCounted(String x, String chosen, double sum, double count)
      throws Exception {
    positives(2, 2);
    file.node("Mul", List.of("p", "p"), "squares")
        .node("Sqrt", List.of("squares"), "roots")
        .node("ReduceSum", List.of("roots"), "sum", integer("keepdims", 0))
        .node("Shape", List.of("p"), "count");
    output("p", FLOAT, -1);
    output("sum", FLOAT);
    output("count", INT64, 1);
    List<double[]> results = run(floats(x));
    assertArrayEquals(numbers(chosen), results.get(0));
    assertArrayEquals(new double[] {sum}, results.get(1));
    assertArrayEquals(new double[] {count}, results.get(2));
  }

  /** Operators that are made of others, by formulas in double. */
  @ParameterizedTest
  @CsvSource({"1 -2 3 0.5, 1 3 0.5", "-1 -2 -3 -4, ", "7.25 -7 8 2.125, 7.25 8 2.125"})
  void chosenElementsAreComputed(String x, String chosen) throws Exception {
    positives(4);
    file.floats("divisor", new long[] {1}, 1.75f)
        .node("Sum", List.of("p", "p", "p"), "sum")
        .node("Mean", List.of("p", "sum"), "mean")
        .node("Mod", List.of("sum", "divisor"), "rest", integer("fmod", 1))
        .node("LogSoftmax", List.of("p"), "log", integer("axis", 0));
    for (String name : List.of("sum", "mean", "rest", "log")) {
      output(name, FLOAT, -1);
    }
    double[] p = numbers(chosen);
    double all = Math.log(Arrays.stream(p).map(Math::exp).sum());
    List<double[]> results = run(floats(x));
    assertArrayEquals(of(p, value -> 3 * value), results.get(0));
    assertArrayEquals(of(p, value -> 2 * value), results.get(1));
    assertArrayEquals(of(p, value -> 3 * value % 1.75), results.get(2));
    assertArrayEquals(of(p, value -> value - all), results.get(3), 1e-5);
  }

  private static double[] of(double[] values, DoubleUnaryOperator function) {
    return Arrays.stream(values).map(function).toArray();
  }

  /** The three best of those above 0, or as many as there are. */
  @ParameterizedTest
  @CsvSource({"5 9 -1 7 2, 9 7 5, 1 2 0", "-1 4 -1 6 -2, 6 4, 1 0", "-1 -1 -1 -1 -1, , "})
  void fewerThanTheBestMayBeFound(String x, String best, String places) throws Exception {
    positives(5);
    file.node("Shape", List.of("p"), "size")
        .integers("three", new long[] {1}, 3)
        .node("Concat", List.of("three", "size"), "both", integer("axis", 0))
        .node("ReduceMin", List.of("both"), "k", integer("keepdims", 1))
        .node("TopK", List.of("p", "k"), List.of("y", "at"));
    output("y", FLOAT, -1);
    output("at", INT64, -1);
    List<double[]> results = run(floats(x));
    assertArrayEquals(numbers(best), results.get(0));
    assertArrayEquals(numbers(places), results.get(1));
  }

  /** As detectors end: the boxes that stay, their classes, and their corners halved. */
  @Test
  void boxesThatStayAreTaken() throws Exception {
    file.input("x", FLOAT, 1, 3, 4)
        .floats("scores", new long[] {1, 1, 3}, 3, 2, 1)
        .integers("most", new long[] {1}, 3)
        .floats("overlap", new long[] {1}, 0.5f)
        .integers("last", new long[] {}, 2)
        .integers("first", new long[] {1}, 0)
        .integers("one", new long[] {1}, 1)
        .floats("half", new long[0], 0.5f)
        .node("NonMaxSuppression", List.of("x", "scores", "most", "overlap"), "found")
        .node("Gather", List.of("found", "last"), "box", integer("axis", 1))
        .node("Squeeze", List.of("x", "first"), "all")
        .node("Gather", List.of("all", "box"), "boxes")
        .node("Mul", List.of("boxes", "half"), "halved")
        .node("Unsqueeze", List.of("halved", "first"), "y")
        .node("Gather", List.of("scores", "box"), "good", integer("axis", 2))
        .node("Slice", List.of("found", "one", "last1", "one"), "classes")
        .integers("last1", new long[] {1}, 2);
    output("y", FLOAT, 1, -1, 4);
    output("good", FLOAT, 1, 1, -1);
    output("classes", INT64, -1, 1);
    output("box", INT64, -1);
    List<double[]> results = run(0, 0, 4, 4, 0, 0, 4, 3, 4, 4, 6, 6);
    assertArrayEquals(new double[] {0, 0, 2, 2, 2, 2, 3, 3}, results.get(0));
    assertArrayEquals(new double[] {3, 1}, results.get(1));
    assertArrayEquals(new double[] {0, 0}, results.get(2));
    assertArrayEquals(new double[] {0, 2}, results.get(3));
  }

  @Test
  void tensorsAreMadeInComputedSizes() throws Exception {
    positives(4);
    file.node("Shape", List.of("p"), "size")
        .integers("zero1", new long[0], 0)
        .integers("one", new long[0], 1)
        .integers("two", new long[] {1}, 2)
        .integers("axis", new long[] {1}, 0)
        .node("Squeeze", List.of("size", "axis"), "n")
        .node("Range", List.of("zero1", "n", "one"), "range")
        .node("Concat", List.of("two", "size"), "wide", integer("axis", 0))
        .node("Expand", List.of("p", "wide"), "twice")
        .node("ConstantOfShape", List.of("size"), "zeros")
        .node("Concat", List.of("p", "zeros"), "longer", integer("axis", 0))
        .integers("pairs", new long[] {2}, -1, 1)
        .node("Reshape", List.of("longer", "pairs"), "column")
        .node("Where", List.of("is0", "p", "zero"), "where")
        .node("Less", List.of("p", "limit"), "is0")
        .floats("limit", new long[0], 2.5f);
    output("range", INT64, -1);
    output("twice", FLOAT, 2, -1);
    output("column", FLOAT, -1, 1);
    output("where", FLOAT, -1);
    List<double[]> results = run(3, -1, 2, 4);
    assertArrayEquals(new double[] {0, 1, 2}, results.get(0));
    assertArrayEquals(new double[] {3, 2, 4, 3, 2, 4}, results.get(1));
    assertArrayEquals(new double[] {3, 2, 4, 0, 0, 0}, results.get(2));
    assertArrayEquals(new double[] {0, 2, 0}, results.get(3));
  }

  /** Rows whose first number is positive, times a matrix. */
  @ParameterizedTest
  @CsvSource({"1 2 -3 4 5 6, 5 -1 17 -1", "-1 2 -3 4 -5 6, "})
  void rowsAreChosenByAComputedCondition(String x, String expected) throws Exception {
    file.input("x", FLOAT, 3, 2)
        .integers("first", new long[0], 0)
        .floats("zero", new long[0], 0)
        .floats("w", new long[] {2, 2}, 1, 1, 2, -1)
        .node("Gather", List.of("x", "first"), "column", integer("axis", 1))
        .node("Greater", List.of("column", "zero"), "is")
        .node("Compress", List.of("x", "is"), "rows", integer("axis", 0))
        .node("MatMul", List.of("rows", "w"), "y");
    output("y", FLOAT, -1, 2);
    assertArrayEquals(numbers(expected), run(floats(x)).getFirst());
  }

  /** Every second column of the rows that stay, and all but the first of these. */
  @Test
  void stepsAlongKnownAxes() throws Exception {
    file.input("x", FLOAT, 2, 4)
        .integers("first", new long[0], 0)
        .integers("from", new long[] {1}, 1)
        .integers("to", new long[] {1}, Long.MAX_VALUE)
        .integers("axis", new long[] {1}, 1)
        .integers("rows", new long[] {1}, 0)
        .integers("two", new long[] {1}, 2)
        .floats("limit", new long[0], 0)
        .node("Gather", List.of("x", "first"), "column", integer("axis", 1))
        .node("Greater", List.of("column", "limit"), "is")
        .node("Compress", List.of("x", "is"), "some", integer("axis", 0))
        .node("Slice", List.of("some", "from", "to", "axis", "two"), "y")
        .node("Slice", List.of("some", "from", "to", "rows"), "z");
    output("y", FLOAT, -1, 2);
    output("z", FLOAT, -1, 4);
    List<double[]> results = run(1, 2, 3, 4, 5, 6, 7, 8);
    assertArrayEquals(new double[] {2, 4, 6, 8}, results.get(0));
    assertArrayEquals(new double[] {5, 6, 7, 8}, results.get(1));
    assertArrayEquals(new double[] {2, 4}, run(1, 2, 3, 4, -5, 6, 7, 8).get(0));
  }

  /** {@code 2 * sigmoid(2) = 1.761594}, {@code 2 * phi(2) = 1.954500}. */
  @ParameterizedTest
  @CsvSource({
    "LeakyRelu, 2",
    "Elu, 2",
    "Selu, 2.101402",
    "HardSigmoid, 0.9",
    "HardSwish, 1.666667",
    "Softplus, 2.126928",
    "Softsign, 0.666667",
    "Mish, 1.943959",
    "Swish, 1.761594",
    "Gelu, 1.954500",
    "ThresholdedRelu, 2",
    "Shrink, 2"
  })
  void functionsOfChosenElements(String operator, double expected) throws Exception {
    positives(3);
    file.node(operator, List.of("p"), "y");
    output("y", FLOAT, -1);
    assertArrayEquals(new double[] {expected}, run(-1, 2, -3).getFirst(), 1e-5);
  }

  /** PyTorch's newer exporter lets each shape have sizes of 0, also where none is one. */
  @Test
  void shapesWithoutSizesOfZero() throws Exception {
    positives(6);
    file.integers("pairs", new long[] {2}, -1, 2)
        .node("Reshape", List.of("p", "pairs"), "m", integer("allowzero", 1))
        .integers("axis", new long[] {1}, 1)
        .node("ReduceSum", List.of("m", "axis"), "y", integer("keepdims", 0));
    output("y", FLOAT, -1);
    assertArrayEquals(new double[] {3, 7}, run(1, -1, 2, 3, -5, 4).getFirst());
  }

  @Test
  void resultsMayHaveNoElements() throws Exception {
    file.input("x", FLOAT, 2)
        .floats("none", new long[] {0, 3})
        .node("Identity", List.of("none"), "y");
    output("y", FLOAT, 0, 3);
    assertArrayEquals(new double[0], run(1, 2).getFirst());
  }

  /** Rows that a constant does not choose, alone and beside others. */
  @Test
  void nothingMayBeChosen() throws Exception {
    file.input("x", FLOAT, 2, 2)
        .integers("no", new long[] {0})
        .node("Gather", List.of("x", "no"), "none")
        .node("Concat", List.of("none", "x"), "all", integer("axis", 0));
    output("none", FLOAT, 0, 2);
    output("all", FLOAT, 2, 2);
    List<double[]> results = run(1, 2, 3, 4);
    assertArrayEquals(new double[0], results.get(0));
    assertArrayEquals(new double[] {1, 2, 3, 4}, results.get(1));
  }

  @Test
  void whatTakesKnownSizesAloneSaysSo() {
    positives(4);
    file.node("Hardmax", List.of("p"), "y", none()).output("y", FLOAT, -1);
    assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()));
  }

  @Test
  void aSliceThatSaysNothingIsRefused() {
    positives(4);
    file.opset(9).node("Slice", List.of("p"), "y").output("y", FLOAT, -1);
    assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()));
  }
}
