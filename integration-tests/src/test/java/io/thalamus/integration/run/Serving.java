// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.integration.run.Caller.Outcome;
import io.thalamus.integration.run.Caller.Question;
import io.thalamus.integration.run.Caller.Reply;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Requests over each protocol, and by streams of gRPC, while the model and the device {@code simd}
 * are updated, some files of models being damaged or half written. None may fail, be wrong, or be
 * answered by a version after its replacement was announced; then the server is asked to end under
 * load, and loses none.
 */
final class Serving implements Proof {
  private static final int INPUT_BYTES = 28 * 28;

  /** Longer than File Install takes to find an update and make it. */
  private static final long SETTLING_MILLIS = 4_000;

  private static final int INPUTS = 8;

  /** Threads that the JDK starts and ends as it likes. */
  private static final int SLACK = 6;

  @Override
  public String name() {
    return "serving";
  }

  @Override
  public String purpose() {
    return "requests while simd and the model are updated, some files damaged, and the end under"
        + " load (--requests 20000 --threads 4 --updates 50 --damaged 10 --protocol"
        + " rest,grpc,stream --seed 1)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    long requests = settings.number("requests", 20_000);
    int threads = Math.toIntExact(settings.number("threads", 4));
    int updates = Math.toIntExact(settings.number("updates", 50));
    int damaged = Math.toIntExact(settings.number("damaged", 10));
    List<String> protocols = List.of(settings.text("protocol", "rest,grpc,stream").split(","));
    long seed = settings.number("seed", 1);
    settings.end();
    figures.figure("seed", seed);
    Path folder = Files.createTempDirectory("thalamus-serving");
    try {
      new Run(folder, figures, new Random(seed))
          .all(protocols, requests, threads, updates, damaged);
    } finally {
      RunningServer.delete(folder);
    }
  }

  /** One proof under way. Its clients are threads of their own. */
  private static final class Run {
    private final Path home = Path.of(System.getProperty("thalamus.home"));
    private final Path digits = home.resolve("samples/digits/digits.tflite");
    private final Path models;
    private final Path folder;
    private final Figures figures;
    private final Random random;
    private final byte[][] inputs = new byte[INPUTS][INPUT_BYTES];
    private final byte[][] expected = new byte[INPUTS][];

    private final AtomicInteger answered = new AtomicInteger();
    private final AtomicInteger failed = new AtomicInteger();
    private final AtomicInteger wrong = new AtomicInteger();
    private final AtomicInteger stale = new AtomicInteger();
    private final Map<String, Integer> ranOn = new TreeMap<>();

    /** The version that was said to serve. */
    private volatile int announced = 1;

    private volatile boolean isOver;

    Run(Path folder, Figures figures, Random random) {
      this.folder = folder;
      this.models = folder.resolve("models");
      this.figures = figures;
      this.random = random;
    }

    void all(List<String> protocols, long requests, int threads, int updates, int damaged)
        throws Exception {
      computeReference();
      put(1, Files.readAllBytes(digits), false);
      try (RunningServer server = RunningServer.startCounted(folder, models, "--grace", "1000")) {
        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
          int first = i;
          String protocol = protocols.get(i % protocols.size());
          Caller caller = server.caller(protocol);
          clients.add(Thread.ofPlatform().start(() -> ask(caller, protocol, first)));
        }
        RunningServer.Footprint before = update(server, requests, updates, damaged);
        figures.figure("answered", answered.get());
        figures.figure("ranOn", ranOn);
        RunningServer.Footprint after = settled(server);
        figures.figure("threadsBefore", before.threads());
        figures.figure("threadsAfter", after.threads());
        figures.figure("mappingsBefore", before.mappings());
        figures.figure("mappingsAfter", after.mappings());
        figures.figure("classLoadersBefore", before.loaders());
        figures.figure("classLoadersAfter", after.loaders());
        figures.figure("burstsOpen", server.figure("thalamus_bursts_open"));
        figures.promise("no class loader is left", after.loaders() <= before.loaders());
        figures.promise("no thread is left", after.threads() <= before.threads() + SLACK);
        figures.promise("no mapping is left", after.mappings() <= before.mappings() * 1.2);
        int status = server.end(() -> isOver = true);
        for (Thread client : clients) {
          client.join();
        }
        figures.figure("answeredAtTheEnd", answered.get());
        figures.figure("failed", failed.get());
        figures.figure("wrong", wrong.get());
        figures.figure("ofAReplacedVersion", stale.get());
        figures.figure("exitStatus", status);
        figures.promise("no request fails", failed.get() == 0);
        figures.promise("no answer is wrong", wrong.get() == 0);
        figures.promise("no replaced version answers", stale.get() == 0);
        figures.promise("the server ends with 0", status == 0);
        figures.promise("both devices were used", ranOn.size() > protocols.size());
      }
    }

