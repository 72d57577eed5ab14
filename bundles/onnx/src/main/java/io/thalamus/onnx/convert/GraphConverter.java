// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.onnx.file.DataFiles;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxFunction;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxModel;
import io.thalamus.onnx.file.OnnxNode;
import io.thalamus.onnx.file.OnnxValue;
import io.thalamus.onnx.file.Refusal;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensors;
import io.thalamus.onnx.layout.Layout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/** Makes a model of a file's content. Used once; not thread-safe. */
public final class GraphConverter {
  private static final int OLDEST = 1;
  private static final int MAX_PROBLEMS = 20;
  private static final int MAX_NODES = 300_000;
  private static final int MAX_CALLS = 32;

  private final OnnxModel file;
  private final DataFiles files;
  private final Converters converters;
  private final Map<String, Shape> shapes;
  private final Ops ops;
  private final List<String> problems = new ArrayList<>();
  private final Map<OnnxGraph, int[]> orders = new IdentityHashMap<>();
  private final GraphConverter main;
  private final boolean isTrial;
  private final List<Subgraph> referenced;
  private int converted;
  private int calls;

  private GraphConverter(
      OnnxModel file,
      DataFiles files,
      Converters converters,
      Map<String, Shape> shapes,
      Budget budget,
      boolean isTrial) {
    this.main = this;
    this.isTrial = isTrial;
    this.referenced = new ArrayList<>();
    this.shapes = shapes;
    this.file = file;
    this.files = files;
    this.converters = converters;
    this.ops = new Ops(files, converters.catalog(), budget);
  }

  private GraphConverter(GraphConverter main) {
    this.main = main;
    this.isTrial = main.isTrial;
    this.referenced = main.referenced;
    this.shapes = Map.of();
    this.file = main.file;
    this.files = main.files;
    this.converters = main.converters;
    this.ops = new Ops(files, converters.catalog(), main.ops.budget());
  }

  /** A converter for a graph that control flow of this one refers to. */
  GraphConverter inner() {
    return new GraphConverter(main);
  }

  /**
   * Ends a graph that control flow refers to.
   *
   * @return its place among those of the model
   */
  int finishInner(List<Integer> inputs, List<Value> values) {
    List<Integer> outputs = new ArrayList<>();
    Set<Integer> used = new HashSet<>(inputs);
    for (Value value : values) {
      outputs.add(output(value, value.type().operand().orElseThrow(), used));
    }
    Subgraph graph = named(ops.builder().build(inputs, outputs), Map.of());
    referenced.add(ops.finished(graph));
    return referenced.size() - 1;
  }

  /**
   * Converts a file.
   *
   * @param shapes for inputs with open dimensions, by name
   * @param isTrial whether the first operator that cannot be expressed ends it
   * @throws Refusal where it contradicts itself, or operators cannot be expressed: all of them are
   *     named
   */
  static Model convert(
      OnnxModel file,
      DataFiles files,
      Converters converters,
      Map<String, Shape> shapes,
      Budget budget,
      boolean isTrial) {
    try {
      GraphConverter converter =
          new GraphConverter(file, files, converters, shapes, budget, isTrial);
      Subgraph graph = converter.convert();
      return Layout.model(converter.ops.finished(graph), converter.referenced);
    } catch (ArithmeticException e) {
      throw new Refusal("its dimensions are beyond counting", e);
    }
  }

  Ops ops() {
    return ops;
  }

  /** The version of the operators of a domain; ONNX's own has no name. */
  long opset(String domain) {
    return file.opsets().getOrDefault(domain, 1L);
  }

  private Subgraph convert() {
    if (opset("") < OLDEST) {
      throw new Refusal(
          "it has ONNX's operators of version %s; %s is the oldest known"
              .formatted(opset(""), OLDEST));
    }
    checkShapes();
    Scope scope = new Scope(file.graph(), null, ops.budget(), opset(""));
    List<Integer> inputs = inputs(scope);
    run(scope);
    if (!problems.isEmpty()) {
      throw new Refusal(problemText());
    }
    return finish(scope, inputs);
  }

