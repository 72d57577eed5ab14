// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.api.LoadedModel;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.shell.format.Json;
import io.thalamus.shell.format.Lines;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import io.thalamus.shell.format.Units;
import io.thalamus.shell.image.Normalization;
import io.thalamus.shell.image.PictureLayout;
import io.thalamus.shell.model.OperationList;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The answer of {@code nn:info}. Holds nothing of the model's memory.
 *
 * @param file as it was named
 * @param macs multiply-accumulates of one execution, as far as they are known
 * @param openMacs operations whose work is not known before the execution
 */
record InfoResult(
    String file,
    String format,
    String description,
    int labels,
    List<Value> inputs,
    List<Value> outputs,
    Map<String, Integer> operations,
    int graphs,
    int constants,
    long constantBytes,
    long macs,
    int openMacs,
    Style style)
    implements Result {

  /** An input or output; only inputs have a normalization, and only some of these. */
  record Value(Operand operand, boolean isPicture, Optional<Normalization> normalization) {}

  static InfoResult of(LoadedModel loaded, Style style) {
    List<Value> inputs = new ArrayList<>();
    Subgraph main = loaded.model().main();
    for (int i = 0; i < main.inputIndexes().size(); i++) {
      Operand input = main.input(i);
      inputs.add(
          new Value(
              input,
              PictureLayout.of(input.shape()).isPresent(),
              Normalization.known(input, loaded.file().normalization(i))));
    }
    List<Value> outputs = new ArrayList<>();
    for (int i = 0; i < main.outputIndexes().size(); i++) {
      outputs.add(new Value(main.output(i), false, Optional.empty()));
    }
    List<OperationType> types = new ArrayList<>();
    int constants = 0;
    long constantBytes = 0;
    long macs = 0;
    int openMacs = 0;
    List<Subgraph> graphs = loaded.model().subgraphs().toList();
    for (Subgraph graph : graphs) {
      for (Operand operand : graph.operands()) {
        if (operand.lifetime() instanceof Lifetime.Constant constant) {
          constants++;
          constantBytes += constant.bytes().byteSize();
        }
      }
      for (Operation operation : graph.operations()) {
        types.add(operation.type());
        OptionalLong work = OperationCatalog.standard().macs(graph, operation);
        macs += work.orElse(0);
        openMacs += work.isPresent() ? 0 : 1;
      }
    }
    return new InfoResult(
        loaded.path().toString(),
        loaded.file().format(),
        loaded.file().description(),
        loaded.file().labels().size(),
        inputs,
        outputs,
        OperationList.counts(types),
        graphs.size(),
        constants,
        constantBytes,
        macs,
        openMacs,
        style);
  }

  /** The model in one line. */
  String summary() {
    return format
        + " · "
        + Units.plural(operations.values().stream().mapToInt(Integer::intValue).sum(), "operation")
        + " · "
        + Units.bytes(constantBytes)
        + " of constants · "
        + (openMacs > 0 ? "at least " : "")
        + Units.count(macs)
        + " MACs"
        + (graphs > 1 ? " · the main one of " + graphs + " graphs" : "");
  }

  @Override
  public String text() {
    Table facts = new Table(style, "", "").indent(2);
    facts.row("format", format);
    if (!description.isBlank()) {
      facts.row("description", description.strip().replaceAll("\\s+", " "));
    }
    if (labels > 0) {
      facts.row("labels", Units.count(labels));
    }
    facts.row("constants", Units.count(constants) + ", " + Units.bytes(constantBytes));
    facts.row("MACs", (openMacs > 0 ? "at least " : "") + Units.count(macs));
    if (graphs > 1) {
      facts.row("graphs", Units.count(graphs));
    }
    Table kinds = new Table(style, "", ">").indent(2);
    operations.forEach((name, count) -> kinds.row(name, Units.count(count)));
    int total = operations.values().stream().mapToInt(Integer::intValue).sum();
    return new Lines()
        .add(style.bold(file))
        .add(facts.text())
        .gap()
        .add(style.bold(Units.plural(inputs.size(), "input")))
        .add(values(inputs))
        .gap()
        .add(style.bold(Units.plural(outputs.size(), "output")))
        .add(values(outputs))
        .gap()
        .add(style.bold(Units.plural(total, "operation")))
        .add(kinds.text())
        .toString();
  }

  private String values(List<Value> values) {
    Table table = new Table(style, "", "", "", "", "").indent(2);
    for (int i = 0; i < values.size(); i++) {
      Operand operand = values.get(i).operand();
      table.row(
          i,
          operand.name(),
          operand.type().text(),
          operand.type().isTensor() ? operand.shape().toString() : "",
          quantization(operand.quantization()));
    }
    Lines lines = new Lines().add(table.text());
    for (int i = 0; i < values.size(); i++) {
      String text = normalization(values.get(i));
      if (!text.isEmpty()) {
        lines.add("  normalization" + (values.size() > 1 ? " of " + i : "") + ": " + text);
      }
    }
    return lines.toString();
  }

  private static String normalization(Value value) {
    if (value.normalization().isPresent()) {
      Normalization normalization = value.normalization().get();
      return normalization.formula() + ", " + normalization.reason();
    }
    return value.isPicture()
        ? "unknown; pictures need --mean M --std S, fed = (value - M) / S"
        : "";
  }

  private static String quantization(Quantization quantization) {
    return switch (quantization) {
      case Quantization.None _ -> "";
      case Quantization.PerTensor q ->
          "scale " + Units.number(q.scale()) + ", zero point " + q.zeroPoint();
      case Quantization.PerChannel q -> Units.plural(q.scales().length, "scale");
    };
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeStringField("model", file);
    json.writeStringField("format", format);
    json.writeStringField("description", description);
    json.writeNumberField("labels", labels);
    json.writeNumberField("constants", constants);
    json.writeNumberField("constantBytes", constantBytes);
    json.writeNumberField("macs", macs);
    json.writeBooleanField("macsComplete", openMacs == 0);
    json.writeNumberField("graphs", graphs);
    values(json, "inputs", inputs);
    values(json, "outputs", outputs);
    json.writeObjectFieldStart("operations");
    for (Map.Entry<String, Integer> entry : operations.entrySet()) {
      json.writeNumberField(entry.getKey(), entry.getValue());
    }
    json.writeEndObject();
  }

  private static void values(JsonGenerator json, String field, List<Value> values)
      throws IOException {
    json.writeArrayFieldStart(field);
    for (Value value : values) {
      Operand operand = value.operand();
      json.writeStartObject();
      json.writeStringField("name", operand.name());
      json.writeStringField("type", operand.type().text());
      json.writeFieldName("shape");
      int[] shape = operand.shape().toArray();
      json.writeArray(shape, 0, shape.length);
      if (operand.quantization().scale() != 0) {
        json.writeNumberField("scale", operand.quantization().scale());
        json.writeNumberField("zeroPoint", operand.quantization().zeroPoint());
      }
      if (value.normalization().isPresent()) {
        Normalization normalization = value.normalization().get();
        json.writeObjectFieldStart("normalization");
        json.writeFieldName("mean");
        Json.number(json, normalization.mean()[0]);
        json.writeFieldName("std");
        Json.number(json, normalization.std()[0]);
        json.writeStringField("reason", normalization.reason());
        json.writeEndObject();
      }
      json.writeEndObject();
    }
    json.writeEndArray();
  }
}
