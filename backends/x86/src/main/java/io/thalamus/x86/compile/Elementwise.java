// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.kernel.Emitter;
import io.thalamus.x86.kernel.Function;
import io.thalamus.x86.kernel.Mapped;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.Pairs;
import java.util.Optional;
import java.util.function.BiFunction;

/** Float arithmetic on two tensors, functions of one, and other names for the same tensor. */
public final class Elementwise {
  /** Floats of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 16;

  private static final Lowering ALIAS =
      new Lowering() {
        @Override
        public void lower(ResolvedOperation operation, Operands operands, ProgramBuilder program) {
          throw new IllegalStateException("an alias has no calls");
        }

        @Override
        public boolean isAlias() {
          return true;
        }
      };

  private Elementwise() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    pair(table, OperationCode.ADD, Binary.VADDPS);
    pair(table, OperationCode.SUB, Binary.VSUBPS);
    pair(table, OperationCode.MUL, Binary.VMULPS);
    pair(table, OperationCode.DIV, Binary.VDIVPS);
    clamp(table, OperationCode.RELU, FusedActivation.RELU);
    clamp(table, OperationCode.RELU1, FusedActivation.RELU1);
    clamp(table, OperationCode.RELU6, FusedActivation.RELU6);
    map(table, OperationCode.LOGISTIC, Kind.LOGISTIC);
    map(table, OperationCode.TANH, Kind.TANH);
    map(table, OperationCode.HARD_SWISH, Kind.HARD_SWISH);
    map(table, OperationCode.ABS, Kind.ABS);
    map(table, OperationCode.NEG, Kind.NEG);
    map(table, OperationCode.SQRT, Kind.SQRT);
    map(table, OperationCode.RSQRT, Kind.RSQRT);
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RESHAPE, OperationCode.SQUEEZE, OperationCode.EXPAND_DIMS
        }) {
      table.add(
          code,
          Elementwise::isAliasPossible,
          ALIAS,
          TENSOR_FLOAT32,
          TENSOR_QUANT8_ASYMM,
          TENSOR_QUANT8_ASYMM_SIGNED);
    }
  }

  private static boolean isAliasPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.inputs().stream()
            .skip(1)
            .allMatch(input -> input.isOmitted() || input.value().isPresent());
  }

  /** Adds a function of single floats. */
  private static void single(
      OperationTable.Builder<Lowering> table,
      OperationCode code,
      BiFunction<Emitter, Integer, Function> function) {
    table.add(
        code,
        operation -> Sizes.isPossible(operation.input(0)),
        (operation, operands, program) -> {
          long count = operation.outputShape(0).elementCount();
          for (long from = 0; from < count; from += LONGEST) {
            int length = (int) Math.min(LONGEST, count - from);
            program.call(
                function.apply(program.emitter(), length),
                operands.input(0),
                from * Float.BYTES,
                operands.output(),
                from * Float.BYTES,
                1);
          }
        },
        TENSOR_FLOAT32);
  }

  private static void map(OperationTable.Builder<Lowering> table, OperationCode code, Kind kind) {
    single(table, code, (emitter, count) -> new Mapped(kind, count).emit(emitter));
  }

  private static void clamp(
      OperationTable.Builder<Lowering> table, OperationCode code, FusedActivation activation) {
    single(
        table,
        code,
        (emitter, count) ->
            new Pairs(Optional.empty(), count, false, false, activation).emit(emitter));
  }

  private static void pair(
      OperationTable.Builder<Lowering> table, OperationCode code, Binary function) {
    table.add(
        code,
        BroadcastRuns::isPossible,
        (operation, operands, program) -> lower(function, operation, operands, program),
        TENSOR_FLOAT32);
  }

  private static void lower(
      Binary function,
      ResolvedOperation operation,
      Lowering.Operands operands,
      ProgramBuilder program) {
    FusedActivation activation = operation.parameters(Plain.class).activation();
    BroadcastRuns.forEach(
        operation.inputShape(0),
        operation.inputShape(1),
        operation.outputShape(0),
        LONGEST,
        (first, second, result, count, isFirstRepeated, isSecondRepeated) ->
            program.call(
                new Pairs(
                        Optional.of(function), count, isFirstRepeated, isSecondRepeated, activation)
                    .emit(program.emitter()),
                operands.input(0),
                first * Float.BYTES,
                operands.output(),
                result * Float.BYTES,
                operands.input(1),
                second * Float.BYTES));
  }
}
