// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.model.Elements;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The inputs and outputs of a model as its clients see them, and checks of what they send. */
final class Signature {
  private final Subgraph graph;
  private final List<Place> inputs;
  private final List<Place> outputs;
  private final List<State> states;

  /** A tensor, and its index among the inputs or outputs of the model. */
  private record Place(int index, TensorMetadata tensor) {}

  /**
   * A state: an output that the next request of a sequence gets as an input. Clients see neither.
   *
   * @param input the index of the input in the model
   * @param output the index of the output in the model
   * @param first the value at the beginning of a sequence; empty for zeros
   */
  record State(int input, int output, long byteSize, Optional<Lifetime.Constant> first) {}

  private Signature(Subgraph graph, List<Place> inputs, List<Place> outputs, List<State> states) {
    this.graph = graph;
    this.inputs = inputs;
    this.outputs = outputs;
    this.states = states;
  }

  /**
   * The signature of a model.
   *
   * @param open the dimensions that clients see, 0 for an open one
   * @param states the names of outputs to the names of inputs that they become
   * @throws ServingException with UNSUPPORTED if the protocol has no datatype for a tensor, and
   *     INVALID_ARGUMENT if a state is not one of the graph
   */
  Signature(ModelFile file, OpenShapes open, Map<String, String> states) throws ServingException {
    this.graph = file.model().main();
    this.states = new ArrayList<>();
    List<Place> allInputs = places("input", graph, graph.inputIndexes(), open.inputs());
    List<Place> allOutputs = places("output", graph, graph.outputIndexes(), open.outputs());
    for (Map.Entry<String, String> state : states.entrySet()) {
      Place output = take(allOutputs, "output", state.getKey());
      Place input = take(allInputs, "input", state.getValue());
      Operand from = graph.output(output.index());
      Operand to = graph.input(input.index());
      if (!from.isSizeKnown() || !from.type().equals(to.type()) || !sameShape(from, to)) {
        throw ServingException.invalid("state " + from.text() + " does not fit input " + to.text());
      }
      this.states.add(
          new State(
              input.index(), output.index(), from.byteSize(), file.firstValue(input.index())));
    }
    this.inputs = List.copyOf(allInputs);
    this.outputs = List.copyOf(allOutputs);
  }

  private static boolean sameShape(Operand from, Operand to) {
    return from.shape().equals(to.shape()) && from.quantization().equals(to.quantization());
  }

  private static Place take(List<Place> places, String kind, String name) throws ServingException {
    Place place = places.get(index(kind, places, name));
    places.remove(place);
    return place;
  }

  private static List<TensorMetadata> tensors(List<Place> places) {
    return places.stream().map(Place::tensor).toList();
  }

  /** Returns the same of the graph that the file gives for other dimensions. */
  Signature of(Subgraph other) {
    return new Signature(other, inputs, outputs, states);
  }

  private static List<Place> places(
      String kind, Subgraph graph, List<Integer> indexes, List<Shape> shapes)
      throws ServingException {
    List<Place> tensors = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (int index : indexes) {
      Operand operand = graph.operands().get(index);
      String name = operand.name().isEmpty() ? kind + "_" + tensors.size() : operand.name();
      // A file may give a name twice, but a client finds tensors by their names alone.
      while (!names.add(name)) {
        name += "_" + tensors.size();
      }
      TensorMetadata tensor =
          new TensorMetadata(
              name,
              datatype(kind, name, operand),
              shape(operand.with(shapes.get(tensors.size()))),
              operand.quantization());
      tensors.add(new Place(tensors.size(), tensor));
    }
    return tensors;
  }

  private static Datatype datatype(String kind, String name, Operand operand)
      throws ServingException {
    Elements elements =
        Elements.find(operand.type())
            .orElseThrow(
                () ->
                    new ServingException(
                        Failure.UNSUPPORTED,
                        "%s '%s' is of type %s, for which the protocol has no datatype"
                            .formatted(kind, name, operand.type().text())));
    return switch (elements) {
      case FLOAT32 -> Datatype.FP32;
      case FLOAT16 -> Datatype.FP16;
      case FLOAT64 -> Datatype.FP64;
      case INT8 -> Datatype.INT8;
      case UINT8 -> Datatype.UINT8;
      case INT16 -> Datatype.INT16;
      case UINT16 -> Datatype.UINT16;
      case INT32 -> Datatype.INT32;
      case UINT32 -> Datatype.UINT32;
      case INT64 -> Datatype.INT64;
      case BOOL8 -> Datatype.BOOL;
    };
  }

  /** Returns the dimensions; a tensor of unknown rank has one open dimension. */
  private static List<Long> shape(Operand operand) {
    List<Long> dimensions = new ArrayList<>();
    for (int dimension : operand.shape().toArray()) {
      dimensions.add(dimension == 0 ? -1L : dimension);
    }
    return dimensions.isEmpty() && operand.type().isTensor() ? List.of(-1L) : dimensions;
  }

  List<TensorMetadata> inputs() {
    return tensors(inputs);
  }

  List<TensorMetadata> outputs() {
    return tensors(outputs);
  }

  /** Returns the inputs with the dimensions that the file was read with. */
  List<TensorMetadata> inputsAsRead() {
    return inputs.stream().map(place -> asRead(place, graph.input(place.index()))).toList();
  }

  /** Returns the outputs with the dimensions that the file was read with. */
  List<TensorMetadata> outputsAsRead() {
    return outputs.stream().map(place -> asRead(place, graph.output(place.index()))).toList();
  }

