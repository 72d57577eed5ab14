// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.WeightCodec;
import io.thalamus.operations.Accumulation;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.operations.ResolvedOperation;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;

/** Weights, biases and factors in the device's form. Stateless. */
final class Products {
  private static final int FILTER = 1;
  private static final int BIAS = 2;

  private Products() {}

  /** The zero point of the weights as the device has them: signed. */
  static int weightZero(ResolvedOperation operation) {
    OperandView filter = operation.view().input(FILTER);
    return filter.zeroPoint() - (Types.isUnsigned(filter.type()) ? 128 : 0);
  }

  /** The weights, [column, tap, channel], signed. */
  static byte[] weights(ResolvedOperation operation, LoweringContext context) {
    OperandView filter = operation.view().input(FILTER);
    byte[] weights = context.bytes(filter);
    if (Types.isUnsigned(filter.type())) {
      for (int i = 0; i < weights.length; i++) {
        weights[i] ^= (byte) 0x80;
      }
    }
    return weights;
  }

  /** Returns the center of the weights, for {@link WeightCodec}. */
  static int center(ResolvedOperation operation) {
    return Types.isFloat(operation.view().input(FILTER).type()) ? 0 : weightZero(operation);
  }

  /** The flags of REQUANTIZE. */
  static int flags(ResolvedOperation operation, Optional<Accumulation> quantized) {
    int rounding = quantized.map(sums -> rounding(sums.output().getFirst().rounding())).orElse(0);
    return rounding | (Types.flags(operation.view().output().type()) & Command.FLOAT16);
  }

  private static int rounding(Rounding rounding) {
    return switch (rounding) {
      case SINGLE -> Command.ROUND_ONCE;
      case DOUBLE -> 0;
      case EVEN -> Command.ROUND_TO_EVEN;
    };
  }

  /** The table of REQUANTIZE. */
  static Constant table(
      ResolvedOperation operation, Optional<Accumulation> quantized, LoweringContext context) {
    ByteBuffer bias = ByteBuffer.wrap(context.bytes(operation.view().input(BIAS)));
    bias.order(ByteOrder.LITTLE_ENDIAN);
    if (quantized.isEmpty()) {
      ByteBuffer table = littleEndian(bias.capacity() * 2);
      while (bias.hasRemaining()) {
        table.putFloat(Float.float16ToFloat(bias.getShort()));
      }
      return Constant.of(table.array());
    }
    ByteBuffer table = littleEndian(bias.capacity() * 3);
    for (int c = 0; bias.hasRemaining(); c++) {
      Requantization factor = quantized.get().output().get(c);
      table.putInt(bias.getInt()).putInt(factor.multiplier()).putInt(factor.shift());
    }
    return Constant.of(table.array());
  }

  private static ByteBuffer littleEndian(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns the places of the results of a [batch, height, width, channel]. */
  static Results results(
      ResolvedOperation operation,
      Tensor output,
      int[] shape,
      Optional<Accumulation> quantized,
      FusedActivation activation,
      LoweringContext context) {
    return new Results(
        output,
        shape[0],
        shape[1],
        shape[2],
        shape[3],
        flags(operation, quantized),
        table(operation, quantized, context),
        quantized.map(Accumulation::outputZeroPoint).orElse(0),
        Types.min(quantized.map(Accumulation::activation), activation.range()),
        Types.max(quantized.map(Accumulation::activation), activation.range()));
  }
}
