// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceHealth;
import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.OperandType;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.shell.format.Json;
import io.thalamus.shell.format.Lines;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import io.thalamus.shell.format.Units;
import java.io.IOException;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The answer of {@code nn:devices}.
 *
 * @param devices in the order of their arrival
 * @param verbose whether all facts are shown
 */
record DevicesResult(List<DeviceDescription> devices, boolean verbose, Style style)
    implements Result {
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT);

  DevicesResult {
    devices = List.copyOf(devices);
  }

  @Override
  public String text() {
    if (devices.isEmpty()) {
      return "no device is here; nn:install adds one";
    }
    if (verbose) {
      return devices.stream().map(this::all).collect(Collectors.joining("\n\n"));
    }
    Table table = new Table(style, "id", "type", "version", "level", "state", "");
    for (DeviceDescription device : devices) {
      table.row(
          Table.painted(device.id(), style::bold),
          type(device),
          device.version(),
          level(device),
          Table.painted(state(device), isServing(device) ? style::good : style::bad),
          trouble(device));
    }
    return table.text();
  }

  private String all(DeviceDescription device) {
    Table facts = new Table(style, "", "").indent(2);
    facts.row("state", state(device) + (device.reason().isEmpty() ? "" : ": " + device.reason()));
    DeviceHealth health = device.health();
    facts.row(
        "failures",
        health.failures() + health.quarantines() == 0
            ? "none"
            : Units.plural(health.failures(), "failed call")
                + ", in quarantine "
                + Units.plural(health.quarantines(), "time"));
    if (health.samples() > 0) {
      facts.row(
          "second opinions",
          Units.count(health.samples()) + ", of which differ " + Units.count(health.mismatches()));
    }
    health.stuckCalls().forEach(call -> facts.row(threadState(device), describe(call)));
    facts.row("type", type(device));
    facts.row("version", device.version());
    facts.row("feature level", level(device) + " (" + device.featureLevel().level() + ")");
    facts.row("quantized results", device.exactQuantized() ? "exact" : "within one step");
    facts.row(
        "cache",
        device.modelCacheFiles() + device.dataCacheFiles() == 0
            ? "none"
            : Units.plural(device.modelCacheFiles(), "model file")
                + ", "
                + Units.plural(device.dataCacheFiles(), "data file"));
    facts.row("memory", kinds(device));
    facts.row("own memory", device.memoryDomain() ? "yes" : "no");
    facts.row(
        "extensions",
        device.extensions().isEmpty()
            ? "none"
            : device.extensions().stream().sorted().collect(Collectors.joining(", ")));
    Table costs = new Table(style, "cost (1 is the reference CPU)", ">time", ">power").indent(2);
    performances(device)
        .forEach(
            (name, info) -> costs.row(name, number(info.execTime()), number(info.powerUsage())));
    return new Lines()
        .add(style.bold(device.id()) + "  " + device.name())
        .add(facts.text())
        .add(costs.text())
        .toString();
  }

  /** What a device declares, types of equal performance together. */
  private static Map<String, PerformanceInfo> performances(DeviceDescription device) {
    Map<PerformanceInfo, List<String>> groups = new LinkedHashMap<>();
    device.capabilities().operandPerformance().entrySet().stream()
        .sorted(Comparator.comparing(entry -> entry.getKey().text()))
        .forEach(
            entry ->
                groups
                    .computeIfAbsent(entry.getValue(), info -> new ArrayList<>())
                    .add(entry.getKey().text()));
    Map<String, PerformanceInfo> named = new LinkedHashMap<>();
    groups.forEach((info, names) -> names.forEach(name -> named.put(name, info)));
    named.put("relaxed TENSOR_FLOAT32", device.capabilities().relaxedFloat32toFloat16Tensor());
    named.put("relaxed FLOAT32", device.capabilities().relaxedFloat32toFloat16Scalar());
    named.put("IF", device.capabilities().ifPerformance());
    named.put("WHILE", device.capabilities().whilePerformance());
    named.values().removeIf(info -> info.execTime() == Float.MAX_VALUE);
    return named;
  }

  private static String number(float ratio) {
    return ratio == Float.MAX_VALUE ? "-" : Units.number(ratio);
  }

  private static boolean isServing(DeviceDescription device) {
    return device.state() == DeviceDescription.State.AVAILABLE;
  }

  private static String type(DeviceDescription device) {
    return device.type().name();
  }

  private static String state(DeviceDescription device) {
    String state = device.state().name().toLowerCase(Locale.ROOT);
    return device
        .health()
        .quarantinedUntil()
        .map(until -> state + " until " + TIME.format(until.atZone(ZoneId.systemDefault())))
        .orElse(state);
  }

  /** Why a device does not serve, and what it does not give back. */
  private static String trouble(DeviceDescription device) {
    List<String> parts = new ArrayList<>();
    if (!device.reason().isEmpty()) {
      parts.add(device.reason());
    }
    device
        .health()
        .stuckCalls()
        .forEach(call -> parts.add(threadState(device) + " " + describe(call)));
    return String.join("; ", parts);
  }

  /** What a thread is that a device does not give back, for {@code nn:doctor} too. */
  static String threadState(DeviceDescription device) {
    return device.state() == DeviceDescription.State.LEAKED ? "leaked thread" : "stuck thread";
  }

  /** A call that never returned. */
  static String describe(StuckCall call) {
    return "%s (in %s for %s), class loader of %s"
        .formatted(call.thread(), call.call(), Units.time(call.age()), call.classLoader());
  }

  private static String level(DeviceDescription device) {
    return device.featureLevel().name().substring(1).replace('_', '.');
  }

  private static String kinds(DeviceDescription device) {
    return device.memoryKinds().stream()
        .sorted()
        .map(MemoryKind::halName)
        .collect(Collectors.joining(", "));
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("devices");
    for (DeviceDescription device : devices) {
      json.writeStartObject();
      json.writeStringField("id", device.id());
      json.writeStringField("name", device.name());
      json.writeStringField("type", type(device));
      json.writeStringField("version", device.version());
      json.writeStringField("featureLevel", device.featureLevel().name());
      json.writeNumberField("featureLevelNumber", device.featureLevel().level());
      json.writeStringField("state", device.state().name());
      json.writeStringField("reason", device.reason());
      health(json, device.health());
      json.writeBooleanField("exactQuantized", device.exactQuantized());
      json.writeNumberField("modelCacheFiles", device.modelCacheFiles());
      json.writeNumberField("dataCacheFiles", device.dataCacheFiles());
      json.writeArrayFieldStart("memoryKinds");
      for (MemoryKind kind : device.memoryKinds().stream().sorted().toList()) {
        json.writeString(kind.halName());
      }
      json.writeEndArray();
      json.writeBooleanField("memoryDomain", device.memoryDomain());
      json.writeArrayFieldStart("extensions");
      for (String extension : device.extensions().stream().sorted().toList()) {
        json.writeString(extension);
      }
      json.writeEndArray();
      capabilities(json, device);
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private static void health(JsonGenerator json, DeviceHealth health) throws IOException {
    json.writeObjectFieldStart("health");
    json.writeNumberField("failures", health.failures());
    json.writeNumberField("quarantines", health.quarantines());
    if (health.quarantinedUntil().isPresent()) {
      json.writeStringField("quarantinedUntil", health.quarantinedUntil().get().toString());
    }
    json.writeNumberField("samples", health.samples());
    json.writeNumberField("mismatches", health.mismatches());
    json.writeArrayFieldStart("stuckCalls");
    for (StuckCall call : health.stuckCalls()) {
      json.writeStartObject();
      json.writeStringField("thread", call.thread());
      json.writeStringField("call", call.call());
      json.writeStringField("classLoader", call.classLoader());
      json.writeNumberField("ageMillis", call.age().toMillis());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static void capabilities(JsonGenerator json, DeviceDescription device)
      throws IOException {
    json.writeObjectFieldStart("capabilities");
    List<Map.Entry<OperandType, PerformanceInfo>> declared =
        device.capabilities().operandPerformance().entrySet().stream()
            .sorted(Comparator.comparing(entry -> entry.getKey().text()))
            .toList();
    for (Map.Entry<OperandType, PerformanceInfo> entry : declared) {
      performance(json, entry.getKey().text(), entry.getValue());
    }
    performance(
        json,
        "relaxedFloat32toFloat16Tensor",
        device.capabilities().relaxedFloat32toFloat16Tensor());
    performance(
        json,
        "relaxedFloat32toFloat16Scalar",
        device.capabilities().relaxedFloat32toFloat16Scalar());
    performance(json, "IF", device.capabilities().ifPerformance());
    performance(json, "WHILE", device.capabilities().whilePerformance());
    json.writeEndObject();
  }

  private static void performance(JsonGenerator json, String name, PerformanceInfo info)
      throws IOException {
    json.writeObjectFieldStart(name);
    json.writeFieldName("execTime");
    Json.number(json, info.execTime());
    json.writeFieldName("powerUsage");
    Json.number(json, info.powerUsage());
    json.writeEndObject();
  }
}
