// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.http.server.EchoServer;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.integration.run.Caller.Outcome;
import io.thalamus.integration.run.Caller.Question;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The time that a request takes beside its execution, in turns with bare echoes of as many bytes by
 * the same servers; then how much of two networks is answered to several clients.
 */
final class ServingOverhead implements Proof {
  private static final List<Integer> SIZES = List.of(1_000, 600_000);
  private static final List<String> PROTOCOLS = List.of("rest", "grpc");

  private static final Pattern COMPUTED =
      Pattern.compile("\"compute_infer\":\\{\"count\":\\d+,\"ns\":(\\d+)");

  @Override
  public String name() {
    return "serving-overhead";
  }

  @Override
  public String purpose() {
    return "requests beside bare echoes, and what several clients are answered (--warmup 15"
        + " --rounds 40 --each 50 --clients 1,8,64 --seconds 5 --models"
        + " kws_dscnn_int8,mobilenet_v2_100_224_uint8 --device cpu,simd)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    long warmup = settings.number("warmup", 15);
    int rounds = Math.toIntExact(settings.number("rounds", 40));
    int each = Math.toIntExact(settings.number("each", 50));
    List<String> clients = List.of(settings.text("clients", "1,8,64").split(","));
    long seconds = settings.number("seconds", 5);
    List<String> stored =
        List.of(settings.text("models", "kws_dscnn_int8,mobilenet_v2_100_224_uint8").split(","));
    String devices = settings.text("device", "cpu,simd");
    settings.end();
    Path folder = Files.createTempDirectory("thalamus-serving-overhead");
    Process echo =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                System.getProperty("java.class.path"),
                EchoServer.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      Path models = Files.createDirectories(folder.resolve("models"));
      for (int size : SIZES) {
        Files.write(models.resolve("relu" + size + ".onnx"), relu(size / Float.BYTES));
      }
      List<ServedModel> networks = new ArrayList<>();
      for (String name : stored) {
        networks.add(ServedModel.put(name, models));
      }
      String[] echoes = echo.inputReader().readLine().split(" ");
      try (RunningServer server = RunningServer.start(devices, folder, models, "--grace", "0");
          GrpcCaller grpc = new GrpcCaller(echoes[1])) {
        for (int size : SIZES) {
          compare(server, echoes[0], grpc, size, warmup, rounds, each, figures);
        }
        for (ServedModel network : networks) {
          Question question = network.question(server);
          for (String protocol : PROTOCOLS) {
            for (String count : clients) {
              load(server, question, protocol, Integer.parseInt(count), seconds, figures);
            }
          }
        }
        figures.promise("the server ends with 0", server.end(() -> {}) == 0);
      }
    } finally {
      echo.destroy();
      RunningServer.delete(folder);
    }
  }

  /** Returns an ONNX file of one operator that costs next to nothing. */
  private static byte[] relu(int elements) {
    MessageWriter dimensions =
        new MessageWriter()
            .message(1, new MessageWriter().integer(1, 1))
            .message(1, new MessageWriter().integer(1, elements));
    MessageWriter type =
        new MessageWriter().message(1, new MessageWriter().integer(1, 1).message(2, dimensions));
    MessageWriter node = new MessageWriter().text(1, "x").text(2, "y").text(4, "Relu");
    MessageWriter graph =
        new MessageWriter()
            .message(1, node)
            .text(2, "relu")
            .message(11, new MessageWriter().text(1, "x").message(2, type))
            .message(12, new MessageWriter().text(1, "y").message(2, type));
    return new MessageWriter()
        .integer(1, 8)
        .message(7, graph)
        .message(8, new MessageWriter().integer(2, 13))
        .toBytes();
  }

  /** One request; false if it was not answered as it must be. */
  @FunctionalInterface
  private interface Ask {
    boolean ask() throws InterruptedException;
  }

  /**
   * Compares requests with echoes of the same bytes. Clients have their messages ready and do not
   * look into the answers, so that next to all of the difference is the server's.
   */
  private static void compare(
      RunningServer server,
      String echoAddress,
      GrpcCaller grpcEcho,
      int size,
      long warmup,
      int rounds,
      int each,
      Figures figures)
      throws Exception {
    String model = "relu" + size;
    Question question =
        new Question(
            model, "x", "FP32", List.of(1L, (long) size / Float.BYTES), positive(size), 0, 0);
    byte[] message = GrpcCaller.message(question);
    byte[] request = post("/v2/models/" + model + "/infer", question);
    byte[] echoed = post(EchoServer.PATH, question);
    try (Caller rest = server.caller("rest");
        GrpcCaller grpc = (GrpcCaller) server.caller("grpc");
        RawClient http = new RawClient(server.address());
        RawClient echo = new RawClient(echoAddress)) {
      Map<String, Ask> asks = new TreeMap<>();
      asks.put("echo.rest", () -> echo.send(echoed, false) == 200);
      asks.put("echo.grpc", () -> grpcEcho.send(GrpcMessages.ECHO, message) == Outcome.ANSWERED);
      asks.put("request.rest", () -> http.send(request, false) == 200);
      asks.put("request.grpc", () -> grpc.send(GrpcMessages.INFER, message) == Outcome.ANSWERED);
      Map<String, double[]> micros = new TreeMap<>();
      asks.keySet().forEach(name -> micros.put(name, new double[rounds]));
      boolean isRight = true;
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(warmup);
      while (System.nanoTime() - end < 0) {
        for (Ask ask : asks.values()) {
          isRight &= ask.ask();
        }
      }
      double computed = computedMicros(server, model);
      for (int round = 0; round < rounds; round++) {
        for (Map.Entry<String, Ask> ask : asks.entrySet()) {
          long begin = System.nanoTime();
          for (int i = 0; i < each; i++) {
            isRight &= ask.getValue().ask();
          }
          micros.get(ask.getKey())[round] = (System.nanoTime() - begin) / 1e3 / each;
        }
      }
      double execution = (computedMicros(server, model) - computed) / (2.0 * rounds * each);
      for (Caller caller : List.of(rest, grpc)) {
        isRight &= Arrays.equals(question.value(), caller.ask(question).value());
      }
      figures.promise(size + ": all answers are right", isRight);
      figures.decimal(size + ".executionMicros", execution);
      for (String protocol : PROTOCOLS) {
        double bare = median(micros.get("echo." + protocol));
        double whole = median(micros.get("request." + protocol));
        double ratio = (whole - execution) / bare;
        figures.decimal(size + "." + protocol + ".echoMicros", bare);
        figures.decimal(size + "." + protocol + ".requestMicros", whole);
        figures.decimal(size + "." + protocol + ".overheadOverEcho", ratio);
      }
    }
  }

  /** Returns floats that are the same behind the operator. */
  private static byte[] positive(int size) {
    byte[] value = new byte[size];
    ByteBuffer floats = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; floats.hasRemaining(); i++) {
      floats.putFloat(i % 1_000 / 7f);
    }
    return value;
  }

  private static byte[] post(String path, Question question) {
    byte[] json = RestCaller.json(question).getBytes(StandardCharsets.UTF_8);
    byte[] head =
        """
        POST %s HTTP/1.1\r
        Host: localhost\r
        Inference-Header-Content-Length: %d\r
        Content-Length: %d\r
        \r
        """
            .formatted(path, json.length, json.length + question.value().length)
            .getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(head.length + json.length + question.value().length)
        .put(head)
        .put(json)
        .put(question.value())
        .array();
  }

  private static double median(double... values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** Returns the microseconds that devices had for all executions of a model. */
  private static double computedMicros(RunningServer server, String model)
      throws IOException, InterruptedException {
    String statistics = server.get("/v2/models/" + model + "/stats");
    Matcher found = COMPUTED.matcher(statistics);
    if (!found.find()) {
      throw new IOException("the statistics have no times: " + statistics);
    }
    return Double.parseDouble(found.group(1)) / 1e3;
  }

  private static void load(
      RunningServer server,
      Question question,
      String protocol,
      int clients,
      long seconds,
      Figures figures)
      throws InterruptedException {
    ConcurrentLinkedQueue<Long> micros = new ConcurrentLinkedQueue<>();
    long warm = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds) / 2;
    long end = warm + TimeUnit.SECONDS.toNanos(seconds);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      Caller caller = server.caller(protocol);
      threads.add(Thread.ofVirtual().start(() -> ask(caller, question, warm, end, micros)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    List<Long> sorted = micros.stream().sorted().toList();
    String name = question.model() + "." + protocol + "." + clients;
    figures.decimal(name + ".perSecond", sorted.size() / (double) seconds);
    if (!sorted.isEmpty()) {
      figures.decimal(name + ".p99Millis", sorted.get(sorted.size() * 99 / 100) / 1e3);
    }
    figures.promise(name + ": requests are answered", !sorted.isEmpty());
  }

  private static void ask(
      Caller caller, Question question, long warm, long end, ConcurrentLinkedQueue<Long> micros) {
    try (caller) {
      for (long begin = System.nanoTime(); begin - end < 0; begin = System.nanoTime()) {
        boolean isAnswered = caller.ask(question).outcome() == Outcome.ANSWERED;
        if (isAnswered && begin - warm > 0) {
          micros.add((System.nanoTime() - begin) / 1_000);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
