// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Operation;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ValidationException;
import java.util.List;

/** One operation of a {@link GraphProgram}. Immutable. */
sealed interface Step permits KernelStep, ControlFlowStep {
  /** NNAPI counts the bytes of an operand in 32 bits. */
  long MOST_BYTES = (1L << 32) - 1;

  /** The operation as its graph has it. */
  Operation operation();

  /** For messages: the operation's number and name. */
  String place();

  /** Returns whether all about it was known when the program was compiled. */
  boolean isStatic();

  /** Bytes of memory that it needs besides its arguments, as far as that is known by now. */
  long scratchSize();

  /** The programs of the graphs that it executes. */
  List<GraphProgram> programs();

  /** The name of an operation in messages. */
  static String place(int index, Operation operation) {
    return "operation " + index + " " + operation.type().text();
  }

  /**
   * Writes the shapes of an operation's outputs into {@code shapes}.
   *
   * @throws ValidationException where the graph declares other ones, or one is larger than NNAPI
   *     can count
   */
  static void accept(Subgraph graph, Operation operation, List<Shape> outputs, Shape[] shapes)
      throws ValidationException {
    for (int i = 0; i < outputs.size(); i++) {
      int output = operation.outputs().get(i);
      Shape declared = graph.operands().get(output).shape();
      if (!isDeclared(declared, outputs.get(i))) {
        throw new ValidationException(
            "its output is declared as " + declared + ", but is " + outputs.get(i));
      }
      int elementSize = graph.operands().get(output).type().elementSize();
      if (outputs.get(i).elementCount() > MOST_BYTES / Math.max(1, elementSize)) {
        throw new ValidationException("its output of " + outputs.get(i) + " is too large");
      }
      shapes[output] = outputs.get(i);
    }
  }

  /** Returns whether a shape is one that a declaration, which may leave dimensions open, allows. */
  static boolean isDeclared(Shape declared, Shape shape) {
    boolean fits = declared.rank() == 0 || declared.rank() == shape.rank();
    for (int i = 0; fits && i < declared.rank(); i++) {
      fits = declared.dimension(i) == 0 || declared.dimension(i) == shape.dimension(i);
    }
    return fits;
  }
}
