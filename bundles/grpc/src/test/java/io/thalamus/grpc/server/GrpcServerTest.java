// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import static io.thalamus.grpc.server.Messages.bytes;
import static io.thalamus.grpc.server.Messages.field;
import static io.thalamus.grpc.server.Messages.floats;
import static io.thalamus.grpc.server.Messages.message;
import static io.thalamus.grpc.server.Messages.typed;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.RetryInfo;
import inference.GRPCInferenceServiceGrpc;
import inference.GrpcPredictV2.ServerLiveRequest;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Codec;
import io.grpc.CompressorRegistry;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.InflaterInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls over the network, by a client with messages of its own. */
class GrpcServerTest {
  private static final int MUTATIONS = 2_000;

  @Test
  void theLogDoesNotWarnOfClientsThatLeaveOrSendTooMuch() throws Exception {
    try (RunningServer _ = new RunningServer(Map.of())) {
      for (String name : List.of("NettyServerHandler", "NettyServerStream")) {
        Logger ofStreams = Logger.getLogger("io.grpc.netty." + name);
        assertFalse(ofStreams.isLoggable(Level.WARNING));
        assertTrue(ofStreams.isLoggable(Level.SEVERE), "faults are told");
      }
    }
  }

  @Test
  void sevenCallsOfAnEngine() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      assertEquals(List.of("1"), field(running.call("ServerLive", message()), 1));
      MessageWriter model = message().text(1, "echo");
      assertEquals(List.of(), field(running.call("ModelReady", model), 1));
      running.call("RepositoryModelLoad", message().text(2, "echo"));
      assertEquals(List.of("1"), field(running.call("ModelReady", model), 1));
      byte[] index = running.call("RepositoryIndex", message());
      List<String> states = new ArrayList<>();
      for (byte[] entry : bytes(index, 1)) {
        states.add(field(entry, 1) + " " + field(entry, 2) + " " + field(entry, 3));
      }
      assertEquals(List.of("[echo] [3] [READY]", "[other] [1] [UNAVAILABLE]"), states);
      byte[] ready = running.call("RepositoryIndex", message().flag(2, true));
      assertEquals(1, bytes(ready, 1).size());
      byte[] metadata = running.call("ModelMetadata", model);
      assertEquals(List.of("echo"), field(metadata, 1));
      assertEquals(List.of("2", "3"), field(metadata, 2));
      byte[] answer = running.call("ModelInfer", typed("seven", 1.5f, -2));
      assertEquals(List.of("seven"), field(answer, 3));
      assertArrayEquals(floats(1.5f, -2), bytes(answer, 6).getFirst());
      running.call("RepositoryModelUnload", message().text(2, "echo"));
      assertEquals(List.of(), field(running.call("ModelReady", model), 1));
    }
  }

  @Test
  void aBusyServerSaysWhenToTryAgain() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      running.served.failure =
          Optional.of(
              new ServingException(
                  Failure.BUSY, "too much waits", Optional.of(Duration.ofMillis(2_500)), null));
      StatusRuntimeException thrown =
          assertThrows(
              StatusRuntimeException.class, () -> running.call("ModelInfer", typed("", 1)));
      assertEquals(Status.Code.RESOURCE_EXHAUSTED, thrown.getStatus().getCode());
      com.google.rpc.Status details =
          com.google.rpc.Status.parseFrom(thrown.getTrailers().get(Failures.DETAILS));
      assertEquals(Status.Code.RESOURCE_EXHAUSTED.value(), details.getCode());
      RetryInfo info = details.getDetails(0).unpack(RetryInfo.class);
      assertEquals(2, info.getRetryDelay().getSeconds());
      assertEquals(500_000_000, info.getRetryDelay().getNanos());
    }
  }

  @Test
  void deadlineIsTheLimitAndEndsTheExecution() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      running.served.isSlow = true;
      CallOptions soon = CallOptions.DEFAULT.withDeadlineAfter(1_500, TimeUnit.MILLISECONDS);
      byte[] request = typed("", 1).toBytes();
      StatusRuntimeException thrown =
          assertThrows(
              StatusRuntimeException.class, () -> running.call("ModelInfer", request, soon));
      assertEquals(Status.Code.DEADLINE_EXCEEDED, thrown.getStatus().getCode());
      FakeServer.Pending pending = running.served.waiting.poll(20, TimeUnit.SECONDS);
      assertTrue(pending.request.timeout().orElseThrow().toMillis() <= 1_500);
      pending.cancelled.get(20, TimeUnit.SECONDS);
    }
  }

  @Test
  void aClientThatCancelsStopsItsExecution() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      running.served.isSlow = true;
      Answers answers = new Answers();
      ClientCall<byte[], byte[]> call =
          running.begin("ModelInfer", typed("", 1).toBytes(), answers);
      FakeServer.Pending pending = running.served.waiting.poll(20, TimeUnit.SECONDS);
      call.cancel("the test has enough", null);
      pending.cancelled.get(20, TimeUnit.SECONDS);
    }
  }

  /** The messages that came, and the end. */
  private static final class Answers implements StreamObserver<byte[]> {
    final BlockingQueue<byte[]> values = new LinkedBlockingQueue<>();
    final BlockingQueue<Optional<Throwable>> ends = new LinkedBlockingQueue<>();

    @Override
    public void onNext(byte[] value) {
      values.add(value);
    }

    @Override
    public void onError(Throwable thrown) {
      ends.add(Optional.of(thrown));
    }

    @Override
    public void onCompleted() {
      ends.add(Optional.empty());
    }

    byte[] next() throws InterruptedException {
      byte[] value = values.poll(20, TimeUnit.SECONDS);
      assertTrue(value != null, "an answer comes");
      return value;
    }
  }

  @Test
  void aStreamAnswersInOrderAndOutlivesFailures() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      running.served.isSlow = true;
      Answers answers = new Answers();
      StreamObserver<byte[]> requests = running.stream(answers);
      requests.onNext(typed("a", 1).toBytes());
      requests.onNext(message().text(3, "b").toBytes());
      requests.onNext(typed("c", 3).toBytes());
      FakeServer.Pending a = running.served.waiting.poll(20, TimeUnit.SECONDS);
      FakeServer.Pending c = running.served.waiting.poll(20, TimeUnit.SECONDS);
      c.end();
      a.end();
      byte[] first = bytes(answers.next(), 2).getFirst();
      assertEquals(List.of("a"), field(first, 3));
      assertArrayEquals(floats(1), bytes(first, 6).getFirst());
      assertEquals(List.of("model_name is missing"), field(answers.next(), 1));
      assertEquals(List.of(": model_name is missing"), running.served.refused);
      assertEquals(List.of("c"), field(bytes(answers.next(), 2).getFirst(), 3));
      for (int i = 0; i < 100; i++) {
        running.served.isSlow = false;
        requests.onNext(typed("n" + i, i).toBytes());
      }
      for (int i = 0; i < 100; i++) {
        assertEquals(List.of("n" + i), field(bytes(answers.next(), 2).getFirst(), 3));
      }
      assertEquals(1, running.served.streams.get());
      requests.onCompleted();
      assertEquals(Optional.empty(), answers.ends.poll(20, TimeUnit.SECONDS));
      assertEquals(0, running.served.streams.get(), "its bursts are given back");
    }
  }

  @Test
  void aStreamThatIsCancelledStopsItsRequestsAndGivesItsBurstsBack() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      running.served.isSlow = true;
      StreamObserver<byte[]> requests = running.stream(new Answers());
      requests.onNext(typed("a", 1).toBytes());
      requests.onNext(typed("b", 2).toBytes());
      FakeServer.Pending a = running.served.waiting.poll(20, TimeUnit.SECONDS);
      FakeServer.Pending b = running.served.waiting.poll(20, TimeUnit.SECONDS);
      requests.onError(new IllegalStateException("it leaves"));
      a.cancelled.get(20, TimeUnit.SECONDS);
      b.cancelled.get(20, TimeUnit.SECONDS);
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
      while (running.served.streams.get() > 0 && System.nanoTime() < end) {
        Thread.sleep(1);
      }
      assertEquals(0, running.served.streams.get());
    }
  }

  @Test
  void anOpenStreamDoesNotHoldUpTheEnd() throws Exception {
    Answers answers = new Answers();
    // Longer than the test waits for an end.
    try (RunningServer running = new RunningServer(Map.of("stopMillis", 600_000L))) {
      StreamObserver<byte[]> requests = running.stream(answers);
      requests.onNext(typed("a", 1).toBytes());
      answers.next();
      running.server.close();
      Throwable end = answers.ends.poll(20, TimeUnit.SECONDS).orElseThrow();
      assertEquals(Status.Code.UNAVAILABLE, Status.fromThrowable(end).getCode());
    }
  }

  @Test
  void clientsLeaveADrainingServerAndLoseNoCall() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      running.served.isSlow = true;
      Answers answers = new Answers();
      running.begin("ModelInfer", typed("before", 1).toBytes(), answers);
      FakeServer.Pending pending = running.served.waiting.poll(20, TimeUnit.SECONDS);
      CountDownLatch left = new CountDownLatch(1);
      running.channel.notifyWhenStateChanged(ConnectivityState.READY, left::countDown);
      running.server.drain();
      assertTrue(left.await(20, TimeUnit.SECONDS), "the client is told to leave");
      pending.end();
      assertEquals(List.of("before"), field(answers.next(), 3));
      running.served.isSlow = false;
      byte[] answer = running.call("ModelInfer", typed("after", 1));
      assertEquals(List.of("after"), field(answer, 3));
    }
  }

  @Test
  void aPortThatIsTakenIsNamed() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      int port = running.server.address().getPort();
      IOException thrown =
          assertThrows(IOException.class, () -> new RunningServer(Map.of("port", port)));
      assertTrue(
          thrown.getMessage().startsWith("cannot listen at 127.0.0.1:" + port + ": "),
          thrown.getMessage());
    }
  }

  @Test
  void probesOfGrpcItselfSeeWhetherTheServerIsReady() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      assertEquals(List.of("2"), field(health(running, ""), 1));
      running.served.load("echo");
      assertEquals(List.of("1"), field(health(running, ""), 1));
      assertEquals(List.of("1"), field(health(running, Calls.SERVICE), 1));
      StatusRuntimeException thrown =
          assertThrows(StatusRuntimeException.class, () -> health(running, "other"));
      assertEquals(Status.Code.NOT_FOUND, thrown.getStatus().getCode());
    }
  }

  @Test
  void changesOfHealthAreToldToThoseWhoWatch() throws Exception {
    RunningServer running = new RunningServer(Map.of());
    Answers server = new Answers();
    Answers unknown = new Answers();
    try (running) {
      for (Answers each : List.of(server, unknown)) {
        ClientCalls.asyncServerStreamingCall(
            running.channel.newCall(
                RunningServer.method(
                    Calls.HEALTH, "Watch", MethodDescriptor.MethodType.SERVER_STREAMING),
                CallOptions.DEFAULT),
            message().text(1, each == server ? "" : "nothing").toBytes(),
            each);
      }
      assertArrayEquals(message().integer(1, 2).toBytes(), server.next());
      assertArrayEquals(message().integer(1, 3).toBytes(), unknown.next());
      running.served.load("echo");
      assertArrayEquals(message().integer(1, 1).toBytes(), server.next());
      running.served.unload("echo");
      assertArrayEquals(message().integer(1, 2).toBytes(), server.next());
      running.server.close();
      assertEquals(
          Status.Code.UNAVAILABLE,
          Status.fromThrowable(server.ends.poll(20, TimeUnit.SECONDS).orElseThrow()).getCode());
      assertTrue(unknown.values.isEmpty(), "what is unknown is told once");
    }
  }

  private static byte[] health(RunningServer running, String service) {
    return ClientCalls.blockingUnaryCall(
        running.channel,
        RunningServer.method(Calls.HEALTH, "Check", MethodDescriptor.MethodType.UNARY),
        CallOptions.DEFAULT,
        message().text(1, service).toBytes());
  }

  @Test
  void messagesMayBeCompressed() throws Exception {
    for (Codec codec : List.of(new Codec.Gzip(), new Deflate())) {
      CompressorRegistry compressors = CompressorRegistry.newEmptyInstance();
      compressors.register(codec);
      try (RunningServer running = new RunningServer(Map.of())) {
        ManagedChannel channel =
            NettyChannelBuilder.forAddress("127.0.0.1", running.server.address().getPort())
                .usePlaintext()
                .compressorRegistry(compressors)
                .build();
        try {
          byte[] answer =
              ClientCalls.blockingUnaryCall(
                  channel,
                  RunningServer.method(
                      Calls.SERVICE, "ModelInfer", MethodDescriptor.MethodType.UNARY),
                  CallOptions.DEFAULT.withCompression(codec.getMessageEncoding()),
                  typed(codec.getMessageEncoding(), 1.5f, -2).toBytes());
          assertEquals(List.of(codec.getMessageEncoding()), field(answer, 3));
          assertArrayEquals(floats(1.5f, -2), bytes(answer, 6).getFirst());
        } finally {
          channel.shutdownNow();
        }
      }
    }
  }

  /** The limit holds for what a message becomes: no fault of the server, and a stream goes on. */
  @Test
  void aCompressedMessageMayNotBecomeTooLarge() throws Exception {
    String tooLarge = "Decompressed gRPC message exceeds maximum size 1000";
    byte[] large = typed("a".repeat(2000), 1).toBytes();
    try (RunningServer running = new RunningServer(Map.of("bodyLimit", 1000L))) {
      CallOptions gzip = CallOptions.DEFAULT.withCompression("gzip");
      for (String name : List.of("ModelInfer", "ModelReady")) {
        StatusRuntimeException thrown =
            assertThrows(StatusRuntimeException.class, () -> running.call(name, large, gzip), name);
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, thrown.getStatus().getCode(), name);
        assertEquals(tooLarge, thrown.getStatus().getDescription(), name);
      }
      Answers answers = new Answers();
      StreamObserver<byte[]> requests = running.stream(answers, gzip);
      requests.onNext(large);
      requests.onNext(typed("b", 1).toBytes());
      assertEquals(List.of(tooLarge), field(answers.next(), 1));
      assertEquals(List.of("b"), field(bytes(answers.next(), 2).getFirst(), 3));
      requests.onCompleted();
      assertEquals(Optional.empty(), answers.ends.poll(20, TimeUnit.SECONDS));
    }
  }

  /** The compression that clients in other languages have. */
  private static final class Deflate implements Codec {
    @Override
    public String getMessageEncoding() {
      return "deflate";
    }

    @Override
    public OutputStream compress(OutputStream out) {
      return new DeflaterOutputStream(out);
    }

    @Override
    public InputStream decompress(InputStream in) {
      return new InflaterInputStream(in);
    }
  }

  @Test
  void statisticsAndConfiguration() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      byte[] statistics = bytes(running.call("ModelStatistics", message()), 1).getFirst();
      assertEquals(
          List.of("echo", "7"),
          List.of(field(statistics, 1).getFirst(), field(statistics, 4).getFirst()));
      byte[] queue = bytes(bytes(statistics, 6).getFirst(), 3).getFirst();
      assertEquals(List.of("8000"), field(queue, 2));
      byte[] config = bytes(running.call("ModelConfig", message().text(1, "echo")), 1).getFirst();
      assertEquals(List.of("11"), field(bytes(config, 5).getFirst(), 2));
    }
  }

  @Test
  void tlsWithTheKeyStoreOfHttp(@TempDir Path folder) throws Exception {
    Path store = folder.resolve("keys.p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "server",
                "-keyalg",
                "EC",
                "-dname",
                "CN=localhost",
                "-ext",
                "san=dns:localhost",
                "-storetype",
                "PKCS12",
                "-storepass",
                "changeit",
                "-keystore",
                store.toString())
            .inheritIO()
            .start();
    assertEquals(0, keytool.waitFor());
    Map<String, Object> settings =
        Map.of("keyStore", store.toString(), "keyStorePassword", "changeit");
    KeyStore keys = KeyStore.getInstance(store.toFile(), "changeit".toCharArray());
    X509Certificate certificate = (X509Certificate) keys.getCertificate("server");
    try (RunningServer running = new RunningServer(settings)) {
      assertTrue(running.server.uri().toString().startsWith("grpcs://"));
      ManagedChannel secure =
          NettyChannelBuilder.forAddress("localhost", running.server.address().getPort())
              .sslContext(GrpcSslContexts.forClient().trustManager(certificate).build())
              .build();
      try {
        assertTrue(
            GRPCInferenceServiceGrpc.newBlockingStub(secure)
                .serverLive(ServerLiveRequest.getDefaultInstance())
                .getLive());
      } finally {
        secure.shutdownNow();
      }
    }
  }

  @Test
  void damagedMessagesAreRefusedAndTheNextIsServed() throws Exception {
    long seed = new Random().nextLong();
    System.out.println("seed = " + seed);
    Random random = new Random(seed);
    byte[] good =
        typed("damaged", 1, 2, 3)
            .entry(4, "priority", message().present(2, 1))
            .message(6, message().text(1, "x_out"))
            .toBytes();
    List<Status.Code> allowed =
        List.of(
            Status.Code.INVALID_ARGUMENT, Status.Code.NOT_FOUND, Status.Code.RESOURCE_EXHAUSTED);
    try (RunningServer running = new RunningServer(Map.of("memoryLimit", 1L << 20))) {
      for (int i = 0; i < MUTATIONS; i++) {
        byte[] mutated = mutate(good, random);
        try {
          running.call("ModelInfer", mutated, CallOptions.DEFAULT);
        } catch (StatusRuntimeException e) {
          assertTrue(allowed.contains(e.getStatus().getCode()), e.getStatus().toString());
          assertFalse(e.getStatus().getDescription().contains("\n"), e.getStatus().toString());
        }
        assertEquals(0, running.server.held(), "bytes of requests");
      }
      assertArrayEquals(
          floats(1, 2, 3),
          bytes(running.call("ModelInfer", good, CallOptions.DEFAULT), 6).getFirst());
    }
  }

  private static byte[] mutate(byte[] good, Random random) {
    byte[] bytes = good.clone();
    for (int n = 1 + random.nextInt(3); n > 0; n--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(4)) {
        case 0 -> bytes[at] = (byte) random.nextInt();
        case 1 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
        case 2 -> bytes = Arrays.copyOf(bytes, 1 + at);
        default -> bytes[at] = (byte) 0xff;
      }
    }
    return bytes;
  }
}
