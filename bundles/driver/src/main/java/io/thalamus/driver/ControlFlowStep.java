// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import io.thalamus.operations.ValidationException;
import java.util.ArrayList;
import java.util.List;

/**
 * An IF or WHILE with the programs of its graphs: then and else, or condition and body. Immutable.
 */
record ControlFlowStep(
    int index, Subgraph graph, Operation operation, List<GraphProgram> programs, boolean isStatic)
    implements Step {
  static final int THEN = 0;
  static final int ELSE = 1;
  static final int CONDITION = 0;
  static final int BODY = 1;

  /**
   * The step; writes the shapes of the outputs into {@code shapes} where they do not depend on what
   * is executed.
   */
  static ControlFlowStep of(
      int index, Subgraph graph, Operation operation, List<GraphProgram> programs, Shape[] shapes)
      throws ValidationException {
    List<Shape> outputs = new ArrayList<>();
    for (int i = 0; i < operation.outputs().size(); i++) {
      Shape first =
          operation.type() == OperationCode.IF
              ? programs.get(THEN).outputShape(i)
              : shapes[ControlFlow.arguments(operation).get(i)];
      Shape second = programs.get(BODY).outputShape(i);
      if (first == null || !first.equals(second)) {
        return new ControlFlowStep(index, graph, operation, programs, false);
      }
      outputs.add(first);
    }
    ControlFlowStep step = new ControlFlowStep(index, graph, operation, programs, true);
    step.accept(outputs, shapes);
    return step;
  }

  @Override
  public String place() {
    return Step.place(index, operation);
  }

  @Override
  public long scratchSize() {
    return 0;
  }

  boolean isLoop() {
    return operation.type() == OperationCode.WHILE;
  }

  /** Writes the shapes of the outputs into {@code shapes}. */
  void accept(List<Shape> outputs, Shape[] shapes) throws ValidationException {
    try {
      Step.accept(graph, operation, outputs, shapes);
    } catch (ValidationException e) {
      ValidationException located = new ValidationException(place() + ": " + e.getMessage());
      located.addSuppressed(e);
      throw located;
    }
  }
}
