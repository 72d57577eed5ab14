// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import java.io.IOException;
import java.net.ConnectException;
import java.net.http.HttpResponse;
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
    return "servers that are told to end while clients ask over REST (--times 100 --threads 4"
        + " --grace 300 --seed 1)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    int times = Math.toIntExact(settings.number("times", 100));
    int threads = Math.toIntExact(settings.number("threads", 4));
    long grace = settings.number("grace", 300);
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
          one(server, threads, random.nextInt(LONGEST_MILLIS), tally, figures);
        }
      }
      figures.figure("ends", times);
      figures.figure("answered", tally.answered.get());
      figures.figure("refusedAtTheEnd", tally.refused.get());
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
    private final AtomicInteger lost = new AtomicInteger();
    private final AtomicInteger otherStatus = new AtomicInteger();
  }

  private static void one(
      RunningServer server, int threads, int millis, Tally tally, Figures figures)
      throws InterruptedException {
    boolean[] isOver = new boolean[1];
    List<Thread> clients = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      clients.add(Thread.ofPlatform().start(() -> ask(server, isOver, tally, figures)));
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

  private static void ask(RunningServer server, boolean[] isOver, Tally tally, Figures figures) {
    byte[] value = new byte[MutatedRequests.INPUT_BYTES];
    while (true) {
      try {
        HttpResponse<byte[]> answer = server.inferPicture("digits", "picture", value);
        if (answer.statusCode() == 200) {
          tally.answered.incrementAndGet();
          continue;
        }
        if (answer.statusCode() == 503 && isOver(isOver)) {
          tally.refused.incrementAndGet();
          return;
        }
        lose(tally, figures, answer.statusCode() + " " + new String(answer.body()));
        return;
      } catch (ConnectException e) {
        // Whoever is not taken knows that nothing was begun.
        if (!isOver(isOver)) {
          lose(tally, figures, e.toString());
        }
        return;
      } catch (IOException e) {
        lose(tally, figures, e.toString());
        return;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
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
