// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.ValidationException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * An operation that a kernel computes, bound to it or not yet. Immutable.
 *
 * @param kernel null where shapes are known only while executing
 */
record KernelStep(
    int index,
    Subgraph graph,
    Operation operation,
    OperationDefinition definition,
    KernelTable table,
    Kernel kernel)
    implements Step {
  KernelStep(
      int index,
      Subgraph graph,
      Operation operation,
      OperationDefinition definition,
      KernelTable table) {
    this(index, graph, operation, definition, table, null);
  }

  @Override
  public String place() {
    return Step.place(index, operation);
  }

  @Override
  public boolean isStatic() {
    return kernel != null && !isMeasured();
  }

  @Override
  public long scratchSize() {
    return kernel == null ? 0 : kernel.scratchSize();
  }

  @Override
  public List<GraphProgram> programs() {
    return List.of();
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
   * Returns whether all that determines shapes and parameters is known, whether an input is there
   * at all included.
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
      if (!shapeKnown || (input.value().isEmpty() && definition.needsValue(view, i))) {
        return false;
      }
    }
    return true;
  }

  private boolean mayBeLeftOut(int input) {
    Operand operand = graph.operands().get(operation.inputs().get(input));
    return operand.lifetime() instanceof Lifetime.SubgraphInput && definition.isOptional(input);
  }

  /** Returns whether the kernel gives the shapes of the outputs. */
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

  /** Writes the shapes of the outputs that the kernel measured into {@code shapes}. */
  void accept(List<Shape> outputs, Shape[] shapes) throws ValidationException {
    Step.accept(graph, operation, outputs, shapes);
  }

  ValidationException at(ValidationException e) {
    ValidationException located = new ValidationException(place() + ": " + e.getMessage());
    located.addSuppressed(e);
    return located;
  }

  /** This step with its kernel; writes the output shapes into {@code shapes}. */
  KernelStep bind(OperationView view, Shape[] shapes) throws ValidationException {
    ResolvedOperation resolved = resolve(view, shapes);
    try {
      KernelFactory factory =
          table
              .find(definition.kernelType(resolved.view()), resolved.view())
              .orElseThrow(() -> new ValidationException("no kernel takes this form"));
      return new KernelStep(index, graph, operation, definition, table, factory.compile(resolved));
    } catch (ValidationException e) {
      throw at(e);
    } catch (RuntimeException e) {
      throw new IllegalStateException(place() + ": its kernel's factory threw " + e, e);
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
    } catch (ArithmeticException e) {
      throw at(new ValidationException("its sizes are too large: " + e.getMessage()));
    }
  }
}
