// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Two processes at a time run one model from one cache, some of them are killed while they do, and
 * files are damaged between them. No answer may be wrong, and nothing may fail.
 */
final class SharedCache implements Proof {
  private static final long PATIENCE_SECONDS = 300;
  private static final int LAST_TRIES = 5;

  @Override
  public String name() {
    return "cache";
  }

  @Override
  public String purpose() {
    return "processes that share a cache, are killed, and find damaged files (--rounds 20 --kills 0"
        + " for as many rounds as it takes, --quota 0 for the usual one, --seed 1 --device npu"
        + " --model FILE)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    Path root = Path.of(System.getProperty("thalamus.root"));
    int rounds = Math.toIntExact(settings.number("rounds", 20));
    int kills = Math.toIntExact(settings.number("kills", 0));
    long quota = settings.number("quota", 0);
    long seed = settings.number("seed", 1);
    String device = settings.text("device", "npu");
    String model =
        settings.text("model", root.resolve("launcher/samples/digits/digits.tflite").toString());
    settings.end();
    Path folder = Files.createTempDirectory("thalamus-shared-cache");
    try {
      figures.figure("seed", seed);
      Runs runs = new Runs(root, folder, device, model, quota, new Random(seed), figures);
      runs.all(rounds, kills);
    } finally {
      delete(folder);
    }
  }

