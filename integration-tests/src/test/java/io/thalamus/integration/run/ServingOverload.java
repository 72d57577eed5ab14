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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Requests that come, whatever the server says, several times as often as it can compute them. Each
 * has a limit, and whoever is told when to try again does so then. How often a server can compute
 * them is measured first.
 */
final class ServingOverload implements Proof {
  private static final long MEGABYTE = 1 << 20;
  private static final int CLOSED_CLIENTS = 4;

  /** Before them nothing is compiled, and no time is that of later ones. */
  private static final int WARM_REQUESTS = 400;

  private static final int MEASURED_REQUESTS = 400;
  private static final int IDLE_REQUESTS = 200;

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
          RunningServer.startWith(devices, folder, folder.resolve("models"), "--grace", "0")) {
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

  /** One proof under way. */
  private static final class Run {
    private final RunningServer server;
    private final List<Caller> callers;
    private final Question question;
    private final long limit;
    private final Figures figures;

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
    private final Queue<Long> all = new ConcurrentLinkedQueue<>();
    private final Queue<Long> high = new ConcurrentLinkedQueue<>();
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
      Queue<Long> idle = new ConcurrentLinkedQueue<>();
      for (int i = 0; i < IDLE_REQUESTS; i++) {
        one(callers.get(i % callers.size()), question.with(limit, 1), idle);
      }
      times("highIdle", idle);
      long before = server.residentBytes();
      long interval = Math.round(1e9 / (overload * capacity));
      begin = System.nanoTime();
      long end = begin + TimeUnit.SECONDS.toNanos(seconds);
      // Longer than it takes to compute all of them.
      long patience = end + (overload + 1) * TimeUnit.SECONDS.toNanos(seconds + 20);
      List<Thread> threads = new ArrayList<>();
      for (long next = begin; next - end < 0; next += interval) {
        TimeUnit.NANOSECONDS.sleep(next - System.nanoTime());
        int number = threads.size();
        threads.add(Thread.ofVirtual().start(() -> insist(number, patience)));
      }
      long after = server.residentBytes();
      for (Thread thread : threads) {
        thread.join();
      }
      figures.figure("asked", threads.size());
      figures.figure("tries", tries.get());
      figures.figure("outcomes", outcomes);
      figures.figure("answered", answered.get());
      figures.figure("toldToWait", told.get());
      figures.figure("toldAndAnswered", toldAndAnswered.get());
      figures.figure("answeredAtTheFirstReturn", atFirstReturn.get());
      figures.figure("letInAndLate", late.get());
      figures.figure("lateBySecond", lateBySecond);
      figures.figure("limitMillis", limit);
      times("answered", all);
      times("highLoaded", high);
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

    private void times(String name, Queue<Long> micros) {
      List<Long> sorted = micros.stream().sorted().toList();
      if (!sorted.isEmpty()) {
        figures.decimal(name + "MedianMillis", sorted.get(sorted.size() / 2) / 1e3);
        figures.decimal(name + "P99Millis", sorted.get(sorted.size() * 99 / 100) / 1e3);
      }
    }

    /** Returns how many requests are answered in a second to clients that wait for answers. */
    private double capacity() throws InterruptedException {
      answer(WARM_REQUESTS);
      long begin = System.nanoTime();
      answer(MEASURED_REQUESTS);
      return MEASURED_REQUESTS * 1e9 / (System.nanoTime() - begin);
    }

    private void answer(int requests) throws InterruptedException {
      List<Thread> threads = new ArrayList<>();
      for (Caller caller : callers) {
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        for (int i = 0; i < requests / callers.size(); i++) {
                          caller.ask(question);
                        }
                      } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }

    private Reply one(Caller caller, Question asked, Queue<Long> times)
        throws InterruptedException {
      long begin = System.nanoTime();
      Reply reply = caller.ask(asked);
      if (reply.outcome() == Outcome.ANSWERED) {
        times.add((System.nanoTime() - begin) / 1_000);
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
