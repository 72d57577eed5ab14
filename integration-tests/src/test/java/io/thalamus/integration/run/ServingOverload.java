// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.integration.run.Caller.Outcome;
import io.thalamus.integration.run.Caller.Question;
import io.thalamus.integration.run.Caller.Reply;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Requests that come, whatever the server says, several times as often as it can compute them. Each
 * has a limit, and whoever is informed when to try again does so then. How often a server can
 * compute them is measured first.
 */
final class ServingOverload implements Proof {
  private static final long MEGABYTE = 1 << 20;
  private static final int CLOSED_CLIENTS = 4;

  /** Before that nothing is compiled, and no time is that of later requests. */
  private static final int WARM_SECONDS = 8;

  private static final int MEASURED_SECONDS = 5;
  private static final int IDLE_REQUESTS = 400;
  private static final int IDLE_SECONDS = 20;
  private static final int NEWS_SECONDS = 10;

  /** One of as many is of high priority. */
  private static final int HIGH_EVERY = 20;

  private static final int MOST_REASONS = 5;

  /** Bytes that a process may have more after a while, whatever it does. */
  private static final long SLACK_BYTES = 128 * MEGABYTE;

  @Override
  public String name() {
    return "serving-overload";
  }

  @Override
  public String purpose() {
    return "requests that come several times as often as can be computed, each with a limit"
        + " (--overload 3 --seconds 120 --limit 1000 --model mobilenet_v2_100_224_uint8"
        + " --device cpu,simd --protocol rest,grpc)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    long overload = settings.number("overload", 3);
    long seconds = settings.number("seconds", 120);
    long limit = settings.number("limit", 1_000);
    String stored = settings.text("model", "mobilenet_v2_100_224_uint8");
    String devices = settings.text("device", "cpu,simd");
    List<String> protocols = List.of(settings.text("protocol", "rest,grpc").split(","));
    settings.end();
    Path folder = Files.createTempDirectory("thalamus-serving-overload");
    try {
      ServedModel model = ServedModel.put(stored, folder.resolve("models"));
      figures.figure("model", model.name());
      try (RunningServer server =
          RunningServer.start(devices, folder, folder.resolve("models"), "--grace", "0")) {
        List<Caller> callers = new ArrayList<>();
        for (int i = 0; i < CLOSED_CLIENTS; i++) {
          callers.add(server.caller(protocols.get(i % protocols.size())));
        }
        try {
          new Run(server, callers, model.question(server), limit, figures).all(overload, seconds);
        } finally {
          callers.forEach(Caller::close);
        }
        figures.promise("the server ends with 0", server.end(() -> {}) == 0);
      }
    } finally {
      RunningServer.delete(folder);
    }
  }

  /** The times of answered requests, as the client and as the server saw them. */
  private static final class Times {
    private final Queue<Long> client = new ConcurrentLinkedQueue<>();
    private final Queue<Long> queue = new ConcurrentLinkedQueue<>();
    private final Queue<Long> server = new ConcurrentLinkedQueue<>();

    void add(long micros, Reply reply) {
      client.add(micros);
      queue.add(reply.queueMicros());
      server.add(reply.queueMicros() + reply.computeMicros());
    }

    void print(String name, Figures figures) {
      print(name, client, figures);
      print(name + "Queue", queue, figures);
      print(name + "Server", server, figures);
    }

    long serverP99() {
      return part(server, 99);
    }

    private static void print(String name, Queue<Long> micros, Figures figures) {
      figures.decimal(name + "MedianMillis", part(micros, 50) / 1e3);
      figures.decimal(name + "P99Millis", part(micros, 99) / 1e3);
    }

    private static long part(Queue<Long> micros, int percent) {
      List<Long> sorted = micros.stream().sorted().toList();
      return sorted.isEmpty() ? 0 : sorted.get(sorted.size() * percent / 100);
    }
  }

  /** One proof under way. */
  private static final class Run {
    private final RunningServer server;
    private final List<Caller> callers;
    private final Question question;
    private final long limit;
    private final Figures figures;

    private final AtomicInteger asked = new AtomicInteger();
    private final AtomicInteger let = new AtomicInteger();
    private final AtomicInteger answered = new AtomicInteger();
    private final AtomicInteger told = new AtomicInteger();
    private final AtomicInteger toldAndAnswered = new AtomicInteger();
    private final AtomicInteger atFirstReturn = new AtomicInteger();
    private final AtomicInteger tries = new AtomicInteger();
    private final AtomicInteger late = new AtomicInteger();
    private final AtomicInteger wrong = new AtomicInteger();
    private final AtomicInteger withoutTime = new AtomicInteger();
    private final Map<Outcome, AtomicInteger> outcomes = new ConcurrentHashMap<>();
    private final Map<Long, Integer> lateBySecond = new ConcurrentSkipListMap<>();
    private final Times all = new Times();
    private final Times high = new Times();
    private volatile long begin;

    Run(
        RunningServer server,
        List<Caller> callers,
        Question question,
        long limit,
        Figures figures) {
      this.server = server;
      this.callers = callers;
      this.question = question;
      this.limit = limit;
      this.figures = figures;
    }

