// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.http.Access;
import io.thalamus.http.Route;
import io.thalamus.http.settings.HttpSettings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** A server on a free port, which must have given back all memory when it ends. */
final class RunningServer implements AutoCloseable {
  private final NettyServer server;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  RunningServer(Map<String, Object> settings, Route... routes) throws IOException {
    server = new NettyServer(settings(settings), new Router(List.of(routes)));
  }

  /** Settings with their defaults, but a free port. */
  static HttpSettings settings(Map<String, Object> given) {
    return (HttpSettings)
        Proxy.newProxyInstance(
            HttpSettings.class.getClassLoader(),
            new Class<?>[] {HttpSettings.class},
            (proxy, method, arguments) ->
                given.getOrDefault(
                    method.getName(),
                    method.getName().equals("port") ? (Object) 0 : method.getDefaultValue()));
  }

  static Route route(String method, String path, Route.Handler handler) {
    return new Route(method, path, Access.INFER, handler);
  }

  /** A route that says when it has been called, and answers once it may. */
  static Route slow(CountDownLatch started, CountDownLatch finish, String answer) {
    return route(
        "GET",
        "/slow",
        exchange -> {
          started.countDown();
          finish.await();
          exchange.send(200, "text/plain", answer);
        });
  }

  NettyServer server() {
    return server;
  }

  URI uri(String path) {
    return URI.create(server.uri() + path);
  }

  HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return send(HttpRequest.newBuilder(uri(path)));
  }

  HttpResponse<String> post(String path, byte[] body) throws IOException, InterruptedException {
    return send(
        HttpRequest.newBuilder(uri(path)).POST(HttpRequest.BodyPublishers.ofByteArray(body)));
  }

  Socket connect() throws IOException {
    Socket socket = new Socket(server.address().getAddress(), server.address().getPort());
    socket.setSoTimeout(20_000);
    return socket;
  }

  /** Sends text as it is, and returns all up to the end of the connection. */
  String raw(String request) throws IOException {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      return readAll(socket.getInputStream());
    }
  }

  static String readAll(InputStream in) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    in.transferTo(bytes);
    return bytes.toString(StandardCharsets.ISO_8859_1);
  }

  /** Reads up to and with an end. */
  static String readTo(InputStream in, String end) throws IOException {
    StringBuilder text = new StringBuilder();
    while (text.indexOf(end) < 0) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("it ended after " + text);
      }
      text.append((char) next);
    }
    return text.toString();
  }

  @Override
  public void close() {
    client.close();
    server.close();
    assertTrue(server.isTerminated(), "threads have ended");
    assertEquals(0, server.held().get(), "bytes of bodies at the end");
    assertEquals(0, server.activeAllocations(), "pieces of memory at the end");
  }
}