  private static TensorMetadata asRead(Place place, Operand operand) {
    TensorMetadata tensor = place.tensor();
    return new TensorMetadata(
        tensor.name(), tensor.datatype(), shape(operand), tensor.quantization());
  }

  List<State> states() {
    return states;
  }

  /** Returns the index in the model of the input at a place among {@link #inputs}. */
  int inputIndex(int place) {
    return inputs.get(place).index();
  }

  /** Returns the index in the model of the output at a place among {@link #outputs}. */
  int outputIndex(int place) {
    return outputs.get(place).index();
  }

  /** Returns the operand of the output at a place among {@link #outputs}. */
  Operand output(int place) {
    return graph.output(outputIndex(place));
  }

  TensorMetadata outputTensor(int place) {
    return outputs.get(place).tensor();
  }

  /**
   * Returns what a request gives, in the order of {@link #inputs}.
   *
   * @throws ServingException with INVALID_ARGUMENT and the name of the tensor
   */
  Input[] order(List<Input> given) throws ServingException {
    Input[] ordered = new Input[inputs.size()];
    for (Input input : given) {
      int index = index("input", inputs, input.name());
      if (ordered[index] != null) {
        throw ServingException.invalid("input '" + input.name() + "' is given twice");
      }
      check(inputs.get(index).tensor(), input);
      ordered[index] = input;
    }
    for (int i = 0; i < ordered.length; i++) {
      if (ordered[i] == null) {
        throw ServingException.invalid(
            "input '"
                + inputs.get(i).tensor().name()
                + "' is missing: expected "
                + text(inputs.get(i).tensor().datatype(), inputs.get(i).tensor().shape())
                + ", and the request has "
                + (given.isEmpty()
                    ? "no inputs"
                    : names(given.stream().map(Input::name).toList())));
      }
    }
    return ordered;
  }

  /**
   * Returns which outputs are wanted, by their places among {@link #outputs}.
   *
   * @param names empty for all
   * @throws ServingException with INVALID_ARGUMENT and the name of the output
   */
  List<Integer> wanted(List<String> names) throws ServingException {
    List<Integer> indexes = new ArrayList<>();
    for (String name : names) {
      int index = index("output", outputs, name);
      if (indexes.contains(index)) {
        throw ServingException.invalid("output '" + name + "' is asked for twice");
      }
      indexes.add(index);
    }
    for (int i = 0; i < outputs.size() && names.isEmpty(); i++) {
      indexes.add(i);
    }
    return indexes;
  }

  private static int index(String kind, List<Place> places, String name) throws ServingException {
    for (int i = 0; i < places.size(); i++) {
      if (places.get(i).tensor().name().equals(name)) {
        return i;
      }
    }
    throw ServingException.invalid(
        "the model has no %s '%s': expected %s"
            .formatted(
                kind, name, names(tensors(places).stream().map(TensorMetadata::name).toList())));
  }

  private static String names(List<String> names) {
    return names.stream().map(name -> "'" + name + "'").collect(Collectors.joining(", "));
  }

  private static void check(TensorMetadata expected, Input input) throws ServingException {
    if (input.datatype() != expected.datatype()) {
      throw ServingException.invalid(
          "input '%s' is of datatype %s: expected %s"
              .formatted(input.name(), input.datatype(), expected.datatype()));
    }
    if (!fits(expected.shape(), input.shape())) {
      throw ServingException.invalid(
          "input '"
              + input.name()
              + "' has shape "
              + input.shape()
              + ": expected "
              + expected.shape()
              + (input.shape().contains(0L) ? "; a dimension of 0 is not served" : ""));
    }
    long bytes = byteSize(input);
    if (bytes != input.value().byteSize()) {
      throw ServingException.invalid(
          "input '%s' has %s bytes: expected %s for %s"
              .formatted(
                  input.name(),
                  input.value().byteSize(),
                  bytes,
                  text(input.datatype(), input.shape())));
    }
  }

  private static boolean fits(List<Long> expected, List<Long> given) {
    // A scalar may come as one element, since some clients have no shape without dimensions.
    if (expected.isEmpty()) {
      return given.isEmpty() || given.equals(List.of(1L));
    }
    if (expected.size() != given.size()) {
      return expected.equals(List.of(-1L)) && given.stream().allMatch(Signature::isDimension);
    }
    for (int i = 0; i < expected.size(); i++) {
      boolean isOpen = expected.get(i) < 0;
      if (isOpen ? !isDimension(given.get(i)) : !expected.get(i).equals(given.get(i))) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether the runtime has such a dimension; 0 would be an open one for it. */
  private static boolean isDimension(long dimension) {
    return dimension > 0 && dimension <= Integer.MAX_VALUE;
  }

  private static long byteSize(Input input) throws ServingException {
    try {
      long bytes = input.datatype().size();
      for (long dimension : input.shape()) {
        bytes = Math.multiplyExact(bytes, dimension);
      }
      return bytes;
    } catch (ArithmeticException e) {
      throw new ServingException(
          Failure.TOO_LARGE,
          "input '" + input.name() + "' has shape " + input.shape() + ", which is too large");
    }
  }

  private static String text(Datatype datatype, List<Long> shape) {
    return datatype + " " + shape;
  }

  /** Returns the dimensions for the runtime: NONE where the model fixes them. */
  Shape shape(int place, Input input) {
    if (graph.input(inputIndex(place)).isSizeKnown()) {
      return Shape.NONE;
    }
    return shape(input);
  }

  static Shape shape(Input input) {
    return Shape.of(input.shape().stream().mapToInt(Math::toIntExact).toArray());
  }
}