  private String problemText() {
    if (problems.size() == 1) {
      return problems.getFirst();
    }
    String shown = String.join("; ", problems.subList(0, Math.min(problems.size(), MAX_PROBLEMS)));
    int hidden = problems.size() - MAX_PROBLEMS;
    return problems.size()
        + " operators cannot be expressed: "
        + shown
        + (hidden > 0 ? "; and " + hidden + " more" : "");
  }

  /** The operands of inputs; one without elements carries nothing, and is none of the model's. */
  private List<Integer> inputs(Scope scope) {
    List<Integer> inputs = new ArrayList<>();
    for (OnnxValue input : file.graph().inputs()) {
      if (file.graph().constants().containsKey(input.name())) {
        continue;
      }
      DataType type =
          DataType.of(input.type())
              .filter(known -> known.operand().isPresent())
              .orElseThrow(
                  () ->
                      new Refusal(
                          "input '%s' is %s, which no operand holds"
                              .formatted(
                                  input.name(),
                                  input.type() == 0
                                      ? "no tensor"
                                      : "of " + DataType.text(input.type()))));
      int[] shape = inputShape(input);
      if (Dims.zeros(shape) > 0) {
        scope.put(input.name(), ops.fill(type, shape, 0));
        continue;
      }
      boolean isHalf = input.type() == DataType.BFLOAT16;
      DataType given = isHalf ? DataType.UINT16 : type;
      int operand =
          ops.builder()
              .operand(
                  new Operand(
                      given.argument().orElseThrow(),
                      Emitter.physical(shape),
                      Emitter.argumentQuantization(given.argument().orElseThrow()),
                      Lifetime.SUBGRAPH_INPUT,
                      input.name()));
      inputs.add(operand);
      if (!given.argument().equals(given.operand())) {
        boolean isBound = given == DataType.INT64 && scope.isSliceBound(input.name());
        operand =
            isBound
                ? SliceBounds.within(ops, operand, shape)
                : ops.convert(operand, Emitter.code(given));
      }
      Value value = Value.of(given, shape, operand);
      scope.put(input.name(), isHalf ? UpperHalves.reals(ops, value) : value);
    }
    return inputs;
  }

  private int[] inputShape(OnnxValue input) {
    Shape given = shapes.get(input.name());
    if (given != null) {
      checkFits(input, given);
      return given.toArray();
    }
    if (input.dims() == null || hasOpen(input.dims())) {
      throw new Refusal(
          "input '%s' has %s; all of its dimensions must be fixed, in the file or while it is read"
              .formatted(input.name(), text(input)));
    }
    return Tensors.shape(input.name(), input.dims());
  }

  private static boolean hasOpen(long... dims) {
    for (long size : dims) {
      if (size < 0) {
        return true;
      }
    }
    return false;
  }

  private static void checkFits(OnnxValue input, Shape given) {
    boolean fits = input.dims() == null || input.dims().length == given.rank();
    for (int i = 0; fits && input.dims() != null && i < given.rank(); i++) {
      fits = input.dims()[i] < 0 || input.dims()[i] == given.dimension(i);
    }
    if (!fits) {
      throw new Refusal(
          "input '%s' has %s, which %s does not fit".formatted(input.name(), text(input), given));
    }
  }

  private static String text(OnnxValue input) {
    return input.dims() == null
        ? "no stated shape"
        : "the shape "
            + String.join(
                "x",
                Arrays.stream(input.dims())
                    .mapToObj(size -> size < 0 ? "?" : Long.toString(size))
                    .toList());
  }

  private void checkShapes() {
    if (shapes.isEmpty()) {
      return;
    }
    List<String> names = file.graph().inputs().stream().map(OnnxValue::name).toList();
    for (String name : shapes.keySet()) {
      if (!names.contains(name)) {
        throw new Refusal(
            "there is no input '" + name + "'; there are " + String.join(", ", names));
      }
    }
  }

