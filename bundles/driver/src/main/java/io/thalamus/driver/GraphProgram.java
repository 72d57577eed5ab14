// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.ValidationException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A graph as a list of steps. Operations whose shapes are known before the execution are bound to
 * their kernels once; the others are resolved when their inputs are there. Immutable.
 */
final class GraphProgram {
  private final Subgraph graph;
  private final List<Step> steps;
  private final Shape[] shapes;
  private final MemoryPlan memory;

  private GraphProgram(Subgraph graph, List<Step> steps, Shape[] shapes, MemoryPlan memory) {
    this.graph = graph;
    this.steps = steps;
    this.shapes = shapes;
    this.memory = memory;
  }

  static GraphProgram compile(Subgraph graph, OperationCatalog catalog, KernelTable table)
      throws ValidationException {
    Shape[] shapes = givenShapes(graph);
    List<Step> steps = new ArrayList<>();
    for (int i = 0; i < graph.operations().size(); i++) {
      Operation operation = graph.operations().get(i);
      Step step =
          new Step(i, graph, operation, catalog.find(operation.type()).orElseThrow(), table);
      OperationView view = step.view(shapes, new MemorySegment[shapes.length]);
      if (step.isReady(view)) {
        step = step.bind(view, shapes);
      }
      steps.add(step);
    }
    return new GraphProgram(graph, List.copyOf(steps), shapes, MemoryPlan.of(graph, steps, shapes));
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

  Subgraph graph() {
    return graph;
  }

  List<Step> steps() {
    return steps;
  }

  /** The shapes known before the execution, by operand; null where unknown. Not to be changed. */
  Shape[] shapes() {
    return shapes;
  }

  MemoryPlan memory() {
    return memory;
  }

  /** Whether every operation is bound and no shape is left to be measured. */
  boolean isStatic() {
    return steps.stream().allMatch(step -> step.kernel() != null && !step.isMeasured());
  }

  /** One operation, bound to a kernel or not yet. */
  static final class Step {
    private final int index;
    private final Subgraph graph;
    private final Operation operation;
    private final OperationDefinition definition;
    private final KernelTable table;
    private final Kernel kernel;

    Step(
        int index,
        Subgraph graph,
        Operation operation,
        OperationDefinition definition,
        KernelTable table) {
      this(index, graph, operation, definition, table, null);
    }

    private Step(
        int index,
        Subgraph graph,
        Operation operation,
        OperationDefinition definition,
        KernelTable table,
        Kernel kernel) {
      this.index = index;
      this.graph = graph;
      this.operation = operation;
      this.definition = definition;
      this.table = table;
      this.kernel = kernel;
    }

    Operation operation() {
      return operation;
    }

    /** The kernel, or null where shapes are known only while executing. */
    Kernel kernel() {
      return kernel;
    }

    /** For messages: the operation's number and name. */
    String place() {
      return "operation " + index + " " + operation.type().text();
    }

    /** The operation with the shapes and values known by now; null entries are unknown. */
    OperationView view(Shape[] shapes, MemorySegment[] values) {
      List<OperandView> inputs = new ArrayList<>();
      for (int input : operation.inputs()) {
        OperandView declared = OperandView.of(graph.operands().get(input));
        if (declared.value().isEmpty() && !declared.isOmitted()) {
          declared =
              declared.with(
                  shapes[input] == null ? Shape.NONE : shapes[input],
                  Optional.ofNullable(values[input]));
          if (values[input] == MemorySegment.NULL) {
            declared = declared.leftOut();
          }
        }
        inputs.add(declared);
      }
      List<OperandView> outputs =
          operation.outputs().stream()
              .map(output -> OperandView.of(graph.operands().get(output)))
              .toList();
      return new OperationView(operation.type(), inputs, outputs);
    }

    /**
     * Whether all that determines shapes and parameters is known, whether an input is there at all
     * included.
     */
    boolean isReady(OperationView view) {
      for (int i = 0; i < view.inputs().size(); i++) {
        OperandView input = view.input(i);
        if (input.isOmitted()) {
          continue;
        }
        if (mayBeLeftOut(i)) {
          return false;
        }
        boolean shapeKnown =
            !input.type().isTensor() || input.shape().rank() > 0 || input.value().isPresent();
        if (!shapeKnown || (definition.needsValue(view, i) && input.value().isEmpty())) {
          return false;
        }
      }
      return true;
    }

    private boolean mayBeLeftOut(int input) {
      Operand operand = graph.operands().get(operation.inputs().get(input));
      return definition.isOptional(input) && operand.lifetime() instanceof Lifetime.SubgraphInput;
    }

    /** Whether the kernel tells the shapes of the outputs. */
    boolean isMeasured() {
      return definition.areShapesMeasured();
    }

    /**
     * Checks that the request leaves out no input that is needed.
     *
     * @param values by operand; an input that is left out is {@link MemorySegment#NULL}
     */
    void checkPresent(MemorySegment[] values) throws ValidationException {
      for (int i = 0; i < operation.inputs().size(); i++) {
        if (values[operation.inputs().get(i)] == MemorySegment.NULL && !definition.isOptional(i)) {
          throw new ValidationException(place() + ": input " + i + " must not be left out");
        }
      }
    }

    /**
     * Writes shapes of the outputs into {@code shapes}.
     *
     * @throws ValidationException where the graph declares other ones
     */
    void accept(List<Shape> outputs, Shape[] shapes) throws ValidationException {
      for (int i = 0; i < outputs.size(); i++) {
        int output = operation.outputs().get(i);
        checkDeclared(graph.operands().get(output).shape(), outputs.get(i));
        shapes[output] = outputs.get(i);
      }
    }

    ValidationException at(ValidationException e) {
      ValidationException located = new ValidationException(place() + ": " + e.getMessage());
      located.addSuppressed(e);
      return located;
    }

    /** This step with its kernel; writes the output shapes into {@code shapes}. */
    Step bind(OperationView view, Shape[] shapes) throws ValidationException {
      ResolvedOperation resolved = resolve(view, shapes);
      try {
        KernelFactory factory =
            table
                .find(definition.kernelType(resolved.view()), resolved.view())
                .orElseThrow(() -> new ValidationException("no kernel takes this form"));
        return new Step(index, graph, operation, definition, table, factory.compile(resolved));
      } catch (ValidationException e) {
        throw at(e);
      }
    }

    /** The operation with all it takes to compute it; writes the output shapes into shapes. */
    ResolvedOperation resolve(OperationView view, Shape[] shapes) throws ValidationException {
      try {
        List<Shape> inferred = definition.infer(view);
        if (!isMeasured()) {
          accept(inferred, shapes);
        }
        OperationView shaped = view.withOutputShapes(inferred);
        return new ResolvedOperation(shaped, definition.resolve(shaped));
      } catch (ValidationException e) {
        throw at(e);
      }
    }

    private static void checkDeclared(Shape declared, Shape inferred) throws ValidationException {
      boolean fits = declared.rank() == 0 || declared.rank() == inferred.rank();
      for (int i = 0; fits && i < declared.rank(); i++) {
        fits = declared.dimension(i) == 0 || declared.dimension(i) == inferred.dimension(i);
      }
      if (!fits) {
        throw new ValidationException(
            "its output is declared as " + declared + ", but is " + inferred);
      }
    }
  }
}
