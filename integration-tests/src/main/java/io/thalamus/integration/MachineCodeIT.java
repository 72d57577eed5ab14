// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;

/** The device {@code x86} comes, is updated and leaves under requests, and takes its code along. */
public class MachineCodeIT {
  private static final Shape SHAPE = Shape.of(1, 9, 9, 2);
  private static final int CHANNELS = 3;
  private static final Path MAPPINGS = Path.of("/proc/self/maps");

  private final BundleContext context =
      FrameworkUtil.getBundle(MachineCodeIT.class).getBundleContext();
  private final Bundles bundles = new Bundles(context);
  private final Path jar =
      Path.of(context.getProperty("thalamus.root"))
          .resolve("launcher/target/thalamus/devices/io.thalamus.x86.jar");
  private ServiceReference<NeuralNetworks> reference;
  private NeuralNetworks networks;

  @BeforeEach
  void open() throws Exception {
    // What the system says, not what the device does.
    Path facts = Path.of("/proc/cpuinfo");
    assumeTrue(Files.isReadable(facts), "this system is not Linux");
    List<String> flags =
        Files.readAllLines(facts).stream()
            .filter(line -> line.startsWith("flags"))
            .flatMap(line -> Stream.of(line.split("\\s+")))
            .toList();
    assumeTrue(flags.containsAll(List.of("avx2", "fma")), "this processor lacks AVX2 or FMA");
    reference = context.getServiceReference(NeuralNetworks.class);
    networks = context.getService(reference);
  }

  @AfterEach
  void close() {
    if (reference != null) {
      context.ungetService(reference);
    }
  }

  /**
   * A convolution, and a sum with a clamp; whole numbers, whose sums no order of adding changes.
   */
  private static Model model(SplittableRandom random) {
    SubgraphBuilder graph = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    int x = graph.input("x", type, SHAPE, Quantization.NONE);
    Shape filters = Shape.of(CHANNELS, 2, 2, SHAPE.dimension(3));
    int weights = constant(graph, filters, random);
    int bias = constant(graph, Shape.of(CHANNELS), random);
    Shape result = Shape.of(1, SHAPE.dimension(1), SHAPE.dimension(2), CHANNELS);
    int sums = graph.temporary("sums", type, result, Quantization.NONE);
    int y = graph.output("y", type, result, Quantization.NONE);
    List<Integer> window = List.of(x, weights, bias, graph.int32(1), graph.int32(1));
    graph.operation(
        OperationCode.CONV_2D,
        Stream.concat(window.stream(), Stream.of(graph.int32(1), graph.int32(0))).toList(),
        List.of(sums));
    graph.operation(OperationCode.ADD, List.of(sums, bias, graph.int32(1)), List.of(y));
    return Model.of(graph.build());
  }

  private static int constant(SubgraphBuilder graph, Shape shape, SplittableRandom random) {
    float[] values = numbers(Math.toIntExact(shape.elementCount()), random);
    byte[] bytes = MemorySegment.ofArray(values).toArray(ValueLayout.JAVA_BYTE);
    return graph.constant(
        "", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE, new ConstantCopy(bytes));
  }

  private static float[] numbers(int count, SplittableRandom random) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextInt(-8, 9);
    }
    return values;
  }

  /** Requests with the answers of the reference. */
  private record Requests(Compilation compilation, float[] input, float[] expected) {
    /** Executes in this thread; returns whether it ran on a device. */
    boolean run(String device) {
      float[] output = new float[expected.length];
      ExecutionReport report =
          compilation
              .createExecution()
              .setInput(0, MemorySegment.ofArray(input))
              .setOutput(0, MemorySegment.ofArray(output))
              .compute();
      assertTrue(report.isSuccess(), report::message);
      assertArrayEquals(expected, output);
      return report.steps().stream()
          .anyMatch(step -> step.device().equals(device) && step.code() == ResultCode.NO_ERROR);
    }
  }

  private float[] onReference(Model model, float[] input) throws NeuralNetworksException {
    float[] output = new float[9 * 9 * CHANNELS];
    CompilationOptions only = CompilationOptions.DEFAULT.withDevices(List.of("cpu"));
    try (Compilation compilation = networks.compile(model, only)) {
      compilation
          .createExecution()
          .setInput(0, MemorySegment.ofArray(input))
          .setOutput(0, MemorySegment.ofArray(output))
          .compute()
          .orThrow();
    }
    return output;
  }

  /** Mappings of nobody's file that may be executed and not written: the JVM's may be both. */
  private static long mappingsOfCode() throws Exception {
    try (Stream<String> lines = Files.lines(MAPPINGS)) {
      return lines.filter(line -> line.contains(" r-xp ") && line.matches(".* 0\\s*")).count();
    }
  }

  @Test
  void itServesUnderLoadAndTakesItsCodeAlong() throws Exception {
    long before = mappingsOfCode();
    SplittableRandom random = new SplittableRandom(1);
    Model model = model(random);
    float[] input = numbers(Math.toIntExact(SHAPE.elementCount()), random);
    float[] expected = onReference(model, input);
    try (Compilation compilation = networks.compile(model, CompilationOptions.DEFAULT)) {
      Requests requests = new Requests(compilation, input, expected);
      AtomicBoolean isOver = new AtomicBoolean();
      CompletableFuture<Long> load = new CompletableFuture<>();
      Thread.ofPlatform().start(() -> keepAsking(requests, isOver, load));
      try {
        for (int i = 0; i < 3; i++) {
          comeServeAndGo(requests);
        }
      } finally {
        isOver.set(true);
      }
      assertTrue(load.get() > 0);
      Await.that("no code is left", () -> mappingsOfCode() == before);
      assertEquals(List.of(), bundles.leftLoaders());
      assertEquals(List.of(), Bundles.threads("thalamus-x86"));
    }
  }

  private static void keepAsking(
      Requests requests, AtomicBoolean isOver, CompletableFuture<Long> load) {
    long asked = 0;
    try {
      while (!isOver.get()) {
        requests.run("x86");
        asked++;
      }
      load.complete(asked);
    } catch (RuntimeException | AssertionError e) {
      load.completeExceptionally(e);
    }
  }

  /** In a method of its own, so that no variable of a frame that lives on holds the bundle. */
  private void comeServeAndGo(Requests requests) throws Exception {
    Bundle bundle = bundles.install("test:x86", Files.newInputStream(jar));
    Await.that("it serves", () -> requests.run("x86"));
    assertTrue(mappingsOfCode() > 0, "its code is nowhere");
    bundles.update(bundle, Files.newInputStream(jar));
    Await.that("it serves again", () -> requests.run("x86"));
    bundles.uninstall(bundle);
    assertFalse(requests.run("x86"), "it is gone");
  }
}
