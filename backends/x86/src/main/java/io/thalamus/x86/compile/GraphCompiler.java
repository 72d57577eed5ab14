// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.Checkpoint;
import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operation;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.ValidationException;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.compile.Lowering.Operands;
import io.thalamus.x86.compile.Lowering.Target;
import io.thalamus.x86.kernel.Finish;
import java.util.List;
import java.util.Optional;

/** Compiles a graph of operations that a table has. Used once. */
public final class GraphCompiler {
  private final StaticGraph graph;
  private final ProgramBuilder program;
  private final Place[] places;
  private Destinations destinations;

  private GraphCompiler(StaticGraph graph, Level level, SharedWeights weights) {
    this.graph = graph;
    program = new ProgramBuilder(level, weights);
    places = new Place[graph.shapes().size()];
  }

  /**
   * Compiles a graph.
   *
   * @param weights of all programs of the device
   * @param config asked between operations whether the compilation must end
   * @return with constants that the caller owns
   * @throws ValidationException where an operation is not in the table
   * @throws DeviceException when the compilation must end
   */
  public static Program compile(
      StaticGraph graph,
      OperationTable<Lowering> table,
      OperationCatalog catalog,
      Level level,
      SharedWeights weights,
      PrepareConfig config)
      throws ValidationException, DeviceException {
    GraphCompiler compiler = new GraphCompiler(graph, level, weights);
    Program compiled = null;
    try {
      compiled = compiler.compile(table, catalog, config);
      return compiled;
    } finally {
      if (compiled == null) {
        compiler.program.abandon();
      }
    }
  }

  private Program compile(
      OperationTable<Lowering> table, OperationCatalog catalog, PrepareConfig config)
      throws ValidationException, DeviceException {
    List<Lowering> lowerings = graph.implementations(table, catalog);
    Fusion.Step[] steps = Fusion.of(graph, lowerings);
    destinations = Destinations.of(graph, lowerings, steps);
    List<Integer> inputs = graph.graph().inputIndexes();
    inputs.forEach(input -> place(input).use(0));
    for (int i = 0; i < lowerings.size(); i++) {
      Checkpoint.pass(config);
      program.nextStep();
      if (steps[i].chain().isEmpty()) {
        lower(declared(i), graph.operations().get(i), lowerings.get(i), steps[i]);
      } else {
        lower(steps[i].chain(), lowerings);
      }
      program.endOperation();
    }
    program.nextStep();
    List<Integer> outputs = graph.graph().outputIndexes();
    outputs.forEach(output -> place(output).use(Integer.MAX_VALUE));
    return program.build(
        inputs.stream().map(this::place).toArray(Place[]::new),
        outputs.stream().map(this::place).toArray(Place[]::new),
        outputs.stream().map(graph.shapes()::get).toList());
  }

  private void lower(
      Operation declared, ResolvedOperation operation, Lowering lowering, Fusion.Step step) {
    if (step.isSwallowed()) {
      return;
    }
    if (step.addend() >= 0) {
      places[step.result()] = place(step.addend());
    }
    if (lowering.isAlias()) {
      places[declared.outputs().get(0)] = place(declared.inputs().get(0));
    } else {
      lowering.lower(operation, operands(declared, step), program);
    }
  }

  private void lower(List<Integer> members, List<Lowering> lowerings) {
    ElementChain chain = new ElementChain();
    for (int member : members) {
      ResolvedOperation operation = graph.operations().get(member);
      chain.add(
          operation,
          lowerings.get(member).element(operation).orElseThrow(),
          Operands.of(declared(member), this::place));
    }
    int result = declared(members.getLast()).outputs().getFirst();
    chain.lower(place(result), graph.shapes().get(result), program);
  }

  private Operation declared(int index) {
    return graph.graph().operations().get(index);
  }

  private Operands operands(Operation operation, Fusion.Step step) {
    Operands own = Operands.of(operation, this::place);
    return new Operands() {
      @Override
      public Place input(int index) {
        return own.input(index);
      }

      @Override
      public Place output(int index) {
        return place(result(index));
      }

      private int result(int index) {
        return step.result() < 0 ? operation.outputs().get(index) : step.result();
      }

      @Override
      public Optional<Identity> identity(int index) {
        Lifetime lifetime = graph.graph().operands().get(operation.inputs().get(index)).lifetime();
        return lifetime instanceof Lifetime.Constant constant
            ? Identity.of(constant)
            : Optional.empty();
      }

      @Override
      public Finish finish(FusedActivation activation) {
        return step.finish().orElse(Finish.of(activation));
      }

      @Override
      public Target target(int bytes) {
        return destinations
            .of(result(0))
            .map(one -> new Target(place(one.operand()).at(one.at()), one.step()))
            .orElseGet(() -> Operands.super.target(bytes));
      }

      @Override
      public boolean isWritten(int index) {
        return destinations.of(operation.inputs().get(index)).isPresent();
      }
    };
  }

  private Place place(int operand) {
    if (places[operand] == null) {
      places[operand] =
          graph.graph().operands().get(operand).lifetime() instanceof Lifetime.Constant constant
              ? program.constantPlace(constant)
              : program.place(
                  graph.shapes().get(operand).elementCount()
                      * graph.graph().operands().get(operand).type().elementSize());
    }
    return places[operand];
  }
}
