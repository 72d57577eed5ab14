// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

/**
 * An array of processing elements, register by register and cycle by cycle: the slow truth that the
 * closed equations are held against. Not thread-safe.
 */
final class SystolicArray {
  private final int rows;
  private final int columns;
  private long cycles;

  SystolicArray(int rows, int columns) {
    this.rows = rows;
    this.columns = columns;
  }

  long cycles() {
    return cycles;
  }

  /**
   * The streaming operand is left (t x k), the stationary one right (k x n); both are folded over
   * the array.
   */
  int[][] stationaryOperand(int[][] left, int[][] right) {
    int[][] result = new int[left.length][right[0].length];
    for (int k = 0; k < right.length; k += rows) {
      for (int n = 0; n < right[0].length; n += columns) {
        foldOfOperand(left, right, k, n, result);
      }
    }
    return result;
  }

  private void foldOfOperand(int[][] left, int[][] right, int k, int n, int[][] result) {
    int[][] weights = new int[rows][columns];
    for (int step = 0; step < rows; step++) {
      for (int r = rows - 1; r > 0; r--) {
        weights[r] = weights[r - 1].clone();
      }
      for (int c = 0; c < columns; c++) {
        weights[0][c] = get(right, k + rows - 1 - step, n + c);
      }
      cycles++;
    }
    int[][] inputs = new int[rows][columns];
    int[][] sums = new int[rows][columns];
    int missing = left.length * columns;
    for (int step = 0; missing > 0; step++) {
      for (int r = rows - 1; r >= 0; r--) {
        for (int c = columns - 1; c >= 0; c--) {
          inputs[r][c] = c > 0 ? inputs[r][c - 1] : get(left, step - r, k + r);
          sums[r][c] = (r > 0 ? sums[r - 1][c] : 0) + weights[r][c] * inputs[r][c];
        }
      }
      for (int c = 0; c < columns; c++) {
        int t = step - (rows - 1) - c;
        if (t >= 0 && t < left.length) {
          missing--;
          if (n + c < result[0].length) {
            result[t][n + c] += sums[rows - 1][c];
          }
        }
      }
      cycles++;
    }
  }

  /** Both operands stream, the sums stay and are shifted out at the end of each fold. */
  int[][] stationarySums(int[][] left, int[][] right) {
    int[][] result = new int[left.length][right[0].length];
    for (int m = 0; m < left.length; m += rows) {
      for (int n = 0; n < right[0].length; n += columns) {
        foldOfSums(left, right, m, n, result);
      }
    }
    return result;
  }

  private void foldOfSums(int[][] left, int[][] right, int m, int n, int[][] result) {
    int[][] across = new int[rows][columns];
    int[][] down = new int[rows][columns];
    int[][] sums = new int[rows][columns];
    int last = right.length - 1 + rows - 1 + columns - 1;
    for (int step = 0; step <= last; step++) {
      for (int r = rows - 1; r >= 0; r--) {
        for (int c = columns - 1; c >= 0; c--) {
          across[r][c] = c > 0 ? across[r][c - 1] : get(left, m + r, step - r);
          down[r][c] = r > 0 ? down[r - 1][c] : get(right, step - c, n + c);
          sums[r][c] += across[r][c] * down[r][c];
        }
      }
      cycles++;
    }
    for (int r = rows - 1; r >= 0; r--) {
      for (int c = 0; c < columns; c++) {
        if (m + r < result.length && n + c < result[0].length) {
          result[m + r][n + c] = sums[rows - 1][c];
        }
      }
      for (int above = rows - 1; above > 0; above--) {
        sums[above] = sums[above - 1].clone();
      }
      cycles++;
    }
  }

  private static int get(int[][] matrix, int row, int column) {
    boolean inside = row >= 0 && row < matrix.length && column >= 0 && column < matrix[0].length;
    return inside ? matrix[row][column] : 0;
  }
}
