// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import java.util.Random;

/** The height and the width of a random transposed convolution, in this order. */
final class SpreadShape {
  final int[] cells = new int[2];
  final int[] strides = new int[2];
  final int[] sizes = new int[2];

  /** Top, bottom, left, right. */
  final int[] padding = new int[4];

  final int[] results = new int[2];

  /** A shape with results, and with windows not smaller than the strides. */
  SpreadShape(Random random) {
    for (int i = 0; i < 2; i++) {
      do {
        cells[i] = 1 + random.nextInt(7);
        strides[i] = 1 + random.nextInt(3);
        sizes[i] = strides[i] + random.nextInt(3);
        padding[2 * i] = random.nextInt(sizes[i]);
        padding[2 * i + 1] = random.nextInt(3);
        results[i] = (cells[i] - 1) * strides[i] + sizes[i] - padding[2 * i] - padding[2 * i + 1];
      } while (results[i] <= 0);
    }
  }
}
