// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import static io.thalamus.http.server.RunningServer.readTo;
import static io.thalamus.http.server.RunningServer.route;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.concurrent.EventExecutor;
import io.thalamus.http.Access;
import io.thalamus.http.Headers;
import io.thalamus.http.HttpException;
import io.thalamus.http.HttpExchange;
import io.thalamus.http.Route;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Requests, answers, streams, and clients that leave. Most tests wait for a server that ends. */
@Execution(ExecutionMode.CONCURRENT)
class HttpServerTest {
  private static final int OFFSET = 37;

  /** Answers with its body, from memory of the server. */
  private static final Route ECHO =
      route(
          "POST",
          "/echo",
          new Route.Handler() {
            @Override
            public void handle(HttpExchange exchange) {
              MemorySegment body = exchange.body();
              MemorySegment answer = exchange.allocate(body.byteSize());
              answer.copyFrom(body);
              boolean isAligned =
                  body.byteSize() < OFFSET || (body.address() + OFFSET) % Body.ALIGNMENT == 0;
              exchange.send(
                  isAligned && answer.address() % Body.ALIGNMENT == 0 ? 200 : 599,
                  Map.of("Content-Type", "application/octet-stream"),
                  List.of(answer));
            }

            @Override
            public long alignedOffset(Headers headers) {
              return OFFSET;
            }
          });

  private static final Route HELLO =
      route(
          "GET",
          "/hello/{name}",
          exchange -> exchange.send(200, "text/plain", exchange.part("name")));

  @Test
  void aKeyStoreThatCannotBeUsedIsNamed(@TempDir Path folder) throws Exception {
    Path none = folder.resolve("none.p12");
    Path text = Files.writeString(folder.resolve("text.p12"), "text");
    Path keys = folder.resolve("keys.p12");
    KeyStore empty = KeyStore.getInstance("PKCS12");
    empty.load(null, null);
    try (OutputStream out = Files.newOutputStream(keys)) {
      empty.store(out, "right".toCharArray());
    }
    Map<Map<String, Object>, String> refused =
        Map.of(
            Map.of("keyStore", none.toString()),
            "keyStore: there is no file " + none,
            Map.of("keyStore", folder.toString()),
            "keyStore: cannot read " + folder,
            Map.of("keyStore", text.toString()),
            "keyStore: " + text + " is no PKCS12 file, or is damaged",
            Map.of("keyStore", keys.toString(), "keyStorePassword", "wrong"),
            "keyStore: " + keys + " has another password than that of keyStorePassword",
            Map.of("keyStore", keys.toString(), "keyStorePassword", "file:" + none),
            "keyStorePassword: there is no file " + none);
    refused.forEach(
        (settings, message) ->
            assertEquals(
                message,
                assertThrows(IOException.class, () -> new RunningServer(settings)).getMessage()));
  }

  @Test
  void bodiesOfAnySizeComeBackAndAreAligned() throws Exception {
    try (RunningServer running = new RunningServer(Map.of(), ECHO);
        HttpClient client = HttpClient.newHttpClient()) {
      Random random = new Random(1);
      for (int size : new int[] {0, 1, 63, 64, 4096, 65_537, 1 << 20, (1 << 20) + 1, 5_000_000}) {
        byte[] bytes = new byte[size];
        random.nextBytes(bytes);
        HttpRequest.Builder request = HttpRequest.newBuilder(running.uri("/echo"));
        for (HttpRequest.BodyPublisher body :
            List.of(
                HttpRequest.BodyPublishers.ofByteArray(bytes),
                // in chunks, with a length that nobody says
                HttpRequest.BodyPublishers.fromPublisher(
                    HttpRequest.BodyPublishers.ofByteArray(bytes)))) {
          HttpResponse<byte[]> response =
              client.send(request.POST(body).build(), HttpResponse.BodyHandlers.ofByteArray());
          assertEquals(200, response.statusCode(), "of " + size + " bytes");
          assertArrayEquals(bytes, response.body());
        }
      }
    }
  }

