// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Writes one file. */
final class VectorFileWriter {
  /** Arrays that occur again are pooled from this length on; shorter ones are easier to read. */
  private static final int POOLED = 64;

  /** Runs are counted where that saves this factor of numbers, from this length on. */
  private static final int RUN_GAIN = 4;

  private static final int RUN_LENGTH = 32;

  private final JsonGenerator json;
  private final LinePrinter printer;
  private final Map<Values, String> pool = new LinkedHashMap<>();

  private VectorFileWriter(JsonGenerator json, LinePrinter printer) {
    this.json = json;
    this.printer = printer;
  }

  static void write(VectorFile file, Path path) throws IOException {
    Files.writeString(path, text(file));
  }

  static String text(VectorFile file) throws IOException {
    StringWriter text = new StringWriter();
    LinePrinter printer = new LinePrinter();
    JsonFactory factory =
        JsonFactory.builder().recyclerPool(JsonRecyclerPools.nonRecyclingPool()).build();
    try (JsonGenerator json = factory.createGenerator(text).setPrettyPrinter(printer)) {
      new VectorFileWriter(json, printer).file(file);
    }
    return text.append('\n').toString();
  }

  private void file(VectorFile file) throws IOException {
    startObject();
    json.writeStringField("format", VectorFile.FORMAT);
    json.writeStringField("spec", file.spec());
    json.writeStringField("specVersion", file.specVersion());
    if (file.source().isPresent()) {
      json.writeObjectFieldStart("source");
      json.writeStringField("repo", file.source().get().repo());
      json.writeStringField("commit", file.source().get().commit());
      json.writeStringField("path", file.source().get().path());
      json.writeEndObject();
    }
    pool(file);
    startArray("examples");
    for (Example example : file.examples()) {
      example(example);
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  /** Long arrays that occur again, in the order of their first use. */
  private void pool(VectorFile file) throws IOException {
    Map<Values, Integer> uses = new HashMap<>();
    startObject("pool");
    for (Example example : file.examples()) {
      for (Values values : (Iterable<Values>) allValues(example)::iterator) {
        if (values.size() >= POOLED
            && isPlain(values)
            && uses.merge(values, 1, Integer::sum) == 2) {
          String key = "p" + pool.size();
          pool.put(values, key);
          json.writeFieldName(key);
          numbers(values, true);
        }
      }
    }
    json.writeEndObject();
  }

  private static java.util.stream.Stream<Values> allValues(Example example) {
    return java.util.stream.Stream.of(
            example
                .subgraphs()
                .flatMap(graph -> graph.operands().stream())
                .flatMap(operand -> operand.values().stream()),
            example.inputs().stream().map(Example.Input::values),
            example.expectedOutputs().stream().map(Example.ExpectedOutput::values))
        .flatMap(stream -> stream);
  }

  private void example(Example example) throws IOException {
    startObject();
    json.writeStringField("name", example.name());
    nullable("modelName", example.modelName());
    nullable("exampleName", example.exampleName());
    json.writeArrayFieldStart("variations");
    for (String variation : example.variations()) {
      json.writeString(variation);
    }
    json.writeEndArray();
    nullable("halVersion", example.halVersion());
    json.writeBooleanField("isRelaxed", example.isRelaxed());
    json.writeBooleanField("expectFailure", example.expectFailure());
    json.writeFieldName("multinomialTolerance");
    number(example.multinomialTolerance(), false);
    printer.breakNext(json);
    json.writeFieldName("main");
    subgraph(example.main());
    startArray("referenced");
    for (RawSubgraph graph : example.referenced()) {
      printer.breakNext(json);
      subgraph(graph);
    }
    json.writeEndArray();
    startArray("inputs");
    for (Example.Input input : example.inputs()) {
      json.writeStartObject();
      json.writeNumberField("operand", input.operand());
      values("values", input.values(), isFloat(example, input.operand()));
      json.writeEndObject();
    }
    json.writeEndArray();
    startArray("expectedOutputs");
    for (Example.ExpectedOutput output : example.expectedOutputs()) {
      json.writeStartObject();
      json.writeNumberField("operand", output.operand());
      json.writeBooleanField("ignored", output.ignored());
      values("values", output.values(), isFloat(example, output.operand()));
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static boolean isFloat(Example example, int operand) {
    List<RawOperand> operands = example.main().operands();
    return operand >= 0 && operand < operands.size() && isFloat(operands.get(operand).type());
  }

  private static boolean isFloat(String type) {
    return type.contains("FLOAT");
  }

  private void subgraph(RawSubgraph graph) throws IOException {
    json.writeStartObject();
    startArray("operands");
    for (RawOperand operand : graph.operands()) {
      operand(operand);
    }
    json.writeEndArray();
    startArray("operations");
    for (RawOperation operation : graph.operations()) {
      json.writeStartObject();
      json.writeStringField("type", operation.type());
      integers("inputs", operation.inputs());
      integers("outputs", operation.outputs());
      json.writeEndObject();
    }
    json.writeEndArray();
    integers("inputIndexes", graph.inputIndexes());
    integers("outputIndexes", graph.outputIndexes());
    json.writeEndObject();
  }

  private void operand(RawOperand operand) throws IOException {
    json.writeStartObject();
    json.writeStringField("name", operand.name());
    json.writeStringField("type", operand.type());
    json.writeFieldName("dims");
    json.writeArray(operand.dims().toArray(), 0, operand.dims().rank());
    if (operand.scale() != 0) {
      json.writeFieldName("scale");
      number(operand.scale(), true);
    }
    if (operand.zeroPoint() != 0) {
      json.writeNumberField("zeroPoint", operand.zeroPoint());
    }
    if (operand.channelQuant().isPresent()) {
      json.writeObjectFieldStart("channelQuant");
      json.writeNumberField("channelDim", operand.channelQuant().get().channelDim());
      json.writeFieldName("scales");
      numbers(operand.channelQuant().get().scales(), true);
      json.writeEndObject();
    }
    json.writeStringField("lifetime", operand.lifetime());
    json.writeNumberField("consumers", operand.consumers());
    if (operand.values().isPresent()) {
      values("values", operand.values().get(), isFloat(operand.type()));
    }
    json.writeEndObject();
  }

  private void values(String key, Values values, boolean isFloat) throws IOException {
    json.writeFieldName(key);
    String pooled = pool.get(values);
    if (pooled != null) {
      json.writeStartObject();
      json.writeStringField("pool", pooled);
      json.writeEndObject();
    } else if (isPlain(values)) {
      numbers(values, isFloat);
    } else {
      json.writeStartObject();
      runs(values, isFloat);
      json.writeEndObject();
    }
  }

  /** Returns whether counting runs would save little. */
  private static boolean isPlain(Values values) {
    int runs = 1;
    for (int i = 1; i < values.size(); i++) {
      if (!same(values.get(i), values.get(i - 1))) {
        runs++;
      }
    }
    return values.size() < RUN_LENGTH || runs * RUN_GAIN > values.size();
  }

  private static boolean same(double a, double b) {
    return Double.compare(a, b) == 0;
  }

  private void runs(Values values, boolean isFloat) throws IOException {
    json.writeArrayFieldStart("runs");
    int start = 0;
    for (int i = 1; i <= values.size(); i++) {
      if (i == values.size() || !same(values.get(i), values.get(start))) {
        json.writeStartArray();
        number(values.get(start), isFloat);
        json.writeNumber(i - start);
        json.writeEndArray();
        start = i;
      }
    }
    json.writeEndArray();
  }

  private void numbers(Values values, boolean isFloat) throws IOException {
    json.writeStartArray();
    for (int i = 0; i < values.size(); i++) {
      number(values.get(i), isFloat);
    }
    json.writeEndArray();
  }

  private void number(double value, boolean isFloat) throws IOException {
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      json.writeString(Double.toString(value));
    } else if (value == (long) value && !(value == 0 && 1 / value < 0) && Math.abs(value) < 1e15) {
      json.writeNumber((long) value);
    } else {
      json.writeNumber(isFloat ? shortest(value) : Double.toString(value));
    }
  }

  /**
   * The shortest text that reads back, as double and then rounded to float, as the float that the
   * value stands for. Of two equally short ones, that of the double, so that what was read is
   * written unchanged.
   */
  private static String shortest(double value) {
    String exact = Double.toString(value);
    String rounded = Float.toString((float) value);
    return rounded.length() < exact.length() && (float) Double.parseDouble(rounded) == (float) value
        ? rounded
        : exact;
  }

  private void nullable(String key, Optional<String> text) throws IOException {
    json.writeFieldName(key);
    if (text.isPresent()) {
      json.writeString(text.get());
    } else {
      json.writeNull();
    }
  }

  private void integers(String key, List<Integer> integers) throws IOException {
    json.writeFieldName(key);
    json.writeStartArray();
    for (int integer : integers) {
      json.writeNumber(integer);
    }
    json.writeEndArray();
  }

  private void startObject() throws IOException {
    printer.breakNext(json);
    json.writeStartObject();
  }

  private void startObject(String key) throws IOException {
    json.writeFieldName(key);
    startObject();
  }

  private void startArray(String key) throws IOException {
    json.writeFieldName(key);
    printer.breakNext(json);
    json.writeStartArray();
  }
}
