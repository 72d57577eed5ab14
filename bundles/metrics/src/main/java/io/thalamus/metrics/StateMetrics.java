// SPDX-License-Identifier: Apache-2.0
package io.thalamus.metrics;

import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationCache.Looks;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.http.HttpServer;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.ServingException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/**
 * The figures that are asked for when somebody looks, since others keep them. Thread-safe. Those of
 * a service that is not here are left out.
 */
final class StateMetrics {
  private static final String DEVICE = "device";

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final NeuralNetworks networks;
  private final Supplier<Optional<InferenceServer>> server;
  private final Supplier<Optional<CompilationCache>> cache;

  StateMetrics(
      NeuralNetworks networks,
      Supplier<Optional<InferenceServer>> server,
      Supplier<Optional<CompilationCache>> cache,
      Supplier<Optional<HttpServer>> http) {
    this.networks = networks;
    this.server = server;
    this.cache = cache;
    models();
    devices();
    cache();
    counter(
        "thalamus_http_refused",
        "Requests that the HTTP server refused itself: no right, no HTTP, too large, too slow",
        callback ->
            http.get()
                .map(HttpServer::refusals)
                .orElse(Map.of())
                .forEach((status, count) -> callback.call(count, Integer.toString(status))),
        "status");
  }

  MetricSnapshots scrape() {
    return registry.scrape();
  }

  private void models() {
    gauge(
        "thalamus_server_ready",
        "1 if every wanted model answers and the server does not end",
        callback -> server.get().ifPresent(each -> callback.call(each.isReady() ? 1 : 0)));
    gauge(
        "thalamus_bursts_open",
        "Bursts by which streams of requests are executed",
        callback -> server.get().ifPresent(each -> callback.call(each.bursts().size())));
    gauge(
        "thalamus_model_ready",
        "1 if the version answers",
        callback -> {
          for (IndexEntry entry : server.get().map(InferenceServer::index).orElse(List.of())) {
            double value = entry.state() == ModelState.READY ? 1 : 0;
            callback.call(value, entry.name(), entry.version());
          }
        },
        "model",
        "version");
    gauge(
        "thalamus_requests_pending",
        "Requests that have arrived and are not answered",
        callback -> {
          for (ModelStatistics each : statistics()) {
            callback.call(each.pending(), each.name(), each.version());
          }
        },
        "model",
        "version");
    gauge(
        "thalamus_model_replanning",
        "1 while a version is planned anew, since devices have come or gone",
        callback ->
            server
                .get()
                .ifPresent(
                    here -> {
                      for (IndexEntry entry : here.index()) {
                        replanning(here, entry)
                            .ifPresent(
                                value -> callback.call(value, entry.name(), entry.version()));
                      }
                    }),
        "model",
        "version");
  }

  private List<ModelStatistics> statistics() {
    try {
      return server.get().isPresent()
          ? server.get().get().statistics(Optional.empty(), Optional.empty())
          : List.of();
    } catch (ServingException e) {
      throw new IllegalStateException("the server finds none of its models", e);
    }
  }

  /** Returns 1 or 0; empty for a version that does not answer. */
  private static Optional<Double> replanning(InferenceServer server, IndexEntry entry) {
    if (entry.state() != ModelState.READY) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          server.compilation(entry.name(), Optional.of(entry.version())).isReplanning() ? 1.0 : 0);
    } catch (ServingException | IllegalStateException replaced) {
      // It was ready in the index, and is closed now.
      return Optional.empty();
    }
  }

  private void devices() {
    devices(
        "thalamus_device_available",
        "1 if the device serves, 0 if it is refused, leaving or in quarantine",
        device -> device.state() == DeviceDescription.State.AVAILABLE ? 1 : 0);
    counter(
        "thalamus_device_failures",
        "Calls that the device failed since it arrived",
        callback -> byId().forEach((id, device) -> callback.call(device.health().failures(), id)),
        DEVICE);
    counter(
        "thalamus_device_quarantines",
        "Times that the device was put into quarantine since it arrived",
        callback ->
            byId().forEach((id, device) -> callback.call(device.health().quarantines(), id)),
        DEVICE);
    devices(
        "thalamus_device_stuck_calls",
        "Calls that were given up and have not returned",
        device -> device.health().stuckCalls().size());
  }

  private void devices(String name, String help, ToDoubleFunction<DeviceDescription> value) {
    gauge(
        name,
        help,
        callback -> byId().forEach((id, device) -> callback.call(value.applyAsDouble(device), id)),
        DEVICE);
  }

  /** Returns the devices; one that has left, but holds a thread, may have the id of its heir. */
  private Map<String, DeviceDescription> byId() {
    Map<String, DeviceDescription> byId = new LinkedHashMap<>();
    networks.devices().forEach(device -> byId.putIfAbsent(device.id(), device));
    return byId;
  }

  private void cache() {
    counter(
        "thalamus_cache_looks",
        "Steps that were looked for among stored compilations, by how that ended",
        callback -> {
          for (Looks each : cache.get().map(CompilationCache::looks).orElse(List.of())) {
            callback.call(each.hits(), each.device(), "hit");
            callback.call(each.misses(), each.device(), "miss");
            callback.call(each.refused(), each.device(), "refused");
            callback.call(each.unavailable(), each.device(), "unavailable");
          }
        },
        DEVICE,
        "outcome");
  }

  private void gauge(
      String name, String help, Consumer<GaugeWithCallback.Callback> callback, String... labels) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames(labels)
        .callback(callback)
        .register(registry);
  }

  private void counter(
      String name, String help, Consumer<CounterWithCallback.Callback> callback, String... labels) {
    CounterWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames(labels)
        .callback(callback)
        .register(registry);
  }
}
