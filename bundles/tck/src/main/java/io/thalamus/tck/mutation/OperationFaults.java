// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.tck.mutation.MutationFamily.Collector;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.RawSubgraph;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Faults in a single operation. */
final class OperationFaults {
  /** Just outside of the ranges of NN HAL 1.3's fundamental and OEM operations. */
  private static final int[] TYPES = {102, 9_999, 10_001};

  private OperationFaults() {}

  static void type(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operations().size(); i++) {
      for (int type : TYPES) {
        int index = i;
        found.add(
            place(graph, i) + " is of type " + type,
            draft -> draft.changeOperation(index, operation -> operation.withType(type)));
      }
    }
  }

  /** An input that does not exist. */
  static void inputIndex(RawSubgraph graph, Collector found) {
    each(
        graph,
        RawOperation::inputs,
        (operation, input) ->
            found.add(
                place(graph, operation) + " input " + input + " is no operand",
                draft ->
                    draft.changeOperation(
                        operation,
                        o -> o.withInputs(replaced(o.inputs(), input, draft.operandCount())))));
  }

  /** An output that does not exist. */
  static void outputIndex(RawSubgraph graph, Collector found) {
    each(
        graph,
        RawOperation::outputs,
        (operation, output) ->
            found.add(
                place(graph, operation) + " output " + output + " is no operand",
                draft ->
                    draft.changeOperation(
                        operation,
                        o -> o.withOutputs(replaced(o.outputs(), output, draft.operandCount())))));
  }

  static void removeInput(RawSubgraph graph, Collector found) {
    each(
        graph,
        RawOperation::inputs,
        (operation, input) -> {
          if (!Signatures.isRemovable(graph.operations().get(operation), input)) {
            found.add(
                place(graph, operation) + " has no input " + input,
                draft -> {
                  draft.addConsumers(draft.operation(operation).inputs().get(input), -1);
                  draft.changeOperation(operation, o -> o.withInputs(without(o.inputs(), input)));
                });
          }
        });
  }

  static void removeOutput(RawSubgraph graph, Collector found) {
    each(
        graph,
        RawOperation::outputs,
        (operation, output) ->
            found.add(
                place(graph, operation) + " does not write output " + output,
                draft ->
                    draft.changeOperation(
                        operation, o -> o.withOutputs(without(o.outputs(), output)))));
  }

  /** An INT32 more, which the caller gives. */
  static void addInput(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operations().size(); i++) {
      if (!Signatures.takesAnotherInt32(graph.operations().get(i))) {
        int index = i;
        found.add(
            place(graph, i) + " has an input more",
            draft -> {
              int added = draft.add(int32("SUBGRAPH_INPUT", 1));
              draft.inputs().add(added);
              draft.changeOperation(index, o -> o.withInputs(with(o.inputs(), added)));
            });
      }
    }
  }

  /** An INT32 more, which the caller gets. */
  static void addOutput(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operations().size(); i++) {
      int index = i;
      found.add(
          place(graph, i) + " has an output more",
          draft -> {
            int added = draft.add(int32("SUBGRAPH_OUTPUT", 0));
            draft.outputs().add(added);
            draft.changeOperation(index, o -> o.withOutputs(with(o.outputs(), added)));
          });
    }
  }

  private static RawOperand int32(String lifetime, int consumers) {
    return RawOperand.of("added", "INT32", RawOperand.Dims.NONE, lifetime, consumers);
  }

  static String place(RawSubgraph graph, int operation) {
    return "operation " + operation + " " + graph.operations().get(operation).type();
  }

  /** Visits all arguments of all operations. */
  static void each(
      RawSubgraph graph, Function<RawOperation, List<Integer>> arguments, Places places) {
    for (int i = 0; i < graph.operations().size(); i++) {
      for (int j = 0; j < arguments.apply(graph.operations().get(i)).size(); j++) {
        places.at(i, j);
      }
    }
  }

  static List<Integer> replaced(List<Integer> list, int index, int value) {
    List<Integer> changed = new ArrayList<>(list);
    changed.set(index, value);
    return changed;
  }

  private static List<Integer> without(List<Integer> list, int index) {
    List<Integer> changed = new ArrayList<>(list);
    changed.remove(index);
    return changed;
  }

  private static List<Integer> with(List<Integer> list, int value) {
    List<Integer> changed = new ArrayList<>(list);
    changed.add(value);
    return changed;
  }

  /** Takes an operation and the number of one of its inputs or outputs. */
  @FunctionalInterface
  interface Places {
    void at(int operation, int argument);
  }
}
