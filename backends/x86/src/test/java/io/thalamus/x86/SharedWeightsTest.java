// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.tck.check.TestGraph;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Compilations of a model for other dimensions, which have its weights together. */
class SharedWeightsTest {
  private static final int UNITS = 256;
  private static final int ROWS = 40;
  private static final int TRIES = 60;

  private final long seed = Long.getLong("thalamus.seed", 1);
  private final Random random = new Random(seed);
  private X86Device device;

  @BeforeEach
  void open() {
    System.out.println("SharedWeightsTest seed " + seed);
    device = new X86Device("1.0.0", 2);
  }

  @AfterEach
  void close() {
    device.close();
  }

  private byte[] bytes(int count) {
    byte[] bytes = new byte[count];
    random.nextBytes(bytes);
    return bytes;
  }

  private byte[] floats(int count) {
    float[] numbers = new float[count];
    for (int i = 0; i < count; i++) {
      numbers[i] = random.nextFloat() - 0.5f;
    }
    return TestGraph.bytes(numbers);
  }

  private static ConstantReference in(SharedMemory memory) {
    return new ConstantReference(memory, 0, memory.size());
  }

  /** The rows of a table by indexes, times weights. */
  private static Model floatModel(int rows, Constant table, Constant weights, Constant bias) {
    SubgraphBuilder graph = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    int indexes = graph.input("i", OperandCode.TENSOR_INT32, Shape.of(rows), Quantization.NONE);
    int all = graph.constant("", type, Shape.of(ROWS, UNITS), Quantization.NONE, table);
    int some = graph.temporary("", type, Shape.of(rows, UNITS), Quantization.NONE);
    int matrix = graph.constant("", type, Shape.of(UNITS, UNITS), Quantization.NONE, weights);
    int sums = graph.constant("", type, Shape.of(UNITS), Quantization.NONE, bias);
    int y = graph.output("y", type, Shape.of(rows, UNITS), Quantization.NONE);
    graph.operation(OperationCode.GATHER, List.of(all, graph.int32(0), indexes), List.of(some));
    graph.operation(
        OperationCode.FULLY_CONNECTED, List.of(some, matrix, sums, graph.int32(0)), List.of(y));
    return Model.of(graph.build());
  }

  private static Model byteModel(int rows, Constant weights, Constant bias) {
    SubgraphBuilder graph = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    int x = graph.input("x", type, Shape.of(rows, UNITS), Quantization.of(0.1f, 3));
    int matrix =
        graph.constant("", type, Shape.of(UNITS, UNITS), Quantization.of(0.1f, 0), weights);
    int sums =
        graph.constant(
            "", OperandCode.TENSOR_INT32, Shape.of(UNITS), Quantization.of(0.01f, 0), bias);
    int y = graph.output("y", type, Shape.of(rows, UNITS), Quantization.of(20, 1));
    graph.operation(
        OperationCode.FULLY_CONNECTED, List.of(x, matrix, sums, graph.int32(0)), List.of(y));
    return Model.of(graph.build());
  }

  private byte[] indexes(int rows) {
    int[] indexes = new int[rows];
    for (int i = 0; i < rows; i++) {
      indexes[i] = random.nextInt(ROWS);
    }
    return TestGraph.bytes(indexes);
  }

  private static byte[] run(PreparedModel prepared, Model model, byte[] input) {
    return TestGraph.run(prepared, model.main(), input).getFirst();
  }

  /** Runs a model on a device that has seen no other. */
  private static byte[] alone(Model model, byte[] input) throws DeviceException {
    try (X86Device other = new X86Device("1.0.0", 1)) {
      return TestGraph.run(other, model, input);
    }
  }