    void all(long overload, long seconds) throws Exception {
      double capacity = capacity();
      figures.decimal("capacityPerSecond", capacity);
      Times idle = new Times();
      long patient = System.nanoTime() + TimeUnit.SECONDS.toNanos(IDLE_SECONDS);
      for (int i = 0; i < IDLE_REQUESTS && System.nanoTime() - patient < 0; i++) {
        one(callers.get(i % callers.size()), question.with(limit, 1), idle);
      }
      idle.print("highIdle", figures);
      long before = server.residentBytes();
      long interval = Math.round(1e9 / (overload * capacity));
      figures.figure("secondsToComputeAll", overload * seconds);
      begin = System.nanoTime();
      long end = begin + TimeUnit.SECONDS.toNanos(seconds);
      // Longer than it takes to compute all of them.
      long patience = end + (overload + 1) * TimeUnit.SECONDS.toNanos(seconds + 20);
      List<Thread> threads = new ArrayList<>();
      long after;
      try (ScheduledExecutorService news = Executors.newSingleThreadScheduledExecutor()) {
        news.scheduleAtFixedRate(this::progress, NEWS_SECONDS, NEWS_SECONDS, TimeUnit.SECONDS);
        for (long next = begin; next - end < 0; next += interval) {
          TimeUnit.NANOSECONDS.sleep(next - System.nanoTime());
          int number = asked.getAndIncrement();
          threads.add(Thread.ofVirtual().start(() -> insist(number, patience)));
        }
        after = server.residentBytes();
        for (Thread thread : threads) {
          thread.join();
        }
        news.shutdownNow();
      }
      figures.figure("asked", asked.get());
      figures.figure("tries", tries.get());
      figures.figure("outcomes", outcomes);
      figures.figure("answered", answered.get());
      figures.figure("toldToWait", told.get());
      figures.figure("toldAndAnswered", toldAndAnswered.get());
      figures.figure("answeredAtTheFirstReturn", atFirstReturn.get());
      figures.figure("letInAndLate", late.get());
      figures.figure("lateBySecond", lateBySecond);
      figures.figure("limitMillis", limit);
      all.print("answered", figures);
      high.print("highLoaded", figures);
      double slower = high.serverP99() / (double) Math.max(1, idle.serverP99());
      figures.decimal("highServerP99OfIdle", slower);
      figures.decimal("seconds", (System.nanoTime() - begin) / 1e9);
      figures.figure("residentBeforeMB", before / MEGABYTE);
      figures.figure("residentUnderLoadMB", after / MEGABYTE);
      figures.figure("residentAfterMB", server.residentBytes() / MEGABYTE);
      figures.promise("each is answered or told", wrong.get() == 0);
      figures.promise("each refusal says when to try again", withoutTime.get() == 0);
      figures.promise("some are told to wait", told.get() > 0);
      figures.promise("99 % of those let in are in time", late.get() <= 0.01 * let.get());
      figures.promise(
          "95 % of those that wait as told are answered",
          toldAndAnswered.get() >= 0.95 * told.get());
      figures.promise("memory stays", after - before <= SLACK_BYTES);
    }

    private void progress() {
      long lasted = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin);
      figures.figure(
          "after" + lasted + "Seconds",
          "%d asked, %d answered, %d late".formatted(asked.get(), answered.get(), late.get()));
    }

    /** Returns how many requests are answered in a second to clients that wait for answers. */
    private double capacity() throws InterruptedException {
      answer(WARM_SECONDS);
      long begin = System.nanoTime();
      return answer(MEASURED_SECONDS) * 1e9 / (System.nanoTime() - begin);
    }

    private int answer(int seconds) throws InterruptedException {
      AtomicInteger count = new AtomicInteger();
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
      List<Thread> threads = new ArrayList<>();
      for (Caller caller : callers) {
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        while (System.nanoTime() - end < 0) {
                          caller.ask(question);
                          count.incrementAndGet();
                        }
                      } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      return count.get();
    }

    private Reply one(Caller caller, Question asked, Times times) throws InterruptedException {
      long begin = System.nanoTime();
      Reply reply = caller.ask(asked);
      if (reply.outcome() == Outcome.ANSWERED) {
        times.add((System.nanoTime() - begin) / 1_000, reply);
      }
      return reply;
    }

    /** Asks until there is an answer, as often as it is told to. */
    private void insist(int number, long patience) {
      Caller caller = callers.get(number % callers.size());
      boolean isHigh = number % HIGH_EVERY == 0;
      Question asked = question.with(limit, isHigh ? 1 : 0);
      try {
        for (int returns = 0; System.nanoTime() - patience < 0; returns++) {
          tries.incrementAndGet();
          Reply reply = one(caller, asked, isHigh ? high : all);
          outcomes.computeIfAbsent(reply.outcome(), key -> new AtomicInteger()).incrementAndGet();
          switch (reply.outcome()) {
            case ANSWERED -> {
              let.incrementAndGet();
              answered.incrementAndGet();
              toldAndAnswered.addAndGet(returns > 0 ? 1 : 0);
              atFirstReturn.addAndGet(returns == 1 ? 1 : 0);
              return;
            }
            case LATE -> {
              let.incrementAndGet();
              if (late.incrementAndGet() <= MOST_REASONS) {
                figures.figure("lateBecause", reply.why());
              }
              lateBySecond.merge(
                  TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin), 1, Integer::sum);
              return;
            }
            case BUSY, UNAVAILABLE -> {
              if (reply.retryAfter().isEmpty()) {
                withoutTime.incrementAndGet();
                return;
              }
              told.addAndGet(returns == 0 ? 1 : 0);
              Thread.sleep(reply.retryAfter().orElse(Duration.ZERO));
            }
            case NOT_TAKEN, FAILED, LOST -> {
              if (wrong.incrementAndGet() <= MOST_REASONS) {
                figures.figure("fault", reply.outcome() + ": " + reply.why());
              }
              return;
            }
          }
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
