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
import java.util.concurrent.atomic.AtomicInteger;

/** Servers that are told to end under load, as a container's host does: no request is lost. */
final class ServingEndings implements Proof {
  private static final int LONGEST_MILLIS = 800;

  @Override
  public String name() {
    return "serving-endings";
  }

  @Override
  public String purpose() {
    return "servers that are told to end while clients ask (--times 100 --threads 4 --grace 300"
        + " --protocol rest,grpc --seed 1)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    int times = Math.toIntExact(settings.number("times", 100));
    int threads = Math.toIntExact(settings.number("threads", 4));
    long grace = settings.number("grace", 300);
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
            RunningServer.start(folder, models, "--grace", Long.toString(grace))) {
          one(server, protocols, threads, random.nextInt(LONGEST_MILLIS), tally, figures);
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

  /** What happened to requests. */
  private static final class Tally {
    private final AtomicInteger answered = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private final AtomicInteger notTaken = new AtomicInteger();
    private final AtomicInteger lost = new AtomicInteger();
    private final AtomicInteger otherStatus = new AtomicInteger();
  }

  private static void one(
      RunningServer server,
      List<String> protocols,
      int threads,
      int millis,
      Tally tally,
      Figures figures)
      throws InterruptedException {
    boolean[] isOver = new boolean[1];
    List<Thread> clients = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      Caller caller = server.caller(protocols.get(i % protocols.size()));
      clients.add(Thread.ofPlatform().start(() -> ask(caller, isOver, tally, figures)));
    }
    Thread.sleep(millis);
    int status =
        server.end(
            () -> {
              synchronized (isOver) {
                isOver[0] = true;
              }
            });
    tally.otherStatus.addAndGet(status == 0 ? 0 : 1);
    for (Thread client : clients) {
      client.join();
    }
  }

  private static void ask(Caller caller, boolean[] isOver, Tally tally, Figures figures) {
    Question question = Question.ofDigits(new byte[MutatedRequests.INPUT_BYTES]);
    try (caller) {
      while (true) {
        Reply reply = caller.ask(question);
        if (reply.outcome() == Outcome.ANSWERED) {
          tally.answered.incrementAndGet();
        } else if (reply.outcome() == Outcome.UNAVAILABLE && isOver(isOver)) {
          tally.refused.incrementAndGet();
          return;
        } else if (reply.outcome() == Outcome.NOT_TAKEN && isOver(isOver)) {
          // Whoever is not taken knows that nothing was begun.
          tally.notTaken.incrementAndGet();
          return;
        } else {
          lose(tally, figures, reply.outcome() + ": " + reply.why());
          return;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static boolean isOver(boolean... flag) {
    synchronized (flag) {
      return flag[0];
    }
  }

  private static void lose(Tally tally, Figures figures, String what) {
    if (tally.lost.incrementAndGet() <= 5) {
      figures.figure("lostBecause", what);
    }
  }
}
