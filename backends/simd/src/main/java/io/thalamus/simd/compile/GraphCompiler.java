// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.Checkpoint;
import io.thalamus.driver.LifetimePlan;
import io.thalamus.driver.LifetimePlan.Value;
import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Lifetime;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.ElementKind;
import io.thalamus.simd.program.Program;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * Compiles a graph: fuses operations, lets those that only rename dimensions vanish, plans memory,
 * then has each operation bound to its places. Used once.
 */
public final class GraphCompiler {
  /** Elements that places are rounded up to: a cache line of floats. */
  private static final int ALIGNMENT = 16;

  private final StaticGraph graph;
  private final List<Node> nodes;
  private final Budget budget;
  private final PrepareConfig config;
  private final PackedWeights weights;

  /** By operand, the one whose place it shares. */
  private final int[] roots;

  private GraphCompiler(
      StaticGraph graph,
      List<Node> nodes,
      Budget budget,
      PrepareConfig config,
      PackedWeights weights) {
    this.graph = graph;
    this.nodes = nodes;
    this.budget = budget;
    this.config = config;
    this.weights = weights;
    roots = new int[graph.shapes().size()];
    Arrays.setAll(roots, i -> i);
    for (Node node : nodes) {
      if (node.lowering().isAlias()) {
        roots[node.output()] = roots[node.inputs().get(0)];
      }
    }
  }

  /**
   * Compiles a graph of operations that the table has.
   *
   * @param config asked between operations whether the compilation must end
   * @param weights packs the weights, or has them
   * @throws ValidationException where an operation is not in the table, or the tensors do not fit
   *     into the arrays of this JVM
   * @throws DeviceException when the compilation must end
   */
  public static Program compile(
      StaticGraph graph,
      OperationTable<Lowering> table,
      OperationCatalog catalog,
      Budget budget,
      PrepareConfig config,
      PackedWeights weights)
      throws ValidationException, DeviceException {
    List<Lowering> lowerings = graph.implementations(table, catalog);
    List<Node> nodes = new ArrayList<>();
    for (int i = 0; i < lowerings.size(); i++) {
      Operation declared = graph.graph().operations().get(i);
      nodes.add(Node.of(i, declared, graph.operations().get(i), lowerings.get(i)));
    }
    return new GraphCompiler(graph, Fusion.fuse(graph, nodes), budget, config, weights).compile();
  }

  private Program compile() throws ValidationException, DeviceException {
    int[] first = new int[roots.length];
    int[] last = new int[roots.length];
    Arrays.fill(first, Integer.MAX_VALUE);
    Arrays.fill(last, Integer.MIN_VALUE);
    graph.graph().inputIndexes().forEach(input -> use(input, -1, first, last));
    for (int i = 0; i < nodes.size(); i++) {
      Node node = nodes.get(i);
      for (int input = 0; input < node.inputs().size(); input++) {
        if (node.lowering().reads(node.operation(), input)) {
          read(node.inputs().get(input), i, first, last);
        }
      }
      if (node.added().isPresent()) {
        read(node.added().getAsInt(), i, first, last);
      }
      for (int output : node.outputs()) {
        use(output, i, first, last);
      }
    }
    graph.graph().outputIndexes().forEach(output -> use(output, nodes.size(), first, last));
    return place(first, last);
  }

  /** A frame is filled with constants once: nothing else may stand in their places. */
  private void read(int operand, int step, int[] first, int[] last) {
    use(operand, step, first, last);
    if (isConstant(operand)) {
      use(operand, -1, first, last);
      use(operand, nodes.size(), first, last);
    }
  }

  private void use(int operand, int step, int[] first, int[] last) {
    int root = roots[operand];
    first[root] = Math.min(first[root], step);
    last[root] = Math.max(last[root], step);
  }

  private boolean isConstant(int operand) {
    return graph.graph().operands().get(operand).lifetime() instanceof Lifetime.Constant;
  }

  private Program place(int[] first, int[] last) throws ValidationException, DeviceException {
    int[] offsets = new int[roots.length];
    int[] arrays = arrays();
    List<Integer> sizes = new ArrayList<>();
    for (ElementKind kind : ElementKind.values()) {
      sizes.add(place(kind, first, last, arrays, offsets));
    }
    Tensor[] tensors = new Tensor[roots.length];
    List<Tensor> constants = new ArrayList<>();
    for (int i = 0; i < roots.length; i++) {
      if (first[roots[i]] <= last[roots[i]]) {
        OperandView view = OperandView.of(graph.graph().operands().get(i));
        tensors[i] =
            new Tensor(
                view.with(graph.shapes().get(i), view.value()),
                arrays[roots[i]],
                offsets[roots[i]]);
        if (isConstant(i)) {
          constants.add(tensors[i]);
        }
      }
    }
    Tensors places = new Tensors(tensors, weights);
    List<Step> steps = new ArrayList<>();
    List<Integer> operations = new ArrayList<>();
    for (Node node : nodes) {
      Checkpoint.pass(config);
      if (!node.lowering().isAlias()) {
        steps.add(node.lowering().lower(node, places, budget));
        operations.add(node.index());
      }
    }
    return new Program(
        steps,
        operations,
        graph.graph().inputIndexes().stream().map(places::get).toList(),
        graph.graph().outputIndexes().stream().map(places::get).toList(),
        constants,
        sizes);
  }

  /**
   * Returns by root the array of its own that it has, 0 for none: what is only one input or only
   * one output of the graph has one.
   */
  private int[] arrays() {
    List<Integer> arguments =
        Stream.concat(graph.graph().inputIndexes().stream(), graph.graph().outputIndexes().stream())
            .map(operand -> roots[operand])
            .toList();
    int[] arrays = new int[roots.length];
    for (int i = 0; i < arguments.size(); i++) {
      int root = arguments.get(i);
      boolean isAlone = arguments.indexOf(root) == arguments.lastIndexOf(root);
      arrays[root] = isAlone && !isConstant(root) ? i + 1 : 0;
    }
    return arrays;
  }

  /** Places the tensors of one kind; returns the size of the array that most share. */
  private int place(ElementKind kind, int[] first, int[] last, int[] arrays, int[] offsets)
      throws ValidationException {
    List<Integer> operands = new ArrayList<>();
    List<Value> values = new ArrayList<>();
    for (int i = 0; i < roots.length; i++) {
      OperandType type = graph.graph().operands().get(i).type();
      if (arrays[i] > 0) {
        offsets[i] = Lanes.LEAD;
      } else if (roots[i] == i
          && first[i] <= last[i]
          && ElementKind.find(type).filter(kind::equals).isPresent()) {
        long size = graph.shapes().get(i).elementCount();
        operands.add(i);
        values.add(new Value((size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, first[i], last[i]));
      }
    }
    LifetimePlan plan = LifetimePlan.of(values);
    long size = Lanes.LEAD + plan.size() + Lanes.SLACK;
    if (size > Integer.MAX_VALUE - 64) {
      throw new ValidationException(
          "the tensors take " + size + " elements, more than an array of this JVM can have");
    }
    for (int i = 0; i < operands.size(); i++) {
      offsets[operands.get(i)] = Math.toIntExact(Lanes.LEAD + plan.offsets()[i]);
    }
    return (int) size;
  }
}
