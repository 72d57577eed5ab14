// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.Elementwise.QuantizedSquare;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.kernel.JoinedBytes;
import io.thalamus.x86.kernel.WordTable;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;

/** Functions of two stored bytes, looked up: those that are no sums or products of integers. */
final class StoredPairTables {
  /** Bytes of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 15;

  private StoredPairTables() {}

  /** Adds the operations to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        ThalamusExtension.SQUARED_DIFFERENCE,
        BroadcastRuns::isPossible,
        lowering(StoredPairTables::squaredDifference),
        ElementTypes.quantized8());
  }

  private static IntBinaryOperator squaredDifference(ResolvedOperation operation) {
    QuantizedSquare square = operation.parameters(QuantizedSquare.class);
    int first = operation.view().input(0).zeroPoint();
    int second = operation.view().input(1).zeroPoint();
    OperandView output = operation.view().output();
    IntRange range = IntRange.of((OperandCode) output.type());
    return (a, b) -> range.clamp(square.apply(a - first, b - second) + output.zeroPoint());
  }

  static Lowering lowering(Function<ResolvedOperation, IntBinaryOperator> source) {
    return (operation, operands, program) -> {
      boolean isSigned = StoredConvolution.isSigned(operation.view());
      IntBinaryOperator function = source.apply(operation);
      byte[] table = new byte[WordTable.ENTRIES];
      for (int i = 0; i < table.length; i++) {
        int a = isSigned ? (byte) i : i & 0xFF;
        int b = isSigned ? (byte) (i >> Byte.SIZE) : i >> Byte.SIZE;
        table[i] = (byte) function.applyAsInt(a, b);
      }
      long constant = program.constant(table);
      Place output = operands.output();
      Place joined = program.place(output.bytes() * Short.BYTES);
      BroadcastRuns.forEach(
          operation,
          LONGEST,
          block ->
              program.call(
                  new JoinedBytes(
                      block.count(),
                      block.first().isRepeated(),
                      block.second().isRepeated(),
                      block.first().step(),
                      block.second().step()),
                  block.blocks(),
                  operands.input(0).at(block.first().at()),
                  joined.at(block.result() * Short.BYTES),
                  operands.input(1).at(block.second().at())));
      for (long at = 0; at < output.bytes(); at += LONGEST) {
        WordTable run = new WordTable(1, (int) Math.min(LONGEST, output.bytes() - at));
        program.call(run, joined.at(at * Short.BYTES), output.at(at), Spot.ofConstant(constant));
      }
    };
  }
}