  @Test
  void partsOfHeapAndServerMemoryAreSentInOrder() throws Exception {
    Route mixed =
        route(
            "GET",
            "/mixed",
            exchange -> {
              MemorySegment big = exchange.allocate(200_000);
              big.fill((byte) 'b');
              MemorySegment small = exchange.allocate(10);
              small.fill((byte) 's');
              byte[] heap = "xheapx".getBytes(StandardCharsets.UTF_8);
              exchange.send(
                  200,
                  Map.of(),
                  List.of(
                      MemorySegment.ofArray(heap).asSlice(1, 4),
                      big.asSlice(0, 150_000),
                      MemorySegment.ofArray(heap).asReadOnly(),
                      small.asSlice(0, 3),
                      MemorySegment.ofArray(new int[] {0x64636261})));
            });
    try (RunningServer running = new RunningServer(Map.of(), mixed)) {
      assertEquals(
          "heap" + "b".repeat(150_000) + "xheapx" + "sss" + "abcd", running.get("/mixed").body());
    }
  }

  @Test
  void pathsMethodsAndQueriesAreTold() throws Exception {
    Route exact =
        route("GET", "/hello/exact", exchange -> exchange.send(200, "text/plain", "fixed"));
    Route rest =
        route(
            "GET",
            "/files/{path...}",
            exchange ->
                exchange.send(
                    200, "text/plain", exchange.part("path") + exchange.query("q").orElse("-")));
    try (RunningServer running = new RunningServer(Map.of(), HELLO, exact, rest, ECHO)) {
      assertEquals("a b/c+d", running.get("/hello/a%20b%2Fc+d").body());
      assertEquals("fixed", running.get("/hello/exact").body());
      assertEquals("x/y/zone two", running.get("/files/x/y/z?q=one+two").body());
      HttpResponse<String> none = running.get("/nowhere/%22");
      assertEquals(404, none.statusCode());
      assertEquals("{\"error\":\"there is no /nowhere/%22\"}", none.body());
      HttpResponse<String> wrong = running.post("/hello/x", new byte[] {1});
      assertEquals(405, wrong.statusCode());
      assertEquals("GET, HEAD", wrong.headers().firstValue("Allow").orElseThrow());
      assertEquals(
          400,
          running.raw("GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").contains(" 400 ")
              ? 400
              : 0);
      HttpRequest.Builder head =
          HttpRequest.newBuilder(running.uri("/hello/abc"))
              .method("HEAD", HttpRequest.BodyPublishers.noBody());
      HttpResponse<String> answer = running.send(head);
      assertEquals("3", answer.headers().firstValue("Content-Length").orElseThrow());
      assertEquals("", answer.body());
      assertEquals("abc", running.get("/hello/abc").body());
      HttpRequest.Builder headOfNone =
          HttpRequest.newBuilder(running.uri("/none"))
              .method("HEAD", HttpRequest.BodyPublishers.noBody());
      assertEquals(404, running.send(headOfNone).statusCode());
      assertEquals("abc", running.get("/hello/abc").body());
    }
  }

  @Test
  void faultsOfHandlersAreAnswered() throws Exception {
    Route refuses =
        route(
            "GET",
            "/refuses",
            exchange -> {
              throw new HttpException(429, "later \"please\"\n", Map.of("Retry-After", "7"));
            });
    Route breaks =
        route(
            "GET",
            "/breaks",
            exchange -> {
              throw new IllegalStateException("secret");
            });
    try (RunningServer running = new RunningServer(Map.of(), refuses, breaks)) {
      HttpResponse<String> later = running.get("/refuses");
      assertEquals(429, later.statusCode());
      assertEquals("7", later.headers().firstValue("Retry-After").orElseThrow());
      assertEquals("{\"error\":\"later \\\"please\\\"\\u000a\"}", later.body());
      HttpResponse<String> broken = running.get("/breaks");
      assertEquals(500, broken.statusCode());
      assertFalse(broken.body().contains("secret"));
    }
  }

