// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.WideTypes;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.OutcomeException;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Integers of 64 bits from ones of 32 and the reverse, by what Java's own casts make of them. */
class WideIntegersTest {
  private static final int ROUNDS = 40;

  private static final float[] FLOATS = {
    0, -0.5f, 1.9f, -1.9f, 127.5f, -128.5f, 255.9f, -32769, 40000.5f, 65536, 1e9f, -3e9f, 1e20f,
    Float.NaN
  };

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void eachNumberIsTheSame(Level level) throws Exception {
    Levels.assume(level);
    long seed = Long.getLong("thalamus.seed", 1);
    Random random = new Random(seed);
    try (X86Device device = new X86Device("1.0.0", 1)) {
      for (int round = 0; round < ROUNDS; round++) {
        int count = 1 + random.nextInt(200);
        ByteBuffer narrow = buffer(count * Integer.BYTES);
        ByteBuffer wide = buffer(count * Long.BYTES);
        for (int i = 0; i < count; i++) {
          int number =
              switch (random.nextInt(4)) {
                case 0 -> Integer.MIN_VALUE;
                case 1 -> Integer.MAX_VALUE;
                case 2 -> -random.nextInt(5);
                default -> random.nextInt();
              };
          narrow.putInt(i * Integer.BYTES, number);
          wide.putLong(i * Long.BYTES, number);
        }
        Model widened = cast(OperandCode.TENSOR_INT32, WideTypes.TENSOR_INT64, count);
        String what = "seed " + seed + ", round " + round;
        assertArrayEquals(
            wide.array(), GuardedProgram.run(device, level, widened, random, narrow.array()), what);
        Model narrowed = cast(WideTypes.TENSOR_INT64, OperandCode.TENSOR_INT32, count);
        assertArrayEquals(
            narrow.array(),
            GuardedProgram.run(device, level, narrowed, random, wide.array()),
            what);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "TENSOR_BOOL8, TENSOR_INT64",
    "TENSOR_QUANT8_ASYMM, TENSOR_INT64",
    "TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_INT64",
    "TENSOR_BOOL8, TENSOR_FLOAT32",
    "TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_INT32",
    "TENSOR_QUANT8_ASYMM, TENSOR_FLOAT32",
    "TENSOR_INT32, TENSOR_FLOAT32",
    "TENSOR_FLOAT32, TENSOR_INT32",
    "TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM",
    "TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM_SIGNED",
    "TENSOR_FLOAT32, TENSOR_FLOAT64",
    "TENSOR_FLOAT64, TENSOR_FLOAT32",
    "TENSOR_FLOAT32, TENSOR_QUANT16_SYMM",
    "TENSOR_FLOAT32, TENSOR_QUANT16_ASYMM",
    "TENSOR_QUANT16_SYMM, TENSOR_FLOAT32",
    "TENSOR_QUANT16_ASYMM, TENSOR_FLOAT32",
    "TENSOR_QUANT16_SYMM, TENSOR_INT32",
    "TENSOR_QUANT16_ASYMM, TENSOR_INT64",
    "TENSOR_QUANT16_SYMM, TENSOR_QUANT8_ASYMM_SIGNED",
    "TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT16_ASYMM",
    "TENSOR_INT32, TENSOR_QUANT16_SYMM",
    "TENSOR_INT32, TENSOR_QUANT16_ASYMM",
    "TENSOR_INT32, TENSOR_QUANT8_ASYMM",
    "TENSOR_INT32, TENSOR_QUANT8_ASYMM_SIGNED"
  })
  void otherNumbersAreThoseOfTheReference(String from, String to) throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    Random random = new Random(seed);
    try (X86Device device = new X86Device("1.0.0", 1);
        CpuDevice cpu = new CpuDevice("1.0.0")) {
      for (int count : new int[] {1, 2, 7, 8, 300}) {
        ByteBuffer numbers = buffer(count * type(from).elementSize());
        for (int i = 0; i < count; i++) {
          switch (from) {
            case "TENSOR_BOOL8" -> numbers.put((byte) random.nextInt(2));
            case "TENSOR_FLOAT32" -> numbers.putFloat(FLOATS[random.nextInt(FLOATS.length)]);
            case "TENSOR_FLOAT64" ->
                numbers.putDouble(FLOATS[random.nextInt(FLOATS.length)] * 1.000000071);
            case "TENSOR_INT32" -> numbers.putInt(random.nextInt());
            case "TENSOR_QUANT16_SYMM", "TENSOR_QUANT16_ASYMM" ->
                numbers.putShort((short) random.nextInt());
            default -> numbers.put((byte) random.nextInt());
          }
        }
        Model model = cast(type(from), type(to), count);
        assertTrue(device.supportedOperations(model).get(0));
        assertArrayEquals(
            TestGraph.run(cpu, model, numbers.array()),
            GuardedProgram.run(device, Level.AVX2, model, random, numbers.array()),
            "seed " + seed);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"0, 2147483648", "3, -2147483649", "4, 4294967296", "4, -9223372036854775808"})
  void theFirstBeyond32BitsIsNamed(int element, long number) throws Exception {
    ByteBuffer wide = buffer(5 * Long.BYTES);
    wide.putLong(element * Long.BYTES, number);
    wide.putLong(4 * Long.BYTES, number);
    try (X86Device device = new X86Device("1.0.0")) {
      Model model = cast(WideTypes.TENSOR_INT64, OperandCode.TENSOR_INT32, 5);
      OutcomeException failed =
          assertThrows(OutcomeException.class, () -> TestGraph.run(device, model, wide.array()));
      assertTrue(
          failed.getMessage().contains("element " + element + " is int64 beyond 32 bits"),
          failed.getMessage());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "TENSOR_INT32, TENSOR_INT64, 100000, true",
    "TENSOR_INT64, TENSOR_INT32, 65536, true",
    "TENSOR_INT64, TENSOR_INT32, 65537, false",
    "TENSOR_INT64, TENSOR_FLOAT32, 4, false",
    "TENSOR_FLOAT32, TENSOR_INT64, 4, false",
    "TENSOR_BOOL8, TENSOR_INT64, 4, true",
    "TENSOR_INT32, TENSOR_QUANT16_SYMM, 100000, true"
  })
  void theRestIsLeftToTheReference(String from, String to, int count, boolean isTaken)
      throws Exception {
    try (X86Device device = new X86Device("1.0.0")) {
      Model model = cast(type(from), type(to), count);
      assertEquals(isTaken, device.supportedOperations(model).get(0));
    }
  }

  /** NNAPI's plan gives operations of a type without a declared cost to the reference. */
  @ParameterizedTest
  @ValueSource(
      strings = {"TENSOR_INT64", "TENSOR_FLOAT64", "TENSOR_QUANT16_SYMM", "TENSOR_QUANT16_ASYMM"})
  void theirCostIsBelowTheReferences(String name) {
    OperandType type = type(name);
    try (X86Device device = new X86Device("1.0.0");
        CpuDevice cpu = new CpuDevice("1.0.0")) {
      float own = device.info().capabilities().of(type, false).execTime();
      float reference = cpu.info().capabilities().of(type, false).execTime();
      assertTrue(own < reference && reference < Float.MAX_VALUE, own + ", " + reference);
    }
  }

  private static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static OperandType type(String name) {
    return WideTypes.all().stream()
        .filter(type -> type.name().equals(name))
        .map(OperandType.class::cast)
        .findFirst()
        .orElseGet(() -> OperandCode.valueOf(name));
  }

  private static Model cast(OperandType from, OperandType to, int count) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = operand(graph, from, count, Lifetime.SUBGRAPH_INPUT);
    int output = operand(graph, to, count, Lifetime.SUBGRAPH_OUTPUT);
    graph.operation(ThalamusExtension.CAST, List.of(input), List.of(output));
    return Model.of(graph.build(List.of(input), List.of(output)));
  }

  private static int operand(
      SubgraphBuilder graph, OperandType type, int count, Lifetime lifetime) {
    boolean isStored = type.text().contains("QUANT");
    Quantization quantization = isStored ? Quantization.of(1, 0) : Quantization.NONE;
    return graph.operand(new Operand(type, Shape.of(count), quantization, lifetime, ""));
  }
}
