// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.Numbers;
import io.thalamus.onnx.file.OnnxAttribute;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxNode;
import io.thalamus.onnx.file.Refusal;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import io.thalamus.onnx.fold.Tensors;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** One operator under conversion: what a converter may ask of it, and where it gives results. */
final class Node {
  private final GraphConverter graph;
  private final Scope scope;
  private final OnnxNode onnx;

  Node(GraphConverter graph, Scope scope, OnnxNode onnx) {
    this.graph = graph;
    this.scope = scope;
    this.onnx = onnx;
  }

  OnnxNode onnx() {
    return onnx;
  }

  GraphConverter graph() {
    return graph;
  }

  Scope scope() {
    return scope;
  }

  Ops ops() {
    return graph.ops();
  }

  /** The version of ONNX's operators. */
  long opset() {
    return scope.opset();
  }

  Refusal refuse(String reason) {
    return new Refusal(reason);
  }

  void require(boolean condition, String reason) {
    if (!condition) {
      throw refuse(reason);
    }
  }

  // ---- inputs ----

  int inputs() {
    return onnx.inputs().size();
  }

  boolean has(int input) {
    return input < inputs() && !onnx.inputs().get(input).isEmpty();
  }

  Value in(int input) {
    Value value = openIn(input);
    require(
        !value.isOpen(),
        "'" + onnx.inputs().get(input) + "' has a size that only an execution tells");
    return value;
  }

  /** The value of an input; null where it is left out. */
  Value inOrNull(int input) {
    return has(input) ? in(input) : null;
  }

  /** The value of an input, of which only an execution may tell the size. */
  Value openIn(int input) {
    Value value = any(input);
    require(!value.isSequence(), "'" + onnx.inputs().get(input) + "' is a sequence");
    return value;
  }

  /** A value or a list of values. */
  Value any(int input) {
    require(has(input), "input " + input + " is missing");
    return scope.get(onnx.inputs().get(input));
  }

  /** The values of an input that is a list. */
  List<Value> sequence(int input) {
    Value value = any(input);
    require(value.isSequence(), "'" + onnx.inputs().get(input) + "' is no sequence");
    require(
        value.parts() != null,
        "'" + onnx.inputs().get(input) + "' has a length that only an execution tells");
    return value.parts();
  }

  /** Returns whether an input is there and its value known now. */
  boolean isKnown(int input) {
    return has(input) && in(input).isConstant();
  }

  /** Returns whether an input is a constant of texts. */
  boolean isText(int input) {
    return has(input) && scope.isText(onnx.inputs().get(input));
  }

  /** Returns whether an execution tells an input, and the file does not tell the result's shape. */
  boolean isTold(int input) {
    return has(input) && !isKnown(input) && declared(0) == null;
  }

  /** The value of an input that must be known now. */
  Tensor known(int input) {
    Value value = in(input);
    require(
        value.isConstant(),
        "'" + onnx.inputs().get(input) + "' is not known before the model is executed");
    return value.constant();
  }

  /** The integers of an input that must be known now; those beyond 32 bits are brought within. */
  int[] ints(int input) {
    long[] values = known(input).integers();
    return Arrays.stream(values).mapToInt(Node::clamped).toArray();
  }

  private static int clamped(long value) {
    return Math.clamp(value, Integer.MIN_VALUE, Integer.MAX_VALUE);
  }

  int onlyInt(int input) {
    int[] values = ints(input);
    require(values.length == 1, "'" + onnx.inputs().get(input) + "' is not one number");
    return values[0];
  }

  double onlyNumber(int input) {
    Tensor value = known(input);
    require(value.count() == 1, "'" + onnx.inputs().get(input) + "' is not one number");
    return value.number(0);
  }

  /** An axis as it is counted from 0. */
  int axis(int axis, int rank) {
    int counted = axis < 0 ? axis + rank : axis;
    require(counted >= 0 && counted < rank, "axis " + axis + " is not one of " + rank);
    return counted;
  }

  /** Axes as they are counted from 0, each once. */
  int[] axes(int[] axes, int rank) {
    int[] counted = new int[axes.length];
    for (int i = 0; i < axes.length; i++) {
      counted[i] = axis(axes[i], rank);
    }
    require(
        Arrays.stream(counted).distinct().count() == axes.length,
        "axes " + Arrays.toString(axes) + " name one twice");
    return counted;
  }

  // ---- settings ----

  boolean hasSetting(String name) {
    return onnx.attributes().containsKey(name);
  }

  int setting(String name, int otherwise) {
    OnnxAttribute attribute = onnx.attributes().get(name);
    return attribute == null ? otherwise : clamped(attribute.i());
  }

  boolean flag(String name, boolean otherwise) {
    return setting(name, otherwise ? 1 : 0) != 0;
  }

