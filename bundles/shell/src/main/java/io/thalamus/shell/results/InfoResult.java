// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.LoadedModel;
import io.thalamus.api.picture.Normalization;
import io.thalamus.api.picture.PictureLayout;
import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.shell.model.OperationList;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The answer of {@code nn:info}. Immutable; holds nothing of the model's memory.
 *
 * @param file as it was named
 * @param operations how often each type occurs
 * @param macsByOperation multiply-accumulates of all of a type, for those that have some
 * @param macs multiply-accumulates of one execution, as far as they are known
 * @param openMacs operations whose work is not known before the execution
 */
public record InfoResult(
    String file,
    String format,
    String description,
    int labels,
    List<String> signatures,
    List<Value> inputs,
    List<Value> outputs,
    Map<String, Integer> operations,
    Map<String, Long> macsByOperation,
    int graphs,
    int constants,
    long constantBytes,
    long macs,
    int openMacs,
    Style style)
    implements Result {

  /** An input or output; only inputs have a normalization, and only some of these. */
  public record Value(Operand operand, boolean isPicture, Optional<Normalization> normalization) {}

  /** Returns the answer for a model. */
  public static InfoResult of(LoadedModel loaded, Style style) {
    List<Value> inputs = new ArrayList<>();
    Subgraph main = loaded.model().main();
    for (int i = 0; i < main.inputIndexes().size(); i++) {
      Operand input = loaded.options().shapes().isEmpty() ? loaded.file().input(i) : main.input(i);
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
    Map<String, Long> macsByOperation = new LinkedHashMap<>();
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
        if (work.orElse(0) > 0) {
          macsByOperation.merge(operation.type().text(), work.getAsLong(), Long::sum);
        }
        openMacs += work.isPresent() ? 0 : 1;
      }
    }
    return new InfoResult(
        loaded.path().toString(),
        loaded.file().format(),
        loaded.file().description(),
        loaded.file().labels().size(),
        loaded.file().signatures(),
        inputs,
        outputs,
        OperationList.counts(types),
        macsByOperation,
        graphs.size(),
        constants,
        constantBytes,
        macs,
        openMacs,
        style);
  }

  /** Returns the model in one line. */
  public String summary() {
    return "%s · %s · %s of constants · %s%s MACs%s"
        .formatted(
            format,
            Units.plural(
                operations.values().stream().mapToInt(Integer::intValue).sum(), "operation"),
            Units.bytes(constantBytes),
            openMacs > 0 ? "at least " : "",
            Units.count(macs),
            graphs > 1 ? " · the main one of " + graphs + " graphs" : "");
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
    if (!signatures.isEmpty()) {
      facts.row("signatures", String.join(", ", signatures));
    }
    facts.row("constants", Units.count(constants) + ", " + Units.bytes(constantBytes));
    facts.row("MACs", (openMacs > 0 ? "at least " : "") + Units.count(macs));
    if (graphs > 1) {
      facts.row("graphs", Units.count(graphs));
    }
    Table kinds = new Table(style, "", ">", ">").indent(2);
    operations.forEach(
        (name, count) -> {
          Long work = macsByOperation.get(name);
          kinds.row(name, Units.count(count), work == null ? "" : Units.count(work) + " MACs");
        });
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
  public Object data() {
    return Json.object(
        "model", file,
        "format", format,
        "description", description,
        "labels", labels,
        "signatures", signatures,
        "constants", constants,
        "constantBytes", constantBytes,
        "macs", macs,
        "macsComplete", openMacs == 0,
        "graphs", graphs,
        "inputs", inputs.stream().map(InfoResult::fields).toList(),
        "outputs", outputs.stream().map(InfoResult::fields).toList(),
        "operations", operations,
        "macsByOperation", macsByOperation);
  }

  private static Object fields(Value value) {
    Operand operand = value.operand();
    Optional<Quantization> quantization =
        Optional.of(operand.quantization()).filter(known -> known.scale() != 0);
    return Json.object(
        "name", operand.name(),
        "type", operand.type().text(),
        "shape", operand.shape().toArray(),
        "scale", quantization.map(Quantization::scale),
        "zeroPoint", quantization.map(Quantization::zeroPoint),
        "normalization", value.normalization().map(InfoResult::fields));
  }

  private static Object fields(Normalization normalization) {
    return Json.object(
        "mean", normalization.mean()[0],
        "std", normalization.std()[0],
        "reason", normalization.reason());
  }
}
