// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Span;
import io.thalamus.simd.program.Tensor;

/** Floats made stored bytes, and the reverse. */
public final class Quantize {
  private Quantize() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    Rescale.register(table);
    table
        .add(
            OperationCode.DEQUANTIZE,
            operation -> isPossible(operation) && operation.output().type() == TENSOR_FLOAT32,
            (node, tensors, budget) -> {
              Tensor output = tensors.output(node);
              Tensor input = tensors.input(node, 0);
              int zeroPoint = input.signedZeroPoint();
              float scale = input.view().scale();
              return new ToFloats(
                  input, output, zeroPoint, scale, Span.of(output.size(), 2, budget));
            },
            ElementTypes.quantized8())
        .add(OperationCode.QUANTIZE, Quantize::isPossible, toBytes(false), TENSOR_FLOAT32)
        .add(ThalamusExtension.QUANTIZE, Quantize::isPossible, toBytes(true), TENSOR_FLOAT32);
  }

  private static boolean isPossible(OperationView operation) {
    return operation.input(0).isShapeKnown();
  }

  private static Lowering toBytes(boolean isEven) {
    return (node, tensors, budget) -> {
      Tensor output = tensors.output(node);
      IntRange range = IntRange.of((OperandCode) output.view().type());
      Span span = Span.of(output.size(), 8, budget);
      return new ToBytes(tensors.input(node, 0), output, range, isEven, span);
    };
  }

  /**
   * Numbers times a scale.
   *
   * @param zeroPoint of the bytes once they are signed
   */
  private record ToFloats(Tensor input, Tensor output, int zeroPoint, float scale, Span span)
      implements SpanStep {
    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      byte[] in = frame.bytes(input);
      float[] out = frame.floats(output);
      int flip = input.flip();
      int from = input.offset();
      int to = output.offset();
      for (int i = span.first(tile); i < span.end(tile); i++) {
        out[to + i] = ((byte) (in[from + i] ^ flip) - zeroPoint) * scale;
      }
    }
  }

  /**
   * Steps of the scale, rounded to nearest.
   *
   * @param range of the stored results
   * @param isEven whether the even one of two that are as near is taken, not the one that is
   *     farther from zero
   */
  private record ToBytes(Tensor input, Tensor output, IntRange range, boolean isEven, Span span)
      implements SpanStep {
    @Override
    public int scratchInts() {
      return StoredPairs.PART;
    }

    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      float[] in = frame.floats(input);
      int end = span.end(tile);
      for (int from = span.first(tile); from < end; from += StoredPairs.PART) {
        int count = Math.min(StoredPairs.PART, end - from);
        nearest(in, input.offset() + from, scratch.ints, count);
        Lanes.toBytes(
            frame.isScalar,
            scratch.ints,
            0,
            output.view().zeroPoint(),
            range,
            frame.bytes(output),
            output.offset() + from,
            count);
      }
    }

    private void nearest(float[] in, int from, int[] whole, int count) {
      float scale = output.view().scale();
      if (isEven) {
        for (int i = 0; i < count; i++) {
          whole[i] = Lanes.nearest(in[from + i] / scale);
        }
      } else {
        for (int i = 0; i < count; i++) {
          whole[i] = Lanes.nearestOutwards(in[from + i] / scale);
        }
      }
    }
  }
}
