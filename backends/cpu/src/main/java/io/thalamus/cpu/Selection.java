// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.LookupTable;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Selection.Axis;
import io.thalamus.operations.Selection.Choice;
import io.thalamus.operations.Selection.Top;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Operations that choose elements by what they are. */
final class Selection {
  private Selection() {}

  static void register(KernelTable.Builder table) {
    table
        .add(OperationCode.SELECT, Selection::select, ElementTypes.numbers())
        .add(
            OperationCode.ARGMAX,
            operation -> arg(operation, (a, b) -> a > b),
            ElementTypes.numbers())
        .add(
            OperationCode.ARGMIN,
            operation -> arg(operation, (a, b) -> a < b),
            ElementTypes.numbers())
        .add(OperationCode.TOPK_V2, Selection::topK, ElementTypes.numbers());
  }

  private static Kernel select(ResolvedOperation operation) {
    Choice choice = operation.parameters(Choice.class);
    OperandType type = operation.view().output().type();
    DataMovement mover = DataMovement.of(type);
    long count = operation.outputShape(0).elementCount();
    return (inputs, outputs, scratch, work) -> {
      for (long i = 0; i < count; i++) {
        work.done(1);
        boolean isFirst = Elements.UINT8.getInt(inputs[0], i) != 0;
        MemorySegment chosen = isFirst ? inputs[1] : inputs[2];
        Optional<LookupTable> rescaling = isFirst ? choice.first() : choice.second();
        if (rescaling.isPresent()) {
          Elements elements = Elements.of(type);
          elements.setInt(outputs[0], i, rescaling.get().apply(elements.getInt(chosen, i)));
        } else {
          mover.copy(work, chosen, i, outputs[0], i, 1);
        }
      }
    };
  }

  /** Returns whether one number is chosen rather than another one before it. */
  @FunctionalInterface
  private interface Preference {
    boolean prefers(double candidate, double best);
  }

  private static Kernel arg(ResolvedOperation operation, Preference preference) {
    Axis axis = operation.parameters(Axis.class);
    NumberReader numbers = NumberReader.stored(operation.view().input(0).type());
    return (inputs, outputs, scratch, work) -> {
      long result = 0;
      for (long outer = 0; outer < axis.outer(); outer++) {
        for (long inner = 0; inner < axis.inner(); inner++) {
          long first = outer * axis.size() * axis.inner() + inner;
          work.done(axis.size());
          int best = 0;
          double bestNumber = numbers.get(inputs[0], first);
          for (int i = 1; i < axis.size(); i++) {
            double number = numbers.get(inputs[0], first + (long) i * axis.inner());
            if (preference.prefers(number, bestNumber)) {
              best = i;
              bestNumber = number;
            }
          }
          Elements.INT32.setInt(outputs[0], result++, best);
        }
      }
    };
  }

  /**
   * Sorts each element of a row into the top of those before it; of equals the later comes first.
   */
  private static Kernel topK(ResolvedOperation operation) {
    Top top = operation.parameters(Top.class);
    OperandType type = operation.view().input(0).type();
    NumberReader numbers = NumberReader.stored(type);
    DataMovement values = DataMovement.of(type);
    DataMovement indexes = DataMovement.of(TENSOR_INT32);
    return (inputs, outputs, scratch, work) -> {
      for (long row = 0; row < top.rows(); row++) {
        long first = row * top.k();
        for (int i = 0; i < top.rowLength(); i++) {
          long source = row * top.rowLength() + i;
          double number = numbers.get(inputs[0], source);
          work.done(1);
          int place = Math.min(i, top.k());
          while (place > 0 && numbers.get(outputs[0], first + place - 1) <= number) {
            work.done(1);
            place--;
          }
          if (place == top.k()) {
            continue;
          }
          long target = first + place;
          int moved = Math.min(i, top.k() - 1) - place;
          values.copy(work, outputs[0], target, outputs[0], target + 1, moved);
          indexes.copy(work, outputs[1], target, outputs[1], target + 1, moved);
          values.copy(work, inputs[0], source, outputs[0], target, 1);
          Elements.INT32.setInt(outputs[1], target, i);
        }
      }
    };
  }
}
