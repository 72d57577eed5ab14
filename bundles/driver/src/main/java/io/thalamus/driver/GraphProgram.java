// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ValidationException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * A graph as a list of steps. Operations whose shapes are known before the execution are bound to
 * their kernels once; the others are resolved when their inputs are there. IF and WHILE have the
 * programs of their graphs. Immutable.
 *
 * @param shapes known before the execution, by operand; null where unknown; not to be changed
 */
record GraphProgram(Subgraph graph, List<Step> steps, Shape[] shapes, MemoryPlan memory) {
  /**
   * Compiles the main graph of a valid model, and all that it refers to.
   *
   * @param config asked between operations whether the compilation must end
   */
  static GraphProgram compile(
      Model model, OperationCatalog catalog, KernelTable table, PrepareConfig config)
      throws ValidationException, DeviceException {
    return new Compiler(model, catalog, table, config).compile(model.main());
  }

  /** The compiling of one model: a graph that is referred to twice is compiled once. */
  private static final class Compiler {
    private final Model model;
    private final OperationCatalog catalog;
    private final KernelTable table;
    private final PrepareConfig config;
    private final GraphProgram[] referenced;

    Compiler(Model model, OperationCatalog catalog, KernelTable table, PrepareConfig config) {
      this.model = model;
      this.catalog = catalog;
      this.table = table;
      this.config = config;
      this.referenced = new GraphProgram[model.referenced().size()];
    }

    GraphProgram compile(Subgraph graph) throws ValidationException, DeviceException {
      Shape[] shapes = givenShapes(graph);
      List<Step> steps = new ArrayList<>();
      for (int i = 0; i < graph.operations().size(); i++) {
        Checkpoint.pass(config);
        Operation operation = graph.operations().get(i);
        steps.add(
            ControlFlow.isControlFlow(operation.type())
                ? ControlFlowStep.of(i, graph, operation, referenced(graph, operation), shapes)
                : kernelStep(i, graph, operation, shapes));
      }
      MemoryPlan memory = MemoryPlan.of(graph, steps, shapes);
      return new GraphProgram(graph, List.copyOf(steps), shapes, memory);
    }

    private KernelStep kernelStep(int index, Subgraph graph, Operation operation, Shape[] shapes)
        throws ValidationException {
      KernelStep step =
          new KernelStep(
              index, graph, operation, catalog.find(operation.type()).orElseThrow(), table);
      OperationView view = step.view(shapes, new MemorySegment[shapes.length]);
      return step.isReady(view) ? step.bind(view, shapes) : step;
    }

    private List<GraphProgram> referenced(Subgraph graph, Operation operation)
        throws ValidationException, DeviceException {
      List<GraphProgram> programs = new ArrayList<>();
      for (int index : ControlFlow.references(graph, operation)) {
        if (referenced[index] == null) {
          referenced[index] = compile(model.referenced().get(index));
        }
        programs.add(referenced[index]);
      }
      return programs;
    }
  }

  /** The shapes that the model itself tells, by operand; null where it does not. */
  static Shape[] givenShapes(Subgraph graph) {
    Shape[] shapes = new Shape[graph.operands().size()];
    for (int i = 0; i < shapes.length; i++) {
      Operand operand = graph.operands().get(i);
      if (isGiven(operand) && (!operand.type().isTensor() || isKnown(operand))) {
        shapes[i] = operand.shape();
      }
    }
    return shapes;
  }

  /** Constants of zero elements have a dimension of 0 that is no unknown one. */
  private static boolean isKnown(Operand operand) {
    return operand.isSizeKnown() || operand.lifetime() instanceof Lifetime.Constant;
  }

  private static boolean isGiven(Operand operand) {
    return !(operand.lifetime() instanceof Lifetime.TemporaryVariable
        || operand.lifetime() instanceof Lifetime.SubgraphOutput);
  }

  /** The shape of an output of the graph where it is known before the execution, else null. */
  Shape outputShape(int output) {
    return shapes[graph.outputIndexes().get(output)];
  }

  /** Returns whether the shapes of all values are known before the execution. */
  boolean isStatic() {
    return steps.stream().allMatch(Step::isStatic);
  }
}
