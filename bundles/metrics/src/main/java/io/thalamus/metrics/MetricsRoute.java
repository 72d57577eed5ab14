// SPDX-License-Identifier: Apache-2.0
package io.thalamus.metrics;

import io.thalamus.api.CompilationCache;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.http.Access;
import io.thalamus.http.HttpExchange;
import io.thalamus.http.HttpServer;
import io.thalamus.http.Route;
import io.thalamus.serving.InferenceServer;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/**
 * {@code GET /metrics}: all figures, in the newest text format that the client takes. Thread-safe.
 */
@Component
public final class MetricsRoute implements Route.Provider {
  private final Exposition exposition;

  /** Null while no folder is served. */
  @Reference(cardinality = ReferenceCardinality.OPTIONAL, policy = ReferencePolicy.DYNAMIC)
  private volatile InferenceServer server;

  /** Null while the runtime has none. */
  @Reference(cardinality = ReferenceCardinality.OPTIONAL, policy = ReferencePolicy.DYNAMIC)
  private volatile CompilationCache cache;

  /** Null before it listens. Others speak other protocols. */
  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      target = "(!(" + HttpServer.PROTOCOL + "=*))")
  private volatile HttpServer http;

  /** Called by the component runtime. */
  @Activate
  public MetricsRoute(@Reference RequestMetrics requests, @Reference NeuralNetworks networks) {
    StateMetrics states =
        new StateMetrics(
            networks,
            () -> Optional.ofNullable(server),
            () -> Optional.ofNullable(cache),
            () -> Optional.ofNullable(http));
    exposition = new Exposition(requests, states);
  }

  @Override
  public List<Route> routes() {
    return List.of(new Route("GET", "/metrics", Access.READ, this::answer));
  }

  private void answer(HttpExchange exchange) {
    Exposition.Text text = exposition.write(exchange.headers().first("Accept"));
    exchange.send(
        200,
        Map.of("Content-Type", text.contentType(), "Cache-Control", "no-store"),
        List.of(MemorySegment.ofArray(text.bytes())));
  }
}
