// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceHealth;
import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.Capabilities;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.shell.bundles.IsolatedProcess;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The answer of {@code nn:devices}. Immutable.
 *
 * @param devices in the order of their arrival
 * @param processes of isolated devices, by the short names of these
 * @param verbose whether all facts are shown
 */
public record DevicesResult(
    List<DeviceDescription> devices,
    Map<String, IsolatedProcess> processes,
    boolean verbose,
    Style style)
    implements Result {
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT);

  public DevicesResult {
    devices = List.copyOf(devices);
    processes = Map.copyOf(processes);
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
          device.info().version(),
          level(device),
          Table.painted(state(device), isServing(device) ? style::good : style::bad),
          trouble(device));
    }
    return table.text();
  }

  private String all(DeviceDescription device) {
    Table facts = new Table(style, "", "").indent(2);
    facts.row("state", state(device) + (device.reason().isEmpty() ? "" : ": " + device.reason()));
    process(device)
        .ifPresent(process -> facts.row("process", process.pid() + ", memory " + process.memory()));
    DeviceHealth health = device.health();
    facts.row(
        "failures",
        health.failures() + health.quarantines() == 0
            ? "none"
            : Units.plural(health.failures(), "failed call")
                + ", in quarantine "
                + Units.plural(health.quarantines(), "time"));
    health.lastFailure().ifPresent(failure -> facts.row("the last failure", failure));
    if (health.samples() > 0) {
      facts.row(
          "second opinions",
          Units.count(health.samples()) + ", of which differ " + Units.count(health.mismatches()));
    }
    health.stuckCalls().forEach(call -> facts.row(threadState(device), describe(call)));
    facts.row("type", type(device));
    facts.row("version", device.info().version());
    facts.row("feature level", level(device) + " (" + device.info().featureLevel().level() + ")");
    facts.row("quantized results", device.info().exactQuantized() ? "exact" : "within one step");
    facts.row(
        "cache",
        !device.info().cacheNeeds().isCachingSupported()
            ? "none"
            : Units.plural(device.info().cacheNeeds().modelCacheFiles(), "model file")
                + ", "
                + Units.plural(device.info().cacheNeeds().dataCacheFiles(), "data file")
                + (device.info().cacheSharedByPriorities() ? ", for all priorities" : ""));
    facts.row("memory", kinds(device));
    facts.row("own memory", device.info().memoryDomain() ? "yes" : "no");
    facts.row(
        "extensions",
        device.info().extensions().isEmpty()
            ? "none"
            : device.info().extensions().stream().sorted().collect(Collectors.joining(", ")));
    Table costs = new Table(style, "cost (1 is the reference CPU)", ">time", ">power").indent(2);
    performances(device)
        .forEach(
            (name, info) -> costs.row(name, number(info.execTime()), number(info.powerUsage())));
    return new Lines()
        .add(style.bold(device.id()) + "  " + device.info().name())
        .add(facts.text())
        .add(costs.text())
        .toString();
  }

  /** Returns what a device declares, types of equal performance together. */
  private static Map<String, PerformanceInfo> performances(DeviceDescription device) {
    Map<PerformanceInfo, List<String>> groups = new LinkedHashMap<>();
    device.info().capabilities().operandPerformance().entrySet().stream()
        .sorted(Comparator.comparing(entry -> entry.getKey().text()))
        .forEach(
            entry ->
                groups
                    .computeIfAbsent(entry.getValue(), info -> new ArrayList<>())
                    .add(entry.getKey().text()));
    Map<String, PerformanceInfo> named = new LinkedHashMap<>();
    groups.forEach((info, names) -> names.forEach(name -> named.put(name, info)));
    named.put(
        "relaxed TENSOR_FLOAT32", device.info().capabilities().relaxedFloat32toFloat16Tensor());
    named.put("relaxed FLOAT32", device.info().capabilities().relaxedFloat32toFloat16Scalar());
    named.put("IF", device.info().capabilities().ifPerformance());
    named.put("WHILE", device.info().capabilities().whilePerformance());
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
    return device.info().type().name();
  }

  private static String state(DeviceDescription device) {
    String state = device.state().name().toLowerCase(Locale.ROOT);
    return device
        .health()
        .quarantinedUntil()
        .map(until -> state + " until " + TIME.format(until.atZone(ZoneId.systemDefault())))
        .orElse(state);
  }

  /** Returns why a device does not serve, and which threads it never returned. */
  private String trouble(DeviceDescription device) {
    List<String> parts = new ArrayList<>();
    process(device).ifPresent(process -> parts.add("isolated in process " + process.pid()));
    if (!device.reason().isEmpty()) {
      parts.add(device.reason());
    }
    device
        .health()
        .stuckCalls()
        .forEach(call -> parts.add(threadState(device) + " " + describe(call)));
    return String.join("; ", parts);
  }

  /** Returns what to call a thread that a device never returned. */
  public static String threadState(DeviceDescription device) {
    return device.state() == DeviceDescription.State.LEAKED ? "leaked thread" : "stuck thread";
  }

  /** Returns the description of a call that never returned. */
  public static String describe(StuckCall call) {
    return "%s (in %s for %s), class loader of %s"
        .formatted(call.thread(), call.call(), Units.time(call.age()), call.classLoader());
  }

  private static String level(DeviceDescription device) {
    return device.info().featureLevel().name().substring(1).replace('_', '.');
  }

  private static String kinds(DeviceDescription device) {
    return device.info().memoryKinds().stream()
        .sorted()
        .map(MemoryKind::halName)
        .collect(Collectors.joining(", "));
  }

  @Override
  public Object data() {
    return Json.object("devices", devices.stream().map(this::fields).toList());
  }

  private Optional<IsolatedProcess> process(DeviceDescription device) {
    return Optional.ofNullable(processes.get(device.id()));
  }

  private Object fields(DeviceDescription device) {
    return Json.object(
        "id", device.id(),
        "name", device.info().name(),
        "type", device.info().type(),
        "version", device.info().version(),
        "featureLevel", device.info().featureLevel(),
        "featureLevelNumber", device.info().featureLevel().level(),
        "state", device.state(),
        "process", process(device).map(IsolatedProcess::pid),
        "reason", device.reason(),
        "health", device.health(),
        "exactQuantized", device.info().exactQuantized(),
        "modelCacheFiles", device.info().cacheNeeds().modelCacheFiles(),
        "dataCacheFiles", device.info().cacheNeeds().dataCacheFiles(),
        "cacheSharedByPriorities", device.info().cacheSharedByPriorities(),
        "memoryKinds",
            device.info().memoryKinds().stream().sorted().map(MemoryKind::halName).toList(),
        "memoryDomain", device.info().memoryDomain(),
        "extensions", device.info().extensions().stream().sorted().toList(),
        "capabilities", capabilities(device.info().capabilities()));
  }

  private static Object capabilities(Capabilities capabilities) {
    Map<String, Object> fields = new LinkedHashMap<>();
    capabilities.operandPerformance().entrySet().stream()
        .sorted(Comparator.comparing(entry -> entry.getKey().text()))
        .forEach(entry -> fields.put(entry.getKey().text(), entry.getValue()));
    fields.put("relaxedFloat32toFloat16Tensor", capabilities.relaxedFloat32toFloat16Tensor());
    fields.put("relaxedFloat32toFloat16Scalar", capabilities.relaxedFloat32toFloat16Scalar());
    fields.put("IF", capabilities.ifPerformance());
    fields.put("WHILE", capabilities.whilePerformance());
    return fields;
  }
}
