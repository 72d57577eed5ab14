// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ReadOptions;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Readings of one file for other dimensions hold the same constants, and nothing else. */
class MadeConstantsTest {
  private static final int UNITS = 32;
  private static final int LARGE = 1 << 10;
  private static final int INT8 = 3;

  private final OnnxReader reader = new OnnxReader();

  /** Two layers whose weights stand transposed and at any byte; the second has a factor too. */
  private static SharedMemory file(int seed) {
    Random random = new Random(seed);
    OnnxFileBuilder file = new OnnxFileBuilder().input("x", FLOAT, -1, UNITS);
    for (String name : List.of("w", "a_longer_name")) {
      float[] weights = new float[UNITS * UNITS];
      for (int i = 0; i < weights.length; i++) {
        weights[i] = random.nextFloat();
      }
      file.floats(name, new long[] {UNITS, UNITS}, weights);
    }
    float[] bias = new float[UNITS];
    for (int i = 0; i < UNITS; i++) {
      bias[i] = random.nextFloat();
    }
    byte[] bytes =
        file.floats("b", new long[] {UNITS}, bias)
            .node("MatMul", List.of("x", "w"), "one")
            .node("Add", List.of("one", "b"), "two")
            .node("MatMul", List.of("two", "a_longer_name"), "three")
            .node("Mul", List.of("three", "b"), "y")
            .output("y", FLOAT, -1, UNITS)
            .build();
    return SharedMemory.copyOf(MemorySegment.ofArray(bytes));
  }

  private static Model read(OnnxReader reader, SharedMemory file, int rows)
      throws ModelFormatException {
    Map<String, Shape> shapes = Map.of("x", Shape.of(rows, UNITS));
    return reader.read(file, ReadOptions.DEFAULT.withShapes(shapes)).model();
  }

  private static List<Constant> constants(Model model) {
    return model.main().operands().stream()
        .filter(operand -> operand.lifetime() instanceof Constant)
        .map(operand -> (Constant) operand.lifetime())
        .filter(constant -> constant.bytes().byteSize() >= LARGE)
        .toList();
  }

  private static byte[] array(Constant constant) {
    return ((ConstantCopy) constant).value();
  }

  @Test
  void anotherLengthHasTheSameArrays() throws Exception {
    try (SharedMemory file = file(1)) {
      List<Constant> first = constants(read(reader, file, 3));
      List<Constant> second = constants(read(reader, file, 5));
      assertEquals(2, first.size());
      // The second layer's weights are multiplied, and then its own.
      assertSame(array(first.get(0)), array(second.get(0)));
      assertEquals(first, second);
    }
  }

  /** Weights in 8 bits that stand transposed. */
  @Test
  void anotherLengthHasTheSameBytes() throws Exception {
    int[] weights = new Random(5).ints(UNITS * UNITS, -128, 128).toArray();
    byte[] bytes =
        new OnnxFileBuilder()
            .input("x", FLOAT, -1, UNITS)
            .bytes("w", INT8, new long[] {UNITS, UNITS}, weights)
            .floats("s", new long[0], 0.5f)
            .bytes("z", INT8, new long[0], 3)
            .node("QuantizeLinear", List.of("x", "s", "z"), "q")
            .node("DequantizeLinear", List.of("q", "s", "z"), "d")
            .node("DequantizeLinear", List.of("w", "s", "z"), "v")
            .node("MatMul", List.of("d", "v"), "m")
            .node("QuantizeLinear", List.of("m", "s", "z"), "p")
            .node("DequantizeLinear", List.of("p", "s", "z"), "y")
            .output("y", FLOAT, -1, UNITS)
            .build();
    try (SharedMemory file = SharedMemory.copyOf(MemorySegment.ofArray(bytes))) {
      List<Constant> first = constants(read(reader, file, 3));
      List<Constant> second = constants(read(reader, file, 5));
      assertEquals(1, first.size());
      assertEquals(UNITS * UNITS, array(first.getFirst()).length);
      assertSame(array(first.getFirst()), array(second.getFirst()));
    }
  }

  @Test
  void readersInManyThreadsFindWhatOneFindsAlone() throws Exception {
    List<SharedMemory> files = List.of(file(2), file(3));
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Callable<Void>> tries = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        SharedMemory file = files.get(i % 2);
        int rows = 1 + i / 8;
        tries.add(
            () -> {
              assertEquals(
                  constants(read(new OnnxReader(), file, rows)),
                  constants(read(reader, file, rows)));
              return null;
            });
      }
      for (Future<Void> each : threads.invokeAll(tries)) {
        each.get();
      }
    }
    files.forEach(SharedMemory::close);
  }

  @Test
  void theyGoWithTheMemoryOfTheFile() throws Exception {
    WeakReference<byte[]> array = read();
    for (int i = 0; i < 100 && array.get() != null; i++) {
      System.gc();
      Thread.sleep(10);
    }
    assertTrue(array.refersTo(null));
  }

  private WeakReference<byte[]> read() throws ModelFormatException {
    try (SharedMemory file = file(4)) {
      return new WeakReference<>(array(constants(read(reader, file, 2)).getFirst()));
    }
  }
}
