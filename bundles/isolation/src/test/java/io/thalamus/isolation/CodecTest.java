// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.isolation.wire.DeviceCodec;
import io.thalamus.isolation.wire.ExecutionCodec;
import io.thalamus.isolation.wire.MemoryCodec;
import io.thalamus.isolation.wire.ModelCodec;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryHandle;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.OutputShape;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.WireFormatException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Random values come back as they were, and random bytes end with a value or a refusal. */
class CodecTest {
  private static final long SEED = Long.getLong("thalamus.seed", 1);
  private static final int ROUNDS = 200;

  /** Messages of whose bytes one is changed, cut off or added: all that a reader can meet. */
  private static final int MUTATIONS = 50;

  private final Random random = new Random(SEED);

  CodecTest() {
    System.out.println("CodecTest: seed " + SEED);
  }

  private <T> T one(List<T> values) {
    return values.get(random.nextInt(values.size()));
  }

  private <T> List<T> some(int most, java.util.function.Supplier<T> element) {
    List<T> values = new ArrayList<>();
    for (int i = random.nextInt(most + 1); i > 0; i--) {
      values.add(element.get());
    }
    return values;
  }

  private String text() {
    return one(List.of("", "x", "größe", "a\nb", "\ud83d\ude00", "n".repeat(300)));
  }

  private Shape shape() {
    return Shape.of(
        some(6, () -> random.nextInt(1 << random.nextInt(31))).stream()
            .mapToInt(Integer::intValue)
            .toArray());
  }

  private OperandType type() {
    return random.nextInt(5) == 0
        ? new ExtensionOperandType("com.acme", random.nextInt(65536), text(), true, 3)
        : one(List.of(OperandCode.values()));
  }

  private OperationType operationType() {
    return random.nextInt(5) == 0
        ? new ExtensionOperationType("com.acme", random.nextInt(65536), text())
        : one(List.of(OperationCode.values()));
  }

  private Quantization quantization() {
    return switch (random.nextInt(3)) {
      case 0 -> Quantization.NONE;
      case 1 -> new Quantization.PerTensor(random.nextFloat(), random.nextInt());
      default ->
          new Quantization.PerChannel(
              random.nextInt(), new float[] {Float.NaN, -0.0f, random.nextFloat()});
    };
  }

  private Lifetime lifetime(List<SharedMemory> pools) {
    byte[] bytes = new byte[random.nextInt(200)];
    random.nextBytes(bytes);
    return switch (random.nextInt(7)) {
      case 0 -> Lifetime.TEMPORARY_VARIABLE;
      case 1 -> Lifetime.SUBGRAPH_INPUT;
      case 2 -> Lifetime.SUBGRAPH_OUTPUT;
      case 3 -> Lifetime.NO_VALUE;
      case 4 -> new Lifetime.ConstantCopy(bytes);
      case 5 -> new Lifetime.ConstantReference(one(pools), random.nextInt(50), 10);
      default -> new Lifetime.SubgraphReference(random.nextInt());
    };
  }

  private Subgraph subgraph(List<SharedMemory> pools) {
    return new Subgraph(
        some(8, () -> new Operand(type(), shape(), quantization(), lifetime(pools), text())),
        some(
            4,
            () ->
                new Operation(operationType(), some(4, random::nextInt), some(4, random::nextInt))),
        some(4, random::nextInt),
        some(4, random::nextInt));
  }

  private Model model(List<SharedMemory> pools) {
    return new Model(subgraph(pools), some(2, () -> subgraph(pools)), random.nextBoolean());
  }

  /** A message, and what reads it. */
  private record Sample(byte[] bytes, Decoder.Element<?> element) {}

  private void tryMutations(Sample sample) {
    for (int i = 0; i < MUTATIONS; i++) {
      byte[] changed = mutated(sample.bytes());
      try {
        new Decoder(changed).all(sample.element());
      } catch (WireFormatException e) {
        assertTrue(e.getMessage() != null && !e.getMessage().isBlank());
      }
    }
  }

  private byte[] mutated(byte[] bytes) {
    byte[] changed =
        random.nextInt(4) == 0
            ? java.util.Arrays.copyOf(bytes, random.nextInt(bytes.length + 8))
            : bytes.clone();
    for (int i = random.nextInt(3); i >= 0 && changed.length > 0; i--) {
      changed[random.nextInt(changed.length)] = (byte) random.nextInt();
    }
    return changed;
  }

