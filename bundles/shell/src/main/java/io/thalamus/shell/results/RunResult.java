// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.CacheOutcome;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.ResultCode;
import io.thalamus.api.Tensor;
import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import io.thalamus.shell.execution.TimedInference;
import io.thalamus.shell.tensor.Classification;
import io.thalamus.shell.tensor.TensorSummary;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The answer of {@code nn:run}. Times are of the warm executions, or of all where none was warm.
 * Immutable.
 *
 * @param outputs in order
 * @param classes the best classes, where the only output is one score for each class
 * @param ranOn operations executed, by device
 * @param steps what ran where in the last execution, in order, failed attempts included
 * @param givenUp attempts that failed and were repeated
 * @param caching where each step came from; empty where no caching was asked for
 * @param times how often it was executed
 * @param cold how many of these executions were cold, the first ones
 * @param median the time of one execution
 * @param fastest the least time of one execution
 */
public record RunResult(
    String model,
    List<Output> outputs,
    Optional<Classification> classes,
    Map<String, Integer> ranOn,
    List<StepReport> steps,
    List<StepReport> givenUp,
    List<CacheOutcome> caching,
    int times,
    int cold,
    Duration median,
    Duration fastest,
    Style style)
    implements Result {

  /** An output with its name in the model. */
  public record Output(String name, Tensor tensor) {}

  /** Returns the answer for an inference. */
  public static RunResult of(
      LoadedModel model,
      TimedInference.Outcome outcome,
      int cold,
      Optional<Classification> classes,
      List<CacheOutcome> caching,
      Style style) {
    List<Output> outputs = new ArrayList<>();
    for (Tensor output : outcome.answer().outputs()) {
      outputs.add(new Output(output.name(), output));
    }
    Map<String, Integer> ranOn = new LinkedHashMap<>();
    List<StepReport> givenUp = new ArrayList<>();
    ExecutionReport report = outcome.answer().report();
    for (StepReport step : report.steps()) {
      if (step.code() == ResultCode.NO_ERROR) {
        ranOn.merge(step.device(), step.operations(), Integer::sum);
      } else {
        givenUp.add(step);
      }
    }
    long[] all = outcome.nanos();
    long[] sorted = Arrays.copyOfRange(all, cold == all.length ? 0 : cold, all.length);
    Arrays.sort(sorted);
    return new RunResult(
        model.path().toString(),
        outputs,
        classes,
        ranOn,
        report.steps(),
        givenUp,
        caching,
        all.length,
        cold,
        Duration.ofNanos(sorted[sorted.length / 2]),
        Duration.ofNanos(sorted[0]),
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
    String time = Units.time(median) + (cold == times ? ", cold" : "");
    if (times > 1) {
      boolean isMixed = cold > 0 && cold < times;
      time +=
          " (median of %s%s, fastest %s)"
              .formatted(
                  Units.count(isMixed ? times - cold : times),
                  isMixed ? " after %s cold".formatted(Units.count(cold)) : "",
                  Units.time(fastest));
    }
    String from = caching.isEmpty() ? "" : " (" + CachePhrases.describe(caching) + ")";
    return lines.add(time + (where.isEmpty() ? "" : ": " + where) + from).toString();
  }

  @Override
  public Object data() {
    return Json.object(
        "model",
        model,
        "outputs",
        outputs.stream().map(this::fields).toList(),
        "ranOn",
        ranOn,
        "givenUp",
        Optional.of(givenUp.stream().map(RunResult::attempt).toList())
            .filter(attempts -> !attempts.isEmpty()),
        "duration",
        median,
        "cold",
        cold,
        "times",
        Optional.of(times).filter(count -> count > 1),
        "fastest",
        Optional.of(fastest).filter(_ -> times > 1),
        "caching",
        Optional.of(caching).filter(all -> !all.isEmpty()).map(CachePhrases::describe),
        "steps",
        steps);
  }

  private Object fields(Output output) {
    Map<String, Object> fields = Json.object("name", output.name());
    fields.putAll(TensorSummary.of(output.tensor()).fields(output.tensor()));
    classes.ifPresent(best -> fields.put("top", best.fields()));
    return fields;
  }

  private static Object attempt(StepReport step) {
    return Json.object(
        "device", step.device(), "operations", step.operations(), "code", step.code());
  }
}
