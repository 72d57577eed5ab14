// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.function.BiFunction;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.osgi.framework.BundleContext;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Compilations from a cache whose files are spoilt: each byte of the model cache, one at a time,
 * then any file in one of four ways, at last by a thread that rewrites files meanwhile. Each
 * compilation must compute what the CPU device does, and nothing that was spoilt may be restored.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=damages")
public final class DamagesProof extends FrameworkProof {
  /** Every refusal would be a warning. */
  private static final Logger REFUSALS = Logger.getLogger("io.thalamus.runtime.caching");

  private final BundleContext context;
  private final NeuralNetworks networks;
  private final ConfigurationAdmin configurations;

  @Activate
  public DamagesProof(
      BundleContext context,
      @Reference NeuralNetworks networks,
      @Reference ConfigurationAdmin configurations) {
    this.context = context;
    this.networks = networks;
    this.configurations = configurations;
  }

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    String home = String.valueOf(context.getProperty("thalamus.home"));
    String device = settings.text("device", "simd");
    Path model = Path.of(settings.text("model", home + "/samples/digits/digits.tflite"));
    long flips = settings.number("flips", Long.MAX_VALUE);
    final long damages = settings.number("damages", 2000);
    final long rewrites = settings.number("rewrites", 1000);
    long seed = settings.number("seed", 1);
    settings.end();
    figures.figure("seed", seed);
    REFUSALS.setLevel(Level.SEVERE);
    start(device, Path.of(home, "devices/io.thalamus." + device + ".jar"));
    Path directory = Files.createDirectories(context.getDataFile("spoilt").toPath());
    try (Workload workload = new Workload(networks, model, List.of())) {
      Runs runs = new Runs(device, directory, workload, new Random(seed), figures);
      runs.compile();
      runs.compile();
      figures.promise("what nobody spoilt is restored", runs.tell("before") == 1);
      runs.flip(flips);
      figures.promise("no flipped byte is restored", runs.tell("flips") == 0);
      for (int i = 0; i < damages; i++) {
        runs.damage();
        runs.compile();
      }
      figures.promise("no damaged file is restored", runs.tell("damages") == 0);
      runs.rewrite(rewrites);
      runs.tell("rewrites");
    }
  }

  private void start(String device, Path jar) throws Exception {
    if (device.equals("npu")) {
      // The results of a search would take the place of spoilt files.
      configurations
          .getConfiguration("io.thalamus.npu", "?")
          .update(new Hashtable<>(Map.of("searchBudget", 0)));
    }
    Bundles bundles = new Bundles(context);
    if (bundles.find("io.thalamus." + device).isEmpty()) {
      bundles.install("proof:" + device, Files.newInputStream(jar));
    }
    awaitDevice(networks, device);
  }

  /** Compilations of one model from one directory. Used by one thread. */
  private static final class Runs {
    private final String device;
    private final Path directory;
    private final Workload workload;
    private final Random random;
    private final Figures figures;
    private final CompilationOptions options;
    private int compiled;
    private int restored;
    private int failed;
    private int wrong;
    private volatile boolean isOver;

    Runs(String device, Path directory, Workload workload, Random random, Figures figures) {
      this.device = device;
      this.directory = directory;
      this.workload = workload;
      this.random = random;
      this.figures = figures;
      this.options =
          CompilationOptions.DEFAULT
              .withDevices(List.of(device))
              .with(CacheOptions.of(directory, workload.model(), ""));
    }

    void compile() {
      try (Compilation compilation = workload.compile(options)) {
        Workload.Answer answer = workload.run(compilation, compiled++);
        if (!answer.ranOn(device)) {
          failed++;
        } else if (!answer.isRight()) {
          wrong++;
        }
        if (compilation.caching().stream().anyMatch(step -> step.origin().isRestored())) {
          restored++;
        }
      } catch (NeuralNetworksException e) {
        failed++;
        figures.figure("failure", e.getMessage());
      }
    }

    /** Tells and forgets the counts; returns how many compilations were restored. */
    int tell(String what) {
      figures.figure(what, compiled);
      figures.figure(what + ".restored", restored);
      figures.figure(what + ".failed", failed);
      figures.figure(what + ".wrong", wrong);
      figures.promise("no compilation fails", failed == 0);
      figures.promise("no answer is wrong", wrong == 0);
      int count = restored;
      compiled = 0;
      restored = 0;
      failed = 0;
      wrong = 0;
      return count;
    }

    /** Returns the files of these kinds that have bytes. */
    private List<Path> files(String kinds) throws IOException {
      try (Stream<Path> all = Files.list(directory)) {
        return all.filter(file -> file.getFileName().toString().matches("[A-P]{64}" + kinds))
            .filter(file -> file.toFile().length() > 0)
            .sorted()
            .toList();
      }
    }

    /** Flips a bit of each byte, one after the other; what is compiled anew is stored again. */
    void flip(long most) throws IOException {
      long bytes = 0;
      for (Path file : files("1\\d+")) {
        long size = Files.size(file);
        bytes += size;
        for (int i = 0; i < size && compiled < most; i++) {
          byte[] content = Files.readAllBytes(file);
          content[i] ^= (byte) (1 << random.nextInt(Byte.SIZE));
          Files.write(file, content);
          compile();
        }
      }
      figures.figure("modelCacheBytes", bytes);
    }

    /** Damages one file in one of four ways. */
    void damage() throws IOException {
      List<Path> files = files("[12]\\d+");
      Path file = files.get(random.nextInt(files.size()));
      byte[] content = Files.readAllBytes(file);
      switch (random.nextInt(4)) {
        case 0 -> Files.delete(file);
        case 1 -> Files.write(file, Arrays.copyOf(content, random.nextInt(content.length)));
        case 2 -> Files.write(file, Arrays.copyOf(content, content.length + 1));
        default -> {
          content[random.nextInt(content.length)] ^= (byte) (1 << random.nextInt(Byte.SIZE));
          Files.write(file, content);
        }
      }
    }

    /** Compiles while a thread writes into the files: what they had, and the same spoilt. */
    void rewrite(long times) throws Exception {
      List<Path> files = files("[12]\\d+");
      List<byte[]> contents = new ArrayList<>();
      for (Path file : files) {
        contents.add(Files.readAllBytes(file));
      }
      Random others = new Random(random.nextLong());
      FutureTask<Long> writer =
          new FutureTask<>(
              () -> {
                long written = 0;
                for (; !isOver; written++) {
                  int which = others.nextInt(files.size());
                  byte[] content = contents.get(which).clone();
                  if (others.nextBoolean()) {
                    content[others.nextInt(content.length)] ^= 1;
                  }
                  overwrite(files.get(which), content);
                }
                return written;
              });
      Thread.ofPlatform().name("proof-writer").start(writer);
      try {
        for (int i = 0; i < times; i++) {
          compile();
        }
      } finally {
        isOver = true;
      }
      figures.figure("rewritten", writer.get());
    }

    /** Writes without emptying the file first, of which a reader would always know. */
    private static void overwrite(Path file, byte[] content) throws IOException {
      try (FileChannel channel =
          FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        channel.write(ByteBuffer.wrap(content));
        channel.truncate(content.length);
      }
    }
  }
}