  @Test
  void models() throws Exception {
    try (SharedMemory first = SharedMemory.allocate(MemoryKind.ASHMEM, 100);
        SharedMemory second = SharedMemory.allocate(MemoryKind.ASHMEM, 60)) {
      List<SharedMemory> pools = List.of(first, second);
      for (int i = 0; i < ROUNDS; i++) {
        Model model = model(pools);
        Encoder out = new Encoder();
        ModelCodec.write(out, model, model.pools());
        Decoder.Element<Model> element = in -> ModelCodec.read(in, model.pools());
        assertEquals(model, new Decoder(out.toArray()).all(element));
        tryMutations(new Sample(out.toArray(), element));
      }
    }
  }

  @Test
  void requests() throws Exception {
    try (SharedMemory first = SharedMemory.allocate(MemoryKind.ASHMEM, 100);
        SharedMemory second = SharedMemory.allocate(MemoryKind.ASHMEM, 60)) {
      DeviceBuffer buffer = new TokenBuffer(7);
      for (int i = 0; i < ROUNDS; i++) {
        List<MemoryPool> pools =
            some(
                4,
                () ->
                    random.nextBoolean()
                        ? new MemoryPool.Shared(one(List.of(first, second)))
                        : new MemoryPool.Device(buffer));
        List<SharedMemory> memories = new ArrayList<>();
        pools.forEach(
            pool -> {
              if (pool instanceof MemoryPool.Shared(SharedMemory memory)) {
                memories.add(memory);
              }
            });
        Request request = new Request(some(4, this::argument), some(4, this::argument), pools);
        Encoder out = new Encoder();
        ExecutionCodec.write(out, request, memories, DeviceBuffer::token);
        Decoder.Element<Request> element =
            in -> ExecutionCodec.request(in, memories, token -> buffer);
        assertEquals(request, new Decoder(out.toArray()).all(element));
        tryMutations(new Sample(out.toArray(), element));
      }
    }
  }

  private Request.Argument argument() {
    return random.nextInt(4) == 0
        ? Request.Argument.NO_VALUE
        : new Request.Location(random.nextInt(), random.nextLong(), random.nextLong(), shape());
  }

  private Duration duration() {
    return Duration.ofSeconds(random.nextInt(1000), random.nextInt(1_000_000_000));
  }

  private Timing timing() {
    return switch (random.nextInt(3)) {
      case 0 -> Timing.NONE;
      case 1 -> new Timing(Optional.empty(), Optional.of(duration()));
      default -> Timing.of(duration(), duration());
    };
  }

  @Test
  void settingsAndResults() throws Exception {
    for (int i = 0; i < ROUNDS; i++) {
      ExecutionConfig config =
          ExecutionConfig.DEFAULT
              .withLoopTimeout(Duration.ofMillis(random.nextInt(10_000)))
              .withDuration(duration())
              .withMeasureTiming(random.nextBoolean());
      Encoder settings = new Encoder();
      ExecutionCodec.write(settings, config);
      Decoder.Element<ExecutionConfig> reading =
          in -> ExecutionCodec.config(in, ExecutionControl.NONE);
      assertEquals(config, new Decoder(settings.toArray()).all(reading));
      tryMutations(new Sample(settings.toArray(), reading));

      ExecutionResult result = result();
      Encoder out = new Encoder();
      ExecutionCodec.write(out, result);
      assertEquals(result, new Decoder(out.toArray()).all(ExecutionCodec::result));
      tryMutations(new Sample(out.toArray(), ExecutionCodec::result));
    }
  }

  private ExecutionResult result() {
    List<OutputShape> shapes = some(3, () -> new OutputShape(shape(), random.nextBoolean()));
    return switch (random.nextInt(3)) {
      case 0 ->
          new ExecutionResult.Completed(shapes, timing(), random.nextLong(), random.nextLong());
      case 1 -> new ExecutionResult.OutputInsufficientSize(shapes);
      default ->
          new ExecutionResult.Failed(
              ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, text(), timing().inDriver());
    };
  }

