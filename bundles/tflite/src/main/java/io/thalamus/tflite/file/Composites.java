// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Operators that stand for a graph of the same file: STABLEHLO_COMPOSITE. That graph's operators
 * take their place, so that nothing behind this knows of them. Used once; not thread-safe.
 */
final class Composites {
  private static final int CODE = 206;

  /** A damaged file must not exhaust the stack. */
  private static final int MAX_NESTING = 32;

  private static final int NOWHERE = -2;

  private final List<FlatGraph> graphs;
  private final Checked checked;
  private final List<FlatTensor> tensors;
  private final List<FlatOperator> operators = new ArrayList<>();

  private Composites(FlatGraph graph, List<FlatGraph> graphs, Checked checked) {
    this.graphs = graphs;
    this.tensors = new ArrayList<>(graph.tensors());
    this.checked = checked;
  }

  /** The graphs of a file without such operators. */
  static List<FlatGraph> inlined(List<FlatGraph> graphs, Checked checked) {
    List<FlatGraph> inlined = new ArrayList<>(graphs.size());
    for (FlatGraph graph : graphs) {
      inlined.add(
          hasComposite(graph) ? new Composites(graph, graphs, checked).inlined(graph) : graph);
    }
    return inlined;
  }

  private static boolean hasComposite(FlatGraph graph) {
    for (FlatOperator operator : graph.operators()) {
      if (isComposite(operator)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isComposite(FlatOperator operator) {
    return operator.kind().code() == CODE;
  }

  private FlatGraph inlined(FlatGraph graph) {
    int[] places = new int[graph.tensors().size()];
    Arrays.setAll(places, i -> i);
    add(graph, places, 0);
    return new FlatGraph(
        graph.index(),
        List.copyOf(tensors),
        graph.inputs(),
        graph.outputs(),
        List.copyOf(operators));
  }

  /**
   * Adds the operators of a graph.
   *
   * @param places where its tensors are among those of the result
   */
  private void add(FlatGraph graph, int[] places, int depth) {
    checked.payFor(graph.operators().size());
    for (FlatOperator operator : graph.operators()) {
      if (!isComposite(operator)) {
        operators.add(
            new FlatOperator(
                operators.size(),
                operator.kind(),
                moved(operator.inputs(), places),
                moved(operator.outputs(), places),
                moved(operator.intermediates(), places),
                operator.customOptions(),
                operator.table(),
                operator.checked()));
        continue;
      }
      FlatGraph body = body(operator);
      require(depth < MAX_NESTING, operator, "is nested too deeply, or within itself");
      require(
          body.inputs().length == operator.inputs().length
              && body.outputs().length == operator.outputs().length,
          operator,
          "does not fit its graph");
      add(body, places(body, operator, places), depth + 1);
    }
  }

  private FlatGraph body(FlatOperator operator) {
    int index = checked.get(operator.table()::decomposition);
    require(index > 0 && index < graphs.size(), operator, "stands for graph " + index);
    return graphs.get(index);
  }

  private int[] places(FlatGraph body, FlatOperator operator, int[] outer) {
    checked.payFor(body.tensors().size());
    int[] places = new int[body.tensors().size()];
    Arrays.fill(places, NOWHERE);
    for (int i = 0; i < body.inputs().length; i++) {
      int input = operator.inputs()[i];
      places[body.inputs()[i]] = input < 0 ? input : outer[input];
    }
    for (int i = 0; i < body.outputs().length; i++) {
      FlatTensor output = body.tensors().get(body.outputs()[i]);
      require(
          places[output.index()] == NOWHERE && !output.isConstant(),
          operator,
          "gives a result that it does not compute");
      places[output.index()] = outer[operator.outputs()[i]];
    }
    for (FlatTensor tensor : body.tensors()) {
      if (places[tensor.index()] == NOWHERE) {
        places[tensor.index()] = tensors.size();
        tensors.add(tensor.at(tensors.size()));
      }
    }
    return places;
  }

  private static int[] moved(int[] indexes, int[] places) {
    return Arrays.stream(indexes).map(index -> index < 0 ? index : places[index]).toArray();
  }

  private static void require(boolean condition, FlatOperator operator, String what) {
    if (!condition) {
      throw new Refusal(
          "the file is damaged: STABLEHLO_COMPOSITE, operator " + operator.index() + ", " + what);
    }
  }
}
