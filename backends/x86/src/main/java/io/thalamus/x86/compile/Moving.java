// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.Moves;
import io.thalamus.operations.Moves.Part;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.StridedCopy.Block;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.kernel.FunctionSource;
import io.thalamus.x86.kernel.Strided;
import io.thalamus.x86.kernel.Transposed;

/** Operations that put elements elsewhere; what else they are given are constants. */
public final class Moving {
  /** Elements of a call. */
  private static final int LONGEST = 1 << 16;

  /** Rows that are transposed at a time. */
  static final int STRIP = 64;

  static final OperandCode[] TYPES = ElementTypes.movable();

  private Moving() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table.add(OperationCode.CONCATENATION, Moving::isConcatenation, Moving::lower, TYPES);
    table.add(ThalamusExtension.CONCATENATION, Moving::isConcatenation, Moving::lower, TYPES);
    table.add(ThalamusExtension.PACK, Moving::isPack, Moving::lower, TYPES);
    for (OperationType code : Moves.operations()) {
      table.add(code, Moving::isIdentity, Elementwise.ALIAS, TYPES);
      table.add(code, Moving::isPossible, Moving::lower, TYPES);
    }
  }

  /** The axis comes last. */
  private static boolean isConcatenation(OperationView operation) {
    int tensors = operation.inputs().size() - 1;
    return operation.input(tensors).value().isPresent()
        && operation.inputs().stream().limit(tensors).allMatch(Sizes::isPossible)
        && Sizes.isPossible(operation.output());
  }

  /** The axis comes first. */
  private static boolean isPack(OperationView operation) {
    return operation.input(0).value().isPresent()
        && operation.inputs().stream().skip(1).allMatch(Sizes::isPossible)
        && Sizes.isPossible(operation.output());
  }

  private static boolean isPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.outputs().stream().allMatch(Sizes::isPossible)
        && operation.hasValuesWhereGiven(1);
  }

  private static boolean isIdentity(OperationView operation) {
    return isPossible(operation)
        && StaticGraph.parameters(operation, Moves.class)
            .filter(moves -> moves.isIdentity(operation))
            .isPresent();
  }

  private static void lower(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Moves moves = operation.parameters(Moves.class);
    int size = operation.view().output(0).type().elementSize();
    if (moves.fill().isPresent()) {
      Place value = program.constantPlace(bytes(moves.fill().getAsInt()));
      for (int i = 0; i < operation.view().outputs().size(); i++) {
        Place output = operands.output(i);
        long count = output.bytes() / size;
        for (long at = 0; at < count; at += LONGEST) {
          int part = (int) Math.min(LONGEST, count - at);
          Strided fill = new Strided(size, part, 0, size, 0, 0);
          program.call(fill, value.at(0), output.at(at * size));
        }
      }
    }
    program.barrier();
    for (Part part : moves.parts()) {
      if (operands.isWritten(part.input())) {
        continue;
      }
      Place source = operands.input(part.input());
      if (part.rescaling().isPresent()) {
        OperandType type = operation.view().input(part.input()).type();
        Place rescaled = program.place(source.bytes());
        StoredTables.map(type, part.rescaling().get()::apply, source, rescaled, program);
        source = rescaled;
      }
      move(part, size, source, operands.output(part.output()), program);
    }
  }

  /** Copies all bytes of a place. */
  static void copy(Place source, Place target, ProgramBuilder program) {
    int most = LONGEST * Float.BYTES;
    for (long at = 0; at < source.bytes(); at += most) {
      int count = (int) Math.min(most, source.bytes() - at);
      program.call(new Strided(1, count, 1, 1, 0, 0), source.at(at), target.at(at));
    }
  }

  /** Copies words that stand some bytes apart, or one word, to where they are beside each other. */
  static void words(Spot from, int step, Spot to, long count, ProgramBuilder program) {
    for (long first = 0; first < count; first += LONGEST) {
      int some = (int) Math.min(LONGEST, count - first);
      program.call(
          new Strided(Integer.BYTES, some, step, Integer.BYTES, 0, 0),
          from.plus(first * step),
          to.plus(first * Integer.BYTES));
    }
  }

  private static byte[] bytes(int word) {
    return new byte[] {(byte) word, (byte) (word >> 8), (byte) (word >> 16), (byte) (word >> 24)};
  }

  private static void move(
      Part part, int size, Place source, Place target, ProgramBuilder program) {
    part.copy()
        .forEachBlock(
            block -> {
              boolean isForward = block.sourceStep() >= 0 && block.targetStep() >= 0;
              for (int i = 0; i < (isForward ? 1 : block.runs()); i++) {
                block(part, size, isForward ? block : block.run(i), source, target, program);
              }
            });
  }

  /** Writes the rows of a matrix of 32 bits, which are beside each other, as columns. */
  static void transpose(int rows, int columns, Spot source, Spot target, ProgramBuilder program) {
    transpose(rows, columns, columns * Float.BYTES, rows * Float.BYTES, source, target, program);
  }

  /** Rows of the source that become columns, by strips of either. */
  static void transpose(
      int rows,
      int columns,
      int readStep,
      int writeStep,
      Spot source,
      Spot target,
      ProgramBuilder program) {
    for (int row = 0; row < rows; row += STRIP) {
      for (int column = 0; column < columns; column += LONGEST / STRIP) {
        Transposed square =
            new Transposed(
                Math.min(STRIP, rows - row),
                Math.min(LONGEST / STRIP, columns - column),
                readStep,
                writeStep);
        program.call(
            square,
            source.plus((long) column * Float.BYTES + (long) row * readStep),
            target.plus((long) row * Float.BYTES + (long) column * writeStep));
      }
    }
  }

  /** Runs that lie equally far from each other, each behind the last one. */
  private static void block(
      Part part, int size, Block block, Place source, Place target, ProgramBuilder program) {
    int runs = block.runs();
    int fromStep = Math.toIntExact(block.sourceStep() * size);
    int toStep = Math.toIntExact(block.targetStep() * size);
    int readStep = Math.toIntExact(part.copy().runSourceStride() * size);
    int writeStep = Math.toIntExact(part.copy().runTargetStride() * size);
    int length = part.copy().runLength();
    Spot from = source.at(block.source() * size);
    Spot to = target.at(block.target() * size);
    if (size == Float.BYTES && runs > 1) {
      // Elements that are neighbours in one tensor, and a step apart in the other.
      if (writeStep == size && fromStep == size && readStep > 0) {
        transpose(length, runs, readStep, toStep, from, to, program);
        return;
      }
      if (readStep == size && toStep == size && writeStep > 0) {
        transpose(runs, length, fromStep, writeStep, from, to, program);
        return;
      }
    }
    for (int at = 0; at < length; at += LONGEST) {
      int count = Math.min(LONGEST, length - at);
      FunctionSource copy = new Strided(size, count, readStep, writeStep, fromStep, toStep);
      int most = Math.max(1, LONGEST / count);
      program.callInParts(
          copy,
          runs,
          most,
          from.plus((long) at * readStep + Math.min(0, (count - 1L) * readStep)),
          to.plus((long) at * writeStep));
    }
  }
}
