// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.ANY;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Operations that execute other graphs of the model: IF and WHILE. They have no kernels: a runtime
 * interprets them, or a device executes them whole by executing their graphs. Stateless.
 *
 * <pre>
 * IF     condition, then, else, x0..xn-1   ->  y0..ym-1   both graphs: n inputs, m outputs
 * WHILE  condition, body, x0..xn-1         ->  y0..ym-1   condition: n inputs, 1 output
 *                                                         body: n inputs, s outputs, m &lt;= s &lt;= n
 * </pre>
 *
 * The first s values of a WHILE are its state: each round gives them anew, and the first m of them
 * are the result; the others keep the value they came with.
 */
public final class ControlFlow {
  /** The input of an IF that decides, a TENSOR_BOOL8 of one element. */
  public static final int IF_CONDITION = 0;

  /** The input of an IF that names the graph to execute when the condition is true. */
  public static final int IF_THEN = 1;

  /** The input of an IF that names the graph to execute when the condition is false. */
  public static final int IF_ELSE = 2;

  /** The first input of an IF that is handed to its graphs. */
  public static final int IF_FIRST_INPUT = 3;

  /** The input of a WHILE that names the graph which decides whether to go on. */
  public static final int WHILE_CONDITION = 0;

  /** The input of a WHILE that names the graph which is repeated. */
  public static final int WHILE_BODY = 1;

  /** The first input of a WHILE that is handed to its graphs. */
  public static final int WHILE_FIRST_INPUT = 2;

  private static final int MIN_INPUTS = 3;
  private static final Shape SINGLE = Shape.of(1);

  private ControlFlow() {}

  static List<OperationDefinition> definitions() {
    return List.of(new If(), new While());
  }

  /** Returns whether an operation is IF or WHILE. */
  public static boolean isControlFlow(OperationType type) {
    return type == OperationCode.IF || type == OperationCode.WHILE;
  }

  /** The index among the referenced graphs that an input of a valid IF or WHILE names. */
  public static int reference(Subgraph graph, Operation operation, int input) {
    Operand operand = graph.operands().get(operation.inputs().get(input));
    return ((SubgraphReference) operand.lifetime()).index();
  }

  /** The indexes among the referenced graphs that a valid IF or WHILE names, in order. */
  public static List<Integer> references(Subgraph graph, Operation operation) {
    return operation.type() == OperationCode.IF
        ? List.of(reference(graph, operation, IF_THEN), reference(graph, operation, IF_ELSE))
        : List.of(
            reference(graph, operation, WHILE_CONDITION), reference(graph, operation, WHILE_BODY));
  }

  /** The inputs of an IF or WHILE that are handed to its graphs. */
  public static List<Integer> arguments(Operation operation) {
    int first = operation.type() == OperationCode.IF ? IF_FIRST_INPUT : WHILE_FIRST_INPUT;
    return operation.inputs().subList(first, operation.inputs().size());
  }

  /**
   * Returns whether all values that go into and out of a valid IF or WHILE and its graphs have
   * known sizes. Otherwise only a device that executes the operation whole can run it, which in
   * NNAPI is the CPU.
   */
  public static boolean hasKnownSizes(OperationView operation) {
    return operation.inputs().stream().allMatch(ControlFlow::hasKnownSizes)
        && operation.outputs().stream().allMatch(OperandView::isShapeKnown);
  }

  private static boolean hasKnownSizes(OperandView input) {
    return input.isShapeKnown()
        && input.graph().stream()
            .allMatch(
                graph ->
                    hasKnownSizes(graph, graph.inputIndexes())
                        && hasKnownSizes(graph, graph.outputIndexes()));
  }

  private static boolean hasKnownSizes(Subgraph graph, List<Integer> operands) {
    return operands.stream().allMatch(index -> graph.operands().get(index).isSizeKnown());
  }

  /** The common part of both. The operation itself has no levels: its graphs are judged apart. */
  private abstract static class GraphDefinition extends NamedDefinition {
    GraphDefinition(OperationCode type, Argument... graphs) {
      super(
          type,
          Signature.since(FeatureLevel.V1_3)
              .inputs(inputs(graphs))
              .outputs(argument("outputs", ANY).repeated(1, "it needs at least 1 output")),
          Trait.DISCONTINUOUS);
    }

    private static List<Argument> inputs(Argument[] graphs) {
      List<Argument> inputs = new ArrayList<>(List.of(graphs));
      inputs.add(
          argument("inputs", ANY)
              .repeated(MIN_INPUTS - graphs.length, "it needs at least 3 inputs"));
      return inputs;
    }

    /** Returns true: the shapes are those that the graphs compute. */
    @Override
    public final boolean areShapesMeasured() {
      return true;
    }

    static void checkCondition(OperandType type, Shape shape, Check check)
        throws ValidationException {
      check.that(
          type == OperandCode.TENSOR_BOOL8 && shape.equals(SINGLE),
          "a condition must be a TENSOR_BOOL8 of shape 1, but is " + type.text() + " " + shape);
    }

    /** The inputs from {@code first} on are what a graph takes. */
    static void checkInputs(OperationView operation, int first, Subgraph graph, Check check)
        throws ValidationException {
      int given = operation.inputs().size() - first;
      int taken = graph.inputIndexes().size();
      check.that(given == taken, "it hands " + given + " inputs to a graph that takes " + taken);
      for (int i = 0; i < taken; i++) {
        OperandView outer = operation.input(first + i);
        checkCompatible("input " + (first + i) + " and input " + i, outer, graph.input(i));
      }
    }