    /** Has a process of its own compute the answers, on the device cpu. */
    private void computeReference() throws Exception {
      StringBuilder commands = new StringBuilder();
      for (int i = 0; i < INPUTS; i++) {
        random.nextBytes(inputs[i]);
        Path input = Files.write(folder.resolve("input" + i + ".bin"), inputs[i]);
        commands.append(
            "nn:run %s %s --output %s\n"
                .formatted(digits, input, folder.resolve("output" + i + ".bin")));
      }
      Process process =
          new ProcessBuilder(
                  home.resolve("bin/thalamus").toString(),
                  "--storage",
                  folder.resolve("reference").toString(),
                  "--with",
                  "cpu",
                  "-c",
                  commands.toString())
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      if (process.waitFor() != 0) {
        throw new IOException("the reference cannot compute the model");
      }
      for (int i = 0; i < INPUTS; i++) {
        expected[i] = Files.readAllBytes(folder.resolve("output" + i + ".bin"));
      }
    }

    private void put(int version, byte[] content, boolean inHalves) throws Exception {
      Path file =
          Files.createDirectories(models.resolve("digits/" + version)).resolve("model.tflite");
      if (inHalves) {
        Files.write(file, Arrays.copyOf(content, content.length / 2));
        Thread.sleep(random.nextInt(1_500));
        Files.write(file, content);
      } else {
        Path aside = Files.write(folder.resolve("aside"), content);
        Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE);
      }
    }

    /** Updates both until all is done, and returns what the process used after the first update. */
    private RunningServer.Footprint update(
        RunningServer server, long requests, int updates, int damaged) throws Exception {
      byte[] good = Files.readAllBytes(digits);
      Path deployed = folder.resolve("storage/deploy/simd.jar");
      RunningServer.Footprint before = null;
      int told = 0;
      for (int i = 0; i < updates; i++) {
        int version = i + 2;
        // At once: half a jar is no device.
        Path aside = folder.resolve("simd.jar");
        Files.copy(home.resolve("devices/io.thalamus.simd.jar"), aside);
        Files.setLastModifiedTime(aside, FileTime.fromMillis(System.currentTimeMillis()));
        Files.move(aside, deployed, StandardCopyOption.ATOMIC_MOVE);
        if (i * damaged / updates != (i + 1) * damaged / updates) {
          byte[] bad = Arrays.copyOf(good, 1 + random.nextInt(good.length - 1));
          put(version, bad, false);
          String entry = server.awaitEntry("digits", version, "UNAVAILABLE");
          told += entry.contains("model.tflite: ") ? 1 : 0;
        }
        put(version, good, random.nextInt(4) == 0);
        server.awaitEntry("digits", version, "READY");
        announced = version;
        RunningServer.delete(models.resolve("digits/" + (version - 1)));
        before = before == null ? settled(server) : before;
      }
      while (answered.get() < requests) {
        Thread.sleep(100);
      }
      figures.figure("updates", updates);
      figures.figure("damagedTold", told);
      figures.promise("each damaged file is told of", told == damaged);
      return before;
    }

    /** Returns what the process uses when no update is under way: amid one, a loader is missing. */
    private static RunningServer.Footprint settled(RunningServer server) throws Exception {
      Thread.sleep(SETTLING_MILLIS);
      return server.footprint();
    }

    private void ask(Caller caller, String protocol, int first) {
      try (caller) {
        for (int i = first; ; i++) {
          int least = announced;
          int index = i % INPUTS;
          Reply reply = caller.ask(Question.ofDigits(inputs[index]));
          boolean isEnd =
              reply.outcome() == Outcome.UNAVAILABLE || reply.outcome() == Outcome.NOT_TAKEN;
          if (isOver && isEnd) {
            return;
          }
          judge(reply, protocol, least, expected[index]);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    private void judge(Reply reply, String protocol, int least, byte[] output) {
      if (reply.outcome() != Outcome.ANSWERED) {
        fail(protocol + " " + reply.outcome() + ": " + reply.why());
        return;
      }
      if (!Arrays.equals(reply.value(), output)) {
        wrong.incrementAndGet();
      }
      if (Integer.parseInt(reply.version()) < least) {
        stale.incrementAndGet();
      }
      synchronized (ranOn) {
        ranOn.merge(protocol + " on " + reply.ranOn(), 1, Integer::sum);
      }
      answered.incrementAndGet();
    }

    private void fail(String what) {
      if (failed.incrementAndGet() <= 5) {
        figures.figure("failure", what);
      }
    }
  }
}
