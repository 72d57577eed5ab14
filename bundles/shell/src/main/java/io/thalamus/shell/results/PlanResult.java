// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.Plan;
import io.thalamus.api.Plan.Crossing;
import io.thalamus.api.Plan.PlannedOperation;
import io.thalamus.api.Plan.Step;
import io.thalamus.api.Prediction;
import io.thalamus.api.Prediction.Estimate;
import io.thalamus.api.Prediction.StepEstimate;
import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import io.thalamus.model.OperationType;
import io.thalamus.shell.model.OperationList;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The answer of {@code nn:plan} and {@code nn:measure}. Immutable. */
public record PlanResult(String model, Plan plan, boolean verbose, Style style) implements Result {
  private static final int LONGEST_NAME = 24;
  private static final int NAMED = 1;

  /** Nanoseconds below which a time would be shown as none at all. */
  private static final double SHORTEST = 500;

  @Override
  public String text() {
    Lines lines = new Lines().add(summary()).gap().add(steps());
    if (!plan.operations().isEmpty()) {
      lines.gap().add(costs());
    }
    if (!plan.prediction().steps().isEmpty()) {
      addLegend(lines.gap());
    }
    plan.prediction().remarks().forEach(remark -> lines.add(style.bad("note: " + remark)));
    return lines.toString();
  }

  /** Returns the plan in one line. */
  public String summary() {
    return "%s in %s, policy %s, %s between steps"
            .formatted(
                Units.plural(plan.operations().size(), "operation"),
                Units.plural(plan.steps().size(), "step"),
                plan.policy(),
                Units.bytes(crossing()))
        + (plan.prediction().steps().isEmpty()
            ? ""
            : ", " + time(plan.prediction().nanos(), plan.prediction().isMeasured()) + " expected");
  }

  /** Returns a time for people; one that was not measured is marked. */
  private static String time(double nanos, boolean isMeasured) {
    String text = nanos < SHORTEST ? "<1 us" : Units.time(Math.round(nanos));
    return (isMeasured ? "" : "~") + text;
  }

  private void addLegend(Lines lines) {
    lines.add(
        style.dim(
            plan.prediction().isMeasured()
                ? "times were measured here"
                : "~ not measured: by declared cost and size; nn:measure times the operations"));
    if (plan.prediction().energy().isPresent()) {
      double share = Math.round(plan.prediction().energy().getAsDouble() * 1000) / 1e3;
      lines.add(
          style.dim(
              "energy: "
                  + Units.number(share)
                  + " of what cpu alone would need, by declared power"));
    }
  }

  /** Returns the expected time of each operation of the main graph, by its index. */
  public Map<Integer, String> times() {
    Map<Integer, String> times = new HashMap<>();
    for (int i = 0; i < plan.prediction().operations().size(); i++) {
      PlannedOperation operation = plan.operations().get(i);
      Estimate estimate = plan.prediction().operations().get(i).get(operation.device());
      if (operation.subgraph() == 0 && estimate != null) {
        times.put(operation.index(), time(estimate.nanos(), estimate.isMeasured()));
      }
    }
    return times;
  }

  /** Returns the device of each operation of the main graph, by its index. */
  public Map<Integer, String> devices() {
    Map<Integer, String> devices = new HashMap<>();
    for (PlannedOperation operation : plan.operations()) {
      if (operation.subgraph() == 0) {
        devices.put(operation.index(), operation.device());
      }
    }
    return devices;
  }

  /** Returns the bytes between steps, each value counted for every step that reads it. */
  private long crossing() {
    Set<String> made = new LinkedHashSet<>();
    for (Step step : plan.steps()) {
      step.outputs().forEach(output -> made.add(step.subgraph() + "/" + output.operand()));
    }
    long bytes = 0;
    for (Step step : plan.steps()) {
      for (Crossing input : step.inputs()) {
        bytes += made.contains(step.subgraph() + "/" + input.operand()) ? input.bytes() : 0;
      }
    }
    return bytes;
  }

  private String steps() {
    Map<String, OperationType> types = new HashMap<>();
    for (PlannedOperation operation : plan.operations()) {
      types.put(operation.subgraph() + "/" + operation.index(), operation.type());
    }
    List<StepEstimate> estimates = plan.prediction().steps();
    List<String> headings = new ArrayList<>(List.of(">step", "device", "in", "out"));
    if (!estimates.isEmpty()) {
      headings.addAll(List.of(">boundary", ">inside"));
    }
    headings.add("operations");
    Table table = new Table(style, headings.toArray(String[]::new));
    for (int i = 0; i < plan.steps().size(); i++) {
      Step step = plan.steps().get(i);
      List<OperationType> kinds =
          step.operations().stream()
              .map(index -> types.get(step.subgraph() + "/" + index))
              .filter(Objects::nonNull)
              .toList();
      List<Object> cells =
          new ArrayList<>(
              List.of(
                  i + 1,
                  device(step.device()),
                  crossings(step.inputs()),
                  crossings(step.outputs())));
      if (!estimates.isEmpty()) {
        StepEstimate estimate = estimates.get(i);
        cells.add(time(estimate.startNanos() + estimate.boundaryNanos(), true));
        cells.add(time(estimate.operationNanos(), estimate.isMeasured()));
      }
      cells.add(
          place(step.subgraph())
              + OperationList.runs(step.operations())
              + ": "
              + OperationList.text(kinds));
      table.row(cells.toArray());
    }
    return table.text();
  }

