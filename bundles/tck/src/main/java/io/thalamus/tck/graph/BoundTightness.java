// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.model.OperandCode;
import io.thalamus.tck.reference.Bounds;
import io.thalamus.tck.reference.Tensor;

/**
 * The judgement whether bounds are narrow enough to tell right from wrong: at most as wide as what
 * AOSP's random graph test allows large graphs, 0.1 absolute and relative for float32, a little
 * more for float16, 12 steps for quantized types.
 */
final class BoundTightness {
  private static final double LARGEST = 1e4;
  private static final double LARGEST_HALF = 1e3;
  private static final double LARGEST_INT = 1e6;
  private static final double FLOAT32 = 0.1;
  private static final double FLOAT16 = 0.3;
  private static final int STEPS = 12;
  private static final double NARROW_PART = 0.9;

  private BoundTightness() {}

  /** Returns whether nearly all elements are known well, and none is out of range. */
  static boolean isUseful(Tensor tensor) {
    double most =
        switch (tensor.type()) {
          case TENSOR_FLOAT16, FLOAT16 -> LARGEST_HALF;
          case TENSOR_INT32, INT32 -> LARGEST_INT;
          default -> LARGEST;
        };
    for (double value : tensor.real().middle()) {
      if (!(Math.abs(value) <= most)) {
        return false;
      }
    }
    return narrow(tensor) >= NARROW_PART * tensor.size();
  }

  /** Returns how many elements are known well. */
  static int narrow(Tensor tensor) {
    Bounds stored = tensor.stored();
    int narrow = 0;
    for (int i = 0; i < stored.size(); i++) {
      double width = stored.high()[i] - stored.low()[i];
      if (width <= 2 * allowed(tensor.type(), Math.abs(stored.middle()[i]))) {
        narrow++;
      }
    }
    return narrow;
  }

  private static double allowed(OperandCode type, double magnitude) {
    return switch (type) {
      case TENSOR_FLOAT32, FLOAT32 -> FLOAT32 * (1 + magnitude);
      case TENSOR_FLOAT16, FLOAT16 -> FLOAT16 * (1 + magnitude);
      case TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED -> STEPS;
      default -> 0;
    };
  }
}
