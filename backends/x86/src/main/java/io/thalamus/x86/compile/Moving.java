// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Moves;
import io.thalamus.operations.Moves.Part;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.StridedFloats;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Operations that put floats elsewhere; what else they are given are constants. */
public final class Moving {
  /** Floats of a call. */
  private static final int LONGEST = 1 << 16;

  private static final OperationCode[] CODES = {
    OperationCode.PAD,
    OperationCode.PAD_V2,
    OperationCode.TRANSPOSE,
    OperationCode.SLICE,
    OperationCode.STRIDED_SLICE,
    OperationCode.CHANNEL_SHUFFLE,
    OperationCode.DEPTH_TO_SPACE,
    OperationCode.SPACE_TO_DEPTH,
    OperationCode.BATCH_TO_SPACE_ND,
    OperationCode.SPACE_TO_BATCH_ND,
    OperationCode.TILE,
    OperationCode.SPLIT
  };

  private Moving() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table.add(OperationCode.CONCATENATION, Moving::isConcatenation, Moving::lower, TENSOR_FLOAT32);
    for (OperationCode code : CODES) {
      table.add(code, Moving::isPossible, Moving::lower, TENSOR_FLOAT32);
    }
  }

  /** The axis comes last. */
  private static boolean isConcatenation(OperationView operation) {
    int tensors = operation.inputs().size() - 1;
    return operation.input(tensors).value().isPresent()
        && operation.inputs().stream().limit(tensors).allMatch(Sizes::isPossible)
        && Sizes.isPossible(operation.output());
  }

  private static boolean isPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.outputs().stream().allMatch(Sizes::isPossible)
        && IntStream.range(1, operation.inputs().size())
            .allMatch(i -> !operation.has(i) || operation.input(i).value().isPresent())
        && (operation.type() != OperationCode.STRIDED_SLICE
            || IntStream.of(operation.input(3).int32s()).allMatch(stride -> stride > 0));
  }

  /** Where a run is read and written, in elements. */
  private record Run(long from, long to) {}

  private static void lower(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Moves moves = operation.parameters(Moves.class);
    if (moves.fill().isPresent()) {
      Place value = program.constantPlace(bytes(moves.fill().getAsInt()));
      for (int i = 0; i < operation.view().outputs().size(); i++) {
        Place output = operands.output(i);
        int count = Math.toIntExact(output.bytes() / Float.BYTES);
        StridedFloats fill = new StridedFloats(Math.min(LONGEST, count), 0, Float.BYTES, 0, 0);
        for (int at = 0; at < count; at += fill.count()) {
          int floats = Math.min(fill.count(), count - at);
          program.call(
              new StridedFloats(floats, 0, Float.BYTES, 0, 0).emit(program.emitter()),
              value,
              0,
              output,
              (long) at * Float.BYTES,
              1);
        }
      }
    }
    program.barrier();
    for (Part part : moves.parts()) {
      move(part, operands, program);
    }
  }

  private static byte[] bytes(int word) {
    return new byte[] {(byte) word, (byte) (word >> 8), (byte) (word >> 16), (byte) (word >> 24)};
  }

  private static void move(Part part, Lowering.Operands operands, ProgramBuilder program) {
    List<Run> runs = new ArrayList<>();
    part.copy().forEachRun((from, to) -> runs.add(new Run(from, to)));
    Place source = operands.input(part.input());
    Place target = operands.output(part.output());
    int first = 0;
    while (first < runs.size()) {
      int end = first + 1;
      while (end < runs.size() && isStep(runs, first, end)) {
        end++;
      }
      block(part, runs.subList(first, end), source, target, program);
      first = end;
    }
  }

  /** Whether a run lies as far behind the last one as the second does behind the first. */
  private static boolean isStep(List<Run> runs, int first, int next) {
    Run begin = runs.get(first);
    Run second = runs.get(first + 1);
    Run last = runs.get(next - 1);
    Run run = runs.get(next);
    return second.from() >= begin.from()
        && second.to() >= begin.to()
        && run.from() - last.from() == second.from() - begin.from()
        && run.to() - last.to() == second.to() - begin.to();
  }

  /** Runs that lie equally far from each other. */
  private static void block(
      Part part, List<Run> runs, Place source, Place target, ProgramBuilder program) {
    Run begin = runs.getFirst();
    boolean isMany = runs.size() > 1;
    int fromStep = isMany ? bytes(runs.get(1).from() - begin.from()) : 0;
    int toStep = isMany ? bytes(runs.get(1).to() - begin.to()) : 0;
    int readStep = bytes(part.copy().runSourceStride());
    int writeStep = bytes(part.copy().runTargetStride());
    int length = part.copy().runLength();
    for (int at = 0; at < length; at += LONGEST) {
      StridedFloats copy =
          new StridedFloats(Math.min(LONGEST, length - at), readStep, writeStep, fromStep, toStep);
      int most = Math.max(1, LONGEST / copy.count());
      for (int run = 0; run < runs.size(); run += most) {
        program.call(
            copy.emit(program.emitter()),
            source,
            runs.get(run).from() * Float.BYTES + (long) at * readStep,
            target,
            runs.get(run).to() * Float.BYTES + (long) at * writeStep,
            Math.min(most, runs.size() - run));
      }
    }
  }

  private static int bytes(long elements) {
    return Math.toIntExact(elements * Float.BYTES);
  }
}
