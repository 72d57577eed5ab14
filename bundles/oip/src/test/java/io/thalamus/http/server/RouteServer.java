// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.http.Route;
import io.thalamus.http.settings.HttpSettings;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.util.List;

/** The real HTTP server with routes of a test, which must have given back all memory at its end. */
public final class RouteServer implements AutoCloseable {
  private final NettyServer server;

  /** A server on a free port. */
  public RouteServer(List<Route> routes) throws IOException {
    HttpSettings settings =
        (HttpSettings)
            Proxy.newProxyInstance(
                HttpSettings.class.getClassLoader(),
                new Class<?>[] {HttpSettings.class},
                (proxy, method, arguments) ->
                    method.getName().equals("port") ? (Object) 0 : method.getDefaultValue());
    server = new NettyServer(settings, new Router(routes));
  }

  /** Returns the address of a path. */
  public URI uri(String path) {
    return URI.create(server.uri() + path);
  }

  @Override
  public void close() {
    server.close();
    assertTrue(server.isTerminated(), "threads have ended");
    assertEquals(0, server.held().get(), "bytes of bodies at the end");
    assertEquals(0, server.activeAllocations(), "pieces of memory at the end");
  }
}
