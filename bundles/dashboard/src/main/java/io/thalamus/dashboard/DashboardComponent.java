// SPDX-License-Identifier: Apache-2.0
package io.thalamus.dashboard;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.http.Access;
import io.thalamus.http.HttpException;
import io.thalamus.http.HttpExchange;
import io.thalamus.http.HttpExchange.ResponseStream;
import io.thalamus.http.Route;
import io.thalamus.serving.InferenceServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.metatype.annotations.Designate;

/** The page at {@code /}, which shows and changes nothing. Thread-safe. */
@Component(configurationPid = "io.thalamus.dashboard")
@Designate(ocd = DashboardSettings.class)
public final class DashboardComponent implements Route.Provider {
  /** Nothing but what this server has: no script, style or picture from elsewhere. */
  private static final String POLICY =
      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  private final DashboardSettings settings;
  private final View view;
  private final Semaphore watchers;
  private final CountDownLatch end = new CountDownLatch(1);

  /** Null while no folder is served. */
  @Reference(cardinality = ReferenceCardinality.OPTIONAL, policy = ReferencePolicy.DYNAMIC)
  private volatile InferenceServer server;

  /** Called by the component runtime. */
  @Activate
  public DashboardComponent(
      @Reference NeuralNetworks networks,
      @Reference Activity activity,
      DashboardSettings settings) {
    this.settings = settings;
    this.view = new View(networks, () -> Optional.ofNullable(server), activity);
    this.watchers = new Semaphore(settings.watchers());
  }

  /** Ends the pages that are brought up to date. */
  @Deactivate
  void close() {
    end.countDown();
  }

  @Override
  public List<Route> routes() {
    return List.of(
        file("/", "page.html", "text/html; charset=utf-8"),
        file("/dashboard/page.css", "page.css", "text/css; charset=utf-8"),
        file("/dashboard/icon.svg", "icon.svg", "image/svg+xml"),
        file("/dashboard/page.js", "page.js", "text/javascript; charset=utf-8"),
        new Route("GET", "/dashboard/events", Access.READ, this::watch));
  }

  private static Route file(String path, String name, String contentType) {
    byte[] bytes = resource(name);
    Map<String, String> headers =
        Map.of(
            "Content-Type", contentType,
            "Content-Security-Policy", POLICY,
            "X-Content-Type-Options", "nosniff",
            "Referrer-Policy", "no-referrer",
            "Cache-Control", "no-cache");
    return new Route(
        "GET",
        path,
        Access.READ,
        exchange -> exchange.send(200, headers, List.of(MemorySegment.ofArray(bytes))));
  }

  private static byte[] resource(String name) {
    try (InputStream in = DashboardComponent.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IllegalStateException("the bundle has no " + name);
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(name, e);
    }
  }

  /** Sends the parts that have changed, until the client leaves. */
  private void watch(HttpExchange exchange) throws HttpException, InterruptedException {
    if (!watchers.tryAcquire()) {
      throw new HttpException(503, "too many pages are open here", Map.of("Retry-After", "30"));
    }
    try (ResponseStream stream = exchange.stream(200, "text/event-stream")) {
      Map<String, String> sent = new HashMap<>();
      boolean isHere = true;
      while (isHere) {
        // A comment: who has left is noticed where nothing changes.
        isHere = stream.write(new byte[] {':', '\n', '\n'});
        for (Map.Entry<String, String> part : view.parts().entrySet()) {
          if (isHere && !part.getValue().equals(sent.put(part.getKey(), part.getValue()))) {
            isHere = stream.event(part.getKey(), part.getValue());
          }
        }
        isHere = isHere && !end.await(settings.periodMillis(), TimeUnit.MILLISECONDS);
      }
    } finally {
      watchers.release();
    }
  }
}
