// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxNode;
import io.thalamus.onnx.file.OnnxTensor;
import io.thalamus.onnx.file.OnnxValue;
import io.thalamus.onnx.file.Refusal;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Tensors;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;

/** The values of a graph by name; those of the graph around it are seen too. */
final class Scope {
  private static final int MAX_STEPS = 16;

  /** Operators that keep the dimensions of their first input. */
  private static final Set<String> SINGLES =
      Set.of(
          "Abs",
          "Cast",
          "CastLike",
          "Ceil",
          "Cos",
          "Exp",
          "Floor",
          "Identity",
          "Log",
          "Neg",
          "Relu",
          "Round",
          "Sigmoid",
          "Sin",
          "Sqrt",
          "Tanh");

  /** Operators that keep the dimensions of an input beside scalars. */
  private static final Set<String> PAIRS = Set.of("Add", "Sub", "Mul", "Div");

  private final OnnxGraph graph;
  private final Scope outer;
  private final Budget budget;
  private final long opset;
  private final UnaryOperator<Value> frontier;
  private final Map<String, Value> values = new HashMap<>();
  private final Set<String> failed = new HashSet<>();
  private Map<String, OnnxNode> readers;
  private Set<String> sliceBounds;

  Scope(OnnxGraph graph, Scope outer, Budget budget, long opset) {
    this.graph = graph;
    this.outer = outer;
    this.budget = budget;
    this.opset = opset;
    this.frontier = value -> value;
  }

  /** The values of a graph as another one sees them that control flow refers to. */
  Scope(Scope outer, UnaryOperator<Value> frontier) {
    this.graph = new OnnxGraph("", List.of(), Map.of(), List.of(), List.of(), Map.of());
    this.outer = outer;
    this.budget = outer.budget;
    this.opset = outer.opset;
    this.frontier = frontier;
  }

  /** The version of ONNX's operators. */
  long opset() {
    return opset;
  }

  OnnxGraph graph() {
    return graph;
  }

  void put(String name, Value value) {
    if (values.putIfAbsent(name, read(name, value)) != null) {
      throw new Refusal("the file is damaged: '" + name + "' is computed twice");
    }
  }

  /** A value as those that read it take it. */
  private Value read(String name, Value value) {
    return SliceBounds.isBeyond(value) && isSliceBound(name)
        ? SliceBounds.within(value, budget)
        : value;
  }

  /** Returns whether a value is starts or ends of slices, and nothing else. */
  boolean isSliceBound(String name) {
    if (sliceBounds == null) {
      sliceBounds = SliceBounds.of(graph);
    }
    return sliceBounds.contains(name);
  }

  /** Notes that a value could not be computed; one that is left out has no name, and no reader. */
  void fail(String name) {
    if (!name.isEmpty()) {
      failed.add(name);
    }
  }

  boolean hasFailed(List<String> names) {
    for (String name : names) {
      if (hasFailed(name)) {
        return true;
      }
    }
    return false;
  }

  boolean hasFailed(String name) {
    return failed.contains(name)
        || outer != null
            && !values.containsKey(name)
            && !graph.constants().containsKey(name)
            && outer.hasFailed(name);
  }

  /** Returns whether a name is that of a constant of texts. */
  boolean isText(String name) {
    OnnxTensor constant = graph.constants().get(name);
    return constant == null
        ? outer != null && !values.containsKey(name) && outer.isText(name)
        : constant.type() == DataType.STRING;
  }

  Value get(String name) {
    Value known = values.get(name);
    if (known != null) {
      return known;
    }
    OnnxTensor constant = graph.constants().get(name);
    if (constant != null) {
      Value value = read(name, Value.of(Tensors.of(constant, budget)));
      values.put(name, value);
      return value;
    }
    if (outer == null) {
      throw new Refusal("the file is damaged: '" + name + "' is read before it is computed");
    }
    Value found = outer.get(name);
    Value passed = pass(found);
    if (passed != found) {
      values.put(name, passed);
    }
    return passed;
  }

  /** A value of the graph around this one as it is seen here. */
  Value pass(Value value) {
    return frontier.apply(value);
  }

  /**
   * The dimensions that the file states for a value, or for another that is computed of it element
   * by element; null where one is open.
   */
  int[] declared(String name) {
    String next = name;
    int[] shape = stated(next);
    for (int step = 0; shape == null && step < MAX_STEPS; step++) {
      OnnxNode reader = readers().get(next);
      if (reader == null || reader.outputs().isEmpty() || !keepsShape(reader, next)) {
        return null;
      }
      next = reader.outputs().getFirst();
      shape = stated(next);
    }
    return shape;
  }

  private boolean keepsShape(OnnxNode reader, String name) {
    if (!PAIRS.contains(reader.type())) {
      return true;
    }
    for (String input : reader.inputs()) {
      Value other = values.get(input);
      if (!input.equals(name) && (other == null || other.rank() > 0)) {
        return false;
      }
    }
    return true;
  }

  /** For each value the first node that keeps the dimensions of its first or only large input. */
  private Map<String, OnnxNode> readers() {
    if (readers == null) {
      readers = new HashMap<>();
      for (OnnxNode node : graph.nodes()) {
        boolean isPair = PAIRS.contains(node.type());
        if (isPair || SINGLES.contains(node.type())) {
          int count = isPair ? node.inputs().size() : Math.min(1, node.inputs().size());
          node.inputs().subList(0, count).forEach(name -> readers.putIfAbsent(name, node));
        }
      }
    }
    return readers;
  }

  private int[] stated(String name) {
    OnnxValue value = graph.values().get(name);
    for (OnnxValue output : graph.outputs()) {
      value = output.name().equals(name) ? output : value;
    }
    if (value == null || value.dims() == null) {
      return null;
    }
    int[] shape = new int[value.dims().length];
    for (int i = 0; i < shape.length; i++) {
      long size = value.dims()[i];
      if (size < 0 || size > Integer.MAX_VALUE) {
        return null;
      }
      shape[i] = (int) size;
    }
    return shape;
  }
}
