// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ResolvedOperation;

/** Questions about pairs of elements. */
final class Comparison {
  private Comparison() {}

  /** A question about two numbers. */
  @FunctionalInterface
  private interface Question {
    boolean ask(double a, double b);
  }

  static void register(KernelTable.Builder table) {
    add(table, OperationCode.EQUAL, (a, b) -> a == b, ElementTypes.numbersAndTruth());
    add(table, OperationCode.NOT_EQUAL, (a, b) -> a != b, ElementTypes.numbersAndTruth());
    add(table, OperationCode.LESS, (a, b) -> a < b, ElementTypes.numbersAndTruth());
    add(table, OperationCode.LESS_EQUAL, (a, b) -> a <= b, ElementTypes.numbersAndTruth());
    add(table, OperationCode.GREATER, (a, b) -> a > b, ElementTypes.numbersAndTruth());
    add(table, OperationCode.GREATER_EQUAL, (a, b) -> a >= b, ElementTypes.numbersAndTruth());
    add(table, OperationCode.LOGICAL_AND, (a, b) -> a != 0 && b != 0, TENSOR_BOOL8);
    add(table, OperationCode.LOGICAL_OR, (a, b) -> a != 0 || b != 0, TENSOR_BOOL8);
  }

  private static void add(
      KernelTable.Builder table, OperationCode code, Question question, OperandCode... types) {
    table.add(code, operation -> kernel(operation, question), types);
  }

  private static Kernel kernel(ResolvedOperation operation, Question question) {
    NumberReader first = NumberReader.real(operation.view().input(0));
    NumberReader second = NumberReader.real(operation.view().input(1));
    BroadcastPairs pairs = BroadcastPairs.of(operation);
    return (inputs, outputs, scratch, work) ->
        pairs.forEach(
            work,
            (a, b, result) -> {
              boolean answer = question.ask(first.get(inputs[0], a), second.get(inputs[1], b));
              Elements.UINT8.setInt(outputs[0], result, answer ? 1 : 0);
            });
  }
}