  @Test
  void twoLengthsHoldTheWeightsOnceUntilBothAreClosed() throws Exception {
    try (SharedMemory table = SharedMemory.copyOf(MemorySegment.ofArray(floats(ROWS * UNITS)))) {
      Constant weights = new ConstantCopy(floats(UNITS * UNITS));
      byte[] bias = floats(UNITS);
      Model five = floatModel(5, in(table), weights, new ConstantCopy(bias));
      // Readers make the sum of a layer and a constant for each length.
      Model nine = floatModel(9, in(table), weights, new ConstantCopy(bias.clone()));
      PreparedModel first = device.prepare(five, PrepareConfig.DEFAULT);
      long held = device.weights().bytes();
      assertTrue(held >= UNITS * UNITS * Float.BYTES, "held " + held);
      PreparedModel second = device.prepare(nine, PrepareConfig.DEFAULT);
      assertEquals(held, device.weights().bytes());
      byte[] input = indexes(9);
      first.close();
      assertEquals(held, device.weights().bytes());
      TestGraph.assertSame(alone(nine, input), run(second, nine, input), "after the other");
      second.close();
      assertEquals(0, device.weights().bytes());
    }
  }

  @Test
  void eachLengthHasTheBitsOfADeviceOfItsOwn() throws Exception {
    try (SharedMemory table = SharedMemory.copyOf(MemorySegment.ofArray(floats(ROWS * UNITS)));
        ExecutorService threads = Executors.newFixedThreadPool(4)) {
      Constant weights = new ConstantCopy(floats(UNITS * UNITS));
      Constant bias = new ConstantCopy(floats(UNITS));
      Constant bytes = new ConstantCopy(bytes(UNITS * UNITS));
      Constant sums = new ConstantCopy(TestGraph.bytes(random.ints(UNITS, 0, 9).toArray()));
      List<Callable<Void>> tries = new ArrayList<>();
      for (int i = 0; i < TRIES; i++) {
        int rows = 1 + random.nextInt(30);
        boolean isFloat = random.nextBoolean();
        Model model =
            isFloat ? floatModel(rows, in(table), weights, bias) : byteModel(rows, bytes, sums);
        byte[] input = isFloat ? indexes(rows) : bytes(rows * UNITS);
        String name = "seed " + seed + ", " + rows + " rows";
        tries.add(
            () -> {
              byte[] wanted = alone(model, input);
              try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
                TestGraph.assertSame(wanted, run(prepared, model, input), name);
                TestGraph.assertSame(wanted, run(prepared, model, input), name);
              }
              return null;
            });
      }
      for (Future<Void> each : threads.invokeAll(tries)) {
        each.get();
      }
    }
    assertEquals(0, device.weights().bytes());
  }

  /** What stands in the place of something else is packed anew; so is what others may write. */
  @Test
  void otherWeightsAreNotTakenForTheSame() throws Exception {
    Constant bias = new ConstantCopy(floats(UNITS));
    Constant table = new ConstantCopy(floats(ROWS * UNITS));
    byte[] input = indexes(4);
    for (int i = 0; i < 8; i++) {
      try (SharedMemory memory =
          SharedMemory.copyOf(MemorySegment.ofArray(floats(UNITS * UNITS)))) {
        Model model = floatModel(4, table, in(memory), bias);
        TestGraph.assertSame(
            alone(model, input), TestGraph.run(device, model, input), "memory " + i);
      }
    }
    Constant weights = new ConstantCopy(floats(UNITS * UNITS));
    List<PreparedModel> open = new ArrayList<>();
    try (SharedMemory written =
        SharedMemory.allocate(MemoryKind.ASHMEM, (long) UNITS * UNITS * Float.BYTES)) {
      for (int i = 0; i < 4; i++) {
        written.segment().copyFrom(MemorySegment.ofArray(floats(UNITS * UNITS)));
        Model model = floatModel(4, table, in(written), bias);
        PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
        open.add(prepared);
        TestGraph.assertSame(alone(model, input), run(prepared, model, input), "written " + i);
        Model other = floatModel(4, table, weights, new ConstantCopy(floats(UNITS)));
        PreparedModel biased = device.prepare(other, PrepareConfig.DEFAULT);
        open.add(biased);
        TestGraph.assertSame(alone(other, input), run(biased, other, input), "bias " + i);
      }
    }
    open.forEach(PreparedModel::close);
    assertEquals(0, device.weights().bytes());
  }
}
