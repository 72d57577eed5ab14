// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.ResultCode;
import io.thalamus.api.StepCaching;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.format.Json;
import io.thalamus.shell.format.Lines;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import io.thalamus.shell.format.Units;
import io.thalamus.shell.tensor.Classification;
import io.thalamus.shell.tensor.Tensor;
import io.thalamus.shell.tensor.TensorSummary;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The answer of {@code nn:run}.
 *
 * @param outputs in order
 * @param classes the best classes, where the only output is one score for each class
 * @param ranOn operations executed, by device
 * @param steps what ran where in the last execution, in order, failed attempts included
 * @param givenUp attempts that failed and were repeated
 * @param caching where each step came from; empty where no caching was asked for
 * @param times how often it was executed
 * @param median the time of one execution
 * @param fastest the least time of one execution
 */
record RunResult(
    String model,
    List<Output> outputs,
    Optional<Classification> classes,
    Map<String, Integer> ranOn,
    List<StepReport> steps,
    List<StepReport> givenUp,
    List<StepCaching> caching,
    int times,
    Duration median,
    Duration fastest,
    Style style)
    implements Result {

  record Output(String name, Tensor tensor) {}

  static RunResult of(
      LoadedModel model,
      List<Tensor> inputs,
      Inference.Outcome outcome,
      List<StepCaching> caching,
      Labels labels,
      int top,
      Style style)
      throws CommandException {
    List<Output> outputs = new ArrayList<>();
    for (int i = 0; i < outcome.outputs().size(); i++) {
      outputs.add(new Output(model.model().main().output(i).name(), outcome.outputs().get(i)));
    }
    Optional<Classification> classes = Optional.empty();
    if (outputs.size() == 1 && Classification.fits(outputs.getFirst().tensor(), inputs)) {
      Tensor scores = outputs.getFirst().tensor();
      classes = Optional.of(Classification.of(scores, labels.of(scores.count()), top));
    }
    Map<String, Integer> ranOn = new LinkedHashMap<>();
    List<StepReport> givenUp = new ArrayList<>();
    ExecutionReport report = outcome.report();
    for (StepReport step : report.steps()) {
      if (step.code() == ResultCode.NO_ERROR) {
        ranOn.merge(step.device(), step.operations(), Integer::sum);
      } else {
        givenUp.add(step);
      }
    }
    return new RunResult(
        model.path().toString(),
        outputs,
        classes,
        ranOn,
        report.steps(),
        givenUp,
        caching,
        outcome.nanos().length,
        Duration.ofNanos(outcome.median()),
        Duration.ofNanos(outcome.nanos()[0]),
        style);
  }

  @Override
  public String text() {
    Lines lines = new Lines();
    if (classes.isPresent()) {
      lines.add(classes.get().text(style));
    } else {
      Table table = new Table(style, "output", "type", "shape", ">min", ">max", ">mean", "first");
      for (Output output : outputs) {
        TensorSummary summary = TensorSummary.of(output.tensor());
        table.row(
            output.name(),
            output.tensor().type().text(),
            output.tensor().shape(),
            summary.text(summary.least()),
            summary.text(summary.most()),
            summary.text(summary.mean()),
            summary.first());
      }
      lines.add(table.text());
    }
    lines.gap();
    for (StepReport step : givenUp) {
      lines.add(
          style.bad(step.device() + " gave up " + Units.plural(step.operations(), "operation"))
              + " after "
              + Units.time(step.duration())
              + " ("
              + step.code()
              + "); repeated elsewhere");
    }
    String where =
        ranOn.entrySet().stream()
            .map(
                entry ->
                    Units.plural(entry.getValue(), "operation")
                        + " on "
                        + style.bold(entry.getKey()))
            .collect(Collectors.joining(", "));
    String time = Units.time(median);
    if (times > 1) {
      time += " (median of " + times + ", fastest " + Units.time(fastest) + ")";
    }
    String from = caching.isEmpty() ? "" : " (" + CacheFolder.describe(caching) + ")";
    return lines.add(time + (where.isEmpty() ? "" : ": " + where) + from).toString();
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeStringField("model", model);
    json.writeArrayFieldStart("outputs");
    for (Output output : outputs) {
      json.writeStartObject();
      json.writeStringField("name", output.name());
      TensorSummary.of(output.tensor()).json(json, output.tensor());
      if (classes.isPresent()) {
        classes.get().json(json);
      }
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeObjectFieldStart("ranOn");
    for (Map.Entry<String, Integer> entry : ranOn.entrySet()) {
      json.writeNumberField(entry.getKey(), entry.getValue());
    }
    json.writeEndObject();
    if (!givenUp.isEmpty()) {
      json.writeArrayFieldStart("givenUp");
      for (StepReport step : givenUp) {
        json.writeStartObject();
        json.writeStringField("device", step.device());
        json.writeNumberField("operations", step.operations());
        json.writeStringField("code", step.code().name());
        json.writeEndObject();
      }
      json.writeEndArray();
    }
    Json.millis(json, "millis", median.toNanos());
    if (times > 1) {
      json.writeNumberField("times", times);
      Json.millis(json, "fastestMillis", fastest.toNanos());
    }
    if (!caching.isEmpty()) {
      json.writeStringField("caching", CacheFolder.describe(caching));
    }
    json.writeArrayFieldStart("steps");
    for (StepReport step : steps) {
      json.writeStartObject();
      json.writeStringField("device", step.device());
      json.writeNumberField("operations", step.operations());
      Json.millis(json, "millis", step.duration().toNanos());
      json.writeStringField("code", step.code().name());
      json.writeEndObject();
    }
    json.writeEndArray();
  }
}
