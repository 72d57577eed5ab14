// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxTensor;
import io.thalamus.onnx.file.OnnxValue;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Tensors;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The values of a graph by name; those of the graph around it are seen too. */
final class Scope {
  private final OnnxGraph graph;
  private final Scope outer;
  private final Budget budget;
  private final Map<String, Value> values = new HashMap<>();
  private final Set<String> failed = new HashSet<>();

  Scope(OnnxGraph graph, Scope outer, Budget budget) {
    this.graph = graph;
    this.outer = outer;
    this.budget = budget;
  }

  OnnxGraph graph() {
    return graph;
  }

  void put(String name, Value value) throws ModelFormatException {
    if (values.putIfAbsent(name, value) != null) {
      throw new ModelFormatException("the file is damaged: '" + name + "' is computed twice");
    }
  }

  /** Notes that a value could not be computed. */
  void fail(String name) {
    failed.add(name);
  }

  boolean hasFailed(String name) {
    return failed.contains(name)
        || outer != null
            && !values.containsKey(name)
            && !graph.constants().containsKey(name)
            && outer.hasFailed(name);
  }

  Value get(String name) throws ModelFormatException {
    Value known = values.get(name);
    if (known != null) {
      return known;
    }
    OnnxTensor constant = graph.constants().get(name);
    if (constant != null) {
      Value value = Value.of(Tensors.of(constant, budget));
      values.put(name, value);
      return value;
    }
    if (outer == null) {
      throw new ModelFormatException(
          "the file is damaged: '" + name + "' is read before it is computed");
    }
    return outer.get(name);
  }

  /** The dimensions that the file states for a value; null where one is open. */
  int[] declared(String name) {
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
