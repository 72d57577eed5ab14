// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cache.FileCacheEngine;
import io.thalamus.driver.BurstSource;
import io.thalamus.hal.CacheFile;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.CacheToken;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs that come from the cache: the same answers, of the bytes that were stored, or none. */
class CachingTest {
  private static final int SIDE = 6;
  private static final int CHANNELS = 8;
  private static final CacheToken TOKEN = CacheToken.of(new byte[CacheToken.SIZE]);

  @TempDir Path folder;
  private FileCacheEngine engine;
  private SimdDevice device;

  @BeforeEach
  void open() {
    engine = new FileCacheEngine(folder.resolve("engine"), "io.thalamus.simd");
    device = device("1.0.0");
  }

  private SimdDevice device(String version) {
    return new SimdDevice(version, 1, engine, BurstSource.NONE);
  }

  @AfterEach
  void close() {
    device.close();
    engine.close();
  }

  /** The files of one compilation. */
  private record Stored(Path modelCache, Path dataCache) {
    static Stored in(Path folder) throws IOException {
      return new Stored(
          Files.createFile(folder.resolve("model")), Files.createFile(folder.resolve("data")));
    }

    PrepareConfig config() {
      return PrepareConfig.DEFAULT.with(
          new PrepareConfig.Cache(List.of(open(modelCache)), List.of(open(dataCache)), TOKEN));
    }

    private static CacheFile open(Path path) {
      return new OpenFile(path, channel(path));
    }

