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
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.ResultCode;
import io.thalamus.integration.device.Gate;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.streams.BurstStreams;
import io.thalamus.streams.FrameCodec;
import io.thalamus.streams.StreamOptions;
import io.thalamus.vectors.ConformanceData;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;
import org.osgi.util.promise.Promise;
import org.osgi.util.pushstream.PushEvent;
import org.osgi.util.pushstream.PushEventConsumer;
import org.osgi.util.pushstream.PushEventSource;
import org.osgi.util.pushstream.PushStream;

/** Streams of a container, over real devices that come and go. */
@Timeout(180)
public class StreamIT {
  private static final long SEED = Long.getLong("thalamus.seed", 1);
  private static final long PATIENCE_SECONDS = 60;
  private static final String NPU_LOCATION = "test:streams:npu";
  private static final String OTHER_LOCATION = "test:streams";
  private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;

  private final BundleContext context = FrameworkUtil.getBundle(StreamIT.class).getBundleContext();
  private final Bundles bundles = new Bundles(context);
  private ServiceReference<NeuralNetworks> networksReference;
  private ServiceReference<BurstStreams> streamsReference;
  private NeuralNetworks networks;
  private BurstStreams streams;

  /** The result of a frame, and its report. */
  private record Result(byte[] bytes, ExecutionReport report) {
    boolean ranOn(String device) {
      return report.steps().stream()
          .anyMatch(step -> step.device().equals(device) && step.code() == ResultCode.NO_ERROR);
    }
  }

  @BeforeEach
  void open() {
    networksReference = context.getServiceReference(NeuralNetworks.class);
    networks = context.getService(networksReference);
    streamsReference = context.getServiceReference(BurstStreams.class);
    streams = context.getService(streamsReference);
    System.out.println("streams: seed = " + SEED);
  }

  @AfterEach
  void close() throws Exception {
    context.ungetService(streamsReference);
    Await.that("no thread is left", () -> Bundles.threads("thalamus-stream").isEmpty());
    // Whoever ended the stream gives its memories back, after the last event was delivered.
    Await.that("no memory is left", () -> networks.memories().isEmpty());
    context.ungetService(networksReference);
    for (Bundle bundle : context.getBundles()) {
      if (bundle.getSymbolicName().startsWith("io.thalamus.integration.")
          || List.of(NPU_LOCATION, OTHER_LOCATION).contains(bundle.getLocation())) {
        bundles.uninstall(bundle);
      }
    }
  }

