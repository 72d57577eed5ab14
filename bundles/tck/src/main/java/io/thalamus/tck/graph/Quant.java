// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.model.OperandCode;
import io.thalamus.tck.reference.Tensor;
import java.util.Random;

/** The quantization of a tensor. */
record Quant(double scale, int zeroPoint) {
  static final Quant NONE = new Quant(0, 0);

  static boolean isQuantized(OperandCode type) {
    return type == OperandCode.TENSOR_QUANT8_ASYMM
        || type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
  }

  static int least(OperandCode type) {
    return type == OperandCode.TENSOR_QUANT8_ASYMM ? 0 : -128;
  }

  static Quant of(Tensor tensor) {
    return new Quant(tensor.scale(), tensor.zeroPoint());
  }

  /** One in which values between these limits, and zero, can be expressed. */
  static Quant spanning(OperandCode type, double low, double high) {
    double from = Math.min(low, 0);
    double to = Math.max(high, 0);
    double scale = (float) Math.max((to - from) / 255, 1e-3);
    return new Quant(scale, least(type) + (int) Math.clamp(Math.rint(-from / scale), 0, 255));
  }

  /** The same real zero, with the step that a type of the other sign has: as the type allows. */
  static Quant unit(OperandCode type, int denominator, int steps) {
    return new Quant(1f / denominator, least(type) + steps);
  }

  static Quant random(OperandCode type, Random random) {
    if (!isQuantized(type)) {
      return NONE;
    }
    double span = 0.5 + 7.5 * random.nextDouble();
    double low = -span * random.nextDouble();
    return spanning(type, low, low + span);
  }
}
