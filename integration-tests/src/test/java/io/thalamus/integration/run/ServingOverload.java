// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Clients that ask for several times of what the server can compute within the limit of each
 * request, and that wait as long as they are told to before they try again.
 */
final class ServingOverload implements Proof {
  private static final int MOST_CLIENTS = 1_500;
  private static final long MEGABYTE = 1 << 20;

  @Override
  public String name() {
    return "serving-overload";
  }

  @Override
  public String purpose() {
    return "clients over REST that ask for more than there is, each request with a limit"
        + " (--overload 3 --seconds 120 --limit 1000 --model mobilenet_v2_100_224_uint8"
        + " --device cpu,simd)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    long overload = settings.number("overload", 3);
    long seconds = settings.number("seconds", 120);
    long limit = settings.number("limit", 1_000);
    String stored = settings.text("model", "mobilenet_v2_100_224_uint8");
    String devices = settings.text("device", "cpu,simd");
    settings.end();
    Path folder = Files.createTempDirectory("thalamus-serving-overload");
    try {
      ServedModel model = ServedModel.put(stored, folder.resolve("models"));
      figures.figure("model", model.name());
      try (RunningServer server =
          RunningServer.startWith(devices, folder, folder.resolve("models"), "--grace", "0")) {
        new Run(server, model, limit, figures).all(overload, seconds);
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
    private final long limitMillis;
    private final Figures figures;
    private final String unlimited;
    private final String limited;

    private final AtomicInteger asked = new AtomicInteger();
    private final AtomicInteger answered = new AtomicInteger();
    private final AtomicInteger told = new AtomicInteger();
    private final AtomicInteger toldAndAnswered = new AtomicInteger();
    private final AtomicInteger missed = new AtomicInteger();
    private final AtomicInteger wrong = new AtomicInteger();
    private final Map<Integer, Integer> statuses = new TreeMap<>();
    private final ConcurrentLinkedQueue<Long> micros = new ConcurrentLinkedQueue<>();

    Run(RunningServer server, ServedModel model, long limitMillis, Figures figures)
        throws IOException, InterruptedException {
      this.server = server;
      this.model = model;
      this.limitMillis = limitMillis;
      this.figures = figures;
      unlimited = model.request(server, "");
      limited = model.request(server, ",\"timeout\":" + limitMillis * 1_000);
    }

    void all(long overload, long seconds) throws Exception {
      double perSecond = capacity();
      figures.decimal("capacityPerSecond", perSecond);
      int clients =
          (int)
              Math.clamp(
                  Math.ceil(overload * perSecond * limitMillis / 1_000),
                  2 * overload,
                  MOST_CLIENTS);
      figures.figure("clients", clients);
      long before = server.residentBytes();
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < clients; i++) {
        threads.add(Thread.ofVirtual().start(() -> ask(end)));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      List<Long> sorted = micros.stream().sorted().toList();
      figures.figure("asked", asked.get());
      figures.figure("answered", answered.get());
      figures.figure("statuses", statuses);
      figures.figure("toldToWait", told.get());
      figures.figure("toldAndAnswered", toldAndAnswered.get());
      figures.figure("missedTheLimit", missed.get());
      figures.figure("limitMillis", limitMillis);
      if (!sorted.isEmpty()) {
        figures.decimal("answeredMedianMillis", sorted.get(sorted.size() / 2) / 1e3);
        figures.decimal("answeredP99Millis", sorted.get(sorted.size() * 99 / 100) / 1e3);
      }
      figures.figure("residentBeforeMB", before / MEGABYTE);
      figures.figure("residentAfterMB", server.residentBytes() / MEGABYTE);
      figures.promise("each refusal is one of overload", wrong.get() == 0);
      figures.promise("requests are answered", answered.get() > 0);
      figures.promise(
          "95 % of those that wait as told are answered",
          toldAndAnswered.get() >= 0.95 * told.get());
    }

    /** Returns how many requests two clients have answered in a second. */
    private double capacity() throws Exception {
      AtomicInteger count = new AtomicInteger();
      long warm = System.nanoTime() + TimeUnit.SECONDS.toNanos(3);
      long end = warm + TimeUnit.SECONDS.toNanos(5);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      while (System.nanoTime() - end < 0) {
                        if (send(unlimited).isPresent() && System.nanoTime() - warm > 0) {
                          count.incrementAndGet();
                        }
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      return count.get() / 5.0;
    }

    private void ask(long end) {
      while (System.nanoTime() - end < 0 && !Thread.currentThread().isInterrupted()) {
        asked.incrementAndGet();
        one();
      }
    }

    /** Asks until there is an answer, or no hope. */
    private void one() {
      boolean wasTold = false;
      while (true) {
        long begin = System.nanoTime();
        Optional<HttpResponse<byte[]>> answer = send(limited);
        if (answer.isEmpty()) {
          wrong.incrementAndGet();
          return;
        }
        int status = answer.get().statusCode();
        synchronized (statuses) {
          statuses.merge(status, 1, Integer::sum);
        }
        if (status == 200) {
          micros.add((System.nanoTime() - begin) / 1_000);
          answered.incrementAndGet();
          toldAndAnswered.addAndGet(wasTold ? 1 : 0);
          return;
        }
        if (status != 429 && status != 503 && status != 504) {
          figures.figure("refusal", status + " " + new String(answer.get().body()));
          wrong.incrementAndGet();
          return;
        }
        Optional<String> wait = answer.get().headers().firstValue("Retry-After");
        if (wait.isEmpty()) {
          missed.incrementAndGet();
          return;
        }
        told.addAndGet(wasTold ? 0 : 1);
        wasTold = true;
        try {
          Thread.sleep(TimeUnit.SECONDS.toMillis(Long.parseLong(wait.get())));
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return;
        }
      }
    }

    private Optional<HttpResponse<byte[]>> send(String json) {
      try {
        return Optional.of(server.infer(model.name(), json, model.value()));
      } catch (IOException e) {
        figures.figure("fault", e.toString());
        return Optional.empty();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return Optional.empty();
      }
    }
  }
}
