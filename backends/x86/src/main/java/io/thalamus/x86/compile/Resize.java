// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Resize.Parameters;
import io.thalamus.operations.Resize.Sampling;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.ResizedLine;
import io.thalamus.x86.kernel.ResizedLine.Column;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Float images at another size; channels stand last. */
public final class Resize {
  private static final int LAYOUT = 3;

  /** Calls of an operation. */
  private static final long MOST_LINES = 1 << 16;

  private Resize() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(
            OperationCode.RESIZE_BILINEAR,
            Resize::isPossible,
            (operation, operands, program) -> lower(true, operation, operands, program),
            TENSOR_FLOAT32)
        .add(
            OperationCode.RESIZE_NEAREST_NEIGHBOR,
            Resize::isPossible,
            (operation, operands, program) -> lower(false, operation, operands, program),
            TENSOR_FLOAT32);
  }

  private static boolean isPossible(OperationView operation) {
    for (int i = 1; i < operation.inputs().size(); i++) {
      if (operation.has(i) && operation.input(i).value().isEmpty()) {
        return false;
      }
    }
    return Sizes.isPossible(operation.input(0))
        && Sizes.isPossible(operation.output())
        && !operation.bool(LAYOUT, false)
        && (long) operation.output().shape().dimension(0) * operation.output().shape().dimension(1)
            < MOST_LINES;
  }

  private static void lower(
      boolean isBilinear,
      ResolvedOperation operation,
      Lowering.Operands operands,
      ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape input = operation.inputShape(0);
    Shape output = operation.outputShape(0);
    List<Column> columns = new ArrayList<>();
    for (int x = 0; x < output.dimension(2); x++) {
      columns.add(column(isBilinear, parameters.width(), x));
    }
    int line = input.dimension(2) * input.dimension(3) * Float.BYTES;
    long resultLine = (long) output.dimension(2) * output.dimension(3) * Float.BYTES;
    for (int y = 0; y < output.dimension(1); y++) {
      Column row = column(isBilinear, parameters.height(), y);
      ResizedLine resized =
          new ResizedLine(
              isBilinear, columns, (row.right() - row.left()) * line, input.dimension(3));
      byte[] down =
          ByteBuffer.allocate(Float.BYTES)
              .order(ByteOrder.LITTLE_ENDIAN)
              .putFloat(row.along())
              .array();
      long constant = program.constant(down);
      for (int b = 0; b < output.dimension(0); b++) {
        program.call(
            resized.emit(program.emitter()),
            operands.input(0),
            ((long) b * input.dimension(1) + row.left()) * line,
            operands.output(),
            ((long) b * output.dimension(1) + y) * resultLine,
            constant,
            1);
      }
    }
  }

  private static Column column(boolean isBilinear, Sampling sampling, int cell) {
    if (!isBilinear) {
      int nearest = sampling.nearest(cell);
      return new Column(nearest, nearest, 0);
    }
    float position = sampling.position(cell);
    int lower = sampling.lower(position);
    return new Column(lower, Math.max(lower, sampling.upper(position)), position - lower);
  }
}