  private static void delete(Path folder) throws IOException {
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path directory, IOException failure)
              throws IOException {
            Files.delete(directory);
            return FileVisitResult.CONTINUE;
          }
        });
  }

  /** One proof under way. Used by one thread. */
  private static final class Runs {
    private final Path root;
    private final Path folder;
    private final String device;
    private final String model;
    private final long quota;
    private final Random random;
    private final Figures figures;
    private int count;
    private int killed;
    private int damaged;
    private int restored;
    private int stored;
    private int failed;
    private int wrong;
    private boolean isCached = true;
    private long lifeNanos;

    Runs(
        Path root,
        Path folder,
        String device,
        String model,
        long quota,
        Random random,
        Figures figures) {
      this.root = root;
      this.folder = folder;
      this.device = device;
      this.model = model;
      this.quota = quota;
      this.random = random;
      this.figures = figures;
    }

    private Path cache() {
      return folder.resolve("cache");
    }

    void all(int rounds, int kills) throws IOException, InterruptedException {
      if (quota > 0) {
        Run kept = start(List.of("config", "runtime.caching.quotaBytes=" + quota, "--keep"));
        kept.finish();
        figures.promise("the quota is set", kept.process().exitValue() == 0);
      }
      Run plain = run(List.of());
      plain.finish();
      lifeNanos = System.nanoTime() - plain.startNanos();
      byte[] expected = Files.readAllBytes(plain.output());
      for (int round = 0; round < rounds || killed < kills; round++) {
        List<Run> lasting = new ArrayList<>();
        for (Run run : List.of(run(caching()), run(caching()))) {
          if (random.nextBoolean() || !isKilled(run)) {
            lasting.add(run);
          }
        }
        for (Run run : lasting) {
          judge(run, expected);
        }
        damage();
      }
      int before = restored;
      for (int attempt = 0; attempt < LAST_TRIES && restored == before; attempt++) {
        judge(run(caching()), expected);
      }
      figures.figure("processes", count);
      figures.figure("killed", killed);
      figures.figure("damagedFiles", damaged);
      figures.figure("restored", restored);
      figures.figure("stored", stored);
      figures.figure("failed", failed);
      figures.figure("wrong", wrong);
      figures.promise("no process fails", failed == 0);
      figures.promise("no answer is wrong", wrong == 0);
      figures.promise("what the last processes stored is restored", !isCached || restored > before);
      if (quota > 0) {
        long bytes = bytes();
        figures.figure("bytes", bytes);
        figures.figure("quota", quota);
        figures.promise("the directory keeps its quota", bytes <= quota);
      }
    }

    /** Kills a process at a moment of an undisturbed one's life, unless it has ended by then. */
    private boolean isKilled(Run run) throws InterruptedException {
      long age = System.nanoTime() - run.startNanos();
      if (run.process().waitFor(random.nextLong(lifeNanos) - age, TimeUnit.NANOSECONDS)) {
        return false;
      }
      run.process().destroyForcibly().waitFor();
      killed++;
      return true;
    }

    /** Of one priority and one preference by chance: each pair has an entry of its own. */
    private List<String> caching() {
      List<String> words = new ArrayList<>(List.of("--cache", cache().toString()));
      if (quota > 0) {
        words.addAll(List.of("--priority", random(List.of("low", "medium", "high"))));
        words.addAll(List.of("--preference", random(List.of("low-power", "sustained-speed"))));
      }
      return words;
    }

    private String random(List<String> words) {
      return words.get(random.nextInt(words.size()));
    }

    /** Returns the bytes of all entries. */
    private long bytes() throws IOException {
      try (Stream<Path> all = Files.list(cache())) {
        return all.filter(file -> !file.endsWith("locks"))
            .mapToLong(file -> file.toFile().length())
            .sum();
      }
    }

    /** A process and what it writes. */
    private record Run(Process process, long startNanos, Path output, Path text) {
      void finish() throws InterruptedException {
        if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
          process.destroyForcibly().waitFor();
        }
      }
    }

    private Run run(List<String> more) throws IOException {
      List<String> words = new ArrayList<>(List.of("run", model, "random:1"));
      words.addAll(List.of("--device", device, "--fallback", "deny"));
      words.addAll(List.of("--output", folder.resolve("output" + count + ".bin").toString()));
      words.addAll(more);
      return start(words);
    }

    private Run start(List<String> words) throws IOException {
      int number = count++;
      Path output = folder.resolve("output" + number + ".bin");
      Path text = folder.resolve("text" + number);
      List<String> command = new ArrayList<>();
      command.add(root.resolve("launcher/target/thalamus/bin/thalamus").toString());
      command.addAll(List.of("--storage", folder.resolve("storage").toString()));
      command.addAll(List.of("--with", "cpu," + device));
      command.addAll(words);
      long startNanos = System.nanoTime();
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(text.toFile())
              .start();
      return new Run(process, startNanos, output, text);
    }

    private void judge(Run run, byte[] expected) throws IOException, InterruptedException {
      run.finish();
      String text = Files.readString(run.text());
      if (run.process().exitValue() != 0) {
        failed++;
        figures.figure("failure", "status " + run.process().exitValue() + ": " + text.strip());
        return;
      }
      if (!Arrays.equals(expected, Files.readAllBytes(run.output()))) {
        wrong++;
      }
      restored += text.contains("(from the cache)") ? 1 : 0;
      stored += text.contains("stored for the next time") ? 1 : 0;
      isCached &= !text.contains("no device of the plan caches");
    }

    /** Damages one file of the cache in one of four ways, half of the time. */
    private void damage() throws IOException {
      if (!Files.isDirectory(cache()) || random.nextBoolean()) {
        return;
      }
      List<Path> files;
      try (Stream<Path> all = Files.list(cache())) {
        files = all.filter(file -> !file.endsWith("locks")).sorted().toList();
      }
      if (files.isEmpty()) {
        return;
      }
      Path file = files.get(random.nextInt(files.size()));
      byte[] content = Files.readAllBytes(file);
      damaged++;
      switch (random.nextInt(4)) {
        case 0 -> Files.delete(file);
        case 1 -> Files.write(file, Arrays.copyOf(content, random.nextInt(content.length + 1)));
        case 2 -> Files.write(file, Arrays.copyOf(content, content.length + 1));
        default -> {
          if (content.length > 0) {
            content[random.nextInt(content.length)] ^= (byte) (1 << random.nextInt(Byte.SIZE));
            Files.write(file, content);
          }
        }
      }
    }
  }
}
