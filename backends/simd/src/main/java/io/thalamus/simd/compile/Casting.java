// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Span;
import io.thalamus.simd.program.Tensor;

/**
 * Elements made elements of another type: CAST. They pass through double, which holds all that are
 * computed with.
 */
public final class Casting {
  private Casting() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(
            OperationCode.CAST,
            Casting::isPossible,
            lowering(true),
            OperandCode.TENSOR_FLOAT32,
            OperandCode.TENSOR_FLOAT16,
            OperandCode.TENSOR_INT32,
            OperandCode.TENSOR_BOOL8,
            OperandCode.TENSOR_QUANT16_SYMM,
            OperandCode.TENSOR_QUANT16_ASYMM,
            OperandCode.TENSOR_QUANT8_ASYMM,
            OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)
        .add(ThalamusExtension.CAST, Casting::isPossible, lowering(false), ElementTypes.castable());
  }

  private static boolean isPossible(OperationView operation) {
    return operation.input(0).isShapeKnown() && Tensors.isStored(operation.output().type());
  }

  private static Lowering lowering(boolean isSaturating) {
    return (node, tensors, budget) -> {
      Tensor input = tensors.input(node, 0);
      Tensor output = tensors.output(node);
      Elements from = Elements.of(input.view().type());
      Elements to = Elements.of(output.view().type());
      return new Cast(input, output, from, to, isSaturating, Span.of(output.size(), 8, budget));
    };
  }

  /**
   * A change of type.
   *
   * @param isSaturating whether integers that do not fit become the nearest that do; if not, they
   *     keep their low bits
   */
  private record Cast(
      Tensor input, Tensor output, Elements from, Elements to, boolean isSaturating, Span span)
      implements SpanStep {
    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      Object in = frame.array(input);
      Object out = frame.array(output);
      int end = span.end(tile);
      for (int at = span.first(tile); at < end; at += Scratch.LONGEST_RUN) {
        int count = Math.min(Scratch.LONGEST_RUN, end - at);
        if (from == to) {
          System.arraycopy(in, input.offset() + at, out, output.offset() + at, count);
          continue;
        }
        double[] numbers = scratch.numbers;
        read(in, input.offset() + at, numbers, count);
        if (from == Elements.INT64 && to == Elements.INT32) {
          check(frame, numbers, at, count);
        }
        if (!to.isFloat() && (isSaturating || from.isFloat())) {
          clamp(numbers, count);
        }
        write(numbers, out, output.offset() + at, count);
      }
    }

    /** A graph that goes on with other integers would be wrong without a sign. */
    private static void check(Frame frame, double[] numbers, int at, int count) {
      for (int i = 0; i < count; i++) {
        if (numbers[i] != (int) numbers[i]) {
          frame.fail(
              "element %d is %.0f; int64 beyond 32 bits cannot be computed with"
                  .formatted(at + i, numbers[i]));
          return;
        }
      }
    }

    private void clamp(double[] numbers, int count) {
      double least = to.least();
      double most = to.most();
      for (int i = 0; i < count; i++) {
        numbers[i] = Math.min(Math.max(numbers[i], least), most);
      }
    }

    private void read(Object in, int at, double[] numbers, int count) {
      switch (in) {
        case float[] floats -> {
          for (int i = 0; i < count; i++) {
            numbers[i] = floats[at + i];
          }
        }
        case int[] ints -> {
          for (int i = 0; i < count; i++) {
            numbers[i] = ints[at + i];
          }
        }
        case long[] longs -> {
          for (int i = 0; i < count; i++) {
            numbers[i] = longs[at + i];
          }
        }
        case double[] doubles -> System.arraycopy(doubles, at, numbers, 0, count);
        case short[] shorts when from == Elements.FLOAT16 -> {
          for (int i = 0; i < count; i++) {
            numbers[i] = Float.float16ToFloat(shorts[at + i]);
          }
        }
        case short[] shorts -> {
          int mask = from == Elements.UINT16 ? 0xFFFF : -1;
          for (int i = 0; i < count; i++) {
            numbers[i] = shorts[at + i] & mask;
          }
        }
        default -> {
          byte[] bytes = (byte[]) in;
          int mask = from == Elements.INT8 ? -1 : 0xFF;
          for (int i = 0; i < count; i++) {
            numbers[i] = bytes[at + i] & mask;
          }
        }
      }
    }

    private void write(double[] numbers, Object out, int at, int count) {
      switch (out) {
        case float[] floats -> {
          for (int i = 0; i < count; i++) {
            floats[at + i] = (float) numbers[i];
          }
        }
        case int[] ints -> {
          for (int i = 0; i < count; i++) {
            ints[at + i] = (int) numbers[i];
          }
        }
        case long[] longs -> {
          for (int i = 0; i < count; i++) {
            longs[at + i] = (long) numbers[i];
          }
        }
        case double[] doubles -> System.arraycopy(numbers, 0, doubles, at, count);
        case short[] shorts when to == Elements.FLOAT16 -> {
          for (int i = 0; i < count; i++) {
            shorts[at + i] = Float.floatToFloat16((float) numbers[i]);
          }
        }
        case short[] shorts -> {
          for (int i = 0; i < count; i++) {
            shorts[at + i] = (short) (int) numbers[i];
          }
        }
        default -> {
          byte[] bytes = (byte[]) out;
          for (int i = 0; i < count; i++) {
            bytes[at + i] = (byte) (int) numbers[i];
          }
        }
      }
    }
  }
}
