// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

/**
 * Every intermediate tensor of one case of a stored model, for checking one operator at a time.
 * Tensor numbers are those of subgraph 0 of the model's file; its constants stand only there.
 * Immutable.
 *
 * @param caseName the case
 * @param step of the case, where it has several
 * @param operators in order
 * @param tensors by number
 */
public record ModelLayers(
    String caseName, OptionalInt step, List<Operator> operators, Map<Integer, Tensor> tensors) {
  public ModelLayers {
    Objects.requireNonNull(caseName, "caseName");
    Objects.requireNonNull(step, "step");
    operators = List.copyOf(operators);
    tensors = Map.copyOf(tensors);
  }

  /**
   * Reads the description in a folder; the tensors are read when they are asked for.
   *
   * @throws IOException where it cannot be read
   * @throws VectorFormatException where it is damaged; names the place
   */
  public static ModelLayers read(Path folder) throws IOException, VectorFormatException {
    JsonTree json = JsonTree.read(folder.resolve("layers.json"));
    List<Operator> operators = new ArrayList<>();
    for (JsonTree operator : json.get("operators").elements()) {
      operators.add(
          new Operator(
              operator.get("index").integer(),
              operator.get("op").text(),
              operator.get("inputs").integers(),
              operator.get("outputs").integers()));
    }
    Map<Integer, Tensor> tensors = new TreeMap<>();
    JsonTree described = json.get("tensors");
    for (String key : described.keys()) {
      tensors.put(number(key), tensor(folder, described.get(key)));
    }
    Optional<JsonTree> step = json.find("step");
    return new ModelLayers(
        json.get("case").text(),
        step.isPresent() ? OptionalInt.of(step.get().integer()) : OptionalInt.empty(),
        operators,
        tensors);
  }

  private static int number(String key) throws VectorFormatException {
    try {
      return Integer.parseInt(key);
    } catch (NumberFormatException e) {
      throw new VectorFormatException("'" + key + "' is no tensor number", e);
    }
  }

  private static Tensor tensor(Path folder, JsonTree json) throws VectorFormatException {
    Optional<JsonTree> scale = json.find("scale");
    Optional<JsonTree> zeroPoint = json.find("zero_point");
    return new Tensor(
        ModelDirectory.tensor(folder, json),
        json.get("name").text(),
        scale.isPresent() ? (float) scale.get().number() : 0,
        zeroPoint.isPresent() ? zeroPoint.get().integer() : 0);
  }

  /**
   * One operator of the model's file.
   *
   * @param index in the file
   * @param type as the format spells it
   * @param inputs tensor numbers; -1 for an optional one that is left out
   * @param outputs tensor numbers
   */
  public record Operator(int index, String type, List<Integer> inputs, List<Integer> outputs) {
    public Operator {
      Objects.requireNonNull(type, "type");
      inputs = List.copyOf(inputs);
      outputs = List.copyOf(outputs);
    }
  }

  /**
   * One intermediate value.
   *
   * @param tensor its elements
   * @param name as in the model's file
   * @param scale 0 where it is not quantized
   * @param zeroPoint 0 where it is not quantized
   */
  public record Tensor(StoredTensor tensor, String name, float scale, int zeroPoint) {
    public Tensor {
      Objects.requireNonNull(tensor, "tensor");
      Objects.requireNonNull(name, "name");
    }
  }
}
