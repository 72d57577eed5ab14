// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.reader.ModelFormatException;
import org.junit.jupiter.api.Test;
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
