// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ArrayTimingTest {
  private final Random random = new Random(1811);

  @ParameterizedTest
  @CsvSource({
    "1, 1, 1, 1, 1",
    "1, 1, 3, 5, 7",
    "4, 4, 4, 4, 4",
    "4, 4, 9, 9, 9",
    "3, 5, 7, 11, 13",
    "5, 3, 16, 8, 4",
    "8, 2, 1, 17, 3",
    "2, 8, 20, 1, 1"
  })
  void equationsCountWhatTheRegistersDo(int rows, int columns, int m, int k, int n) {
    int[][] left = matrix(m, k);
    int[][] right = matrix(k, n);
    int[][] product = multiply(left, right);

    SystolicArray weights = new SystolicArray(rows, columns);
    assertArrayEquals(product, weights.stationaryOperand(left, right));
    assertEquals(
        weights.cycles(),
        new ArrayTiming(rows, columns, Dataflow.WEIGHT_STATIONARY).cycles(m, k, n));

    SystolicArray inputs = new SystolicArray(rows, columns);
    int[][] turned = inputs.stationaryOperand(transpose(right), transpose(left));
    assertArrayEquals(product, transpose(turned));
    assertEquals(
        inputs.cycles(), new ArrayTiming(rows, columns, Dataflow.INPUT_STATIONARY).cycles(m, k, n));

    SystolicArray sums = new SystolicArray(rows, columns);
    assertArrayEquals(product, sums.stationarySums(left, right));
    assertEquals(
        sums.cycles(), new ArrayTiming(rows, columns, Dataflow.OUTPUT_STATIONARY).cycles(m, k, n));
  }

  @Test
  void oneMoreThanTheRoomTakesAnotherFold() {
    ArrayTiming array = new ArrayTiming(8, 8, Dataflow.WEIGHT_STATIONARY);
    assertEquals(1000 + 22, array.cycles(1000, 8, 8));
    assertEquals(4, array.folds(1000, 9, 9));
  }

  @Test
  void nonsenseIsRefused() {
    ArrayTiming array = new ArrayTiming(8, 8, Dataflow.OUTPUT_STATIONARY);
    assertThrows(
        IllegalArgumentException.class, () -> new ArrayTiming(0, 8, Dataflow.OUTPUT_STATIONARY));
    assertThrows(IllegalArgumentException.class, () -> array.cycles(0, 1, 1));
    assertThrows(IllegalArgumentException.class, () -> array.cycles(1, 1, -1));
    long much = Long.MAX_VALUE / 2;
    assertThrows(ArithmeticException.class, () -> array.cycles(much, much, 1));
  }

  private int[][] matrix(int rows, int columns) {
    int[][] result = new int[rows][];
    for (int i = 0; i < rows; i++) {
      result[i] = random.ints(columns, -128, 128).toArray();
    }
    return result;
  }

  private static int[][] multiply(int[][] left, int[][] right) {
    int[][] result = new int[left.length][right[0].length];
    for (int i = 0; i < left.length; i++) {
      for (int j = 0; j < right[0].length; j++) {
        for (int k = 0; k < right.length; k++) {
          result[i][j] += left[i][k] * right[k][j];
        }
      }
    }
    return result;
  }

  private static int[][] transpose(int[][] matrix) {
    int[][] result = new int[matrix[0].length][matrix.length];
    for (int i = 0; i < matrix.length; i++) {
      for (int j = 0; j < matrix[0].length; j++) {
        result[j][i] = matrix[i][j];
      }
    }
    return result;
  }
}
