// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import io.thalamus.hal.ExecutionProfile;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.OperationCatalog;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** The answer of {@code nn:bench --profile}: the time of each operation. Immutable. */
public record ProfileResult(String model, String device, List<Part> parts, Style style)
    implements Result {
  private static final double GIGA = 1e9;
  private static final double PERCENT = 100;

  /** Columns of a result in the text. */
  private static final int WIDEST = 60;

  /**
   * One operation.
   *
   * @param result its first output
   * @param macs its products, each with its addition; empty for one that is not made of them
   * @param roof the share that these are of what the thread could make in that time
   */
  public record Part(
      String operation, String result, long nanos, OptionalLong macs, OptionalDouble roof) {}

  /** Returns the result of a profile of a graph. */
  public static ProfileResult of(
      String model, String device, Subgraph graph, ExecutionProfile profile, Style style) {
    List<Part> parts = new ArrayList<>();
    for (int i = 0; i < graph.operations().size(); i++) {
      Operation operation = graph.operations().get(i);
      long nanos = profile.nanos().get(i);
      OptionalLong macs = OperationCatalog.standard().macs(graph, operation);
      boolean isFloat =
          graph.operands().get(operation.inputs().getFirst()).type() == OperandCode.TENSOR_FLOAT32;
      double peak = isFloat ? profile.floatPeak() : profile.bytePeak();
      boolean isKnown = macs.orElse(0) > 0 && nanos > 0 && peak > 0;
      parts.add(
          new Part(
              operation.type().text(),
              graph.operands().get(operation.outputs().getFirst()).text(),
              nanos,
              macs,
              isKnown
                  ? OptionalDouble.of(macs.getAsLong() * GIGA / nanos / peak)
                  : OptionalDouble.empty()));
    }
    return new ProfileResult(model, device, parts, style);
  }

  private long total() {
    return parts.stream().mapToLong(Part::nanos).sum();
  }

  @Override
  public String text() {
    Table table =
        new Table(style, ">", "operation", "result", ">time", ">share", ">MAC/s", ">of the roof");
    long total = total();
    for (int i = 0; i < parts.size(); i++) {
      Part part = parts.get(i);
      table.row(
          Integer.toString(i),
          Table.painted(part.operation(), style::bold),
          shortened(part.result()),
          part.nanos() == 0 ? "" : Units.time(part.nanos()),
          part.nanos() == 0 ? "" : percent(PERCENT * part.nanos() / total),
          part.roof().isEmpty()
              ? ""
              : Units.number(part.macs().getAsLong() / (double) part.nanos()) + " G",
          part.roof().isEmpty() ? "" : percent(PERCENT * part.roof().getAsDouble()));
    }
    return new Lines()
        .add(table.text())
        .gap()
        .add(
            "%s for all operations on %s by one thread; each time is a median"
                .formatted(Units.time(total), device))
        .toString();
  }

  /** Returns a name that a converter made of many, less its middle; type and dimensions follow. */
  private static String shortened(String result) {
    return result.length() <= WIDEST
        ? result
        : result.substring(0, WIDEST / 3)
            + "…"
            + result.substring(result.length() - WIDEST * 2 / 3);
  }

  private static String percent(double value) {
    return Units.number(value) + " %";
  }

  @Override
  public Object data() {
    return Json.object(
        "model",
        model,
        "device",
        device,
        "nanos",
        total(),
        "operations",
        parts.stream()
            .map(
                part ->
                    Json.object(
                        "operation", part.operation(),
                        "result", part.result(),
                        "nanos", part.nanos(),
                        "macs", part.macs().isPresent() ? part.macs().getAsLong() : null,
                        "roof", part.roof().isPresent() ? part.roof().getAsDouble() : null))
            .toList());
  }
}