  /** Converts the nodes of a graph; what fails is noted, and what depends on it is left out. */
  void run(Scope scope) {
    List<OnnxNode> nodes = scope.graph().nodes();
    for (int i : orders.computeIfAbsent(scope.graph(), NodeOrder::of)) {
      OnnxNode onnx = nodes.get(i);
      if (++main.converted > MAX_NODES) {
        problems.add("its loops have more than " + MAX_NODES + " steps together");
        return;
      }
      String problem = null;
      if (scope.hasFailed(onnx.inputs())) {
        onnx.outputs().forEach(scope::fail);
        if (converters.find(onnx).isPresent() || function(onnx).isPresent()) {
          continue;
        }
      }
      try {
        convert(scope, onnx);
      } catch (Refusal e) {
        problem = e.getMessage();
      } catch (ArithmeticException | NegativeArraySizeException | IndexOutOfBoundsException e) {
        problem = "its dimensions contradict each other";
      }
      if (problem != null) {
        problems.add(text(i, onnx) + ": " + problem);
        onnx.outputs().forEach(scope::fail);
        if (isTrial) {
          return;
        }
      }
    }
  }

  /** Converts one operator. */
  void convert(Scope scope, OnnxNode onnx) {
    Optional<OnnxFunction> function =
        converters.find(onnx).isPresent() ? Optional.empty() : function(onnx);
    if (function.isPresent()) {
      call(function.get(), scope, onnx);
    } else {
      Consumer<Node> converter =
          converters.find(onnx).orElseThrow(() -> new Refusal(unknown(onnx)));
      Node node = new Node(this, scope, onnx);
      if (!NoElements.convert(node)) {
        converter.accept(node);
      }
    }
    for (String output : onnx.outputs()) {
      if (!output.isEmpty() && !scope.hasFailed(output)) {
        scope.get(output);
      }
    }
  }

  private static String unknown(OnnxNode onnx) {
    return onnx.domain().equals("com.microsoft.nchwc")
        ? "ONNX Runtime wrote it for the processor that it ran on; save the model with the level"
            + " ORT_ENABLE_EXTENDED at most"
        : "nothing that is known here computes it";
  }

  /** Returns whether all operators of a graph, and of those within it, are known. */
  boolean knows(OnnxGraph graph) {
    return graph.nodes().stream()
        .allMatch(
            onnx ->
                (converters.find(onnx).isPresent() || function(onnx).isPresent())
                    && onnx.attributes().values().stream()
                        .allMatch(each -> each.graph() == null || knows(each.graph())));
  }

  private Optional<OnnxFunction> function(OnnxNode onnx) {
    return file.functions().stream()
        .filter(each -> each.name().equals(onnx.type()) && each.domain().equals(onnx.domain()))
        .findFirst();
  }

  private static String text(int index, OnnxNode onnx) {
    String name =
        !onnx.name().isEmpty()
            ? " '" + onnx.name() + "'"
            : onnx.outputs().isEmpty() ? "" : " (output '" + onnx.outputs().getFirst() + "')";
    String domain = onnx.domain().isEmpty() ? "" : onnx.domain() + ".";
    return "node " + index + " " + domain + onnx.type() + name;
  }

  /** Converts a graph within another, where it stands; returns its outputs. */
  List<Value> inline(OnnxGraph graph, Scope outer, Map<String, Value> given) {
    return outputs(new Scope(graph, outer, ops.budget(), outer.opset()), given);
  }

  /** Converts what a function of the file consists of, where it is called. */
  private void call(OnnxFunction function, Scope scope, OnnxNode onnx) {
    if (onnx.inputs().size() > function.inputs().size()
        || onnx.outputs().size() > function.outputs().size()) {
      throw new Refusal("the file defines it with fewer inputs or outputs");
    }
    if (++main.calls > MAX_CALLS) {
      throw new Refusal("its functions call each other more than " + MAX_CALLS + " deep");
    }
    List<OnnxValue> outputs =
        function.outputs().stream().map(name -> new OnnxValue(name, 0, null)).toList();
    OnnxGraph body =
        new OnnxGraph(
            function.name(),
            Functions.nodes(function, onnx.attributes()),
            Map.of(),
            List.of(),
            outputs.subList(0, onnx.outputs().size()),
            Map.of());
    Map<String, Value> given = new HashMap<>();
    for (int i = 0; i < onnx.inputs().size(); i++) {
      if (!onnx.inputs().get(i).isEmpty()) {
        given.put(function.inputs().get(i), scope.get(onnx.inputs().get(i)));
      }
    }
    long version = function.opsets().getOrDefault("", scope.opset());
    List<Value> results = outputs(new Scope(body, null, ops.budget(), version), given);
    for (int i = 0; i < results.size(); i++) {
      if (!onnx.outputs().get(i).isEmpty()) {
        scope.put(onnx.outputs().get(i), results.get(i));
      }
    }
    main.calls--;
  }

