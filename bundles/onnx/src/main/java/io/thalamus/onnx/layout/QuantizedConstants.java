// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import static io.thalamus.model.LittleEndian.FLOAT;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Quantization.PerChannel;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;

/**
 * Constants of real numbers as the integers that quantized operations take. Immutable.
 *
 * @param grids by identity of the constants
 */
record QuantizedConstants(Map<Lifetime.Constant, Grid> grids) {
  private static final int SIGN_SHIFT = 128;

  /** One of the real numbers of a constant. */
  static float real(MemorySegment bytes, long index) {
    return bytes.get(FLOAT, index * Float.BYTES);
  }

  private static Operand operand(
      OperandType type, Operand known, Quantization quantization, byte[] bytes) {
    return new Operand(type, known.shape(), quantization, new ConstantCopy(bytes), known.name());
  }

  /** A constant with one scale, in the type of what it is computed with. */
  Optional<Operand> perTensor(Operand known, OperandType type) {
    if (!(known.lifetime() instanceof Lifetime.Constant constant)) {
      return Optional.empty();
    }
    Grid grid = grids.get(constant);
    if (grid == null && known.shape().elementCount() == 1) {
      // One number is exact with its own size as scale.
      float value = real(constant.bytes(), 0);
      boolean isNegative = value < 0;
      float scale = value == 0 || !Float.isFinite(value) ? 1 : Math.abs(value);
      grid = new Grid(false, new float[] {scale}, new int[] {isNegative ? 1 : 0}, 0);
    }
    if (grid == null || !grid.isPerTensor()) {
      return Optional.empty();
    }
    boolean isSigned = type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    int shift = isSigned == grid.isSigned() ? 0 : isSigned ? -SIGN_SHIFT : SIGN_SHIFT;
    byte[] bytes = grid.stored(constant.bytes(), known.shape().toArray(), shift);
    return bytes == null
        ? Optional.empty()
        : Optional.of(
            operand(
                type, known, Quantization.of(grid.scales()[0], grid.zeros()[0] + shift), bytes));
  }

  /** Weights with zero point 0 and a scale for each of their channels along an axis. */
  Optional<Operand> perChannel(Operand known, int axis) {
    if (!(known.lifetime() instanceof Lifetime.Constant constant)) {
      return Optional.empty();
    }
    Grid grid = grids.get(constant);
    boolean fits =
        grid != null
            && grid.isSigned()
            && grid.isSymmetric()
            && (grid.isPerTensor() || grid.axis() == axis);
    byte[] bytes = fits ? grid.stored(constant.bytes(), known.shape().toArray(), 0) : null;
    if (bytes == null) {
      return Optional.empty();
    }
    float[] scales = grid.scales();
    if (grid.isPerTensor()) {
      scales = new float[known.shape().dimension(axis)];
      Arrays.fill(scales, grid.scales()[0]);
    }
    return Optional.of(
        operand(
            OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL,
            known,
            new PerChannel(axis, scales),
            bytes));
  }

  /** A bias in units of the product of the scales of inputs and weights. */
  static Optional<Operand> bias(Operand known, Operand input, Operand weights) {
    if (!(known.lifetime() instanceof Lifetime.Constant constant)) {
      return Optional.empty();
    }
    boolean isPerChannel = weights.quantization() instanceof PerChannel;
    MemorySegment from = constant.bytes();
    int count = (int) known.shape().elementCount();
    ByteBuffer bytes = ByteBuffer.allocate(4 * count).order(ByteOrder.LITTLE_ENDIAN);
    float single = input.quantization().scale() * weights.quantization().scale();
    for (int i = 0; i < count; i++) {
      float unit =
          weights.quantization() instanceof PerChannel several
              ? input.quantization().scale() * several.scales()[i]
              : single;
      long value = Math.round((double) real(from, i) / unit);
      if (value != (int) value) {
        return Optional.empty();
      }
      bytes.putInt((int) value);
    }
    return Optional.of(
        operand(
            OperandCode.TENSOR_INT32,
            known,
            isPerChannel ? Quantization.NONE : Quantization.of(single, 0),
            bytes.array()));
  }
}
