// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.thalamus.vectors.RawOperand.ChannelQuant;
import io.thalamus.vectors.RawOperand.Dims;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Reads one file, in one pass where its pool stands before its examples, as it usually does. */
final class VectorFileReader {
  /** More values than this in one operand are taken for damage; they would be a gigabyte. */
  private static final int MAX_VALUES = 1 << 27;

  private final byte[] text;
  private final JsonCursor json;
  private Map<String, Values> pool;

  private VectorFileReader(byte[] text, JsonCursor json) {
    this.text = text;
    this.json = json;
  }

  static VectorFile read(Path file) throws IOException, VectorFormatException {
    try {
      return read(Files.readAllBytes(file));
    } catch (VectorFormatException e) {
      throw new VectorFormatException(file.getFileName() + ": " + e.getMessage(), e);
    }
  }

  static VectorFile read(byte[] text) throws IOException, VectorFormatException {
    try (JsonCursor json = new JsonCursor(text)) {
      return new VectorFileReader(text, json).file();
    } catch (JsonProcessingException e) {
      throw damaged(e);
    }
  }

  /** Returns whether the text is JSON at all, of this format or another. */
  static boolean isJson(byte[] text) throws IOException {
    try (JsonCursor json = new JsonCursor(text)) {
      boolean any = false;
      while (json.next() != null) {
        any = true;
      }
      return any;
    } catch (JsonProcessingException e) {
      return false;
    }
  }

  private static VectorFormatException damaged(JsonProcessingException e) {
    String place = e.getLocation() == null ? "" : " (line " + e.getLocation().getLineNr() + ")";
    return new VectorFormatException("no valid JSON: " + JsonCursor.problem(e) + place, e);
  }

  private VectorFile file() throws IOException, VectorFormatException {
    json.next();
    json.expect(JsonToken.START_OBJECT, "an object");
    String format = null;
    String spec = "";
    String specVersion = "";
    Optional<VectorFile.Source> source = Optional.empty();
    List<Example> examples = null;
    for (String key = json.nextKey(); key != null; key = json.nextKey()) {
      switch (key) {
        case "format" -> format = format();
        case "spec" -> spec = json.text();
        case "specVersion" -> specVersion = json.text();
        case "source" -> source = Optional.of(source());
        case "pool" -> pool();
        case "examples" -> examples = list("examples", this::example);
        default -> throw json.unknownKey(key, "the file");
      }
    }
    if (json.next() != null) {
      throw json.wrong("the end of the file");
    }
    if (format == null) {
      throw new VectorFormatException("no '\"format\": \"" + VectorFile.FORMAT + "\"'");
    }
    if (examples == null) {
      throw json.missing("examples", "the file");
    }
    return new VectorFile(spec, specVersion, source, examples);
  }

  private String format() throws IOException, VectorFormatException {
    String format = json.text();
    if (!format.equals(VectorFile.FORMAT)) {
      throw json.error("format '" + format + "' is not '" + VectorFile.FORMAT + "'");
    }
    return format;
  }

  private VectorFile.Source source() throws IOException, VectorFormatException {
    json.expect(JsonToken.START_OBJECT, "an object");
    String repo = "";
    String commit = "";
    String path = "";
    for (String key = json.nextKey(); key != null; key = json.nextKey()) {
      switch (key) {
        case "repo" -> repo = json.text();
        case "commit" -> commit = json.text();
        case "path" -> path = json.text();
        default -> throw json.unknownKey(key, "source");
      }
    }
    return new VectorFile.Source(repo, commit, path);
  }

  private void pool() throws IOException, VectorFormatException {
    json.expect(JsonToken.START_OBJECT, "an object of arrays");
    Map<String, Values> entries = new HashMap<>();
    for (String key = json.nextKey(); key != null; key = json.nextKey()) {
      json.expect(JsonToken.START_ARRAY, "an array of numbers");
      entries.put(key, numbers());
    }
    pool = entries;
  }

  /** Looks for a pool behind the examples: the order of keys means nothing in JSON. */
  private Map<String, Values> laterPool() throws IOException, VectorFormatException {
    try (JsonCursor second = new JsonCursor(text)) {
      VectorFileReader reader = new VectorFileReader(text, second);
      second.next();
      for (String key = second.nextKey(); key != null; key = second.nextKey()) {
        if (key.equals("pool")) {
          reader.pool();
          return reader.pool;
        }
        second.skip();
      }
    }
    return Map.of();
  }

