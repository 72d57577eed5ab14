// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.kernel.BytesToFloats;
import io.thalamus.x86.kernel.FloatsToBytes;
import java.util.List;

/** Floats made stored bytes and the reverse: QUANTIZE, DEQUANTIZE. */
public final class StoredReals {
  /** Elements of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 16;

  private StoredReals() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationType type : List.of(OperationCode.QUANTIZE, ThalamusExtension.QUANTIZE)) {
      Casting.addFloats(
          table, type, operation -> Sizes.isPossible(operation.input(0)), StoredReals::quantize);
    }
    table.add(
        OperationCode.DEQUANTIZE,
        operation -> Sizes.isPossible(operation.input(0)),
        Casting.inFloats(StoredReals::dequantize),
        ElementTypes.quantized8());
  }

  private static void quantize(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    OperandView output = operation.view().output();
    long count = operation.outputShape(0).elementCount();
    for (long from = 0; from < count; from += LONGEST) {
      FloatsToBytes run =
          new FloatsToBytes(
              operation.view().type().equals(ThalamusExtension.QUANTIZE),
              (int) Math.min(LONGEST, count - from),
              output.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
              false,
              output.zeroPoint(),
              output.scale());
      program.call(run, operands.input(0).at(from * Float.BYTES), operands.output().at(from));
    }
  }

  private static void dequantize(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    OperandView input = operation.view().input(0);
    dequantize(
        input.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
        input.zeroPoint(),
        input.scale(),
        operands.input(0),
        operands.output(),
        program);
  }

  /** Writes the floats that stored bytes stand for. */
  static void dequantize(
      boolean isSigned, int zeroPoint, float scale, Place from, Place to, ProgramBuilder program) {
    long count = from.bytes();
    for (long at = 0; at < count; at += LONGEST) {
      BytesToFloats run =
          new BytesToFloats((int) Math.min(LONGEST, count - at), isSigned, zeroPoint, scale);
      program.call(run, from.at(at), to.at(at * Float.BYTES));
    }
  }
}