  private Object device(String id) {
    List<String> all = plan.steps().stream().map(Step::device).distinct().sorted().toList();
    return Table.painted(id, text -> style.hue(all.indexOf(id), text));
  }

  private static String place(int subgraph) {
    return subgraph == 0 ? "" : "graph " + subgraph + ", ";
  }

  private static String crossings(List<Crossing> crossings) {
    if (crossings.size() > NAMED) {
      long bytes = crossings.stream().mapToLong(Crossing::bytes).sum();
      return crossings.size() + " values " + size(bytes);
    }
    return crossings.stream()
        .map(crossing -> cut(crossing.name(), crossing.operand()) + " " + size(crossing.bytes()))
        .collect(Collectors.joining(", "));
  }

  private static String size(long bytes) {
    return bytes == 0 ? "(size open)" : Units.bytes(bytes);
  }

  private static String cut(String name, int operand) {
    if (name.isEmpty()) {
      return "%" + operand;
    }
    // Names are paths whose end says most.
    return name.length() <= LONGEST_NAME
        ? name
        : "…" + name.substring(name.length() - LONGEST_NAME + 1);
  }

  /**
   * Returns one line for each operation, or for each run of operations that cost and go the same.
   */
  private String costs() {
    List<String> devices =
        plan.operations().stream()
            .flatMap(operation -> operation.costs().keySet().stream())
            .distinct()
            .sorted()
            .toList();
    List<String> headings = new ArrayList<>(List.of("cost of", "device"));
    devices.forEach(device -> headings.add(">" + device));
    headings.add("operations");
    Table table = new Table(style, headings.toArray(String[]::new));
    int i = 0;
    while (i < plan.operations().size()) {
      PlannedOperation first = plan.operations().get(i);
      int end = i + 1;
      while (!verbose
          && end < plan.operations().size()
          && isAlike(first, plan.operations().get(end))) {
        end++;
      }
      List<PlannedOperation> run = plan.operations().subList(i, end);
      List<Object> cells = new ArrayList<>();
      cells.add(
          place(first.subgraph())
              + OperationList.runs(run.stream().map(PlannedOperation::index).toList()));
      cells.add(device(first.device()));
      for (String device : devices) {
        Double cost = first.costs().get(device);
        cells.add(cost == null ? "-" : Units.number(cost) + expected(device, i, end));
      }
      cells.add(OperationList.text(run.stream().map(PlannedOperation::type).toList()));
      table.row(cells.toArray());
      i = end;
    }
    return table.text();
  }

  /** Returns the expected time of operations on a device, behind the cost that it declares. */
  private String expected(String device, int from, int to) {
    if (plan.prediction().operations().isEmpty()) {
      return "";
    }
    double nanos = 0;
    boolean isMeasured = true;
    for (int i = from; i < to; i++) {
      Estimate estimate = plan.prediction().operations().get(i).get(device);
      if (estimate == null) {
        return "";
      }
      nanos += estimate.nanos();
      isMeasured &= estimate.isMeasured();
    }
    return ": " + time(nanos, isMeasured);
  }

  private static boolean isAlike(PlannedOperation a, PlannedOperation b) {
    return a.subgraph() == b.subgraph()
        && a.device().equals(b.device())
        && a.costs().equals(b.costs());
  }

  @Override
  public Object data() {
    Optional<Prediction> prediction =
        Optional.of(plan.prediction()).filter(known -> !known.steps().isEmpty());
    OptionalDouble energy = plan.prediction().energy();
    return Json.object(
        "model", model,
        "policy", plan.policy(),
        "crossingBytes", crossing(),
        "expected", prediction.map(known -> nanos(known.nanos())),
        "measured", prediction.map(Prediction::isMeasured),
        "energy", energy.isPresent() ? energy.getAsDouble() : Optional.empty(),
        "remarks", plan.prediction().remarks(),
        "steps", IntStream.range(0, plan.steps().size()).mapToObj(this::step).toList(),
        "operations",
            IntStream.range(0, plan.operations().size()).mapToObj(this::operation).toList());
  }

  private static Duration nanos(double nanos) {
    return Duration.ofNanos(Math.round(nanos));
  }

  private Object step(int index) {
    Step step = plan.steps().get(index);
    Map<String, Object> fields =
        Json.object(
            "device", step.device(),
            "subgraph", step.subgraph(),
            "operations", step.operations(),
            "inputs", step.inputs(),
            "outputs", step.outputs());
    if (!plan.prediction().steps().isEmpty()) {
      StepEstimate estimate = plan.prediction().steps().get(index);
      fields.putAll(
          Json.object(
              "start", nanos(estimate.startNanos()),
              "boundary", nanos(estimate.boundaryNanos()),
              "operation", nanos(estimate.operationNanos()),
              "measured", estimate.isMeasured()));
    }
    return fields;
  }

  private Object operation(int index) {
    PlannedOperation operation = plan.operations().get(index);
    Map<String, Object> fields =
        Json.object(
            "subgraph", operation.subgraph(),
            "index", operation.index(),
            "type", operation.type().text(),
            "device", operation.device(),
            "costs", new TreeMap<>(operation.costs()));
    if (!plan.prediction().operations().isEmpty()) {
      Map<String, Object> expected = new TreeMap<>();
      plan.prediction()
          .operations()
          .get(index)
          .forEach(
              (device, estimate) ->
                  expected.put(
                      device,
                      Json.object(
                          "duration", nanos(estimate.nanos()),
                          "measured", estimate.isMeasured())));
      fields.put("expected", expected);
    }
    return fields;
  }
}