    private static FileChannel channel(Path path) {
      try {
        return FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private record OpenFile(Path path, FileChannel channel) implements CacheFile {
    @Override
    public CacheFile duplicate() {
      return new OpenFile(path, Stored.channel(path));
    }

    @Override
    public void abandon(IOException cause) {}

    @Override
    public void close() {
      try {
        channel.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static byte[] random(int seed, int count) {
    byte[] bytes = new byte[count];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static int constant(
      SubgraphBuilder graph,
      OperandCode type,
      Shape shape,
      Quantization quantization,
      byte[] value) {
    return graph.constant("", type, shape, quantization, new Lifetime.ConstantCopy(value));
  }

  /** A convolution, an addition of a constant that is read from the frame, a depthwise layer. */
  private static Model quantized() {
    SubgraphBuilder graph = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    Quantization input = Quantization.of(0.5f, 3);
    Quantization weights = Quantization.of(0.02f, 0);
    Shape image = Shape.of(1, SIDE, SIDE, CHANNELS);
    int in = graph.input("", type, image, input);
    int one = graph.int32(1);
    int none = graph.int32(0);
    int[] values = new int[3];
    for (int i = 0; i < values.length; i++) {
      values[i] = graph.temporary("", type, image, input);
    }
    int filter =
        constant(
            graph,
            type,
            Shape.of(CHANNELS, 3, 3, CHANNELS),
            weights,
            random(1, CHANNELS * 9 * CHANNELS));
    int bias =
        constant(
            graph,
            OperandCode.TENSOR_INT32,
            Shape.of(CHANNELS),
            Quantization.of(0.01f, 0),
            new byte[CHANNELS * Integer.BYTES]);
    graph.operation(
        OperationCode.CONV_2D, List.of(in, filter, bias, one, one, one, none), List.of(values[0]));
    int constant = constant(graph, type, image, input, random(2, SIDE * SIDE * CHANNELS));
    graph.operation(OperationCode.ADD, List.of(values[0], constant, none), List.of(values[1]));
    int taps = constant(graph, type, Shape.of(1, 3, 3, CHANNELS), weights, random(3, 9 * CHANNELS));
    graph.operation(
        OperationCode.DEPTHWISE_CONV_2D,
        List.of(values[1], taps, bias, one, one, one, one, none),
        List.of(values[2]));
    int out = graph.output("", type, Shape.of(1, CHANNELS), input);
    int axes =
        constant(
            graph,
            OperandCode.TENSOR_INT32,
            Shape.of(2),
            Quantization.NONE,
            new byte[] {1, 0, 0, 0, 2, 0, 0, 0});
    int mean = graph.temporary("", type, Shape.of(1, CHANNELS), input);
    graph.operation(OperationCode.MEAN, List.of(values[2], axes, none), List.of(mean));
    int square = constant(graph, type, Shape.of(CHANNELS, CHANNELS), weights, random(4, 64));
    graph.operation(OperationCode.FULLY_CONNECTED, List.of(mean, square, bias, none), List.of(out));
    return Model.of(graph.build());
  }

  private static byte[] run(PreparedModel model, int seed) {
    int length = SIDE * SIDE * CHANNELS;
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, length + CHANNELS)) {
      memory.segment().asSlice(0, length).copyFrom(MemorySegment.ofArray(random(seed, length)));
      Request request =
          new Request(
              List.of(new Location(0, 0, length, Shape.NONE)),
              List.of(new Location(0, length, CHANNELS, Shape.NONE)),
              List.of(new MemoryPool.Shared(memory)));
      assertEquals(ErrorStatus.NONE, model.execute(request, ExecutionConfig.DEFAULT).status());
      return memory.segment().asSlice(length).toArray(ValueLayout.JAVA_BYTE);
    }
  }

  @Test
  void aRestoredProgramGivesTheBitsOfTheOriginal() throws Exception {
    Stored stored = Stored.in(folder);
    try (PreparedModel original = device.prepare(quantized(), stored.config());
        SimdDevice other = device("1.0.0");
        PreparedModel restored = other.prepareFromCache(stored.config())) {
      assertTrue(Files.size(stored.modelCache()) > 0);
      for (int seed = 0; seed < 20; seed++) {
        assertArrayEquals(run(original, seed), run(restored, seed), "seed " + seed);
      }
    }
  }

  /** The data cache is read once, into memory that nobody else can write. */
  @Test
  void filesThatChangeAfterwardsChangeNothing() throws Exception {
    Stored stored = Stored.in(folder);
    try (PreparedModel original = device.prepare(quantized(), stored.config());
        PreparedModel restored = device.prepareFromCache(stored.config())) {
      Files.write(stored.dataCache(), new byte[(int) Files.size(stored.dataCache())]);
      assertArrayEquals(run(original, 1), run(restored, 1));
    }
  }

  /** Every byte of both files, one after the other. */
  @Test
  void noByteCanChangeUnseen() throws Exception {
    Stored stored = Stored.in(folder);
    device.prepare(quantized(), stored.config()).close();
    Random random = new Random(7);
    for (Path file : List.of(stored.modelCache(), stored.dataCache())) {
      byte[] good = Files.readAllBytes(file);
      for (int i = 0; i < good.length; i++) {
        byte[] bad = good.clone();
        bad[i] ^= (byte) (1 << random.nextInt(8));
        Files.write(file, bad);
        DeviceException refused =
            assertThrows(
                DeviceException.class,
                () -> device.prepareFromCache(stored.config()),
                file + " " + i);
        assertEquals(ErrorStatus.GENERAL_FAILURE, refused.status());
      }
      Files.write(file, good);
    }
    device.prepareFromCache(stored.config()).close();
  }

  @Test
  void anotherVersionIsRefused() throws Exception {
    Stored stored = Stored.in(folder);
    device.prepare(quantized(), stored.config()).close();
    try (SimdDevice newer = device("1.0.1")) {
      DeviceException refused =
          assertThrows(DeviceException.class, () -> newer.prepareFromCache(stored.config()));
      assertEquals(ErrorStatus.GENERAL_FAILURE, refused.status());
      assertTrue(refused.getMessage().contains("another version"), refused.getMessage());
    }
  }

  /** The packed form takes the place of the weights: they are not stored twice. */
  @Test
  void packedWeightsAreStoredOnce() throws Exception {
    Stored stored = Stored.in(folder);
    device.prepare(quantized(), stored.config()).close();
    byte[] filter = random(1, CHANNELS * 9 * CHANNELS);
    byte[] data = Files.readAllBytes(stored.dataCache());
    byte[] start = Arrays.copyOf(filter, 16);
    for (int i = 0; i + 16 <= data.length; i++) {
      assertTrue(Arrays.mismatch(data, i, i + 16, start, 0, 16) >= 0, "the filter stands at " + i);
    }
  }
}
