// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Clients that leave while their requests wait or are computed, beside as many that stay: the
 * processor time of the server is that of what was computed for nobody.
 */
final class ServingLeaving implements Proof {
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

  @Override
  public String name() {
    return "serving-leaving";
  }

  @Override
  public String purpose() {
    return "clients over REST that leave before their answers, beside as many that stay (--clients"
        + " 3000 --at-once 4 --most 20 --seed 1 --model mobilenet_v2_100_224_uint8 --device"
        + " cpu,simd)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    int clients = Math.toIntExact(settings.number("clients", 3_000));
    int atOnce = Math.toIntExact(settings.number("at-once", 4));
    int most = Math.toIntExact(settings.number("most", 20));
    long seed = settings.number("seed", 1);
    String stored = settings.text("model", "mobilenet_v2_100_224_uint8");
    String devices = settings.text("device", "cpu,simd");
    settings.end();
    figures.figure("seed", seed);
    Path folder = Files.createTempDirectory("thalamus-serving-leaving");
    try {
      ServedModel model = ServedModel.put(stored, folder.resolve("models"));
      figures.figure("model", model.name());
      try (RunningServer server =
          RunningServer.start(devices, folder, folder.resolve("models"), "--grace", "0")) {
        Run run = new Run(server, model, figures);
        // What is compiled meanwhile would count for the first.
        run.all(atOnce * 20, atOnce, 0, new Random(seed));
        long staying = run.all(clients, atOnce, 0, new Random(seed));
        long answered = run.counted("success");
        long leaving = run.all(clients, atOnce, most, new Random(seed));
        figures.figure("clients", clients);
        figures.decimal("processorSecondsOfThoseThatStay", staying / 100.0);
        figures.decimal("processorSecondsOfThoseThatLeave", leaving / 100.0);
        figures.figure("answeredThoughTheyLeft", run.counted("success") - answered);
        figures.figure("stopped", run.counted("cancel"));
        figures.figure("failed", run.counted("fail"));
        figures.promise("no request fails", run.counted("fail") == 0);
        figures.promise("requests were stopped", run.counted("cancel") > 0);
        figures.promise("the server ends with 0", server.end(() -> {}) == 0);
      }
    } finally {
      RunningServer.delete(folder);
    }
  }

  /** One proof under way. */
  private static final class Run {
    private final RunningServer server;
    private final ServedModel model;
    private final Figures figures;
    private final byte[] request;

    Run(RunningServer server, ServedModel model, Figures figures) {
      this.server = server;
      this.model = model;
      this.figures = figures;
      byte[] head =
          """
          POST /v2/models/%s/infer HTTP/1.1\r
          Host: x\r
          Inference-Header-Content-Length: 0\r
          Connection: close\r
          Content-Length: %d\r
          \r
          """
              .formatted(model.name(), model.value().length)
              .getBytes(StandardCharsets.ISO_8859_1);
      request = new byte[head.length + model.value().length];
      System.arraycopy(head, 0, request, 0, head.length);
      System.arraycopy(model.value(), 0, request, head.length, model.value().length);
    }

    /**
     * Has clients ask, and returns the processor time of the server.
     *
     * @param most the milliseconds after which a client leaves at the latest; 0 to stay
     */
    long all(int clients, int atOnce, int most, Random random) throws Exception {
      long before = server.processorTicks();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < atOnce; i++) {
        int own = clients / atOnce + (i < clients % atOnce ? 1 : 0);
        Random times = new Random(random.nextLong());
        threads.add(Thread.ofPlatform().start(() -> ask(own, most, times)));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      long end = System.nanoTime() + PATIENCE_NANOS;
      while (number("pending_count\":(\\d+)") > 0 && System.nanoTime() - end < 0) {
        Thread.sleep(20);
      }
      figures.promise("nothing is pending", number("pending_count\":(\\d+)") == 0);
      return server.processorTicks() - before;
    }

    private void ask(int clients, int most, Random times) {
      for (int i = 0; i < clients; i++) {
        try {
          Socket socket = RawClient.connect(server.address());
          try {
            socket.getOutputStream().write(request);
            if (most > 0) {
              TimeUnit.MICROSECONDS.sleep(times.nextInt(most * 1_000));
            } else {
              socket.getInputStream().readAllBytes();
            }
          } finally {
            RawClient.drop(socket);
          }
        } catch (IOException e) {
          figures.figure("fault", e.toString());
          figures.promise("the server takes each connection", false);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return;
        }
      }
    }

    long counted(String kind) throws Exception {
      return number("\"" + kind + "\":\\{\"count\":(\\d+)");
    }

    private long number(String pattern) throws IOException, InterruptedException {
      String statistics = server.get("/v2/models/" + model.name() + "/stats");
      Matcher found = Pattern.compile(pattern).matcher(statistics);
      if (!found.find()) {
        throw new IOException("the statistics have no " + pattern + ": " + statistics);
      }
      return Long.parseLong(found.group(1));
    }
  }
}
