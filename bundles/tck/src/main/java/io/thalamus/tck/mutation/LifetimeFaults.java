// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.tck.mutation.MutationFamily.Collector;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawSubgraph;
import io.thalamus.vectors.Values;
import java.util.List;
import java.util.Optional;

/** Lifetimes that contradict who writes an operand, or the lists of inputs and outputs. */
final class LifetimeFaults {
  private static final String TEMPORARY = "TEMPORARY_VARIABLE";
  private static final String INPUT = "SUBGRAPH_INPUT";
  private static final String OUTPUT = "SUBGRAPH_OUTPUT";
  private static final String CONSTANT = "CONSTANT_COPY";

  /** AOSP makes no larger constants, for what a binder transaction may hold. */
  private static final long MOST_ELEMENTS = 32 * 1024;

  private LifetimeFaults() {}

  /** Makes an operand that is written one that must not be written, or the other way round. */
  static void lifeTime(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operands().size(); i++) {
      RawOperand operand = graph.operands().get(i);
      List<String> bad =
          switch (operand.lifetime()) {
            case OUTPUT, TEMPORARY -> List.of(INPUT, CONSTANT);
            case CONSTANT, "CONSTANT_REFERENCE", INPUT -> List.of(TEMPORARY, OUTPUT);
            // Whether it is written is unknown, or it is a graph.
            default -> List.of();
          };
      for (String lifetime : bad) {
        if (!lifetime.equals(CONSTANT) || canBeConstant(operand)) {
          int index = i;
          found.add(
              "operand " + i + " is " + lifetime + " instead of " + operand.lifetime(),
              draft -> {
                draft.inputs().remove((Integer) index);
                draft.outputs().remove((Integer) index);
                draft.change(index, o -> with(o, lifetime));
                if (lifetime.equals(INPUT)) {
                  draft.inputs().add(index);
                } else if (lifetime.equals(OUTPUT)) {
                  draft.outputs().add(index);
                }
              });
        }
      }
    }
  }

  /**
   * Lists an operand among those of the graph to which it does not belong; whether it is written
   * stays.
   */
  static void inputOutput(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operands().size(); i++) {
      RawOperand operand = graph.operands().get(i);
      String lifetime =
          switch (operand.lifetime()) {
            case CONSTANT, "CONSTANT_REFERENCE" -> INPUT;
            case INPUT -> canBeConstant(operand) ? CONSTANT : "";
            case OUTPUT -> TEMPORARY;
            case TEMPORARY -> OUTPUT;
            default -> "";
          };
      if (!lifetime.isEmpty()) {
        int index = i;
        found.add(
            "operand %d is %s instead of %s, with the lists as they were"
                .formatted(i, lifetime, operand.lifetime()),
            draft -> draft.change(index, o -> with(o, lifetime)));
      }
    }
  }

  private static RawOperand with(RawOperand operand, String lifetime) {
    return operand
        .withLifetime(lifetime)
        .withValues(
            lifetime.equals(CONSTANT)
                ? Optional.of(Values.of(new double[(int) OperandTypeFaults.elements(operand)]))
                : Optional.empty());
  }

  private static boolean canBeConstant(RawOperand operand) {
    long elements = OperandTypeFaults.elements(operand);
    return elements > 0 && elements <= MOST_ELEMENTS;
  }
}