  @Test
  void requestsThatComeTogetherAreAnsweredInOrder() throws Exception {
    try (RunningServer running = new RunningServer(Map.of(), HELLO, ECHO)) {
      StringBuilder requests = new StringBuilder();
      for (int i = 0; i < 300; i++) {
        requests.append("GET /hello/").append(i).append(" HTTP/1.1\r\nHost: x\r\n\r\n");
        requests.append("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
        requests.append("HEAD /hello/q HTTP/1.1\r\nHost: x\r\n\r\n");
        requests.append("GET /none HTTP/1.1\r\nHost: x\r\n\r\n");
      }
      requests.append("GET /hello/last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      String answers = running.raw(requests.toString());
      int at = 0;
      for (int i = 0; i < 300; i++) {
        for (String body :
            List.of(
                "\r\n\r\n" + i + "HTTP/1.1 200",
                "\r\n\r\nabcHTTP/1.1 200",
                "\r\n\r\nHTTP/1.1 404",
                "there is no /none\"}HTTP/1.1 200")) {
          int next = answers.indexOf(body, at);
          assertTrue(next >= at, "no " + body + " after " + at);
          at = next;
        }
      }
      assertTrue(answers.endsWith("\r\n\r\nlast"));
    }
  }

  @Test
  void oldAndCarefulClientsAreServed() throws Exception {
    try (RunningServer running = new RunningServer(Map.of(), HELLO, ECHO)) {
      assertTrue(running.raw("GET /hello/old HTTP/1.0\r\n\r\n").endsWith("\r\n\r\nold"));
      assertTrue(
          running
              .raw("GET http://h:1/hello/proxy HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
              .endsWith("\r\n\r\nproxy"));
      assertTrue(
          running.raw("GET /hello/x HTTP/1.1\r\nConnection: close\r\n\r\n").contains(" 400 "));
      assertTrue(running.raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").contains(" 505 "));
      try (Socket socket = running.connect()) {
        socket
            .getOutputStream()
            .write(
                "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
                    .getBytes(StandardCharsets.UTF_8));
        assertTrue(readTo(socket.getInputStream(), "\r\n\r\n").startsWith("HTTP/1.1 100 "));
        socket.getOutputStream().write("hi".getBytes(StandardCharsets.UTF_8));
        assertTrue(readTo(socket.getInputStream(), "\r\n\r\nhi").startsWith("HTTP/1.1 200 "));
      }
    }
  }

  @Test
  void eventsComeAsTheyAreWritten() throws Exception {
    CountDownLatch first = new CountDownLatch(1);
    Route events =
        route(
            "GET",
            "/events",
            exchange -> {
              try (HttpExchange.ResponseStream stream = exchange.stream(200, "text/event-stream")) {
                stream.event("tick", "one\ntwo");
                first.await();
                stream.event("", "three");
              }
            });
    try (RunningServer running = new RunningServer(Map.of(), events, HELLO);
        Socket socket = running.connect()) {
      socket
          .getOutputStream()
          .write("GET /events HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.UTF_8));
      String begun = readTo(socket.getInputStream(), "event: tick\ndata: one\ndata: two\n\n");
      assertTrue(begun.contains("text/event-stream"));
      first.countDown();
      assertTrue(readTo(socket.getInputStream(), "\r\n0\r\n\r\n").contains("data: three\n\n"));
      socket
          .getOutputStream()
          .write("GET /hello/on HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.UTF_8));
      readTo(socket.getInputStream(), "\r\n\r\non");
    }
  }

  @Test
  void handlersHearThatTheClientHasLeft() throws Exception {
    CountDownLatch started = new CountDownLatch(2);
    CountDownLatch left = new CountDownLatch(1);
    CountDownLatch streamed = new CountDownLatch(1);
    Route slow =
        route(
            "POST",
            "/slow",
            exchange -> {
              exchange.onCancel(left::countDown);
              exchange.allocate(1000);
              started.countDown();
              left.await();
              // Who comes late hears it too.
              AtomicBoolean isTold = new AtomicBoolean();
              exchange.onCancel(() -> isTold.set(true));
              exchange.send(isTold.get() ? 200 : 500, "text/plain", "for nobody");
            });
    Route endless =
        route(
            "GET",
            "/endless",
            exchange -> {
              started.countDown();
              try (HttpExchange.ResponseStream stream = exchange.stream(200, "text/plain")) {
                while (stream.write(new byte[1000])) {
                  Thread.sleep(1);
                }
              }
              streamed.countDown();
            });
    try (RunningServer running = new RunningServer(Map.of(), slow, endless, HELLO)) {
      try (Socket one = running.connect();
          Socket two = running.connect()) {
        one.getOutputStream()
            .write(
                "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"
                    .getBytes(StandardCharsets.UTF_8));
        two.getOutputStream()
            .write("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.UTF_8));
        assertTrue(started.await(20, TimeUnit.SECONDS));
      }
      assertTrue(left.await(20, TimeUnit.SECONDS));
      assertTrue(streamed.await(20, TimeUnit.SECONDS));
      assertEquals("x", running.get("/hello/x").body());
    }
  }

  /**
   * The threads of a server may wait for processors, while requests come that it has yet to read.
   */
  @Test
  void whatCameBeforeAQuietConnectionIsClosedIsAnswered() throws Exception {
    byte[] request = "GET /hello/x HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.UTF_8);
    CountDownLatch gate = new CountDownLatch(1);
    List<Socket> sockets = new ArrayList<>();
    try (RunningServer running = new RunningServer(Map.of(), HELLO)) {
      for (EventExecutor loop : running.server().loops()) {
        sockets.add(running.connect());
        sockets.getLast().getOutputStream().write(request);
        RunningServer.readTo(sockets.getLast().getInputStream(), "\r\n\r\nx");
      }
      Iterator<EventExecutor> loops = running.server().loops().iterator();
      // The first one also listens, and is to end that.
      loops.next();
      loops.forEachRemaining(loop -> loop.execute(() -> await(gate)));
      Thread.sleep(2_200);
      for (Socket socket : sockets) {
        socket.getOutputStream().write(request);
      }
      Thread end = Thread.ofPlatform().start(running.server()::close);
      Thread.sleep(300);
      gate.countDown();
      for (Socket socket : sockets) {
        RunningServer.readTo(socket.getInputStream(), "\r\n\r\nx");
      }
      end.join();
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  private static void await(CountDownLatch gate) {
    try {
      gate.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void stoppingAnswersWhatRuns() throws Exception {
    CountDownLatch started = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    Route slow = RunningServer.slow(started, go, "done");
    RunningServer running = new RunningServer(Map.of(), slow);
    byte[] request = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.UTF_8);
    try (Socket idle = running.connect();
        Socket late = running.connect();
        Socket busy = running.connect()) {
      busy.getOutputStream().write(request);
      assertTrue(started.await(20, TimeUnit.SECONDS));
      Thread closing = Thread.ofVirtual().start(running::close);
      // The first request of a connection may be under way when the server begins to stop.
      late.getOutputStream().write(request);
      assertEquals(-1, idle.getInputStream().read());
      assertThrows(IOException.class, () -> running.connect().close());
      go.countDown();
      String answer = RunningServer.readAll(busy.getInputStream());
      assertTrue(answer.contains("connection: close") && answer.endsWith("\r\n\r\ndone"), answer);
      answer = RunningServer.readAll(late.getInputStream());
      assertTrue(answer.endsWith("\r\n\r\ndone"), answer);
      closing.join();
    }
  }

  @Test
  void aPortInUseIsNamed() throws Exception {
    try (RunningServer running = new RunningServer(Map.of(), HELLO)) {
      int port = running.server().address().getPort();
      IOException e =
          assertThrows(IOException.class, () -> new RunningServer(Map.of("port", port), HELLO));
      assertTrue(e.getMessage().startsWith("cannot listen at 127.0.0.1:" + port), e.getMessage());
    }
  }

  @Test
  void arrivalIsWhenTheFirstBytesCame() throws Exception {
    AtomicLong waited = new AtomicLong();
    Route route =
        route(
            "POST",
            "/late",
            exchange -> {
              waited.set(System.nanoTime() - exchange.arrivalNanos());
              exchange.send(200, "text/plain", "x");
            });
    try (RunningServer running = new RunningServer(Map.of(), route);
        Socket socket = running.connect()) {
      socket
          .getOutputStream()
          .write("POST /late HTTP/1.1\r\nHost: x\r\n".getBytes(StandardCharsets.UTF_8));
      long sent = System.nanoTime();
      Thread.sleep(300);
      long apart = System.nanoTime() - sent;
      socket
          .getOutputStream()
          .write("Content-Length: 2\r\n\r\na\0".getBytes(StandardCharsets.UTF_8));
      readTo(socket.getInputStream(), "\r\n\r\nx");
      assertTrue(waited.get() >= apart * 9 / 10, waited + " of " + apart);
    }
  }

  @Test
  void requestsThatNoHandlerSeesAreCounted() throws Exception {
    Map<String, Object> settings =
        Map.of("bodyLimit", 10L, "headerLimit", 256, "readTokens", new String[] {"a:secret"});
    Route open =
        new Route("POST", "/open", Access.OPEN, exchange -> exchange.fail(400, "no", Map.of()));
    try (RunningServer running = new RunningServer(settings, HELLO, open)) {
      running.get("/none");
      running.get("/none");
      running.get("/open");
      running.get("/hello/a");
      running.post("/open", new byte[11]);
      running.raw("nonsense\r\n\r\n");
      running.raw("GET /open HTTP/1.1\r\nHost: x\r\nA: " + "a".repeat(300) + "\r\n\r\n");
      // One that a handler refuses is none of them.
      running.post("/open", new byte[1]);
      assertEquals(
          Map.of(404, 2L, 405, 1L, 401, 1L, 413, 1L, 400, 1L, 431, 1L),
          running.server().refusals());
    }
  }

  @Test
  void theLastAnswerArrivesThoughMoreWasSent() throws Exception {
    CountDownLatch isSent = new CountDownLatch(1);
    Route slow =
        route(
            "GET",
            "/slow",
            exchange -> {
              isSent.await();
              exchange.send(200, "text/plain", "done");
            });
    try (RunningServer running = new RunningServer(Map.of(), slow);
        Socket socket = running.connect()) {
      String request = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";
      socket.getOutputStream().write((request + request).getBytes(StandardCharsets.ISO_8859_1));
      running.server().drain();
      isSent.countDown();
      String all = RunningServer.readAll(socket.getInputStream());
      assertTrue(all.startsWith("HTTP/1.1 200 OK\r\n") && all.endsWith("done"), all);
    }
  }

  @Test
  void aConnectionThatWasJustUsedHasItsNextRequestAnsweredAtTheEnd() throws Exception {
    try (RunningServer running = new RunningServer(Map.of(), HELLO);
        Socket socket = running.connect()) {
      String request = "GET /hello/a HTTP/1.1\r\nHost: x\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      readTo(socket.getInputStream(), "\r\n\r\na");
      Thread end = Thread.ofPlatform().start(running.server()::close);
      while (!running.server().isStopping()) {
        Thread.onSpinWait();
      }
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      String all = RunningServer.readAll(socket.getInputStream());
      assertTrue(all.startsWith("HTTP/1.1 200 OK\r\n") && all.endsWith("\r\n\r\na"), all);
      end.join();
    }
  }

  @Test
  void aConnectionThatWasTakenLastIsAnswered() throws Exception {
    RunningServer running = new RunningServer(Map.of(), HELLO);
    List<CountDownLatch> holds = new ArrayList<>();
    try {
      for (EventExecutor loop : running.server().loops()) {
        CountDownLatch isHeld = new CountDownLatch(1);
        CountDownLatch isFree = new CountDownLatch(1);
        holds.add(isFree);
        loop.execute(
            () -> {
              isHeld.countDown();
              try {
                isFree.await();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
        assertTrue(isHeld.await(20, TimeUnit.SECONDS));
      }
      // Only the kernel has it.
      try (Socket last = running.connect()) {
        Thread closing = Thread.ofPlatform().start(running::close);
        while (!running.server().isStopping()) {
          Thread.onSpinWait();
        }
        // The first loop listens. Another one has the connection, and does not know it yet.
        holds.getFirst().countDown();
        closing.join(200);
        holds.forEach(CountDownLatch::countDown);
        String request = "GET /hello/a HTTP/1.1\r\nHost: x\r\n\r\n";
        last.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
        String all = RunningServer.readAll(last.getInputStream());
        assertTrue(all.startsWith("HTTP/1.1 200 OK\r\n") && all.endsWith("\r\n\r\na"), all);
        closing.join();
      }
    } finally {
      holds.forEach(CountDownLatch::countDown);
    }
  }
}