  float real(String name, float otherwise) {
    OnnxAttribute attribute = onnx.attributes().get(name);
    return attribute == null ? otherwise : attribute.f();
  }

  String text(String name, String otherwise) {
    OnnxAttribute attribute = onnx.attributes().get(name);
    return attribute == null ? otherwise : attribute.s();
  }

  /** A list of integers, or null. */
  int[] list(String name) {
    OnnxAttribute attribute = onnx.attributes().get(name);
    if (attribute == null) {
      return null;
    }
    long[] values = attribute.ints().toArray();
    int[] clamped = new int[values.length];
    for (int i = 0; i < values.length; i++) {
      clamped[i] = clamped(values[i]);
    }
    return clamped;
  }

  /** A list of so many integers, with what it is where the file has none. */
  int[] list(String name, int size, int otherwise) {
    int[] values = list(name);
    if (values == null) {
      values = new int[size];
      Arrays.fill(values, otherwise);
    }
    require(values.length == size, "its " + name + " are " + values.length + " and not " + size);
    return values;
  }

  /** The same as {@link #reals}, in double. */
  double[] doubles(String name) {
    float[] reals = reals(name);
    return reals == null
        ? null
        : IntStream.range(0, reals.length).mapToDouble(i -> reals[i]).toArray();
  }

  /** A list of real numbers, or null. */
  float[] reals(String name) {
    OnnxAttribute attribute = onnx.attributes().get(name);
    if (attribute == null) {
      return null;
    }
    Numbers bits = attribute.floats();
    float[] values = new float[bits.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = Float.intBitsToFloat((int) bits.get(i));
    }
    return values;
  }

  /** A constant among the settings. */
  Value tensor(String name) {
    OnnxAttribute attribute = onnx.attributes().get(name);
    require(attribute != null && attribute.tensor() != null, "its " + name + " is missing");
    return Value.of(Tensors.of(attribute.tensor(), ops().budget()));
  }

  /** The type that a setting names. */
  DataType type(String name, DataType otherwise) {
    DataType type = anyType(name, otherwise);
    require(!type.is4Bit(), "it gives " + type);
    return type;
  }

  /** The same, also where it has 4 bits. */
  DataType anyType(String name, DataType otherwise) {
    int code = setting(name, otherwise.code());
    return DataType.of(code).orElseThrow(() -> refuse("it gives " + DataType.text(code)));
  }

  // ---- outputs ----

  int outputs() {
    return onnx.outputs().size();
  }

  boolean wants(int output) {
    return output < outputs() && !onnx.outputs().get(output).isEmpty();
  }

  /** Returns the result of another operator of ONNX for these values. */
  Value compute(String operator, Map<String, OnnxAttribute> settings, Value... values) {
    return compute(operator, settings, List.of(values), 1).getFirst();
  }

  /**
   * Returns so many results of another operator of ONNX for these values; null stands for an input
   * that is left out.
   */
  List<Value> compute(
      String operator, Map<String, OnnxAttribute> settings, List<Value> values, int count) {
    List<String> names = new ArrayList<>();
    OnnxGraph alone = new OnnxGraph("", List.of(), Map.of(), List.of(), List.of(), Map.of());
    Scope inner = new Scope(alone, null, ops().budget(), opset());
    for (Value value : values) {
      names.add(value == null ? "" : "input " + names.size());
      if (value != null) {
        inner.put(names.getLast(), value);
      }
    }
    List<String> results = IntStream.range(0, count).mapToObj(i -> "result " + i).toList();
    graph.convert(inner, new OnnxNode("", operator, "", names, results, settings));
    return results.stream().map(inner::get).toList();
  }

  /** Gives an output; one that is not wanted is dropped. */
  void out(int output, Value value) {
    if (wants(output)) {
      boolean mayBeSizes =
          output == 0
              && onnx.domain().isEmpty()
              && value.sizes() == null
              && !value.isSequence()
              && !value.isConstant()
              && !value.isOpen();
      Sizes sizes = mayBeSizes ? Sizes.result(this) : null;
      Value known = value;
      if (sizes != null) {
        boolean isConstant = sizes.isWhole() && value.type() == DataType.INT64;
        known =
            isConstant
                ? Value.of(Tensor.ofLongs(value.shape(), sizes.numbers()))
                : value.with(sizes);
      }
      scope.put(onnx.outputs().get(output), known);
    }
  }

  void out(Value value) {
    out(0, value);
  }

  /** The dimensions that the file states for an output; null where one is open. */
  int[] declared(int output) {
    return wants(output) ? scope.declared(onnx.outputs().get(output)) : null;
  }

  /** The same, which must be there. */
  int[] stated(int output, int input) {
    int[] shape = declared(output);
    require(
        shape != null && Dims.count(shape) > 0,
        "'"
            + onnx.inputs().get(input)
            + "' is not known before the model is executed, and the shape of its result not"
            + " stated");
    return shape;
  }
}
