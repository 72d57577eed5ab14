// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

/**
 * The highest point of a square heatmap. Around the highest cell the heat is taken for a
 * paraboloid, the Taylor expansion {@code heat + gradient * d + d * Hessian * d / 2} by finite
 * differences, whose top lies between the cells.
 *
 * @param score the heat at the top
 * @param x where the top is, from 0 at the left to 1 at the right border
 * @param y where the top is, from 0 at the upper to 1 at the lower border
 */
record Peak(float score, float x, float y) {
  /** The farthest that the top may be from the highest cell. */
  private static final float MOST_DISTANCE = 1.5f;

  /** The heat of a cell. */
  @FunctionalInterface
  interface Heat {
    float at(int y, int x);
  }

  /**
   * Finds the peak.
   *
   * @param size cells along each axis, at least 2
   * @param tolerance below which, absolutely and relatively, the determinant of the Hessian counts
   *     as 0 and the highest cell as the top
   */
  static Peak find(int size, float tolerance, Heat heat) {
    int cell = 0;
    float highest = -Float.MAX_VALUE;
    for (int i = 0; i < size * size; i++) {
      float here = heat.at(i / size, i % size);
      if (here > highest) {
        highest = here;
        cell = i;
      }
    }
    int row = cell / size;
    int column = cell % size;
    float[][] around = new float[3][3];
    for (int y = 0; y < 3; y++) {
      for (int x = 0; x < 3; x++) {
        around[y][x] = heat.at(mirrored(row + y - 1, size), mirrored(column + x - 1, size));
      }
    }
    float gradientX = (around[1][2] - around[1][0]) / 2;
    float gradientY = (around[2][1] - around[0][1]) / 2;
    float xx = around[1][0] - 2 * around[1][1] + around[1][2];
    float yy = around[0][1] - 2 * around[1][1] + around[2][1];
    float xy = (around[2][2] - around[2][0] - around[0][2] + around[0][0]) / 4;
    float determinant = xx * yy - xy * xy;
    float deltaX = 0;
    float deltaY = 0;
    float score = highest;
    if (Math.abs(determinant) >= tolerance + tolerance * (xx * yy)) {
      deltaX = (xy * gradientY - yy * gradientX) / determinant;
      deltaY = (xy * gradientX - xx * gradientY) / determinant;
      float distance = Math.max(Math.abs(deltaX), Math.abs(deltaY));
      if (distance > MOST_DISTANCE) {
        deltaX *= MOST_DISTANCE / distance;
        deltaY *= MOST_DISTANCE / distance;
      }
      score =
          around[1][1]
              + gradientX * deltaX
              + gradientY * deltaY
              + ((xx * deltaX + xy * deltaY) * deltaX + (xy * deltaX + yy * deltaY) * deltaY) / 2;
    }
    return new Peak(score, (column + deltaX + 0.5f) / size, (row + deltaY + 0.5f) / size);
  }

  private static int mirrored(int cell, int size) {
    return cell < 0 ? 1 : cell >= size ? size - 2 : cell;
  }
}
