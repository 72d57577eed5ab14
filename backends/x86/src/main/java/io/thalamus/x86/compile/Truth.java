// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.Elementwise.QuantizedExtreme;
import io.thalamus.operations.LookupTable;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Selection.Choice;
import io.thalamus.x86.kernel.Cast.Type;
import io.thalamus.x86.kernel.Chosen;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Strided;
import java.util.Optional;
import java.util.function.IntBinaryOperator;

/** Questions about pairs of elements, logic, and the choice between two tensors. */
public final class Truth {
  /** Elements of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 15;

  private Truth() {}

  /** A question about two numbers. */
  @FunctionalInterface
  private interface Question {
    boolean ask(float a, float b);
  }

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    question(table, OperationCode.EQUAL, Pair.EQUAL, Pair.INT_EQUAL, (a, b) -> a == b);
    question(table, OperationCode.NOT_EQUAL, Pair.NOT_EQUAL, Pair.INT_NOT_EQUAL, (a, b) -> a != b);
    question(table, OperationCode.LESS, Pair.LESS, Pair.INT_LESS, (a, b) -> a < b);
    question(
        table, OperationCode.LESS_EQUAL, Pair.LESS_EQUAL, Pair.INT_LESS_EQUAL, (a, b) -> a <= b);
    question(table, OperationCode.GREATER, Pair.GREATER, Pair.INT_GREATER, (a, b) -> a > b);
    question(
        table,
        OperationCode.GREATER_EQUAL,
        Pair.GREATER_EQUAL,
        Pair.INT_GREATER_EQUAL,
        (a, b) -> a >= b);
    logic(table, OperationCode.LOGICAL_AND, Pair.INT_MINIMUM);
    logic(table, OperationCode.LOGICAL_OR, Pair.INT_MAXIMUM);
    table.add(
        OperationCode.LOGICAL_NOT,
        operation -> Sizes.isPossible(operation.input(0)),
        (operation, operands, program) ->
            StoredTables.map(
                TENSOR_BOOL8,
                value -> value == 0 ? 1 : 0,
                operands.input(0),
                operands.output(),
                program),
        TENSOR_BOOL8);
    extreme(table, OperationCode.MAXIMUM, Pair.INT_MAXIMUM);
    extreme(table, OperationCode.MINIMUM, Pair.INT_MINIMUM);
    table.add(OperationCode.SELECT, Truth::isChoicePossible, Truth::choose, Moving.TYPES);
  }

  private static void question(
      OperationTable.Builder<Lowering> table,
      OperationCode code,
      Pair floats,
      Pair integers,
      Question question) {
    table.add(code, BroadcastRuns::isPossible, pairs(floats), TENSOR_FLOAT32);
    table.add(code, BroadcastRuns::isPossible, pairs(integers), TENSOR_INT32);
    Lowering stored =
        (operation, operands, program) ->
            widened(integers, operation, operands, operands.output(), program);
    table.add(code, BroadcastRuns::isPossible, stored, TENSOR_BOOL8);
    // Bytes of different scales are compared by what they stand for.
    Lowering scaled = StoredPairTables.lowering(operation -> scaled(operation.view(), question));
    table.add(
        code,
        BroadcastRuns::isPossible,
        (operation, operands, program) ->
            (isOfOneScale(operation.view()) ? stored : scaled).lower(operation, operands, program),
        ElementTypes.quantized8());
  }

  private static Lowering pairs(Pair pair) {
    return (operation, operands, program) ->
        Elementwise.pairs(
            pair, operation, operands.input(0), operands.input(1), operands.output(), program);
  }

  private static boolean isOfOneScale(OperationView operation) {
    return operation.input(0).quantization().equals(operation.input(1).quantization());
  }

  private static IntBinaryOperator scaled(OperationView operation, Question question) {
    OperandView first = operation.input(0);
    OperandView second = operation.input(1);
    float firstScale = first.scale();
    float secondScale = second.scale();
    return (a, b) ->
        question.ask((a - first.zeroPoint()) * firstScale, (b - second.zeroPoint()) * secondScale)
            ? 1
            : 0;
  }

  private static void logic(
      OperationTable.Builder<Lowering> table, OperationCode code, Pair extreme) {
    table.add(
        code,
        BroadcastRuns::isPossible,
        (operation, operands, program) -> {
          long count = operation.outputShape(0).elementCount();
          Place both = program.place(count * Integer.BYTES);
          widened(extreme, operation, operands, both, program);
          Place bytes = program.place(count);
          Casting.cast(Type.INT32, both, Type.UINT8, bytes, count, program);
          StoredTables.map(
              TENSOR_BOOL8, value -> value == 0 ? 0 : 1, bytes, operands.output(), program);
        },
        TENSOR_BOOL8);
  }

  /** The larger or the smaller of two stored bytes, each of which is made one of the result. */
  private static void extreme(
      OperationTable.Builder<Lowering> table, OperationCode code, Pair pair) {
    table.add(
        code,
        BroadcastRuns::isPossible,
        (operation, operands, program) -> {
          QuantizedExtreme extreme = operation.parameters(QuantizedExtreme.class);
          OperandType type = operation.view().output().type();
          long count = operation.outputShape(0).elementCount();
          Place first = rescaled(type, Optional.of(extreme.first()), operands.input(0), program);
          Place second = rescaled(type, Optional.of(extreme.second()), operands.input(1), program);
          Place chosen = program.place(count * Integer.BYTES);
          Elementwise.pairs(
              pair,
              operation,
              Casting.widen(type, first, Type.INT32, program),
              Casting.widen(type, second, Type.INT32, program),
              chosen,
              program);
          Type bytes = Casting.type(type).orElseThrow();
          Casting.cast(Type.INT32, chosen, bytes, operands.output(), count, program);
        },
        ElementTypes.quantized8());
  }

  /** A function of the stored bytes of two tensors. */
  static void widened(
      Pair pair,
      ResolvedOperation operation,
      Lowering.Operands operands,
      Place result,
      ProgramBuilder program) {
    OperationView view = operation.view();
    Elementwise.pairs(
        pair,
        operation,
        Casting.widen(view.input(0).type(), operands.input(0), Type.INT32, program),
        Casting.widen(view.input(1).type(), operands.input(1), Type.INT32, program),
        result,
        program);
  }

  private static boolean isChoicePossible(OperationView operation) {
    return operation.inputs().stream().allMatch(Sizes::isPossible)
        && operation.output().type().elementSize() <= Integer.BYTES;
  }

  private static void choose(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Choice choice = operation.parameters(Choice.class);
    OperandType type = operation.view().output().type();
    Place first = rescaled(type, choice.first(), operands.input(1), program);
    Place second = rescaled(type, choice.second(), operands.input(2), program);
    int size = type.elementSize();
    long count = operation.outputShape(0).elementCount();
    for (long at = 0; at < count; at += LONGEST) {
      int length = (int) Math.min(LONGEST, count - at);
      Strided copy = new Strided(size, length, size, size, 0, 0);
      program.call(copy, second.at(at * size), operands.output().at(at * size));
    }
    program.barrier();
    for (long at = 0; at < count; at += LONGEST) {
      Chosen chosen = new Chosen(size, (int) Math.min(LONGEST, count - at));
      program.call(
          chosen, operands.input(0).at(at), operands.output().at(at * size), first.at(at * size));
    }
  }

  private static Place rescaled(
      OperandType type, Optional<LookupTable> table, Place from, ProgramBuilder program) {
    if (table.isEmpty()) {
      return from;
    }
    Place to = program.place(from.bytes());
    StoredTables.map(type, table.get()::apply, from, to, program);
    return to;
  }
}
