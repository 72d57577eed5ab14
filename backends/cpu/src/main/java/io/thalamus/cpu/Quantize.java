// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.operations.FixedPoint;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.ThalamusExtension;

/** From one element type to another. */
final class Quantize {
  private Quantize() {}

  static void register(KernelTable.Builder table) {
    table
        .floats(OperationCode.QUANTIZE, operation -> quantize(operation, FixedPoint::round))
        .floats(
            ThalamusExtension.QUANTIZE,
            operation -> quantize(operation, steps -> (int) Math.rint(steps)))
        .add(
            OperationCode.DEQUANTIZE,
            Quantize::dequantize,
            TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED,
            TENSOR_QUANT8_SYMM,
            TENSOR_QUANT8_SYMM_PER_CHANNEL)
        .add(
            OperationCode.CAST,
            Quantize::cast,
            TENSOR_FLOAT32,
            TENSOR_FLOAT16,
            TENSOR_INT32,
            TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED,
            TENSOR_QUANT8_SYMM,
            TENSOR_QUANT16_ASYMM,
            TENSOR_QUANT16_SYMM,
            TENSOR_BOOL8);
  }

  /** The nearest whole number. */
  @FunctionalInterface
  private interface Nearest {
    int of(float steps);
  }

  private static Kernel quantize(ResolvedOperation operation, Nearest nearest) {
    OperandView output = operation.view().output();
    Elements from = Elements.of(operation.view().input(0).type());
    Elements to = Elements.of(output.type());
    IntRange range = IntRange.of((OperandCode) output.type());
    return ElementKernels.each(
        operation,
        (in, out, i) -> {
          long rounded = nearest.of(from.getFloat(in[0], i) / output.scale());
          to.setInt(out[0], i, Math.clamp(rounded + output.zeroPoint(), range.min(), range.max()));
        });
  }

  private static Kernel dequantize(ResolvedOperation operation) {
    OperandView input = operation.view().input(0);
    Elements from = Elements.of(input.type());
    Elements to = Elements.of(operation.view().output().type());
    long count = operation.outputShape(0).elementCount();
    float[] scales = {input.scale()};
    long run = count;
    if (input.quantization() instanceof PerChannel perChannel) {
      scales = perChannel.scales();
      run = 1;
      for (int i = perChannel.channelDimension() + 1; i < input.shape().rank(); i++) {
        run *= input.shape().dimension(i);
      }
    }
    float[] byChannel = scales;
    long elementsOfChannel = run;
    return ElementKernels.each(
        operation,
        (in, out, i) -> {
          float scale = byChannel[(int) (i / elementsOfChannel % byChannel.length)];
          to.setFloat(out[0], i, scale * (from.getInt(in[0], i) - input.zeroPoint()));
        });
  }

  private static Kernel cast(ResolvedOperation operation) {
    OperandType from = operation.view().input(0).type();
    OperandType to = operation.view().output().type();
    if (from.equals(to)) {
      return DataMovement.unchanged();
    }
    Elements source = Elements.of(from);
    Elements target = Elements.of(to);
    if (isFloat(from) && isFloat(to)) {
      return ElementKernels.each(
          operation, (in, out, i) -> target.setFloat(out[0], i, source.getFloat(in[0], i)));
    }
    if (isFloat(to)) {
      return ElementKernels.each(
          operation, (in, out, i) -> target.setFloat(out[0], i, source.getInt(in[0], i)));
    }
    // Towards integers, fractions are cut off and values out of range become the nearest in range.
    IntRange range = IntRange.of((OperandCode) to);
    if (isFloat(from)) {
      return ElementKernels.each(
          operation,
          (in, out, i) -> target.setInt(out[0], i, range.clamp((int) source.getFloat(in[0], i))));
    }
    return ElementKernels.each(
        operation, (in, out, i) -> target.setInt(out[0], i, range.clamp(source.getInt(in[0], i))));
  }

  private static boolean isFloat(OperandType type) {
    return type == TENSOR_FLOAT32 || type == TENSOR_FLOAT16;
  }
}