  /** Reads what stands at the cursor. */
  @FunctionalInterface
  private interface Item<T> {
    T read() throws IOException, VectorFormatException;
  }

  private <T> List<T> list(String what, Item<T> item) throws IOException, VectorFormatException {
    json.expect(JsonToken.START_ARRAY, "an array of " + what);
    List<T> items = new ArrayList<>();
    while (json.next() != JsonToken.END_ARRAY) {
      items.add(item.read());
    }
    return items;
  }

  private Example example() throws IOException, VectorFormatException {
    json.expect(JsonToken.START_OBJECT, "an example");
    String name = null;
    Optional<String> modelName = Optional.empty();
    Optional<String> exampleName = Optional.empty();
    List<String> variations = List.of();
    Optional<String> halVersion = Optional.empty();
    boolean isRelaxed = false;
    boolean expectFailure = false;
    double multinomialTolerance = 0;
    RawSubgraph main = null;
    List<RawSubgraph> referenced = List.of();
    List<Example.Input> inputs = null;
    List<Example.ExpectedOutput> outputs = null;
    for (String key = json.nextKey(); key != null; key = json.nextKey()) {
      switch (key) {
        case "name" -> name = json.text();
        case "modelName" -> modelName = json.textOrNull();
        case "exampleName" -> exampleName = json.textOrNull();
        case "variations" -> variations = json.texts();
        case "halVersion" -> halVersion = json.textOrNull();
        case "isRelaxed" -> isRelaxed = json.bool();
        case "expectFailure" -> expectFailure = json.bool();
        case "multinomialTolerance" -> multinomialTolerance = json.number();
        case "main" -> main = subgraph();
        case "referenced" -> referenced = list("subgraphs", this::subgraph);
        case "inputs" -> inputs = list("inputs", this::input);
        case "expectedOutputs" -> outputs = list("outputs", () -> argument(true));
        default -> throw json.unknownKey(key, "an example");
      }
    }
    String where = name == null ? "an example" : "example " + name;
    return new Example(
        required(name, "name", where),
        modelName,
        exampleName,
        variations,
        halVersion,
        isRelaxed,
        expectFailure,
        multinomialTolerance,
        required(main, "main", where),
        referenced,
        required(inputs, "inputs", where),
        required(outputs, "expectedOutputs", where));
  }

  private RawSubgraph subgraph() throws IOException, VectorFormatException {
    json.expect(JsonToken.START_OBJECT, "a subgraph");
    List<RawOperand> operands = List.of();
    List<RawOperation> operations = List.of();
    List<Integer> inputs = null;
    List<Integer> outputs = null;
    for (String key = json.nextKey(); key != null; key = json.nextKey()) {
      switch (key) {
        case "operands" -> operands = list("operands", this::operand);
        case "operations" -> operations = list("operations", this::operation);
        case "inputIndexes" -> inputs = json.integers();
        case "outputIndexes" -> outputs = json.integers();
        default -> throw json.unknownKey(key, "a subgraph");
      }
    }
    return new RawSubgraph(
        operands,
        operations,
        required(inputs, "inputIndexes", "a subgraph"),
        required(outputs, "outputIndexes", "a subgraph"));
  }

  private RawOperand operand() throws IOException, VectorFormatException {
    json.expect(JsonToken.START_OBJECT, "an operand");
    String name = "";
    String type = null;
    Dims dims = null;
    double scale = 0;
    int zeroPoint = 0;
    Optional<ChannelQuant> channelQuant = Optional.empty();
    String lifetime = null;
    Integer consumers = null;
    Optional<Values> values = Optional.empty();
    for (String key = json.nextKey(); key != null; key = json.nextKey()) {
      switch (key) {
        case "name" -> name = json.text();
        case "type" -> type = json.word();
        case "dims" ->
            dims = Dims.of(json.integers().stream().mapToInt(Integer::intValue).toArray());
        case "scale" -> scale = json.number();
        case "zeroPoint" -> zeroPoint = json.integer();
        case "channelQuant" -> channelQuant = Optional.of(channelQuant());
        case "lifetime" -> lifetime = json.word();
        case "consumers" -> consumers = json.integer();
        case "values" -> values = Optional.of(values());
        default -> throw json.unknownKey(key, "an operand");
      }
    }
    String where = "operand '" + name + "'";
    return new RawOperand(
        name,
        required(type, "type", where),
        required(dims, "dims", where),
        scale,
        zeroPoint,
        channelQuant,
        required(lifetime, "lifetime", where),
        required(consumers, "consumers", where),
        values);
  }

