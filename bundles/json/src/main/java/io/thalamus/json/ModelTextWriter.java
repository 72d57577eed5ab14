// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.json.form.ElementText;
import io.thalamus.json.form.Form;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFile.Normalization;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.ValueLayout;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/** Writes the text of one model. Not thread-safe. */
record ModelTextWriter(JsonGenerator json, LinePrinter printer, ConstantLayout layout) {
  /** The file of constants, as the text names it. */
  record Constants(String file, long size, String sha256) {}

  static void write(
      ModelFile model, ConstantLayout layout, Optional<Constants> constants, OutputStream out)
      throws IOException {
    LinePrinter printer = new LinePrinter();
    try (JsonGenerator json = Form.factory().createGenerator(out).setPrettyPrinter(printer)) {
      new ModelTextWriter(json, printer, layout).write(model, constants);
      json.writeRaw('\n');
    }
  }

  private void write(ModelFile model, Optional<Constants> constants) throws IOException {
    json.writeStartObject();
    json.writeNumberField(Form.MARK, Form.VERSION);
    if (!model.description().isEmpty()) {
      json.writeStringField(Form.DESCRIPTION, model.description());
    }
    if (model.model().relaxComputationFloat32toFloat16()) {
      json.writeBooleanField(Form.RELAXED, true);
    }
    if (!model.labels().isEmpty()) {
      json.writeArrayFieldStart(Form.LABELS);
      for (String label : model.labels()) {
        json.writeString(label);
      }
      json.writeEndArray();
    }
    if (!model.normalizations().isEmpty()) {
      normalizations(model.normalizations());
    }
    if (constants.isPresent()) {
      json.writeObjectFieldStart(Form.CONSTANTS);
      json.writeStringField(Form.FILE, constants.get().file());
      json.writeNumberField(Form.SIZE, constants.get().size());
      json.writeStringField(Form.SHA256, constants.get().sha256());
      json.writeEndObject();
    }
    if (!model.firstValues().isEmpty()) {
      firstValues(model);
    }
    json.writeArrayFieldStart(Form.GRAPHS);
    for (Subgraph graph : (Iterable<Subgraph>) model.model().subgraphs()::iterator) {
      graph(graph);
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private void normalizations(Map<Integer, Normalization> normalizations) throws IOException {
    json.writeArrayFieldStart(Form.NORMALIZATIONS);
    for (Map.Entry<Integer, Normalization> entry : new TreeMap<>(normalizations).entrySet()) {
      json.writeStartObject();
      json.writeNumberField(Form.INPUT, entry.getKey());
      real(Form.MEAN, entry.getValue().mean());
      real(Form.STD, entry.getValue().std());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private void firstValues(ModelFile model) throws IOException {
    json.writeArrayFieldStart(Form.FIRST_VALUES);
    for (Map.Entry<Integer, Lifetime.Constant> entry :
        new TreeMap<>(model.firstValues()).entrySet()) {
      Operand state = model.model().main().input(entry.getKey());
      json.writeStartObject();
      json.writeNumberField(Form.INPUT, entry.getKey());
      json.writeFieldName(Form.VALUE);
      operand(new Operand(state.type(), state.shape(), state.quantization(), entry.getValue(), ""));
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private void graph(Subgraph graph) throws IOException {
    json.writeStartObject();
    json.writeArrayFieldStart(Form.OPERANDS);
    for (Operand operand : graph.operands()) {
      operand(operand);
    }
    json.writeEndArray();
    json.writeArrayFieldStart(Form.OPERATIONS);
    for (Operation operation : graph.operations()) {
      json.writeStartObject();
      json.writeFieldName(Form.TYPE);
      type(operation.type());
      indexes(Form.INPUTS, operation.inputs());
      indexes(Form.OUTPUTS, operation.outputs());
      json.writeEndObject();
    }
    json.writeEndArray();
    indexes(Form.INPUTS, graph.inputIndexes());
    indexes(Form.OUTPUTS, graph.outputIndexes());
    json.writeEndObject();
  }

  private void indexes(String name, List<Integer> indexes) throws IOException {
    json.writeFieldName(name);
    printer.flat(true);
    json.writeArray(indexes.stream().mapToInt(Integer::intValue).toArray(), 0, indexes.size());
    printer.flat(false);
  }

  private void operand(Operand operand) throws IOException {
    json.writeStartObject();
    if (!operand.name().isEmpty()) {
      json.writeStringField(Form.NAMED, operand.name());
    }
    json.writeFieldName(Form.TYPE);
    type(operand.type());
    if (!operand.shape().equals(Shape.NONE)) {
      json.writeFieldName(Form.SHAPE);
      json.writeArray(operand.shape().toArray(), 0, operand.shape().rank());
    }
    quantization(operand.quantization());
    lifetime(operand);
    json.writeEndObject();
  }

  private void type(OperandType type) throws IOException {
    if (type instanceof ExtensionOperandType extension) {
      json.writeStartObject();
      json.writeStringField(Form.EXTENSION, extension.extension());
      json.writeNumberField(Form.CODE, extension.code());
      json.writeStringField(Form.NAMED, extension.name());
      json.writeBooleanField(Form.TENSOR, extension.isTensor());
      json.writeNumberField(Form.ELEMENT_SIZE, extension.elementSize());
      json.writeEndObject();
    } else {
      json.writeString(type.text());
    }
  }

  private void type(OperationType type) throws IOException {
    if (type instanceof ExtensionOperationType extension) {
      json.writeStartObject();
      json.writeStringField(Form.EXTENSION, extension.extension());
      json.writeNumberField(Form.CODE, extension.code());
      json.writeStringField(Form.NAMED, extension.name());
      json.writeEndObject();
    } else {
      json.writeString(type.text());
    }
  }

  private void quantization(Quantization quantization) throws IOException {
    if (quantization instanceof Quantization.PerTensor one) {
      real(Form.SCALE, one.scale());
      json.writeNumberField(Form.ZERO_POINT, one.zeroPoint());
    } else if (quantization instanceof Quantization.PerChannel many) {
      json.writeNumberField(Form.CHANNEL_DIMENSION, many.channelDimension());
      json.writeArrayFieldStart(Form.SCALES);
      for (float scale : many.scales()) {
        number(Float.toString(scale));
      }
      json.writeEndArray();
    }
  }

  private void real(String name, float value) throws IOException {
    json.writeFieldName(name);
    number(Float.toString(value));
  }

  /** Writes a number, or as a string what JSON has no number for. */
  private void number(String text) throws IOException {
    if (text.endsWith("NaN") || text.endsWith("Infinity")) {
      json.writeString(text);
    } else {
      json.writeNumber(text);
    }
  }

  private void lifetime(Operand operand) throws IOException {
    switch (operand.lifetime()) {
      case Lifetime.TemporaryVariable _ -> {}
      case Lifetime.SubgraphReference reference ->
          json.writeNumberField(Form.GRAPH, reference.index());
      case Lifetime.Constant constant -> constant(operand.type(), constant);
      default -> json.writeStringField(Form.LIFETIME, operand.lifetime().text());
    }
  }

  private void constant(OperandType type, Lifetime.Constant constant) throws IOException {
    OptionalLong place = layout.place(constant);
    if (place.isPresent()) {
      json.writeNumberField(Form.OFFSET, place.getAsLong());
      json.writeNumberField(Form.LENGTH, constant.bytes().byteSize());
      return;
    }
    Optional<List<String>> numbers = ElementText.encode(type, constant.bytes());
    if (numbers.isEmpty()) {
      byte[] bytes = constant.bytes().toArray(ValueLayout.JAVA_BYTE);
      json.writeStringField(Form.BYTES, HexFormat.of().formatHex(bytes));
      return;
    }
    json.writeArrayFieldStart(Form.VALUES);
    for (String number : numbers.get()) {
      number(number);
    }
    json.writeEndArray();
  }
}
