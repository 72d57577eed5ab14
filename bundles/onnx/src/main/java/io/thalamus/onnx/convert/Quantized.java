// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.Quantization;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Tensor;
import io.thalamus.onnx.layout.Grid;
import java.util.Arrays;

/**
 * Known scales and zero points. Immutable.
 *
 * @param scales one, or one for each index along an axis
 * @param zeros as many
 */
record Quantized(float[] scales, int[] zeros) {
  /** The largest distance of 8-bit integers, of which the real number must be finite. */
  private static final int MOST_STEPS = 255;

  /** The scales and zero points of constants; all zero points are 0 where there are none. */
  static Quantized of(Value scale, Value zero) {
    Tensor known = scale.constant();
    float[] scales = new float[known.count()];
    int[] zeros = new int[scales.length];
    for (int i = 0; i < scales.length; i++) {
      scales[i] = (float) known.number(i);
      if (zero != null) {
        zeros[i] = (int) zero.constant().integer(zero.count() == 1 ? 0 : i);
      }
    }
    return new Quantized(scales, zeros);
  }

  /** Returns whether both are known, and the same for all elements or for those of an index. */
  static boolean isOfOneAxis(Value scale, Value zero) {
    boolean isKnown = scale.isConstant() && (zero == null || zero.isConstant());
    return isKnown
        && scale.count() > 0
        && Arrays.stream(scale.shape()).filter(size -> size > 1).count() <= 1
        && (zero == null || zero.count() == 1 || zero.count() == scale.count())
        && isProper(Quantized.of(scale, zero));
  }

  private static boolean isProper(Quantized quantized) {
    for (float scale : quantized.scales()) {
      if (!(scale > 0) || Float.isInfinite(scale * MOST_STEPS)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether both are known and the same for all elements of 8-bit integers. */
  static boolean isOfAll(Value scale, Value zero) {
    return scale.count() == 1 && isOfOneAxis(scale, zero) && (zero == null || zero.type().is8Bit());
  }

  /** Returns NNAPI's quantization by one scale and zero point. */
  Quantization quantization() {
    return Quantization.of(scales[0], zeros[0]);
  }

  /** The same for constants of 8-bit integers that stand for real numbers of a type. */
  Grid grid(DataType integers, DataType reals, int axis) {
    return new Grid(reals, integers.isSigned8Bit(), scales, zeros, axis);
  }
}
