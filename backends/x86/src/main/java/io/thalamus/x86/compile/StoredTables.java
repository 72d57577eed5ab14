// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Activation.QuantizedPrelu;
import io.thalamus.operations.Activation.Range;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.LookupTable;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.ByteTable;
import java.lang.foreign.ValueLayout;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.IntUnaryOperator;

/** Functions of a single stored byte, looked up. */
public final class StoredTables {
  /** Bytes of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 16;

  private StoredTables() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.LOGISTIC, OperationCode.TANH, OperationCode.HARD_SWISH
        }) {
      add(table, code, operation -> operation.parameters(LookupTable.class)::apply);
    }
    for (OperationCode code :
        new OperationCode[] {OperationCode.RELU, OperationCode.RELU1, OperationCode.RELU6}) {
      add(
          table,
          code,
          operation -> {
            IntRange range = operation.parameters(Range.class).stored().orElseThrow();
            return range::clamp;
          });
    }
    table.add(
        OperationCode.PRELU,
        operation ->
            Sizes.isPossible(operation.input(0))
                && operation.input(1).value().isPresent()
                && operation.input(1).shape().elementCount() == 1
                && operation.input(1).shape().rank() <= operation.input(0).shape().rank(),
        (operation, operands, program) -> {
          byte slope =
              operation.view().input(1).value().orElseThrow().get(ValueLayout.JAVA_BYTE, 0);
          int stored = StoredConvolution.isSigned(operation.view()) ? slope : slope & 0xFF;
          IntBinaryOperator prelu = prelu(operation);
          map(
              operation.view().input(0).type(),
              value -> prelu.applyAsInt(value, stored),
              operands.input(0),
              operands.output(),
              program);
        },
        ElementTypes.quantized8());
    table.add(
        OperationCode.PRELU,
        BroadcastRuns::isPossible,
        StoredPairTables.lowering(StoredTables::prelu),
        ElementTypes.quantized8());
    StoredPairTables.register(table);
  }

  private static IntBinaryOperator prelu(ResolvedOperation operation) {
    QuantizedPrelu prelu = operation.parameters(QuantizedPrelu.class);
    OperandView input = operation.view().input(0);
    OperandView slope = operation.view().input(1);
    int zeroPoint = operation.view().output().zeroPoint();
    return (value, stored) -> {
      int distance = value - input.zeroPoint();
      int scaled =
          distance < 0
              ? prelu.negative().apply(distance * (stored - slope.zeroPoint()))
              : prelu.positive().apply(distance);
      return prelu.range().clamp(scaled + zeroPoint);
    };
  }

  private static void add(
      OperationTable.Builder<Lowering> table,
      OperationCode code,
      Function<ResolvedOperation, IntUnaryOperator> function) {
    table.add(
        code,
        operation -> Sizes.isPossible(operation.input(0)),
        (operation, operands, program) ->
            map(
                operation.view().input(0).type(),
                function.apply(operation),
                operands.input(0),
                operands.output(),
                program),
        ElementTypes.quantized8());
  }

  /** Writes what a function says of each stored byte of a place. */
  static void map(
      OperandType type, IntUnaryOperator function, Place from, Place to, ProgramBuilder program) {
    byte[] table = new byte[ByteTable.SIZE];
    for (int i = 0; i < table.length; i++) {
      boolean isSigned = type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
      table[i] = (byte) function.applyAsInt(isSigned ? (byte) i : i);
    }
    long constant = program.constant(table);
    for (long at = 0; at < from.bytes(); at += LONGEST) {
      ByteTable run = new ByteTable((int) Math.min(LONGEST, from.bytes() - at));
      program.call(run, from.at(at), to.at(at), Spot.ofConstant(constant));
    }
  }
}
