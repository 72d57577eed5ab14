// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import static io.thalamus.http.server.RunningServer.readAll;
import static io.thalamus.http.server.RunningServer.readTo;
import static io.thalamus.http.server.RunningServer.route;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.http.Route;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that close one direction of their connection. */
class InputEndTest {
  private static final Route HELLO =
      route(
          "GET",
          "/hello/{name}",
          exchange -> exchange.send(200, "text/plain", exchange.part("name")));

  @ParameterizedTest
  @ValueSource(strings = {"1.0", "1.1"})
  void whoSendsNothingMoreIsAnswered(String version) throws Exception {
    CountDownLatch started = new CountDownLatch(1);
    CountDownLatch finish = new CountDownLatch(1);
    Route slow = RunningServer.slow(started, finish, "slowly");
    try (RunningServer running = new RunningServer(Map.of(), slow, HELLO);
        Socket socket = running.connect()) {
      String head = " HTTP/" + version + "\r\nHost: x\r\nConnection: keep-alive\r\n\r\n";
      socket
          .getOutputStream()
          .write(("GET /slow" + head + "GET /hello/next" + head).getBytes(StandardCharsets.UTF_8));
      socket.shutdownOutput();
      assertTrue(started.await(20, TimeUnit.SECONDS));
      if (version.equals("1.1")) {
        // What takes long is asked for again and again, in words that a client passes over.
        assertTrue(readTo(socket.getInputStream(), "\r\n\r\n").startsWith("HTTP/1.1 100 "));
        readTo(socket.getInputStream(), "\r\n\r\n");
      }
      finish.countDown();
      String answers = readAll(socket.getInputStream());
      assertTrue(answers.contains("\r\n\r\nslowlyHTTP/1.1 200 OK\r\n"), answers);
      assertTrue(answers.endsWith("\r\n\r\nnext"), answers);
    }
  }

  @Test
  void aRequestThatIsCutIsRefused() throws Exception {
    try (RunningServer running = new RunningServer(Map.of(), HELLO);
        Socket socket = running.connect()) {
      socket.getOutputStream().write("GET /hello/x HT".getBytes(StandardCharsets.UTF_8));
      socket.shutdownOutput();
      String answers = readAll(socket.getInputStream());
      assertTrue(answers.isEmpty() || answers.startsWith("HTTP/1.1 400 "), answers);
      assertEquals("x", running.get("/hello/x").body());
    }
  }
}
