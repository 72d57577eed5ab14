// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.Elementwise.Even;
import io.thalamus.operations.Elementwise.QuantizedProduct;
import io.thalamus.operations.Elementwise.QuantizedSum;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.kernel.BytePairs;
import io.thalamus.x86.kernel.BytePairs.Reals;
import io.thalamus.x86.kernel.BytePairs.Sum;
import io.thalamus.x86.kernel.Rescale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** 8-bit arithmetic on two tensors with broadcasting: ADD, SUB, MUL. */
public final class StoredPairs {
  /** Bytes of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 16;

  /** Both inputs of a sum: 255 with 20 bits to spare, each scaled by at most a half. */
  private static final long LARGEST_SUM = 1 << 28;

  private static final long LARGEST_PRODUCT = 255 * 255;
  private static final IntRange INTS = new IntRange(Integer.MIN_VALUE, Integer.MAX_VALUE);

  private StoredPairs() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code : new OperationCode[] {OperationCode.ADD, OperationCode.SUB}) {
      table.add(
          code,
          operation -> isPossible(operation, LARGEST_SUM, QuantizedSum.class, QuantizedSum::output),
          StoredPairs::sum,
          ElementTypes.quantized8());
    }
    Map.of(
            ThalamusExtension.ADD, Binary.VADDPS,
            ThalamusExtension.SUB, Binary.VSUBPS,
            ThalamusExtension.MUL, Binary.VMULPS)
        .forEach(
            (type, function) ->
                table.add(
                    type,
                    BroadcastRuns::isPossible,
                    (operation, operands, program) -> even(function, operation, operands, program),
                    ElementTypes.quantized8()));
    table.add(
        OperationCode.MUL,
        operation ->
            isPossible(
                operation, LARGEST_PRODUCT, QuantizedProduct.class, QuantizedProduct::output),
        StoredPairs::product,
        ElementTypes.quantized8());
  }

  private static void even(
      Binary function,
      ResolvedOperation operation,
      Lowering.Operands operands,
      ProgramBuilder program) {
    OperationView view = operation.view();
    Reals reals =
        new Reals(function, view.input(0).scale(), view.input(1).scale(), view.output().scale());
    lower(
        operation,
        operands,
        program,
        Optional.of(reals),
        Optional.empty(),
        Requantization.of(1, Rounding.EVEN),
        operation.parameters(Even.class).activation());
  }

  private static <T> boolean isPossible(
      OperationView operation,
      long largest,
      Class<T> parameters,
      Function<T, Requantization> factor) {
    return BroadcastRuns.isPossible(operation)
        && StaticGraph.parameters(operation, parameters)
            .filter(them -> Scaling.isPossible(factor.apply(them), largest))
            .isPresent();
  }

  private static void sum(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    QuantizedSum sum = operation.parameters(QuantizedSum.class);
    Rescale first = Scaling.factor(sum.input1(), 0, INTS);
    Rescale second = Scaling.factor(sum.input2(), 0, INTS);
    // Both are at most a half, and begin with the same shift.
    Sum factors =
        new Sum(
            sum.leftShift() + first.factor().orElseThrow().first(),
            withoutShift(first),
            withoutShift(second));
    lower(
        operation,
        operands,
        program,
        Optional.empty(),
        Optional.of(factors),
        sum.output(),
        sum.activation());
  }

  private static Rescale withoutShift(Rescale rescale) {
    return new Rescale(
        rescale.isEven(),
        false,
        false,
        rescale.isAway(),
        rescale.hasWhole(),
        rescale.isShiftedLast(),
        rescale.zeroPoint(),
        rescale.low(),
        rescale.high(),
        rescale.factor());
  }

  private static void product(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    QuantizedProduct product = operation.parameters(QuantizedProduct.class);
    lower(
        operation,
        operands,
        program,
        Optional.empty(),
        Optional.empty(),
        product.output(),
        product.activation());
  }

  private static void lower(
      ResolvedOperation operation,
      Lowering.Operands operands,
      ProgramBuilder program,
      Optional<Reals> reals,
      Optional<Sum> sum,
      Requantization output,
      IntRange range) {
    OperationView view = operation.view();
    Rescale factor = Scaling.factor(output, view.output().zeroPoint(), range);
    BroadcastRuns.forEach(
        operation,
        LONGEST,
        block ->
            program.call(
                new BytePairs(
                    reals,
                    sum,
                    factor,
                    block.count(),
                    block.first().isRepeated(),
                    block.second().isRepeated(),
                    block.first().step(),
                    block.second().step(),
                    view.output().type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
                    view.input(0).zeroPoint(),
                    view.input(1).zeroPoint()),
                block.blocks(),
                operands.input(0).at(block.first().at()),
                operands.output().at(block.result()),
                operands.input(1).at(block.second().at())));
  }
}
