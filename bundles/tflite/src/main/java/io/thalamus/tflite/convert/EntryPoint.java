// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.tflite.file.FlatGraph;
import io.thalamus.tflite.file.FlatModel;
import io.thalamus.tflite.file.FlatSignature;
import io.thalamus.tflite.file.FlatTensor;
import io.thalamus.tflite.file.Refusal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.tensorflow.lite.schema.TensorType;

/**
 * A graph with the names of its inputs and outputs and the dimensions of its inputs. Immutable.
 *
 * @param graph the graph
 * @param inputNames by input
 * @param inputShapes by input; those that the file leaves open are chosen, or as the file was
 *     written
 * @param openInputs by number of the input, those with open dimensions, which are 0
 * @param outputs indexes of tensors
 * @param outputNames by index of the tensor, where they are not those of the tensors
 * @param lists by number of the input, the tensors that are given for lists; see {@link Lists}
 * @param isMain whether it is what the user calls, and not another graph
 */
public record EntryPoint(
    FlatGraph graph,
    List<String> inputNames,
    List<Shape> inputShapes,
    Map<Integer, Shape> openInputs,
    int[] outputs,
    Map<Integer, String> outputNames,
    Map<Integer, Operand> lists,
    boolean isMain) {

  private static final int[] SIZES = {64, 224, 512};

  /** A graph that another one refers to. */
  static EntryPoint of(FlatGraph graph) {
    return of(graph, Map.of(), Map.of(), ReadOptions.DEFAULT, false);
  }

  /** The same graph, to which operands of some types and shapes are given. */
  EntryPoint given(List<Operand> operands) {
    Map<Integer, Operand> given = new HashMap<>();
    for (int i = 0; i < Math.min(operands.size(), graph.inputs().length); i++) {
      if (isList(i)) {
        given.put(i, operands.get(i));
      }
    }
    return with(operands.stream().map(Operand::shape).toList(), given);
  }

  private EntryPoint with(List<Shape> shapes, Map<Integer, Operand> lists) {
    if (shapes.size() != inputShapes.size()) {
      throw new Refusal(
          "graph %d has %d inputs and gets %d"
              .formatted(graph.index(), inputShapes.size(), shapes.size()));
    }
    return new EntryPoint(
        graph, inputNames, shapes, openInputs, outputs, outputNames, lists, isMain);
  }

  private FlatTensor tensor(int input) {
    return graph.tensors().get(graph.inputs()[input]);
  }

  private boolean isList(int input) {
    return tensor(input).is(TensorType.VARIANT);
  }

  /** The operand of an input. */
  Operand input(int input) {
    Lifetime lifetime = Lifetime.SUBGRAPH_INPUT;
    String name = inputNames.get(input);
    Operand list = lists.get(input);
    if (list != null) {
      return new Operand(list.type(), list.shape(), list.quantization(), lifetime, name);
    }
    FlatTensor tensor = tensor(input);
    Shape shape = inputShapes.get(input);
    Optional<OperandType> border = isMain ? TensorTypes.border(tensor) : Optional.empty();
    if (border.isPresent()) {
      OperandType type = border.get();
      return new Operand(type, shape, TensorTypes.plain(type), lifetime, name);
    }
    return Wide16.isQuantized(tensor) && !isMain
        ? new Operand(OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE, lifetime, name)
        : new Operand(
            TensorTypes.code(tensor), shape, TensorTypes.quantization(tensor), lifetime, name);
  }

  /** Completes shapes of what is given by the dimensions that the file does not leave open. */
  List<Operand> completed(List<Operand> given) {
    List<Operand> completed = new ArrayList<>(given);
    for (int i = 0; i < Math.min(given.size(), inputShapes.size()); i++) {
      Shape stated = openInputs.getOrDefault(i, inputShapes.get(i));
      Optional<Shape> shape = given.get(i).shape().combine(stated);
      if (shape.isPresent() && !isList(i)) {
        completed.set(i, given.get(i).with(shape.get()));
      }
    }
    return completed;
  }

  /**
   * The entry point that a user chooses.
   *
   * @throws Refusal where the file has no such entry point, or its inputs have no such names or
   *     dimensions
   */
  public static EntryPoint of(FlatModel file, ReadOptions options) {
    if (options.signature().isEmpty()) {
      return of(file.graphs().getFirst(), Map.of(), Map.of(), options, true);
    }
    for (FlatSignature signature : file.signatures()) {
      if (signature.name().equals(options.signature())) {
        FlatGraph graph = file.graphs().get(signature.graph());
        return of(graph, signature.inputs(), signature.outputs(), options, true);
      }
    }
    String known =
        file.signatures().stream()
            .map(signature -> "'" + signature.name() + "'")
            .collect(Collectors.joining(", "));
    throw new Refusal(
        "there is no signature '"
            + options.signature()
            + (known.isEmpty() ? "'; the file has none" : "'; there are " + known));
  }

  /**
   * The same with other sizes for dimensions that neither the user nor the file states, for graphs
   * whose operators allow none as small as the file was written with: the leading ones stay, which
   * are mostly the batch, unless the operators do not allow that either.
   */
  public List<EntryPoint> others(ReadOptions options) {
    List<Shape> stated = new ArrayList<>(inputShapes);
    openInputs.forEach(stated::set);
    List<Shape> given = resolved(options, inputNames, stated);
    Set<List<Shape>> tried = new LinkedHashSet<>();
    for (int kept : new int[] {1, 0}) {
      for (int size : SIZES) {
        List<Shape> shapes = new ArrayList<>(inputShapes);
        openInputs.forEach(
            (input, open) -> {
              Shape shape = given.get(input).isFullySpecified() ? given.get(input) : open;
              for (int axis = 0; axis < shape.rank(); axis++) {
                int written = axis < kept ? inputShapes.get(input).dimension(axis) : size;
                shape = shape.dimension(axis) == 0 ? shape.with(axis, written) : shape;
              }
              shapes.set(input, shape);
            });
        tried.add(shapes);
      }
    }
    tried.remove(inputShapes);
    return tried.stream().map(shapes -> with(shapes, lists)).toList();
  }

  private static List<Shape> resolved(ReadOptions options, List<String> names, List<Shape> stated) {
    try {
      return options.resolve(names, stated);
    } catch (ModelFormatException e) {
      throw new Refusal(e.getMessage(), e);
    }
  }

  private static EntryPoint of(
      FlatGraph graph,
      Map<Integer, String> inputNames,
      Map<Integer, String> outputNames,
      ReadOptions options,
      boolean isMain) {
    List<String> names = new ArrayList<>();
    List<Shape> stated = new ArrayList<>();
    List<Shape> written = new ArrayList<>();
    Map<Integer, Shape> open = new HashMap<>();
    for (int i = 0; i < graph.inputs().length; i++) {
      FlatTensor tensor = graph.tensors().get(graph.inputs()[i]);
      names.add(inputNames.getOrDefault(tensor.index(), tensor.name()));
      Shape shape = TensorTypes.shape(tensor);
      boolean isOpen =
          tensor.signature().length == shape.rank()
              && Arrays.stream(tensor.signature()).anyMatch(size -> size < 0);
      stated.add(isOpen ? TensorTypes.openShape(tensor) : shape);
      written.add(shape);
      if (isOpen) {
        open.put(i, stated.get(i));
      }
    }
    List<Shape> shapes = new ArrayList<>(resolved(options, names, stated));
    for (int i = 0; i < shapes.size(); i++) {
      if (!shapes.get(i).isFullySpecified()) {
        shapes.set(i, written.get(i));
      }
    }
    int[] outputs =
        outputNames.isEmpty()
            ? graph.outputs()
            : Arrays.stream(graph.outputs()).filter(outputNames::containsKey).toArray();
    return new EntryPoint(graph, names, shapes, open, outputs, outputNames, Map.of(), isMain);
  }
}