  private List<Value> outputs(Scope inner, Map<String, Value> given) {
    for (Map.Entry<String, Value> value : given.entrySet()) {
      inner.put(value.getKey(), value.getValue());
    }
    int known = problems.size();
    run(inner);
    if (problems.size() > known) {
      List<String> inside = problems.subList(known, problems.size());
      String text = "within it: " + String.join(", ", inside);
      inside.clear();
      throw new Refusal(text);
    }
    List<Value> outputs = new ArrayList<>();
    for (OnnxValue output : inner.graph().outputs()) {
      outputs.add(inner.get(output.name()));
    }
    return outputs;
  }

  // ---- the finished graph ----

  private Subgraph finish(Scope scope, List<Integer> inputs) {
    List<Integer> outputs = new ArrayList<>();
    Map<Integer, String> names = new TreeMap<>();
    Set<Integer> used = new HashSet<>(inputs);
    for (OnnxValue output : file.graph().outputs()) {
      Value value = scope.get(output.name());
      if (value.isSequence()) {
        throw new Refusal("output '" + output.name() + "' is a sequence");
      }
      if (output.type() == DataType.BFLOAT16) {
        if (value.isOpen()) {
          throw new Refusal(
              "output '" + output.name() + "' is BFLOAT16 of a size that only an execution tells");
        }
        value = UpperHalves.of(ops, value);
      }
      OperandType type = value.type().argument().orElseThrow();
      int operand = output(value, type, used);
      outputs.add(operand);
      names.put(operand, output.name());
    }
    if (outputs.isEmpty()) {
      throw new Refusal("its graph has no outputs");
    }
    Subgraph graph = ops.builder().build(inputs, outputs);
    return named(graph, names);
  }

  /** The operand of a type that holds a result, and that an operation writes. */
  private int output(Value result, OperandType type, Set<Integer> used) {
    Value value =
        result.isConstant() && result.count() == 0
            ? OpenSizes.empty(ops, result.type(), result.shape())
            : result;
    int operand = value.stored().isPresent() ? value.stored().getAsInt() : ops.operand(value);
    if (!type.equals(ops.builder().get(operand).type())) {
      operand = value.isOpen() ? ops.convertOpen(value, type) : ops.convert(operand, type);
    }
    boolean isComputed = ops.builder().get(operand).lifetime().equals(Lifetime.TEMPORARY_VARIABLE);
    if (!isComputed
        || !used.add(operand)
        || !ops.builder().get(operand).shape().equals(Emitter.physical(value.shape()))) {
      operand = value.isOpen() ? OpenSizes.copy(ops, value).operand() : copy(value);
      used.add(operand);
    }
    return operand;
  }

  /** The same graph with names for its outputs. */
  private static Subgraph named(Subgraph graph, Map<Integer, String> names) {
    List<Operand> operands = new ArrayList<>(graph.operands());
    for (int index : graph.outputIndexes()) {
      Operand found = operands.get(index);
      operands.set(
          index,
          new Operand(
              found.type(),
              found.shape(),
              found.quantization(),
              Lifetime.SUBGRAPH_OUTPUT,
              names.getOrDefault(index, "")));
    }
    return new Subgraph(operands, graph.operations(), graph.inputIndexes(), graph.outputIndexes());
  }

  /** In NNAPI every output is written by an operation, once; what is not is copied. */
  private int copy(Value value) {
    int operand = ops.operand(value);
    if (value.type() == DataType.BOOL) {
      return ops.emit(value.type(), OperationCode.LOGICAL_OR, operand, operand).operand();
    }
    return ops.emit(value.type(), OperationCode.CAST, operand).operand();
  }
}