  private ChannelQuant channelQuant() throws IOException, VectorFormatException {
    json.expect(JsonToken.START_OBJECT, "an object");
    Integer channelDim = null;
    Values scales = null;
    for (String key = json.nextKey(); key != null; key = json.nextKey()) {
      switch (key) {
        case "channelDim" -> channelDim = json.integer();
        case "scales" -> scales = values();
        default -> throw json.unknownKey(key, "channelQuant");
      }
    }
    return new ChannelQuant(
        required(channelDim, "channelDim", "channelQuant"),
        required(scales, "scales", "channelQuant"));
  }

  private RawOperation operation() throws IOException, VectorFormatException {
    json.expect(JsonToken.START_OBJECT, "an operation");
    String type = null;
    List<Integer> inputs = null;
    List<Integer> outputs = null;
    for (String key = json.nextKey(); key != null; key = json.nextKey()) {
      switch (key) {
        case "type" -> type = json.word();
        case "inputs" -> inputs = json.integers();
        case "outputs" -> outputs = json.integers();
        default -> throw json.unknownKey(key, "an operation");
      }
    }
    return new RawOperation(
        required(type, "type", "an operation"),
        required(inputs, "inputs", "an operation"),
        required(outputs, "outputs", "an operation"));
  }

  private Example.Input input() throws IOException, VectorFormatException {
    Example.ExpectedOutput read = argument(false);
    return new Example.Input(read.operand(), read.values());
  }

  private Example.ExpectedOutput argument(boolean output)
      throws IOException, VectorFormatException {
    json.expect(JsonToken.START_OBJECT, "an argument");
    Integer operand = null;
    boolean ignored = false;
    Values values = null;
    for (String key = json.nextKey(); key != null; key = json.nextKey()) {
      if (key.equals("operand")) {
        operand = json.integer();
      } else if (key.equals("ignored") && output) {
        ignored = json.bool();
      } else if (key.equals("values")) {
        values = values();
      } else {
        throw json.unknownKey(key, output ? "an expected output" : "an input");
      }
    }
    return new Example.ExpectedOutput(
        required(operand, "operand", "an argument"),
        ignored,
        required(values, "values", "an argument"));
  }

  private Values values() throws IOException, VectorFormatException {
    if (json.token() == JsonToken.START_ARRAY) {
      return numbers();
    }
    json.expect(JsonToken.START_OBJECT, "an array of numbers, a pool or runs");
    String key = json.nextKey();
    Values values =
        switch (key) {
          case "pool" -> pooled(json.text());
          case "runs" -> runs();
          case null -> throw json.missing("pool' or 'runs", "an object of values");
          default -> throw json.unknownKey(key, "an object of values");
        };
    if (json.nextKey() != null) {
      throw json.wrong("the end of an object of values");
    }
    return values;
  }

  private Values pooled(String key) throws IOException, VectorFormatException {
    if (pool == null) {
      pool = laterPool();
    }
    Values values = pool.get(key);
    if (values == null) {
      throw json.error("there is no pool '" + key + "'");
    }
    return values;
  }

  private Values numbers() throws IOException, VectorFormatException {
    double[] numbers = new double[8];
    int size = 0;
    while (json.next() != JsonToken.END_ARRAY) {
      if (size == numbers.length) {
        numbers = Arrays.copyOf(numbers, 2 * size);
      }
      numbers[size++] = json.number();
    }
    return Values.owning(Arrays.copyOf(numbers, size));
  }

  private Values runs() throws IOException, VectorFormatException {
    json.expect(JsonToken.START_ARRAY, "an array of runs");
    double[] numbers = new double[64];
    int size = 0;
    while (json.next() != JsonToken.END_ARRAY) {
      json.expect(JsonToken.START_ARRAY, "[value, count]");
      json.next();
      double value = json.number();
      json.next();
      int count = json.integer();
      if (json.next() != JsonToken.END_ARRAY) {
        throw json.wrong("the end of [value, count]");
      }
      if (count < 0 || count > MAX_VALUES - size) {
        throw json.error("a run of " + count + " values");
      }
      if (size + count > numbers.length) {
        numbers = Arrays.copyOf(numbers, Math.max(2 * numbers.length, size + count));
      }
      Arrays.fill(numbers, size, size + count, value);
      size += count;
    }
    return Values.owning(Arrays.copyOf(numbers, size));
  }

  private <T> T required(T value, String key, String where) throws VectorFormatException {
    if (value == null) {
      throw json.missing(key, where);
    }
    return value;
  }
}
