// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random models over random devices that cache: never a wrong answer, and a hit where it is due.
 */
class RandomCachingTest {
  private static final int SEEDS = 60;
  private static final int ELEMENTS = 6;
  private static final OperationCode[] TYPES = {
    OperationCode.ADD, OperationCode.SUB, OperationCode.MUL, OperationCode.MAXIMUM
  };

  private final long base = Long.getLong("thalamus.seed", 1);

  @TempDir Path parent;

  /** A device as its driver builds it: the same driver can make the same device again. */
  private record Driver(
      String name,
      String version,
      Set<OperationCode> claims,
      double cost,
      CacheNeeds needs,
      CachingDevice.Vault vault) {
    CachingDevice device() {
      DeviceInfo like = LimitedDevice.info(name, DeviceType.ACCELERATOR, cost).build();
      return new CachingDevice(
          DeviceInfo.builder(name, version)
              .type(like.type())
              .capabilities(like.capabilities())
              .cacheNeeds(needs)
              .build(),
          (graph, operation) -> claims.contains((OperationCode) operation.type()),
          vault);
    }

    Driver updated() {
      return new Driver(name, version + "1", claims, cost, needs, vault);
    }
  }

  /** The ingredients of one compilation. */
  private record Setup(
      List<Driver> drivers,
      CompilationOptions options,
      byte[] code,
      Map<String, Object> settings) {}

  @Test
  void theSecondTimeFromTheCacheAndNeverAnythingElse() throws Exception {
    int restored = 0;
    for (long seed = base; seed < base + SEEDS; seed++) {
      restored += check(seed);
    }
    System.out.println("random caching: seed = " + base + ", steps restored = " + restored);
    assertTrue(restored > SEEDS / 2, "only " + restored + " steps were restored");
  }

  private int check(long seed) throws Exception {
    Random random = new Random(seed);
    Model model = model(random);
    float[][] inputs = new float[model.main().inputIndexes().size()][ELEMENTS];
    for (float[] input : inputs) {
      for (int i = 0; i < ELEMENTS; i++) {
        input[i] = random.nextFloat() * 2 - 1;
      }
    }
    Path directory = Files.createDirectory(parent.resolve("seed" + seed));
    Setup setup =
        new Setup(
            drivers(random),
            options(directory, 0),
            new byte[] {(byte) random.nextInt()},
            Map.of("size", random.nextInt(4)));
    float[][] expected = answer(seed, model, inputs);
    List<CacheOutcome> first = run(seed, setup, model, inputs, expected);
    assertTrue(
        first.stream().noneMatch(step -> step.origin() == Origin.NOT_STORED), "seed " + seed);
    List<CacheOutcome> second = run(seed, setup, model, inputs, expected);
    for (int i = 0; i < first.size(); i++) {
      Origin before = first.get(i).origin();
      assertEquals(
          before == Origin.COMPILED ? Origin.COMPILED : Origin.RESTORED,
          second.get(i).origin(),
          "seed " + seed);
    }
    Setup changed = change(random, setup, directory);
    List<CacheOutcome> third = run(seed, changed, model, inputs, expected);
    assertTrue(third.stream().noneMatch(step -> step.origin() == Origin.RESTORED), "seed " + seed);
    damage(random, directory);
    run(seed, setup, model, inputs, expected);
    run(seed, changed, model, inputs, expected);
    // An application that gives one token to two models of different graphs.
    Model other = model(random);
    float[][] otherInputs = new float[other.main().inputIndexes().size()][ELEMENTS];
    run(seed, setup, other, otherInputs, answer(seed, other, otherInputs));
    return (int) second.stream().filter(step -> step.origin() == Origin.RESTORED).count();
  }

  private static CompilationOptions options(Path directory, int user) {
    byte[] token = new byte[CacheToken.SIZE];
    token[user % CacheToken.SIZE] = (byte) user;
    return CompilationOptions.DEFAULT.with(new CacheOptions(directory, CacheToken.of(token), ""));
  }

  private static List<Driver> drivers(Random random) {
    List<Driver> drivers = new ArrayList<>();
    int count = 1 + random.nextInt(3);
    for (int d = 0; d < count; d++) {
      Set<OperationCode> claims = new java.util.HashSet<>();
      for (OperationCode type : TYPES) {
        if (random.nextInt(3) > 0) {
          claims.add(type);
        }
      }
      drivers.add(
          new Driver(
              "test-" + d,
              "1." + random.nextInt(3),
              claims,
              0.3 + random.nextInt(5) / 10.0,
              new CacheNeeds(random.nextInt(3), random.nextInt(3)),
              CachingDevice.Vault.inMemory()));
    }
    return drivers;
  }