  @Test
  void facts() throws Exception {
    for (int i = 0; i < ROUNDS; i++) {
      PerformanceInfo performance = PerformanceInfo.of(random.nextFloat());
      DeviceInfo info =
          DeviceInfo.builder(text(), text())
              .type(one(List.of(DeviceType.values())))
              .featureLevel(one(List.of(FeatureLevel.values())))
              .capabilities(
                  new Capabilities(
                      performance,
                      PerformanceInfo.UNSUPPORTED,
                      Map.of(OperandCode.TENSOR_FLOAT32, performance),
                      performance,
                      performance))
              .cacheNeeds(new CacheNeeds(random.nextInt(), random.nextInt()))
              .memoryKinds(EnumSet.of(MemoryKind.ASHMEM, MemoryKind.MMAP_FD))
              .memoryDomain(random.nextBoolean())
              .extensions(Set.of("com.acme", "io.thalamus"))
              .exactQuantized(random.nextBoolean())
              .pointerArguments(random.nextBoolean())
              .cacheSharedByPriorities(random.nextBoolean())
              .build();
      Encoder out = new Encoder();
      DeviceCodec.write(out, info);
      assertEquals(info, new Decoder(out.toArray()).all(DeviceCodec::info));
      tryMutations(new Sample(out.toArray(), DeviceCodec::info));
    }
  }

  @Test
  void properties() throws Exception {
    Map<String, Object> properties =
        Map.of(
            "text",
            "x",
            "truth",
            true,
            "int",
            3,
            "long",
            4L,
            "float",
            0.5f,
            "double",
            0.1,
            "byte",
            (byte) -5,
            "short",
            (short) 6,
            "character",
            'ä',
            "list",
            List.of("b", 7));
    Encoder out = new Encoder();
    DeviceCodec.write(out, properties);
    assertEquals(properties, new Decoder(out.toArray()).all(DeviceCodec::properties));
    Encoder arrays = new Encoder();
    DeviceCodec.write(
        arrays,
        Map.of(
            "texts", new String[] {"a", ""},
            "numbers", new double[] {0.1, -0.0},
            "boxed", new Integer[] {8},
            "unknown", new Object(),
            "nested", List.of(List.of())));
    Map<String, Object> read = new Decoder(arrays.toArray()).all(DeviceCodec::properties);
    assertEquals(Set.of("texts", "numbers", "boxed"), read.keySet());
    assertArrayEquals(new String[] {"a", ""}, (String[]) read.get("texts"));
    assertArrayEquals(new double[] {0.1, -0.0}, (double[]) read.get("numbers"));
    assertArrayEquals(new Integer[] {8}, (Integer[]) read.get("boxed"));
    for (int i = 0; i < ROUNDS; i++) {
      tryMutations(new Sample(out.toArray(), DeviceCodec::properties));
      tryMutations(new Sample(arrays.toArray(), DeviceCodec::properties));
    }
  }

  @Test
  void handles() throws Exception {
    SharedMemoryHandle handle =
        new SharedMemoryHandle(MemoryKind.MMAP_FD, Path.of("/proc/1/fd/3"), 4096, 17, true);
    Encoder out = new Encoder();
    MemoryCodec.write(out, handle);
    assertEquals(handle, new Decoder(out.toArray()).all(MemoryCodec::handle));
    for (int i = 0; i < ROUNDS; i++) {
      tryMutations(new Sample(out.toArray(), MemoryCodec::handle));
    }
  }

  @Test
  void garbage() {
    for (int i = 0; i < 20 * ROUNDS; i++) {
      byte[] bytes = new byte[random.nextInt(200)];
      random.nextBytes(bytes);
      tryMutations(new Sample(bytes, in -> ModelCodec.read(in, List.of())));
      tryMutations(new Sample(bytes, DeviceCodec::info));
    }
  }

  /** A count in a message takes no memory before its elements are there. */
  @Test
  void countsArePromisesOnly() {
    byte[] bytes = new Encoder().int32(Integer.MAX_VALUE).int32(1).toArray();
    assertThrows(WireFormatException.class, () -> new Decoder(bytes).ints());
    assertThrows(WireFormatException.class, () -> new Decoder(bytes).bytes());
    assertThrows(WireFormatException.class, () -> new Decoder(bytes).list(Decoder::int8));
    assertThrows(
        WireFormatException.class,
        () -> new Decoder(new Encoder().int32(-1).toArray()).list(Decoder::int8));
  }

  private record TokenBuffer(int token) implements DeviceBuffer {
    @Override
    public void copyTo(SharedMemory destination) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void copyFrom(SharedMemory source, Shape shape) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      // It holds nothing.
    }
  }
}
