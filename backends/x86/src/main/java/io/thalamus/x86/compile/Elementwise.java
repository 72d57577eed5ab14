// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.ValidationException;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.kernel.Pairs;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Float arithmetic on two tensors, clamps of one, and other names for the same tensor. */
public final class Elementwise {
  /** Floats of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 16;

  /** Calls of an operation: more are better left to others. */
  private static final long MOST_RUNS = 4096;

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
    clamp(table, OperationCode.RELU, FusedActivation.RELU);
    clamp(table, OperationCode.RELU1, FusedActivation.RELU1);
    clamp(table, OperationCode.RELU6, FusedActivation.RELU6);
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RESHAPE, OperationCode.SQUEEZE, OperationCode.EXPAND_DIMS
        }) {
      table.add(code, Elementwise::isAliasPossible, ALIAS, TENSOR_FLOAT32);
    }
  }

  private static boolean isAliasPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.inputs().stream()
            .skip(1)
            .allMatch(input -> input.isOmitted() || input.value().isPresent());
  }

  private static void clamp(
      OperationTable.Builder<Lowering> table, OperationCode code, FusedActivation activation) {
    table.add(
        code,
        operation -> Sizes.isPossible(operation.input(0)),
        (operation, operands, program) -> {
          long count = operation.outputShape(0).elementCount();
          for (long from = 0; from < count; from += LONGEST) {
            int length = (int) Math.min(LONGEST, count - from);
            Pairs run = new Pairs(Optional.empty(), length, false, false, activation);
            program.call(
                run.emit(program.emitter()),
                operands.input(0),
                from * Float.BYTES,
                operands.output(),
                from * Float.BYTES,
                1);
          }
        },
        TENSOR_FLOAT32);
  }

  private static void pair(
      OperationTable.Builder<Lowering> table, OperationCode code, Binary function) {
    table.add(
        code,
        Elementwise::isPairPossible,
        (operation, operands, program) -> lower(function, operation, operands, program),
        TENSOR_FLOAT32);
  }

  private static boolean isPairPossible(OperationView operation) {
    if (!Sizes.isPossible(operation.input(0))
        || !Sizes.isPossible(operation.input(1))
        || operation.input(2).value().isEmpty()) {
      return false;
    }
    try {
      Shape first = operation.input(0).shape();
      Shape second = operation.input(1).shape();
      Shape result = Broadcast.shape(first, second);
      List<Axis> axes = axes(first, second, result);
      int inner = axes.isEmpty() ? 1 : axes.getLast().size();
      return result.elementCount() < Sizes.MOST_FLOATS && result.elementCount() / inner < MOST_RUNS;
    } catch (ValidationException e) {
      return false;
    }
  }

  /** A dimension of the result, and how far one step along it moves in each tensor. */
  private record Axis(int size, int first, int second) {
    private boolean continues(Axis inner) {
      return first == inner.size * inner.first && second == inner.size * inner.second;
    }
  }

  private static void lower(
      Binary function,
      ResolvedOperation operation,
      Lowering.Operands operands,
      ProgramBuilder program) {
    List<Axis> axes =
        axes(operation.inputShape(0), operation.inputShape(1), operation.outputShape(0));
    Axis inner = axes.isEmpty() ? new Axis(1, 1, 1) : axes.removeLast();
    long runs = operation.outputShape(0).elementCount() / inner.size();
    for (long run = 0; run < runs; run++) {
      long first = 0;
      long second = 0;
      long rest = run;
      for (Axis axis : axes.reversed()) {
        first += rest % axis.size() * axis.first();
        second += rest % axis.size() * axis.second();
        rest /= axis.size();
      }
      for (int from = 0; from < inner.size(); from += LONGEST) {
        Pairs pairs =
            new Pairs(
                Optional.of(function),
                Math.min(LONGEST, inner.size() - from),
                inner.first() == 0,
                inner.second() == 0,
                operation.parameters(Plain.class).activation());
        program.call(
            pairs.emit(program.emitter()),
            operands.input(0),
            (first + (long) from * inner.first()) * Float.BYTES,
            operands.output(),
            (run * inner.size() + from) * Float.BYTES,
            operands.input(1),
            (second + (long) from * inner.second()) * Float.BYTES);
      }
    }
  }

  /** The dimensions of the result, those joined that can be walked as one. */
  private static List<Axis> axes(Shape first, Shape second, Shape result) {
    int[] firstStrides = Broadcast.strides(first, result);
    int[] secondStrides = Broadcast.strides(second, result);
    List<Axis> axes = new ArrayList<>();
    for (int i = result.rank() - 1; i >= 0; i--) {
      Axis axis = new Axis(result.dimension(i), firstStrides[i], secondStrides[i]);
      if (axis.size() == 1) {
        continue;
      }
      if (!axes.isEmpty() && axis.continues(axes.getFirst())) {
        Axis inside = axes.removeFirst();
        axis = new Axis(axis.size() * inside.size(), inside.first(), inside.second());
      }
      axes.addFirst(axis);
    }
    return axes;
  }
}
