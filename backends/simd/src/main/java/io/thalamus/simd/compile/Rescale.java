// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.extension.Elementwise.Rescaled;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.kernel.Factor;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Span;
import io.thalamus.simd.program.Tensor;

/** Integers times a factor, as ones of the same type or of another: RESCALE. */
record Rescale(Rescaled scaled, Tensor input, Tensor output, Span span) implements SpanStep {
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        ThalamusExtension.RESCALE,
        operation -> operation.input(0).isShapeKnown() && operation.hasValues(1),
        (node, tensors, budget) -> {
          Tensor output = tensors.output(node);
          return new Rescale(
              node.operation().parameters(Rescaled.class),
              tensors.input(node, 0),
              output,
              Span.of(output.size(), 2, budget));
        },
        ElementTypes.rescalable());
  }

  @Override
  public int scratchInts() {
    return StoredPairs.PART;
  }

  @Override
  public void run(Frame frame, Scratch scratch, int tile) {
    Requantization factor = scaled.factor();
    int end = span.end(tile);
    for (int at = span.first(tile); at < end; at += StoredPairs.PART) {
      int count = Math.min(StoredPairs.PART, end - at);
      boolean isRead = read(frame, at, scratch.ints, count);
      boolean isWritten = isWide(output);
      Factor.twice(
          frame.isScalar,
          factor.multiplier(),
          factor.shift(),
          isRead ? scratch.ints : frame.ints(input),
          isRead ? 0 : input.offset() + at,
          isWritten ? frame.ints(output) : scratch.ints,
          isWritten ? output.offset() + at : 0,
          count);
      if (!isWritten) {
        write(frame, scratch.ints, at, count);
      }
    }
  }

  private static boolean isWide(Tensor tensor) {
    return tensor.view().type() == OperandCode.TENSOR_INT32;
  }

  /** Writes elements as integers around their zero point, unless they stand so. */
  private boolean read(Frame frame, int at, int[] numbers, int count) {
    if (isWide(input)) {
      return false;
    }
    int from = input.offset() + at;
    if (input.view().type() == OperandCode.TENSOR_QUANT16_SYMM) {
      short[] in = frame.shorts(input);
      for (int i = 0; i < count; i++) {
        numbers[i] = in[from + i];
      }
      return true;
    }
    byte[] in = frame.bytes(input);
    int flip = input.flip();
    int zeroPoint = input.signedZeroPoint();
    for (int i = 0; i < count; i++) {
      numbers[i] = (byte) (in[from + i] ^ flip) - zeroPoint;
    }
    return true;
  }

  private void write(Frame frame, int[] numbers, int at, int count) {
    IntRange range = scaled.range();
    int to = output.offset() + at;
    if (output.view().type() == OperandCode.TENSOR_QUANT16_SYMM) {
      short[] out = frame.shorts(output);
      for (int i = 0; i < count; i++) {
        out[to + i] = (short) range.clamp(numbers[i]);
      }
      return;
    }
    Lanes.toBytes(
        frame.isScalar,
        numbers,
        0,
        scaled.zeroPoint(),
        IntRange.of((OperandCode) output.view().type()),
        frame.bytes(output),
        to,
        count);
  }
}
