// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.operations.Window;

/** Which cells of a window lie on the input. */
final class Spans {
  private Spans() {}

  /** The first cell, counted from the window's origin, that is not in front of the input. */
  static int first(int origin, Window window) {
    return origin >= 0 ? 0 : (-origin + window.dilation() - 1) / window.dilation();
  }

  /** One behind the last cell that is not behind the input. */
  static int last(int origin, Window window, int input) {
    int room = (input - origin + window.dilation() - 1) / window.dilation();
    return Math.min(window.size(), room);
  }
}
