// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.model.Shape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A trained public model with inputs and the outputs that independent engines computed, as stored
 * in {@code models/NAME}. Immutable.
 *
 * @param name of the model
 * @param format {@code tflite} or {@code onnx}
 * @param model the model's own file
 * @param operations how often each of the format's operations occurs
 * @param cases in order
 */
public record ModelDirectory(
    String name,
    String format,
    Path model,
    Map<String, Integer> operations,
    List<ModelCase> cases) {
  private static final String META = "meta.json";
  private static final Pattern STATE = Pattern.compile("it is output (\\d+) of the step before");

  public ModelDirectory {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(format, "format");
    Objects.requireNonNull(model, "model");
    operations = Map.copyOf(operations);
    cases = List.copyOf(cases);
  }

  /**
   * Reads what a folder says of its model; the tensors are read when they are asked for.
   *
   * @throws IOException where it cannot be read
   * @throws VectorFormatException where its {@value #META} is damaged; names the place
   */
  public static ModelDirectory read(Path folder) throws IOException, VectorFormatException {
    JsonTree meta = JsonTree.read(folder.resolve(META));
    Map<String, Integer> operations = new LinkedHashMap<>();
    JsonTree ops = meta.get("ops");
    for (String key : ops.keys()) {
      operations.put(key, ops.get(key).integer());
    }
    List<ModelCase> cases = new ArrayList<>();
    for (JsonTree json : meta.get("cases").elements()) {
      cases.add(modelCase(folder, json));
    }
    return new ModelDirectory(
        meta.get("name").text(),
        meta.get("format").text(),
        folder.resolve(meta.get("file").text()),
        operations,
        cases);
  }

  /**
   * The models in a folder of models, by name.
   *
   * @throws IOException where one cannot be read
   * @throws VectorFormatException where one is damaged
   */
  public static List<ModelDirectory> readAll(Path models)
      throws IOException, VectorFormatException {
    List<ModelDirectory> all = new ArrayList<>();
    try (Stream<Path> folders = Files.list(models)) {
      for (Path folder : (Iterable<Path>) folders.sorted()::iterator) {
        if (Files.isRegularFile(folder.resolve(META))) {
          all.add(read(folder));
        }
      }
    }
    return all;
  }

  /** The case with this name. */
  public Optional<ModelCase> findCase(String caseName) {
    return cases.stream().filter(each -> each.name().equals(caseName)).findFirst();
  }

  private static ModelCase modelCase(Path folder, JsonTree json) throws VectorFormatException {
    Optional<JsonTree> steps = json.find("steps");
    List<ModelCase.Input> inputs = new ArrayList<>();
    for (JsonTree input : json.get("inputs").elements()) {
      Optional<JsonTree> role = input.find("role");
      inputs.add(
          new ModelCase.Input(
              tensor(folder, input), role.isPresent() ? state(role.get()) : OptionalInt.empty()));
    }
    List<ModelCase.Output> outputs = new ArrayList<>();
    for (JsonTree output : json.get("outputs").elements()) {
      outputs.add(
          new ModelCase.Output(
              tensor(folder, output), output.get("max_abs").number(), spread(output)));
    }
    Optional<JsonTree> note = json.find("input_note");
    return new ModelCase(
        json.get("case").text(),
        note.isPresent() ? note.get().text() : "",
        steps.isPresent() ? steps.get().integer() : 1,
        inputs,
        outputs);
  }

  private static OptionalInt state(JsonTree role) throws VectorFormatException {
    Matcher matcher = STATE.matcher(role.text());
    if (!matcher.find()) {
      throw new VectorFormatException("unknown role of an input: '" + role.text() + "'");
    }
    return OptionalInt.of(Integer.parseInt(matcher.group(1)));
  }

  private static Map<String, Double> spread(JsonTree output) throws VectorFormatException {
    Map<String, Double> spread = new LinkedHashMap<>();
    JsonTree engines = output.get("spread");
    for (String engine : engines.keys()) {
      spread.put(engine, engines.get(engine).get("max_abs_diff").number());
    }
    return spread;
  }

  static StoredTensor tensor(Path folder, JsonTree json) throws VectorFormatException {
    Shape shape = json.get("shape").shape();
    Optional<JsonTree> steps = json.find("steps");
    return new StoredTensor(
        folder.resolve(json.get("file").text()),
        json.get("dtype").dataType(),
        shape,
        steps.isPresent() ? steps.get().integer() : 1);
  }
}
