// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Integers of all sizes in another scale, against the reference. */
@Widths
class RescaleTest {
  private static final List<OperandCode> INTEGERS =
      List.of(
          OperandCode.TENSOR_INT32,
          OperandCode.TENSOR_QUANT16_SYMM,
          OperandCode.TENSOR_QUANT8_ASYMM,
          OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);

  private static final int ROUNDS = 300;

  private final Seeded random = new Seeded(RescaleTest.class);

  private Quantization quantization(OperandCode type) {
    return switch (type) {
      case TENSOR_INT32 -> Quantization.NONE;
      case TENSOR_QUANT16_SYMM -> Quantization.of(0.1f, 0);
      default -> {
        IntRange range = IntRange.of(type);
        yield Quantization.of(0.1f, random.nextInt(range.min(), range.max() + 1));
      }
    };
  }

  private int[] numbers(int count) {
    int[] numbers = random.ints(count).map(x -> x >> random.nextInt(32)).toArray();
    for (int i = 0; i < count; i += 5) {
      numbers[i] = random.nextBoolean() ? Integer.MIN_VALUE : Integer.MAX_VALUE;
    }
    return numbers;
  }

  @Test
  void isTheReferences() throws DeviceException {
    try (CpuDevice cpu = new CpuDevice("1.0.0");
        Twins simd = new Twins()) {
      for (int round = 0; round < ROUNDS; round++) {
        int count = random.pick(1, 2, 7, 16, 33, 250, 5000);
        int shift = random.nextInt(-31, 31);
        int multiplier =
            random.pick(0, 1 << 30, Integer.MAX_VALUE, random.nextInt(1 << 30, Integer.MAX_VALUE));
        try (TestGraph graph = new TestGraph()) {
          OperandCode from = INTEGERS.get(random.nextInt(INTEGERS.size()));
          OperandCode to = INTEGERS.get(random.nextInt(INTEGERS.size()));
          graph.operation(
              ThalamusExtension.RESCALE,
              List.of(
                  graph.input(from, quantization(from), count),
                  graph.int32(multiplier),
                  graph.int32(shift)),
              graph.output(to, quantization(to), count));
          byte[] data =
              Arrays.copyOf(TestGraph.bytes(numbers(count)), count * Elements.of(from).size());
          String message =
              "round %d: %s to %s, %d, %d".formatted(round, from, to, multiplier, shift);
          byte[] expected = TestGraph.run(cpu, graph.model(), data);
          TestGraph.assertSame(expected, simd.run(graph.model(), message, data), message);
        }
      }
    }
  }
}
