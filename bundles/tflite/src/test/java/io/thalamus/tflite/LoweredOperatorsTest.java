// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.Lifetime;
import io.thalamus.model.LittleEndian;
import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.GeluOptions;
import org.tensorflow.lite.schema.OneHotOptions;
import org.tensorflow.lite.schema.ReducerOptions;
import org.tensorflow.lite.schema.TensorType;

/** Operators that NNAPI does not have, and what says the same. */
class LoweredOperatorsTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private void assertConverts(String expected) throws ModelFormatException {
    assertEquals(expected, ModelText.of(TestFiles.read(file).model()));
  }

  @Test
  void cosineIsASineFurtherOn() throws ModelFormatException {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.operator(BuiltinOperator.COS, new int[] {x}, y).graph(new int[] {x}, y);
    assertConverts(
        """
        ADD(x, [1.5707964], 0) -> %0:2
        SIN(%0:2) -> y\
        """);
  }

  /** The values of TensorFlow Lite 2.21 for these distances from the zero point. */
  @ParameterizedTest
  @CsvSource({
    "0, 0", "10, 4", "34, 14", "46, 19", "49, 21", "51, 22", "58, 25", "80, 34", "191, 43"
  })
  void sizesOfStoredNumbersAreRoundedTwice(int distance, int steps) throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT8, Quantized.of(0.021789692f, -64), 2);
    int y = file.tensor("y", TensorType.INT8, Quantized.of(0.05211253f, 84), 2);
    file.operator(BuiltinOperator.ABS, new int[] {x}, y).graph(new int[] {x}, y);
    Operand table = tables().getFirst();
    byte[] values = ((Lifetime.ConstantCopy) table.lifetime()).value();
    assertEquals(84 + steps, values[128 - 64 + distance]);
  }

  /** The values of TensorFlow Lite 2.20, which interpolates: for 2157 the logarithm is -7967. */
  @ParameterizedTest
  @CsvSource({"38, -32768", "2157, -7970", "4867, 1680", "16794, 16365", "32258, 24105"})
  void logarithmsOf16BitsAreInterpolated(int stored, int result) throws ModelFormatException {
    float scale = 8.434206e-5f;
    int x = file.tensor("x", TensorType.INT16, Quantized.of(2.3676507e-4f, 0), 2);
    int y = file.tensor("y", TensorType.INT16, Quantized.of(scale, 0), 2);
    file.operator(BuiltinOperator.LOG, new int[] {x}, y).graph(new int[] {x}, y);
    float[] values = floats(tables().getFirst());
    assertEquals(result * scale, values[stored - Short.MIN_VALUE]);
  }

  /** -0.1194 and -0.1211, which are both -31 256ths. */
  @Test
  void numbersOfTwoScalesAreRoundedAndCompared() throws ModelFormatException {
    int x = file.tensor("x", TensorType.UINT8, Quantized.of(0.013264912f, 144), 2);
    int y = file.tensor("y", TensorType.UINT8, Quantized.of(0.011013417f, 123), 2);
    int z = file.tensor("z", TensorType.BOOL, null, 2);
    file.operator(BuiltinOperator.EQUAL, new int[] {x, y}, z).graph(new int[] {x, y}, z);
    List<Operand> tables = tables();
    assertEquals(-31, ints(tables.get(0))[135]);
    assertEquals(-31, ints(tables.get(1))[112]);
    assertEquals(-34, ints(tables.get(0))[134]);
  }

  private List<Operand> tables() throws ModelFormatException {
    Subgraph graph = TestFiles.read(file).model().main();
    return graph.operations().stream()
        .filter(operation -> operation.type() == OperationCode.GATHER)
        .map(operation -> graph.operands().get(operation.inputs().getFirst()))
        .toList();
  }

  private static float[] floats(Operand table) {
    return ((Lifetime.ConstantCopy) table.lifetime()).bytes().toArray(LittleEndian.FLOAT);
  }

  private static int[] ints(Operand table) {
    return ((Lifetime.ConstantCopy) table.lifetime()).bytes().toArray(LittleEndian.INT);
  }

  @Test
  void geluByTheErrorFunction() throws ModelFormatException {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.operator(BuiltinOperator.GELU, new int[] {x}, y).graph(new int[] {x}, y);
    assertConverts(
        """
        MUL(x, [0.70710677], 0) -> %0:2
        io.thalamus/ERF(%0:2) -> %1:2
        ADD(%1:2, [1.0], 0) -> %2:2
        MUL(x, [0.5], 0) -> %3:2
        MUL(%3:2, %2:2, 0) -> y\
        """);
  }

  @Test
  void geluByItsApproximation() throws ModelFormatException {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.operator(
            BuiltinOperator.GELU,
            BuiltinOptions.GeluOptions,
            flat -> GeluOptions.createGeluOptions(flat, true),
            new int[] {x},
            y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        MUL(x, x, 0) -> %0:2
        MUL(%0:2, x, 0) -> %1:2
        MUL(%1:2, [0.044715], 0) -> %2:2
        ADD(x, %2:2, 0) -> %3:2
        MUL(%3:2, [0.7978846], 0) -> %4:2
        TANH(%4:2) -> %5:2
        ADD(%5:2, [1.0], 0) -> %6:2
        MUL(x, [0.5], 0) -> %7:2
        MUL(%7:2, %6:2, 0) -> y\
        """);
  }

  @Test
  void clampBetweenZeroAndOne() throws ModelFormatException {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.operator(BuiltinOperator.RELU_0_TO_1, new int[] {x}, y).graph(new int[] {x}, y);
    assertConverts(
        """
        RELU(x) -> %0:2
        MINIMUM(%0:2, [1.0]) -> y\
        """);
  }

  @Test
  void oneHotComparesWithThePlaces() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT32, null, 2);
    int depth = file.scalar("depth", 3);
    int on = file.constant("on", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(5));
    int off = file.constant("off", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(-1));
    int y = file.floats("y", 2, 3);
    file.operator(
            BuiltinOperator.ONE_HOT,
            BuiltinOptions.OneHotOptions,
            flat -> OneHotOptions.createOneHotOptions(flat, -1),
            new int[] {x, depth, on, off},
            y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        io.thalamus/AS_STRIDED(x, [2, 1], [1, 1], 0) -> %0:2x1
        EQUAL(%0:2x1, [0, 1, 2]) -> %1:2x3
        SELECT(%1:2x3, [5.0, 5.0, 5.0, 5.0, 5.0, 5.0], [-1.0, -1.0, -1.0, -1.0, -1.0, -1.0]) -> y\
        """);
  }

  @Test
  void oneHotOfHalvesRepeatsWhatIsDequantized() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT32, null, 2);
    int depth = file.scalar("depth", 3);
    int half = file.constant("half", TensorType.FLOAT16, null, new byte[] {0x00, 0x45});
    int on = file.floats("on");
    int off = file.constant("off", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(-1));
    int y = file.floats("y", 2, 3);
    file.operator(BuiltinOperator.DEQUANTIZE, new int[] {half}, on)
        .operator(
            BuiltinOperator.ONE_HOT,
            BuiltinOptions.OneHotOptions,
            flat -> OneHotOptions.createOneHotOptions(flat, -1),
            new int[] {x, depth, on, off},
            y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        io.thalamus/AS_STRIDED(x, [2, 1], [1, 1], 0) -> %0:2x1
        EQUAL(%0:2x1, [0, 1, 2]) -> %1:2x3
        io.thalamus/AS_STRIDED(half, [2, 3], [0, 0], 0) -> %2:2x3
        SELECT(%1:2x3, %2:2x3, [-1.0, -1.0, -1.0, -1.0, -1.0, -1.0]) -> y\
        """);
  }

  /**
   * A first state of a 16x8 network, and its product, whose scales the converter writes as none.
   */
  @ParameterizedTest
  @ValueSource(floats = {0, 3.587e-43f})
  void stateOfZerosIsFilledInAsRealNumbers(float scale) throws ModelFormatException {
    int x = file.floats("x", 1);
    int shape = file.ints("shape", 1, 2);
    int zero = file.constant("zero", TensorType.INT16, Quantized.of(scale, 0), new byte[2]);
    int y = file.tensor("y", TensorType.INT16, Quantized.of(scale, 0), 1, 2);
    file.operator(BuiltinOperator.FILL, new int[] {shape, zero}, y).graph(new int[] {x}, y);
    assertConverts(
        """
        io.thalamus/AS_STRIDED(zero, [1, 2], [0, 0], 0) -> %0:1x2
        MUL(%0:1x2, [1048576.0], 0) -> %1:1x2
        ADD(%1:1x2, [0.5], 0) -> %2:1x2
        FLOOR(%2:1x2) -> %3:1x2
        MINIMUM(%3:1x2, [32767.0]) -> %4:1x2
        MAXIMUM(%4:1x2, [-32768.0]) -> %5:1x2
        MUL(%5:1x2, [9.536743E-7], 0) -> %6:1x2
        MUL(%6:1x2, [1048576.0], 0) -> %7:1x2
        ADD(%7:1x2, [0.5], 0) -> %8:1x2
        FLOOR(%8:1x2) -> %9:1x2
        MINIMUM(%9:1x2, [32767.0]) -> %10:1x2
        MAXIMUM(%10:1x2, [-32768.0]) -> %11:1x2
        io.thalamus/CAST(%11:1x2) -> y\
        """);
  }

  @Test
  void fiveDimensionsAreJoinedToReduceThem() throws ModelFormatException {
    int x = file.floats("x", 2, 3, 4, 5, 6);
    int axes = file.ints("axes", 2, 3);
    int y = file.floats("y", 2, 3, 6);
    file.operator(
            BuiltinOperator.SUM,
            BuiltinOptions.ReducerOptions,
            flat -> ReducerOptions.createReducerOptions(flat, false),
            new int[] {x, axes},
            y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        io.thalamus/AS_STRIDED(x, [6, 20, 6], [120, 6, 1], 0) -> %0:6x20x6
        REDUCE_SUM(%0:6x20x6, [1], true) -> %1:6x1x6
        RESHAPE(%1:6x1x6, [2, 3, 6]) -> y\
        """);
  }
}
