// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.integration.run.Caller.Outcome;
import io.thalamus.integration.run.Caller.Question;
import io.thalamus.integration.run.Caller.Reply;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** Servers that are asked to end under load, as a container's host does: no request is lost. */
final class ServingEndings implements Proof {
  private static final int LONGEST_MILLIS = 800;

  private static final int MOST_REASONS = 5;

  @Override
  public String name() {
    return "serving-endings";
  }

  @Override
  public String purpose() {
    return "servers that are asked to end while clients ask, some of them with pauses (--times 100"
        + " --threads 4 --grace 300 --pause 100 --protocol rest,grpc --seed 1)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    int times = Math.toIntExact(settings.number("times", 100));
    int threads = Math.toIntExact(settings.number("threads", 4));
    long grace = settings.number("grace", 300);
    int pause = Math.toIntExact(settings.number("pause", 100));
    List<String> protocols = List.of(settings.text("protocol", "rest,grpc").split(","));
    long seed = settings.number("seed", 1);
    settings.end();
    figures.figure("seed", seed);
    Random random = new Random(seed);
    Path folder = Files.createTempDirectory("thalamus-serving-endings");
    try {
      Path models = Files.createDirectories(folder.resolve("models"));
      Path home = Path.of(System.getProperty("thalamus.home"));
      Files.copy(home.resolve("samples/digits/digits.tflite"), models.resolve("digits.tflite"));
      Tally tally = new Tally();
      for (int i = 0; i < times; i++) {
        try (RunningServer server =
            RunningServer.start("cpu", folder, models, "--grace", Long.toString(grace))) {
          Clients clients = new Clients(tally, figures, threads);
          for (int k = 0; k < threads; k++) {
            // One with and one without pauses for each protocol.
            int longest = k / protocols.size() % 2 == 0 ? 0 : pause;
            clients.add(
                server.caller(protocols.get(k % protocols.size())),
                longest,
                new Random(random.nextLong()));
          }
          clients.end(server, random.nextInt(LONGEST_MILLIS));
        }
      }
      figures.figure("ends", times);
      figures.figure("answered", tally.answered.get());
      figures.figure("refusedAtTheEnd", tally.refused.get());
      figures.figure("notTakenAfterTheEnd", tally.notTaken.get());
      figures.figure("lost", tally.lost.get());
      figures.figure("endedWithAnotherStatus", tally.otherStatus.get());
      figures.promise("no request is lost", tally.lost.get() == 0);
      figures.promise("each server ends with 0", tally.otherStatus.get() == 0);
    } finally {
      RunningServer.delete(folder);
    }
  }

  /** The outcomes of requests. */
  private static final class Tally {
    private final AtomicInteger answered = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private final AtomicInteger notTaken = new AtomicInteger();
    private final AtomicInteger lost = new AtomicInteger();
    private final AtomicInteger otherStatus = new AtomicInteger();
  }

  /** The clients of one server. */
  private static final class Clients {
    private final Tally tally;
    private final Figures figures;
    private final List<Thread> threads = new ArrayList<>();

    /** Those that have had no answer yet. */
    private final CountDownLatch waiting;

    private volatile boolean isOver;

    Clients(Tally tally, Figures figures, int count) {
      this.tally = tally;
      this.figures = figures;
      this.waiting = new CountDownLatch(count);
    }

    /** Adds one that pauses up to so long between its requests. */
    void add(Caller caller, int pauseMillis, Random random) {
      threads.add(Thread.ofPlatform().start(() -> ask(caller, pauseMillis, random)));
    }

    /** Tells the server to end a while after all clients were answered once. */
    void end(RunningServer server, int millis) throws InterruptedException {
      waiting.await();
      Thread.sleep(millis);
      int status = server.end(() -> isOver = true);
      tally.otherStatus.addAndGet(status == 0 ? 0 : 1);
      for (Thread thread : threads) {
        thread.join();
      }
    }

    private void ask(Caller caller, int pauseMillis, Random random) {
      Question question = Question.ofDigits(new byte[MutatedRequests.INPUT_BYTES]);
      try (caller) {
        while (true) {
          Reply reply = caller.ask(question);
          if (reply.outcome() == Outcome.ANSWERED) {
            tally.answered.incrementAndGet();
          } else if (reply.outcome() == Outcome.UNAVAILABLE && isOver) {
            tally.refused.incrementAndGet();
            return;
          } else if (reply.outcome() == Outcome.NOT_TAKEN && isOver) {
            // Whoever is not taken knows that nothing was begun.
            tally.notTaken.incrementAndGet();
            return;
          } else {
            if (tally.lost.incrementAndGet() <= MOST_REASONS) {
              figures.figure("lostBecause", reply.outcome() + ": " + reply.why());
            }
            return;
          }
          waiting.countDown();
          Thread.sleep(pauseMillis == 0 ? 0 : random.nextInt(pauseMillis));
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } finally {
        waiting.countDown();
      }
    }
  }
}