  /** Another value of one of the things that a compilation depends on. */
  private static Setup change(Random random, Setup setup, Path directory) {
    CompilationOptions options = setup.options();
    return switch (random.nextInt(6)) {
      case 0 ->
          new Setup(
              setup.drivers().stream().map(Driver::updated).toList(),
              options,
              setup.code(),
              setup.settings());
      case 1 ->
          new Setup(
              setup.drivers(),
              options.with(ExecutionPreference.SUSTAINED_SPEED),
              setup.code(),
              setup.settings());
      case 2 ->
          new Setup(setup.drivers(), options.with(Priority.LOW), setup.code(), setup.settings());
      case 3 ->
          new Setup(
              setup.drivers(),
              options(directory, 1 + random.nextInt(100)),
              setup.code(),
              setup.settings());
      case 4 ->
          new Setup(
              setup.drivers(),
              options,
              new byte[] {(byte) (setup.code()[0] ^ 1)},
              setup.settings());
      default ->
          new Setup(setup.drivers(), options, setup.code(), Map.of("size", "another", "n", 1));
    };
  }

  /** Damages some files as a bad disk or a stranger may. */
  private static void damage(Random random, Path directory) throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.list(directory)) {
      files = all.filter(file -> !file.endsWith("locks")).sorted().toList();
    }
    for (Path file : files) {
      byte[] content = Files.readAllBytes(file);
      switch (random.nextInt(4)) {
        case 0 -> {
          if (content.length > 0) {
            content[random.nextInt(content.length)] ^= (byte) (1 << random.nextInt(8));
            Files.write(file, content);
          }
        }
        case 1 ->
            Files.write(file, java.util.Arrays.copyOf(content, random.nextInt(content.length + 9)));
        case 2 -> Files.delete(file);
        default -> {}
      }
    }
  }

  private static float[][] answer(long seed, Model model, float[][] inputs) throws Exception {
    try (TestRuntime plain = TestRuntime.lenient(LimitedDevice.cpu());
        Compilation compilation = plain.networks().compile(model, CompilationOptions.DEFAULT)) {
      return compute(seed, compilation, inputs);
    }
  }

  private static List<CacheOutcome> run(
      long seed, Setup setup, Model model, float[][] inputs, float[][] expected) throws Exception {
    List<CachingDevice> devices = setup.drivers().stream().map(Driver::device).toList();
    try (TestRuntime runtime = TestRuntime.lenient()) {
      runtime.code = setup.code();
      devices.forEach(device -> runtime.registry.addDevice(device, setup.settings()));
      runtime.add(LimitedDevice.cpu());
      try (Compilation compilation = runtime.networks().compile(model, setup.options())) {
        float[][] actual = compute(seed, compilation, inputs);
        for (int i = 0; i < expected.length; i++) {
          assertArrayEquals(expected[i], actual[i], "seed " + seed + ", output " + i);
        }
        return compilation.caching();
      }
    }
  }

  private static float[][] compute(long seed, Compilation compilation, float[][] inputs) {
    Execution execution = compilation.createExecution();
    for (int i = 0; i < inputs.length; i++) {
      execution.setInput(i, Graphs.floats(inputs[i]));
    }
    float[][] outputs = new float[compilation.model().main().outputIndexes().size()][ELEMENTS];
    for (int i = 0; i < outputs.length; i++) {
      execution.setOutput(i, Graphs.floats(outputs[i]));
    }
    assertTrue(execution.compute().isSuccess(), "seed " + seed);
    return outputs;
  }

  private static Model model(Random random) {
    Graphs.Builder g = new Graphs.Builder(2, 3);
    List<Integer> known = new ArrayList<>();
    int inputs = 1 + random.nextInt(3);
    for (int i = 0; i < inputs; i++) {
      known.add(g.input("in" + i));
    }
    int operations = 1 + random.nextInt(12);
    for (int i = 0; i < operations; i++) {
      int a = known.get(random.nextInt(known.size()));
      int b = known.get(random.nextInt(known.size()));
      int to = i == operations - 1 ? g.output("out") : g.temporary("t" + i);
      // RELU1 keeps values small, so that chains of MUL stay finite.
      g.op(TYPES[random.nextInt(TYPES.length)], 2, a, b, to);
      known.add(to);
    }
    return g.model();
  }
}