  /** A source that gives elements in a thread of its own, then ends. */
  private static <T> PushEventSource<T> source(List<T> elements) {
    return consumer -> {
      Thread thread =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      for (T element : elements) {
                        long pressure = consumer.accept(PushEvent.data(element));
                        if (pressure < 0) {
                          return;
                        }
                        Thread.sleep(pressure);
                      }
                      consumer.accept(PushEvent.close());
                    } catch (Exception e) {
                      throw new IllegalStateException(e);
                    }
                  });
      return thread::interrupt;
    };
  }

  private static FrameCodec<byte[], Result> codec(int input, int output) {
    return FrameCodec.of(
        (bytes, frame) -> frame.input(input).copyFrom(MemorySegment.ofArray(bytes)),
        frame -> new Result(frame.output(output).toArray(ValueLayout.JAVA_BYTE), frame.report()));
  }

  private static <T> Promise<List<T>> collect(PushStream<T> stream) {
    return stream.reduce(
        new ArrayList<T>(),
        (list, result) -> {
          list.add(result);
          return list;
        },
        (list, other) -> list);
  }

  private static List<byte[]> noise(int frames, int size) {
    SplittableRandom random = new SplittableRandom(SEED);
    List<byte[]> all = new ArrayList<>();
    for (int i = 0; i < frames; i++) {
      byte[] bytes = new byte[size];
      random.nextBytes(bytes);
      all.add(bytes);
    }
    return all;
  }

  private static List<byte[]> floats(int frames, int count) {
    SplittableRandom random = new SplittableRandom(SEED);
    List<byte[]> all = new ArrayList<>();
    for (int i = 0; i < frames; i++) {
      ByteBuffer buffer = ByteBuffer.allocate(count * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
      while (buffer.hasRemaining()) {
        buffer.putFloat((float) random.nextDouble(-1, 1));
      }
      all.add(buffer.array());
    }
    return all;
  }

  private static float at(byte[] bytes, int index) {
    return MemorySegment.ofArray(bytes).getAtIndex(FLOAT, index);
  }

  private static Lifetime.Constant constant(float[] values) {
    ByteBuffer buffer =
        ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      buffer.putFloat(value);
    }
    return new Lifetime.ConstantCopy(buffer.array());
  }

  /** A network of one RNN, beside {@code h = tanh(W x + R h + b)} in 64 bits. */
  @Test
  void aRecurrentNetworkKeepsItsStateFromFrameToFrame() throws Exception {
    int size = 3;
    int units = 4;
    SplittableRandom random = new SplittableRandom(SEED + 1);
    float[] weights = new float[units * size];
    float[] recurrent = new float[units * units];
    float[] bias = new float[units];
    for (float[] each : new float[][] {weights, recurrent, bias}) {
      for (int i = 0; i < each.length; i++) {
        each[i] = (float) random.nextDouble(-0.5, 0.5);
      }
    }
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    Quantization none = Quantization.NONE;
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape hidden = Shape.of(1, units);
    int x = graph.input("x", type, Shape.of(1, size), none);
    int state = graph.input("state", type, hidden, none);
    int w = graph.constant("w", type, Shape.of(units, size), none, constant(weights));
    int r = graph.constant("r", type, Shape.of(units, units), none, constant(recurrent));
    int b = graph.constant("b", type, Shape.of(units), none, constant(bias));
    int next = graph.output("next", type, hidden, none);
    int y = graph.output("y", type, hidden, none);
    graph.operation(
        OperationCode.RNN, List.of(x, w, r, b, state, graph.int32(4)), List.of(next, y));

    List<byte[]> inputs = floats(300, size);
    List<Result> results;
    try (Compilation compilation =
        networks.compile(Model.of(graph.build()), CompilationOptions.DEFAULT)) {
      StreamOptions options = StreamOptions.DEFAULT.withState(1, 0);
      results =
          collect(streams.stream(compilation, options, source(inputs), codec(0, 1))).getValue();
    }
    assertEquals(inputs.size(), results.size());
    double[] h = new double[units];
    for (int frame = 0; frame < inputs.size(); frame++) {
      double[] after = new double[units];
      for (int u = 0; u < units; u++) {
        double sum = bias[u];
        for (int i = 0; i < size; i++) {
          sum += weights[u * size + i] * (double) at(inputs.get(frame), i);
        }
        for (int i = 0; i < units; i++) {
          sum += recurrent[u * units + i] * h[i];
        }
        after[u] = Math.tanh(sum);
        assertEquals(after[u], at(results.get(frame).bytes(), u), 1e-5, "frame " + frame);
      }
      h = after;
      assertTrue(
          results.get(frame).report().steps().stream().allMatch(StepReport::byBurst),
          "it goes by the burst");
    }
  }

  /** The first half of DTLN on speech, beside what TensorFlow Lite gave and step by step. */
  @Test
  void aPublicModelKeepsItsStates() throws Exception {
    Optional<Path> models = ConformanceData.models();
    assumeTrue(models.isPresent(), "there is no ../shared/models");
    Path folder = models.get().resolve("dtln_1_tflite");
    int bytes = 257 * Float.BYTES;
    List<byte[]> inputs = cut(Files.readAllBytes(folder.resolve("input_seq_0.bin")), bytes);
    List<byte[]> recorded = cut(Files.readAllBytes(folder.resolve("output_seq_0.bin")), bytes);
    byte[] state = Files.readAllBytes(folder.resolve("input_seq_1.bin"));
    try (LoadedModel loaded = networks.load(folder.resolve("model.tflite"));
        Compilation compilation = networks.compile(loaded.model(), CompilationOptions.DEFAULT)) {
      StreamOptions options =
          StreamOptions.DEFAULT.withState(1, 1, MemorySegment.ofArray(state.clone()));
      List<Result> results =
          collect(streams.stream(compilation, options, source(inputs), codec(0, 0))).getValue();
      assertEquals(40, results.size());
      for (int frame = 0; frame < results.size(); frame++) {
        byte[] next = new byte[state.length];
        byte[] y = new byte[bytes];
        compilation
            .createExecution()
            .setInput(0, MemorySegment.ofArray(inputs.get(frame)))
            .setInput(1, MemorySegment.ofArray(state))
            .setOutput(0, MemorySegment.ofArray(y))
            .setOutput(1, MemorySegment.ofArray(next))
            .compute()
            .orThrow();
        state = next;
        assertArrayEquals(y, results.get(frame).bytes(), "frame " + frame);
        for (int i = 0; i < 257; i++) {
          assertEquals(at(recorded.get(frame), i), at(y, i), 1e-5, "frame " + frame);
        }
      }
    }
  }

  private static List<byte[]> cut(byte[] all, int size) {
    List<byte[]> parts = new ArrayList<>();
    for (int at = 0; at < all.length; at += size) {
      parts.add(Arrays.copyOfRange(all, at, at + size));
    }
    return parts;
  }

  /** {@code next = state + x; y = next * x} in 8 bits. */
  private static Model accumulating(int elements) {
    OperandCode type = OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    Shape shape = Shape.of(1, elements);
    SubgraphBuilder graph = new SubgraphBuilder();
    int state = graph.input("state", type, shape, Quantization.of(0.5f, 3));
    int x = graph.input("x", type, shape, Quantization.of(0.25f, -7));
    int next = graph.output("next", type, shape, Quantization.of(0.5f, 3));
    int y = graph.output("y", type, shape, Quantization.of(2, 0));
    graph.operation(OperationCode.ADD, List.of(state, x, graph.int32(0)), List.of(next));
    graph.operation(OperationCode.MUL, List.of(next, x, graph.int32(0)), List.of(y));
    return Model.of(graph.build());
  }

  private List<byte[]> stepByStep(Model model, List<byte[]> inputs) throws Exception {
    List<byte[]> outputs = new ArrayList<>();
    try (Compilation cpu =
        networks.compile(model, CompilationOptions.DEFAULT.withDevices(List.of("cpu")))) {
      byte[] state = new byte[inputs.getFirst().length];
      Arrays.fill(state, (byte) 3);
      for (byte[] input : inputs) {
        byte[] next = new byte[state.length];
        byte[] y = new byte[state.length];
        cpu.createExecution()
            .setInput(0, MemorySegment.ofArray(state))
            .setInput(1, MemorySegment.ofArray(input))
            .setOutput(0, MemorySegment.ofArray(next))
            .setOutput(1, MemorySegment.ofArray(y))
            .compute()
            .orThrow();
        outputs.add(y);
        state = next;
      }
    }
    return outputs;
  }

  private static void assertSame(List<byte[]> expected, List<Result> actual) {
    assertEquals(expected.size(), actual.size());
    for (int i = 0; i < expected.size(); i++) {
      assertArrayEquals(expected.get(i), actual.get(i).bytes(), "frame " + i);
    }
  }

  @Test
  void aStateStaysOnItsDeviceAndOutlivesUpdates() throws Exception {
    Path jar =
        Path.of(context.getProperty("thalamus.root"))
            .resolve("launcher/target/thalamus/devices/io.thalamus.npu.jar");
    Bundle npu = bundles.install(NPU_LOCATION, Files.newInputStream(jar));
    awaitDevice("npu");
    Model model = accumulating(256);
    List<byte[]> inputs = noise(600, 256);
    AtomicInteger onDevice = new AtomicInteger();
    AtomicInteger delivered = new AtomicInteger();
    try (Compilation compilation =
        networks.compile(model, CompilationOptions.DEFAULT.withDevices(List.of("npu", "cpu")))) {
      Promise<List<Result>> results =
          collect(
              streams.stream(
                      compilation,
                      StreamOptions.DEFAULT.withState(0, 0),
                      source(inputs),
                      codec(1, 1))
                  .map(
                      result -> {
                        onDevice.addAndGet(isStateOn("npu") ? 1 : 0);
                        if (delivered.incrementAndGet() % 200 == 0) {
                          bundles.update(npu, Files.newInputStream(jar));
                          awaitDevice("npu");
                          Await.that("it is planned", () -> !compilation.isReplanning());
                        }
                        return result;
                      }));
      assertSame(stepByStep(model, inputs), results.getValue());
      long ranOn = results.getValue().stream().filter(result -> result.ranOn("npu")).count();
      assertTrue(ranOn > 300, "frames ran on npu: " + ranOn);
      assertTrue(onDevice.get() > 300, "the state was on npu: " + onDevice);
    }
    bundles.uninstall(npu);
  }

  private boolean isStateOn(String device) {
    return networks.memories().stream()
        .map(MemoryInfo::places)
        .anyMatch(places -> places.equals(List.of(device)));
  }

  private void awaitDevice(String device) throws Exception {
    Await.that(
        device + " is here",
        () -> networks.devices().stream().anyMatch(each -> each.id().equals(device)));
  }

  private static Model doubling(int elements) {
    SubgraphBuilder graph = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    int x = graph.input("x", type, Shape.of(1, elements), Quantization.NONE);
    int y = graph.output("y", type, Shape.of(1, elements), Quantization.NONE);
    graph.operation(OperationCode.ADD, List.of(x, x, graph.int32(0)), List.of(y));
    return Model.of(graph.build());
  }

  private static void assertDoubled(List<byte[]> inputs, List<Result> results) {
    assertEquals(inputs.size(), results.size());
    for (int frame = 0; frame < inputs.size(); frame++) {
      for (int i = 0; i < 4; i++) {
        assertEquals(
            2 * at(inputs.get(frame), i), at(results.get(frame).bytes(), i), "frame " + frame);
      }
    }
  }

  @Test
  void aStreamOutlivesItsDevice() throws Exception {
    Bundle spare = SpareBundle.named("spare").install(context);
    List<byte[]> inputs = floats(400, 4);
    AtomicInteger delivered = new AtomicInteger();
    try (Compilation compilation = networks.compile(doubling(4), CompilationOptions.DEFAULT)) {
      List<Result> results =
          collect(
                  streams.stream(
                          compilation,
                          StreamOptions.DEFAULT.withDepth(4),
                          source(inputs),
                          codec(0, 0))
                      .map(
                          result -> {
                            if (delivered.incrementAndGet() == 100) {
                              bundles.uninstall(spare);
                            }
                            return result;
                          }))
              .getValue();
      assertDoubled(inputs, results);
      assertTrue(results.getFirst().ranOn("spare"));
      assertFalse(results.getLast().ranOn("spare"));
    }
  }

  @Test
  void aFrameIsWrittenWhileTheDeviceIsAtTheOneBeforeIt() throws Exception {
    SpareBundle.named("spare").install(context);
    int frames = 30;
    List<byte[]> inputs = noise(frames, 16);
    CountDownLatch[] written = new CountDownLatch[frames];
    Arrays.setAll(written, i -> new CountDownLatch(1));
    AtomicInteger executed = new AtomicInteger();
    Model model = accumulating(16);
    List<byte[]> expected = stepByStep(model, inputs);
    ServiceRegistration<BooleanSupplier> gate =
        gate(
            () -> {
              int next = executed.incrementAndGet();
              try {
                return next >= frames || written[next].await(PATIENCE_SECONDS, TimeUnit.SECONDS);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
              }
            });
    FrameCodec<byte[], Result> plain = codec(1, 1);
    FrameCodec<byte[], Result> telling =
        FrameCodec.of(
            (bytes, frame) -> {
              plain.write(bytes, frame);
              written[(int) frame.number()].countDown();
            },
            plain::read);
    try (Compilation compilation =
        networks.compile(model, CompilationOptions.DEFAULT.withDevices(List.of("spare")))) {
      // The device has no memory of its own, and a compilation that names devices gets no other.
      StreamOptions options = StreamOptions.DEFAULT.withDepth(2).withState(0, 0);
      List<Result> results =
          collect(streams.stream(compilation, options, source(inputs), telling)).getValue();
      assertSame(expected, results);
      assertTrue(results.stream().allMatch(result -> result.ranOn("spare")));
    } finally {
      gate.unregister();
    }
  }

  private ServiceRegistration<BooleanSupplier> gate(BooleanSupplier passes) {
    Dictionary<String, Object> properties = new Hashtable<>();
    properties.put(Gate.DEVICE, "spare");
    return context.registerService(BooleanSupplier.class, passes, properties);
  }

  @Test
  void theStreamsOfABundleEndWithItAndThoseOfOthersGoOn() throws Exception {
    Bundle other =
        bundles.install(
            OTHER_LOCATION,
            BundleFile.of("none", Map.of(Constants.BUNDLE_SYMBOLICNAME, "test.streams")));
    BurstStreams its = other.getBundleContext().getService(streamsReference);
    try (Compilation compilation = networks.compile(doubling(4), CompilationOptions.DEFAULT)) {
      Endless own = new Endless();
      Endless theirs = new Endless();
      Promise<Long> ownCount = count(streams, compilation, own);
      Promise<Long> theirCount = count(its, compilation, theirs);
      Await.that("both run", () -> own.taken.get() > 10 && theirs.taken.get() > 10);
      other.stop();
      assertTrue(theirCount.getValue() > 0);
      theirs.thread.join();
      int before = own.taken.get();
      Await.that("the other goes on", () -> own.taken.get() > before + 10);
      assertFalse(ownCount.isDone());
      context.ungetService(streamsReference);
      assertTrue(ownCount.getValue() > 0);
      own.thread.join();
    }
    bundles.uninstall(other);
  }

  private static Promise<Long> count(
      BurstStreams streams, Compilation compilation, PushEventSource<byte[]> source) {
    return streams.stream(compilation, StreamOptions.DEFAULT, source, codec(0, 0)).count();
  }

  /** A source that gives the same element until nobody wants it any more. */
  private static final class Endless implements PushEventSource<byte[]> {
    final AtomicInteger taken = new AtomicInteger();
    volatile Thread thread;

    @Override
    public AutoCloseable open(PushEventConsumer<? super byte[]> consumer) {
      thread =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      while (consumer.accept(PushEvent.data(new byte[16])) >= 0) {
                        taken.incrementAndGet();
                      }
                    } catch (Exception e) {
                      throw new IllegalStateException(e);
                    }
                  });
      return () -> {};
    }
  }
}