    /** The outputs are what a graph gives first. */
    static void checkOutputs(OperationView operation, Subgraph graph) throws ValidationException {
      for (int i = 0; i < operation.outputs().size(); i++) {
        OperandView outer = operation.output(i);
        checkCompatible("output " + i + " and output " + i, outer, graph.output(i));
      }
    }

    /** Types, quantization and, as far as both are known, dimensions are the same. */
    static void checkCompatible(String places, OperandView outer, Operand inner)
        throws ValidationException {
      Quantization quantization = inner.quantization();
      if (!outer.type().equals(inner.type())
          || !outer.quantization().equals(quantization)
          || !isCompatible(outer.shape(), inner.shape())) {
        throw new ValidationException(
            "%s of its graph differ: %s %s %s, %s %s %s"
                .formatted(
                    places,
                    outer.type().text(),
                    outer.shape(),
                    outer.quantization(),
                    inner.type().text(),
                    inner.shape(),
                    quantization));
      }
    }

    private static boolean isCompatible(Shape a, Shape b) {
      if (a.rank() == 0 || b.rank() == 0) {
        return true;
      }
      boolean same = a.rank() == b.rank();
      for (int axis = 0; same && axis < a.rank(); axis++) {
        int x = a.dimension(axis);
        int y = b.dimension(axis);
        same = x == 0 || y == 0 || x == y;
      }
      return same;
    }

    /** The graph that an input names, or null where it is not at hand. */
    static Subgraph graph(OperationView operation, int input) {
      return operation.input(input).graph().orElse(null);
    }

    /** The shapes of the operation's outputs as a graph declares them. */
    static Shape[] declared(OperationView operation, int input) {
      Subgraph graph =
          operation
              .input(input)
              .graph()
              .orElseThrow(() -> new IllegalStateException("the graph is not at hand"));
      Shape[] shapes = new Shape[operation.outputs().size()];
      Arrays.setAll(shapes, i -> graph.output(i).shape());
      return shapes;
    }
  }

  private static final class If extends GraphDefinition {
    If() {
      super(
          OperationCode.IF,
          data("condition", TypeLevels.since(FeatureLevel.V1_3, OperandCode.TENSOR_BOOL8)),
          argument("then", OperandCode.SUBGRAPH),
          argument("else", OperandCode.SUBGRAPH));
    }

    @Override
    public void check(OperationView operation, Check check) throws ValidationException {
      OperandView condition = operation.input(IF_CONDITION);
      checkCondition(condition.type(), condition.shape(), check);
      for (int input : new int[] {IF_THEN, IF_ELSE}) {
        Subgraph branch = graph(operation, input);
        if (branch != null) {
          checkInputs(operation, IF_FIRST_INPUT, branch, check);
          check.that(
              branch.outputIndexes().size() == operation.outputs().size(),
              "it has %d outputs, but its graph %d"
                  .formatted(operation.outputs().size(), branch.outputIndexes().size()));
          checkOutputs(operation, branch);
        }
      }
    }

    /** Returns the dimensions that both branches agree on; 0 where they do not. */
    @Override
    public List<Shape> infer(OperationView operation) {
      Shape[] first = declared(operation, IF_THEN);
      Shape[] second = declared(operation, IF_ELSE);
      List<Shape> common = new ArrayList<>();
      for (int i = 0; i < first.length; i++) {
        common.add(common(first[i], second[i]));
      }
      return common;
    }

    private static Shape common(Shape a, Shape b) {
      if (a.rank() != b.rank()) {
        return Shape.NONE;
      }
      int[] dimensions = a.toArray();
      for (int axis = 0; axis < dimensions.length; axis++) {
        dimensions[axis] = dimensions[axis] == b.dimension(axis) ? dimensions[axis] : 0;
      }
      return Shape.of(dimensions);
    }
  }

  private static final class While extends GraphDefinition {
    While() {
      super(
          OperationCode.WHILE,
          data("condition", TypeLevels.since(FeatureLevel.V1_3, OperandCode.SUBGRAPH)),
          argument("body", OperandCode.SUBGRAPH));
    }

    @Override
    public void check(OperationView operation, Check check) throws ValidationException {
      Subgraph condition = graph(operation, WHILE_CONDITION);
      if (condition != null) {
        checkInputs(operation, WHILE_FIRST_INPUT, condition, check);
        check.that(
            condition.outputIndexes().size() == 1,
            "its condition has " + condition.outputIndexes().size() + " outputs, not one");
        checkCondition(condition.output(0).type(), condition.output(0).shape(), check);
      }
      Subgraph body = graph(operation, WHILE_BODY);
      if (body != null) {
        checkBody(operation, body, check);
      }
    }

    private static void checkBody(OperationView operation, Subgraph body, Check check)
        throws ValidationException {
      int results = operation.outputs().size();
      int state = body.outputIndexes().size();
      checkInputs(operation, WHILE_FIRST_INPUT, body, check);
      check
          .that(state >= results, "it has " + results + " outputs, but its body only " + state)
          .that(
              body.inputIndexes().size() >= state,
              "its body gives " + state + " values, but takes " + body.inputIndexes().size());
      checkOutputs(operation, body);
      for (int i = 0; i < state; i++) {
        OperandView next = OperandView.of(body.output(i));
        checkCompatible("output " + i + " of the body and input " + i, next, body.input(i));
      }
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      return List.of(declared(operation, WHILE_BODY));
    }
  }
}
