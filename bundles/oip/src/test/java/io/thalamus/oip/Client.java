// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.http.server.RouteServer;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The routes behind the real HTTP server, over a fake server of models, and a client of them. */
final class Client implements AutoCloseable {
  static final String INFER = "/v2/models/echo/infer";

  final FakeServer fake = new FakeServer();
  private final OipComponent component;
  private final RouteServer server;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  Client() throws IOException {
    this(Map.of());
  }

  Client(Map<String, Object> settings) throws IOException {
    component =
        new OipComponent(
            fake,
            (OipSettings)
                Proxy.newProxyInstance(
                    OipSettings.class.getClassLoader(),
                    new Class<?>[] {OipSettings.class},
                    (proxy, method, arguments) ->
                        settings.getOrDefault(method.getName(), method.getDefaultValue())));
    server = new RouteServer(component.routes());
  }

  URI uri() {
    return server.uri("");
  }

  /** Sends a request; headers are names and values in turn. */
  HttpResponse<byte[]> send(String method, String path, byte[] body, String... headers)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(server.uri(path))
            .method(method, HttpRequest.BodyPublishers.ofByteArray(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
  }

  HttpResponse<byte[]> infer(byte[] body, String... headers)
      throws IOException, InterruptedException {
    return send("POST", INFER, body, headers);
  }

  /** Sends JSON, and returns the JSON of a good answer. */
  String infer(String json) throws IOException, InterruptedException {
    return good(infer(bytes(json)));
  }

  String get(String path) throws IOException, InterruptedException {
    return good(send("GET", path, new byte[0]));
  }

  String post(String path, String json) throws IOException, InterruptedException {
    return good(send("POST", path, bytes(json)));
  }

  static String good(HttpResponse<byte[]> answer) {
    assertEquals(200, answer.statusCode(), () -> text(answer));
    return text(answer);
  }

  /** Returns the message of a failure, which must be one line. */
  static String failure(int status, HttpResponse<byte[]> answer) {
    String text = text(answer);
    assertEquals(status, answer.statusCode(), text);
    assertTrue(text.startsWith("{\"error\":\"") && text.endsWith("\"}"), text);
    assertTrue(text.lines().count() == 1, text);
    return text.substring(10, text.length() - 2).replace("\\\"", "\"").replace("\\\\", "\\");
  }

  /** Sends JSON, and returns the message of its failure. */
  String refusal(int status, String json) throws IOException, InterruptedException {
    return failure(status, infer(bytes(json)));
  }

  static String text(HttpResponse<byte[]> answer) {
    return new String(answer.body(), StandardCharsets.UTF_8);
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Returns JSON of a request with one input {@code x}. */
  static String request(String datatype, String shape, String data) {
    return "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"%s\",\"shape\":%s,\"data\":%s}]}"
        .formatted(datatype, shape, data);
  }

  @Override
  public void close() {
    client.close();
    server.close();
    assertEquals(0, component.held(), "bytes beside bodies at the end");
  }
}
