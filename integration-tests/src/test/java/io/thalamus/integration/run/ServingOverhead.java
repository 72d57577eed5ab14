// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.http.server.EchoServer;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.integration.run.Caller.Outcome;
import io.thalamus.integration.run.Caller.Question;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
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

  @Override
  public String name() {
    return "serving-overhead";
  }

  @Override
  public String purpose() {
    return "requests beside bare echoes, and what several clients are answered (--rounds 40 --each"
        + " 50 --clients 1,8,64 --seconds 5 --models"
        + " kws_dscnn_int8,mobilenet_v2_100_224_uint8 --device cpu,simd)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
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
      try (RunningServer server = RunningServer.startWith(devices, folder, models, "--grace", "0");
          HttpClient http = HttpClient.newHttpClient();
          GrpcCaller grpc = new GrpcCaller(echoes[1])) {
        for (int size : SIZES) {
          compare(server, http, echoes[0], grpc, size, rounds, each, figures);
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

  /** One request. */
  @FunctionalInterface
  private interface Ask {
    void ask() throws IOException, InterruptedException;
  }

  private static void compare(
      RunningServer server,
      HttpClient http,
      String echoAddress,
      GrpcCaller grpcEcho,
      int size,
      int rounds,
      int each,
      Figures figures)
      throws Exception {
    byte[] value = new byte[size];
    String model = "relu" + size;
    Question question =
        new Question(model, "x", "FP32", List.of(1L, (long) size / Float.BYTES), value, 0, 0);
    HttpRequest echo =
        HttpRequest.newBuilder(URI.create("http://" + echoAddress + EchoServer.PATH))
            .POST(BodyPublishers.ofByteArray(value))
            .build();
    try (Caller rest = server.caller("rest");
        Caller grpc = server.caller("grpc")) {
      Map<String, Ask> asks = new TreeMap<>();
      asks.put("echo.rest", () -> http.send(echo, BodyHandlers.ofByteArray()));
      asks.put("echo.grpc", () -> grpcEcho.echo(value));
      asks.put("request.rest", () -> answered(rest, question));
      asks.put("request.grpc", () -> answered(grpc, question));
      Map<String, double[]> micros = new TreeMap<>();
      asks.keySet().forEach(name -> micros.put(name, new double[rounds]));
      // The first half of the rounds has it all compiled.
      double computed = 0;
      for (int round = -rounds; round < rounds; round++) {
        if (round == 0) {
          computed = computedMicros(server, model);
        }
        for (Map.Entry<String, Ask> ask : asks.entrySet()) {
          long begin = System.nanoTime();
          for (int i = 0; i < each; i++) {
            ask.getValue().ask();
          }
          if (round >= 0) {
            micros.get(ask.getKey())[round] = (System.nanoTime() - begin) / 1e3 / each;
          }
        }
      }
      double execution = (computedMicros(server, model) - computed) / (2.0 * rounds * each);
      figures.decimal(size + ".executionMicros", execution);
      for (String protocol : PROTOCOLS) {
        double bare = median(micros.get("echo." + protocol));
        double whole = median(micros.get("request." + protocol));
        figures.decimal(size + "." + protocol + ".echoMicros", bare);
        figures.decimal(size + "." + protocol + ".requestMicros", whole);
        figures.decimal(size + "." + protocol + ".overheadOverEcho", (whole - execution) / bare);
      }
    }
  }

  private static void answered(Caller caller, Question question)
      throws IOException, InterruptedException {
    Caller.Reply reply = caller.ask(question);
    if (reply.outcome() != Outcome.ANSWERED) {
      throw new IOException(reply.why());
    }
  }

  private static double median(double... values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** Returns the microseconds of all executions of a model. */
  private static double computedMicros(RunningServer server, String model)
      throws IOException, InterruptedException {
    String statistics = server.get("/v2/models/" + model + "/stats");
    double nanos = 0;
    for (String part : List.of("compute_input", "compute_infer", "compute_output")) {
      Matcher found =
          Pattern.compile("\"" + part + "\":\\{\"count\":\\d+,\"ns\":(\\d+)").matcher(statistics);
      if (!found.find()) {
        throw new IOException("the statistics have no " + part + ": " + statistics);
      }
      nanos += Double.parseDouble(found.group(1));
    }
    return nanos / 1e3;
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
