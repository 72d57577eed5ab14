// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Softmax.Parameters;
import io.thalamus.operations.Softmax.StoredScores;
import io.thalamus.x86.kernel.ByteSoftmax;
import io.thalamus.x86.kernel.ByteTable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;

/** 8-bit SOFTMAX along the innermost axis. */
public final class StoredSoftmax {
  /** Scores of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 13;

  private StoredSoftmax() {}

  /** Adds the operation to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        OperationCode.SOFTMAX,
        StoredSoftmax::isPossible,
        StoredSoftmax::lower,
        ElementTypes.quantized8());
  }

  private static boolean isPossible(OperationView operation) {
    if (!Sizes.isPossible(operation.input(0)) || !operation.hasValuesWhereGiven(1)) {
      return false;
    }
    Optional<Parameters> parameters = StaticGraph.parameters(operation, Parameters.class);
    Shape shape = operation.input(0).shape();
    return parameters.isPresent()
        && parameters.get().axis() == shape.rank() - 1
        && shape.dimension(shape.rank() - 1) <= ByteSoftmax.MOST
        && operation.output().zeroPoint()
            == IntRange.of((OperandCode) operation.output().type()).min();
  }

  private static void lower(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    StoredScores scores = operation.parameters(Parameters.class).quantized().orElseThrow();
    ByteBuffer tables = ByteBuffer.allocate(ByteSoftmax.TABLES).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < ByteTable.SIZE; i++) {
      int power = scores.exponential(-i);
      tables.putLong(i * Long.BYTES, power);
      tables.putLong(ByteSoftmax.TABLES / 2 + i * Long.BYTES, StoredScores.term(power));
    }
    long constant = program.constant(tables.array());
    Shape shape = operation.inputShape(0);
    int count = shape.dimension(shape.rank() - 1);
    long lines = shape.elementCount() / count;
    boolean isSigned = operation.view().input(0).type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    int most = Math.max(1, LONGEST / count);
    program.callInParts(
        new ByteSoftmax(count, isSigned),
        lines,
        most,
        operands.input(0).at(0),
        operands.output().at(0),
        Spot.ofConstant(constant));
  }
}
