// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Requests that are wrong, from a process that is not the server's. Each must be refused with a
 * status from 400 to 499 or have its connection closed, and the next client must be served. Those
 * whose bytes were changed at random may still be right.
 */
final class ServingFuzz implements Proof {
  /** After as many requests of a thread one is sent that must be answered. */
  private static final int GOOD_EVERY = 20;

  private static final long MEGABYTE = 1 << 20;

  @Override
  public String name() {
    return "serving-fuzz";
  }

  @Override
  public String purpose() {
    return "mutated requests over REST, slow senders and idle connections, while others are served"
        + " (--requests 100000 --threads 4 --slow 20 --idle 10000 --seed 1)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    long requests = settings.number("requests", 100_000);
    int threads = Math.toIntExact(settings.number("threads", 4));
    int slow = Math.toIntExact(settings.number("slow", 20));
    int idle = Math.toIntExact(settings.number("idle", 10_000));
    long seed = settings.number("seed", 1);
    settings.end();
    figures.figure("seed", seed);
    Path folder = Files.createTempDirectory("thalamus-serving-fuzz");
    try {
      Path models = Files.createDirectories(folder.resolve("models"));
      Path sample = Path.of(System.getProperty("thalamus.home"), "samples/digits/digits.tflite");
      Files.copy(sample, models.resolve("digits.tflite"));
      try (RunningServer server =
          RunningServer.startCounted(
              folder,
              models,
              "--grace",
              "0",
              "--set",
              "http.patienceMillis=3000",
              "--set",
              "http.connections=" + (idle + 1_000))) {
        new Run(server, figures).all(requests, threads, slow, idle, seed);
        int status = server.end(() -> {});
        figures.figure("exitStatus", status);
        figures.promise("the server ends with 0", status == 0);
      }
    } finally {
      RunningServer.delete(folder);
    }
  }

  /** One proof under way. */
  private static final class Run {
    private final RunningServer server;
    private final Figures figures;
    private final byte[] picture = new byte[MutatedRequests.INPUT_BYTES];
    private final AtomicInteger sent = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private final AtomicInteger closed = new AtomicInteger();
    private final AtomicInteger stillRight = new AtomicInteger();
    private final AtomicInteger wrong = new AtomicInteger();
    private final AtomicInteger served = new AtomicInteger();
    private final AtomicInteger notServed = new AtomicInteger();
    private final Map<Integer, Integer> statuses = new TreeMap<>();
    private final AtomicReference<byte[]> expected = new AtomicReference<>();

    Run(RunningServer server, Figures figures) {
      this.server = server;
      this.figures = figures;
    }

    void all(long requests, int threads, int slow, int idle, long seed) throws Exception {
      serve();
      long quarter = Math.max(1, requests / 4);
      mutate(quarter, threads, seed);
      RunningServer.Footprint before = server.footprint();
      long residentBefore = server.residentBytes();
      mutate(requests - quarter, threads, seed + threads);
      int idleOpened = idle(idle);
      int slowEnded = slow(slow);
      serve();
      RunningServer.Footprint after = server.footprint();
      long resident = server.residentBytes();
      figures.figure("requests", sent.get());
      figures.figure("refused", refused.get());
      figures.figure("closed", closed.get());
      figures.figure("stillRight", stillRight.get());
      figures.figure("wrong", wrong.get());
      figures.figure("statuses", statuses);
      figures.figure("served", served.get());
      figures.figure("notServed", notServed.get());
      figures.figure("idleConnections", idleOpened);
      figures.figure("slowSendersEnded", slowEnded);
      figures.figure("threadsBefore", before.threads());
      figures.figure("threadsAfter", after.threads());
      figures.figure("residentBeforeMB", residentBefore / MEGABYTE);
      figures.figure("residentAfterMB", resident / MEGABYTE);
      figures.promise("each wrong request is refused or its connection closed", wrong.get() == 0);
      figures.promise("every other client is served", notServed.get() == 0);
      figures.promise("slow senders are ended", slowEnded == slow);
      figures.promise(
          "memory stays within a quarter and 64 MB",
          resident < residentBefore * 5 / 4 + 64 * MEGABYTE);
    }

    private void mutate(long requests, int threads, long seed) throws InterruptedException {
      List<Thread> clients = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        long own = requests / threads + (i < requests % threads ? 1 : 0);
        Random random = new Random(seed + i);
        clients.add(Thread.ofPlatform().name("client-" + i).start(() -> send(own, random)));
      }
      for (Thread client : clients) {
        client.join();
      }
    }

    private void send(long requests, Random random) {
      MutatedRequests mutations = new MutatedRequests(random);
      try (RawClient client = new RawClient(server.address())) {
        for (long i = 0; i < requests; i++) {
          MutatedRequests.Mutated request = mutations.next();
          judge(request, client.send(request.bytes(), request.isCut()));
          if (i % GOOD_EVERY == 0) {
            serve();
          }
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    private void judge(MutatedRequests.Mutated request, int status) {
      sent.incrementAndGet();
      synchronized (statuses) {
        statuses.merge(status, 1, Integer::sum);
      }
      if (status == RawClient.CLOSED) {
        closed.incrementAndGet();
      } else if (isRefusal(request, status)) {
        refused.incrementAndGet();
      } else if (status == 200 && request.mayBeRight()) {
        stillRight.incrementAndGet();
      } else if (wrong.incrementAndGet() <= 5) {
        figures.figure("wrongRequest", request.kind() + ": " + status);
      }
    }

    private static boolean isRefusal(MutatedRequests.Mutated request, int status) {
      // A version of HTTP that there is not has a status of its own.
      return (status >= 400 && status < 500) || (status == 505 && request.mayBeRight());
    }

    /** Sends a right request over a client of its own. */
    private void serve() throws InterruptedException {
      try {
        HttpResponse<byte[]> answer = server.inferPicture("digits", "picture", picture);
        int header =
            Integer.parseInt(
                answer.headers().firstValue("Inference-Header-Content-Length").orElse("0"));
        byte[] value = Arrays.copyOfRange(answer.body(), header, answer.body().length);
        expected.compareAndSet(null, value);
        if (answer.statusCode() == 200 && Arrays.equals(value, expected.get())) {
          served.incrementAndGet();
          return;
        }
        figures.figure("notServedStatus", answer.statusCode());
      } catch (IOException e) {
        figures.figure("notServedBecause", e.toString());
      }
      notServed.incrementAndGet();
    }

    /** Opens connections that say nothing, and has others served beside them. */
    private int idle(int wanted) throws InterruptedException {
      List<Socket> open = new ArrayList<>();
      try {
        while (open.size() < wanted) {
          open.add(RawClient.connect(server.address()));
        }
      } catch (IOException e) {
        figures.figure("idleLimit", e.getMessage());
      }
      try {
        serve();
        return open.size();
      } finally {
        open.forEach(RawClient::drop);
      }
    }

    /** Sends bodies byte by byte, and returns how many of them were ended by the server. */
    private int slow(int count) throws InterruptedException {
      AtomicInteger ended = new AtomicInteger();
      List<Thread> senders = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        boolean isHead = i % 2 == 0;
        senders.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      if (RawClient.sendSlowly(server.address(), isHead)) {
                        ended.incrementAndGet();
                      }
                    }));
      }
      for (Thread sender : senders) {
        sender.join(TimeUnit.SECONDS.toMillis(60));
      }
      return ended.get();
    }
  }
}
