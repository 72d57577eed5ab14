// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import static io.thalamus.model.LittleEndian.FLOAT;

import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Quantization.PerChannel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;

/**
 * Constants of real numbers as the integers that quantized operations take. Immutable.
 *
 * @param grids by identity, the constants that are integers in the place of real numbers
 */
record QuantizedConstants(Map<Constant, Grid> grids) {
  private static final int SIGN_SHIFT = 128;

  /** The real numbers of a constant. */
  static MemorySegment reals(Operand known, Map<Constant, Grid> grids) {
    Constant constant = (Constant) known.lifetime();
    Grid grid = grids.get(constant);
    return grid == null
        ? constant.bytes()
        : MemorySegment.ofArray(grid.floats(constant.bytes(), known.shape().toArray()));
  }

  /** One of them. */
  static float real(MemorySegment bytes, long index) {
    return bytes.get(FLOAT, index * Float.BYTES);
  }

  private static Operand operand(
      OperandType type, Operand known, Quantization quantization, Constant integers) {
    return new Operand(type, known.shape(), quantization, integers, known.name());
  }

  /** A constant with one scale, in the type of what it is computed with. */
  Optional<Operand> perTensor(Operand known, OperandType type) {
    if (!(known.lifetime() instanceof Constant constant)) {
      return Optional.empty();
    }
    boolean isSigned = type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    Grid grid = grids.get(constant);
    if (grid == null) {
      return known.shape().elementCount() == 1
          ? number(known, type, isSigned ? -SIGN_SHIFT : 0)
          : Optional.empty();
    }
    if (!grid.isPerTensor()) {
      return Optional.empty();
    }
    int shift = isSigned == grid.isSigned() ? 0 : isSigned ? -SIGN_SHIFT : SIGN_SHIFT;
    return Optional.of(
        operand(
            type,
            known,
            Quantization.of(grid.scales()[0], grid.zeros()[0] + shift),
            shift == 0 ? constant : shifted(constant.bytes())));
  }

  /** One number is exact with its own size as scale. */
  private static Optional<Operand> number(Operand known, OperandType type, int shift) {
    float value = real(((Constant) known.lifetime()).bytes(), 0);
    if (!Float.isFinite(value)) {
      return Optional.empty();
    }
    int stored = value > 0 ? 1 : 0;
    int zero = value < 0 ? 1 : 0;
    return Optional.of(
        operand(
            type,
            known,
            Quantization.of(value == 0 ? 1 : Math.abs(value), zero + shift),
            new ConstantCopy(new byte[] {(byte) (stored + shift)})));
  }

  /** The bytes with another sign, which is one bit: those of INT8 as UINT8, or the other way. */
  private static Constant shifted(MemorySegment bytes) {
    byte[] shifted = bytes.toArray(ValueLayout.JAVA_BYTE);
    for (int i = 0; i < shifted.length; i++) {
      shifted[i] ^= (byte) SIGN_SHIFT;
    }
    return new ConstantCopy(shifted);
  }

  /** Weights with zero point 0 and a scale for each of their channels along an axis. */
  Optional<Operand> perChannel(Operand known, int axis) {
    Grid grid = known.lifetime() instanceof Constant constant ? grids.get(constant) : null;
    boolean fits =
        grid != null
            && grid.isSigned()
            && grid.isSymmetric()
            && (grid.isPerTensor() || grid.axis() == axis);
    if (!fits) {
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
            (Constant) known.lifetime()));
  }

  /** A bias in units of the product of the scales of inputs and weights. */
  Optional<Operand> bias(Operand known, Operand input, Operand weights) {
    if (!(known.lifetime() instanceof Constant)) {
      return Optional.empty();
    }
    boolean isPerChannel = weights.quantization() instanceof PerChannel;
    MemorySegment from = reals(known, grids);
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
            new ConstantCopy(bytes.array())));
  }
}
