// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Resize.Parameters;
import io.thalamus.operations.Resize.Sampling;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.Cast.Type;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.ResizedLine;
import io.thalamus.x86.kernel.ResizedLine.Column;
import io.thalamus.x86.kernel.ResizedLine.Way;
import io.thalamus.x86.kernel.Strided;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Images at another size; channels stand last. */
public final class Resize {
  private static final int LAYOUT = 3;

  /** Elements of a call that copies. */
  private static final int LONGEST = 1 << 15;

  /** Calls of an operation. */
  private static final long MOST_LINES = 1 << 16;

  private Resize() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(
            OperationCode.RESIZE_BILINEAR,
            Resize::isPossible,
            (operation, operands, program) ->
                lines(Way.BETWEEN, operation, operands.input(0), operands.output(), program),
            TENSOR_FLOAT32)
        .add(
            OperationCode.RESIZE_NEAREST_NEIGHBOR,
            Resize::isPossible,
            (operation, operands, program) ->
                lines(Way.NEAREST, operation, operands.input(0), operands.output(), program),
            TENSOR_FLOAT32)
        .add(
            OperationCode.RESIZE_BILINEAR,
            Resize::isPossible,
            Resize::stored,
            ElementTypes.quantized8())
        .add(
            OperationCode.RESIZE_NEAREST_NEIGHBOR,
            Resize::isPossible,
            Resize::copies,
            TENSOR_FLOAT16,
            TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED);
  }

  private static boolean isPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.hasValuesWhereGiven(1)
        && Sizes.isPossible(operation.output())
        && !operation.bool(LAYOUT, false)
        && (long) operation.output().shape().dimension(0) * operation.output().shape().dimension(1)
            < MOST_LINES;
  }

  /**
   * Bytes, counted from the least one, become floats; to nearest, half up, they are bytes again.
   */
  private static void stored(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    OperandCode type = (OperandCode) operation.view().output().type();
    int least = IntRange.of(type).min();
    Place from = operands.input(0);
    Place reals = program.place(from.bytes() * Float.BYTES);
    StoredReals.dequantize(least < 0, least, 1, from, reals, program);
    program.nextStep();
    Place output = operands.output();
    int count = (int) output.bytes();
    Place between = program.place((long) count * Float.BYTES);
    lines(Way.SUM_OF_FOUR, operation, reals, between, program);
    program.nextStep();
    Composed steps = new Composed(new ReducedCells(1, count, 1), program);
    Place rounded = steps.with(Pair.ADD, between, 0.5f);
    if (least == 0) {
      Casting.cast(Type.FLOAT32, rounded, Type.UINT8, output, count, program);
    } else {
      Place bytes = program.place(count);
      Casting.cast(Type.FLOAT32, rounded, Type.UINT8, bytes, count, program);
      StoredTables.map(TENSOR_QUANT8_ASYMM, value -> value + least, bytes, output, program);
    }
  }

  /** Elements of any size: each column of all lines, then each line. */
  private static void copies(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape input = operation.inputShape(0);
    Shape output = operation.outputShape(0);
    int size = operation.view().output().type().elementSize();
    int channels = input.dimension(3);
    int cell = channels * size;
    int inputLine = input.dimension(2) * cell;
    int line = output.dimension(2) * cell;
    int lines = input.dimension(0) * input.dimension(1);
    Place wide = program.place((long) lines * line);
    Strided column = new Strided(size, channels, size, size, inputLine, line);
    int most = Math.max(1, LONGEST / channels);
    for (int x = 0; x < output.dimension(2); x++) {
      long from = (long) parameters.width().nearest(x) * cell;
      program.callInParts(
          column, lines, most, operands.input(0).at(from), wide.at((long) x * cell));
    }
    Strided whole = new Strided(size, line / size, size, size, 0, 0);
    for (int b = 0; b < output.dimension(0); b++) {
      for (int y = 0; y < output.dimension(1); y++) {
        program.call(
            whole,
            wide.at(((long) b * input.dimension(1) + parameters.height().nearest(y)) * line),
            operands.output().at(((long) b * output.dimension(1) + y) * line));
      }
    }
  }

  private static void lines(
      Way way, ResolvedOperation operation, Place from, Place to, ProgramBuilder program) {
    boolean isBilinear = way != Way.NEAREST;
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
          new ResizedLine(way, columns, (row.right() - row.left()) * line, input.dimension(3));
      byte[] down =
          ByteBuffer.allocate(Float.BYTES)
              .order(ByteOrder.LITTLE_ENDIAN)
              .putFloat(row.along())
              .array();
      long constant = program.constant(down);
      for (int b = 0; b < output.dimension(0); b++) {
        program.call(
            resized,
            from.at(((long) b * input.dimension(1) + row.left()) * line),
            to.at(((long) b * output.dimension(1) + y) * resultLine),
            Spot.ofConstant(constant));
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
