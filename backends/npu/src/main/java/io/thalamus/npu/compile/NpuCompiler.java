// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.driver.Checkpoint;
import io.thalamus.driver.LifetimePlan;
import io.thalamus.driver.LifetimePlan.Value;
import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.npu.compile.NpuCompilation.Step;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Makes layers of a graph: those operations that only rename dimensions vanish, tensors get their
 * places in DRAM, constants are copied. Immutable and thread-safe.
 */
public final class NpuCompiler {
  /** Tensors begin at multiples of this. */
  private static final int ALIGNMENT = 64;

  private final Architecture architecture;
  private final OperationCatalog catalog;
  private final OperationTable<Lowering> table;

  /** A compiler for a device. */
  public NpuCompiler(Architecture architecture, OperationCatalog catalog) {
    this.architecture = architecture;
    this.catalog = catalog;
    this.table = LoweringTable.of(architecture, catalog);
  }

  /** Returns the operations that the device claims. */
  public OperationTable<?> table() {
    return table;
  }

  /**
   * Compiles a graph of claimed operations.
   *
   * @param config asked between operations whether the compilation must end
   * @throws ValidationException where an operation is not claimed
   * @throws DeviceException where the tensors do not fit into the device's DRAM, or the compilation
   *     must end
   */
  public NpuCompilation compile(Subgraph graph, PrepareConfig config)
      throws ValidationException, DeviceException {
    return new Graph(StaticGraph.resolve(graph, catalog), config).compile();
  }

  /** One graph while it is compiled. */
  private final class Graph {
    private final StaticGraph graph;
    private final PrepareConfig config;
    private final List<Lowering> lowerings;

    /** By operand, the one whose place it shares. */
    private final int[] roots;

    private final int[] first;
    private final int[] last;
    private final Tensor[] tensors;

    Graph(StaticGraph graph, PrepareConfig config) throws ValidationException, DeviceException {
      this.graph = graph;
      this.config = config;
      int operands = graph.shapes().size();
      roots = new int[operands];
      first = new int[operands];
      last = new int[operands];
      tensors = new Tensor[operands];
      Arrays.setAll(roots, i -> i);
      Arrays.fill(first, Integer.MAX_VALUE);
      Arrays.fill(last, Integer.MIN_VALUE);
      lowerings = graph.implementations(table, catalog);
      for (int i = 0; i < lowerings.size(); i++) {
        Checkpoint.pass(config);
        Operation declared = graph.graph().operations().get(i);
        if (lowerings.get(i).isAlias()) {
          roots[declared.outputs().get(0)] = roots[declared.inputs().get(0)];
        }
      }
    }

    NpuCompilation compile() throws DeviceException {
      int operations = lowerings.size();
      graph.graph().inputIndexes().forEach(input -> use(input, -1));
      for (int i = 0; i < operations; i++) {
        for (int input : graph.graph().operations().get(i).inputs()) {
          use(input, i);
        }
        use(graph.graph().operations().get(i).outputs().get(0), i);
      }
      graph.graph().outputIndexes().forEach(output -> use(output, operations));
      int bytes = place();
      List<Step> steps = new ArrayList<>();
      for (int i = 0; i < operations; i++) {
        Checkpoint.pass(config);
        lower(i, steps);
      }
      return new NpuCompilation(
          architecture,
          steps,
          bytes,
          graph.graph().inputIndexes().stream().map(this::tensor).toList(),
          graph.graph().outputIndexes().stream().map(this::tensor).toList());
    }

    private void use(int operand, int step) {
      int root = roots[operand];
      first[root] = Math.min(first[root], step);
      last[root] = Math.max(last[root], step);
    }

    private void lower(int index, List<Step> steps) {
      Operation declared = graph.graph().operations().get(index);
      List<Tensor> inputs = new ArrayList<>();
      for (int input : declared.inputs()) {
        boolean isStored = LoweringTable.isStored(graph.graph().operands().get(input).type());
        inputs.add(isStored ? tensor(input) : null);
      }
      LoweringContext context = new LoweringContext(architecture, false);
      lowerings
          .get(index)
          .lower(graph.operations().get(index), inputs, tensor(declared.outputs().get(0)), context)
          .forEach(layer -> steps.add(new Step(index, new LoopNest<>(architecture, layer))));
    }

    /** Gives each root its place. */
    private int place() throws DeviceException {
      List<Integer> placed = new ArrayList<>();
      List<Value> values = new ArrayList<>();
      for (int i = 0; i < roots.length; i++) {
        Operand operand = graph.graph().operands().get(i);
        boolean isUsed = roots[i] == i && first[i] <= last[i];
        if (isUsed
            && !(operand.lifetime() instanceof Lifetime.Constant)
            && !(operand.lifetime() instanceof Lifetime.NoValue)) {
          long size = graph.shapes().get(i).elementCount() * operand.type().elementSize();
          placed.add(i);
          values.add(new Value(Math.ceilDiv(size, ALIGNMENT) * ALIGNMENT, first[i], last[i]));
        }
      }
      LifetimePlan plan = LifetimePlan.of(values);
      if (plan.size() > architecture.dram()) {
        throw new DeviceException(
            ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT,
            "the tensors take %s bytes, but the device's memory has %s"
                .formatted(plan.size(), architecture.dram()));
      }
      for (int i = 0; i < placed.size(); i++) {
        tensors[placed.get(i)] = tensor(placed.get(i), (int) plan.offsets()[i], null);
      }
      return (int) plan.size();
    }

    private Tensor tensor(int operand, int address, Constant constant) {
      return new Tensor(
          graph.graph().operands().get(operand).type(),
          graph.shapes().get(operand),
          address,
          constant);
    }

    /** The place of an operand, which is that of its root. */
    private Tensor tensor(int operand) {
      if (tensors[operand] == null) {
        int root = roots[operand];
        tensors[operand] =
            root != operand
                ? tensor(operand, tensor(root).address(), tensor(root).constant())
                : tensor(operand, 0, constant(operand));
      }
      return tensors[operand];
    }

    private Constant constant(int operand) {
      Lifetime.Constant value =
          (Lifetime.Constant) graph.graph().operands().get(operand).lifetime();
      return Constant.of(value.bytes().toArray(ValueLayout.JAVA_BYTE));
    }
  }
}
