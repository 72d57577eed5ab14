// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.Quantization;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Integers of all sizes in another scale, against the reference. */
@Tag("widths")
class RescaleTest {
  private static final int ROUNDS = 300;

  private final Seeded random = new Seeded(RescaleTest.class);

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
          graph.operation(
              ThalamusExtension.RESCALE,
              List.of(
                  graph.input(TENSOR_INT32, Quantization.NONE, count),
                  graph.int32(multiplier),
                  graph.int32(shift)),
              graph.output(TENSOR_INT32, Quantization.NONE, count));
          byte[] data = TestGraph.bytes(numbers(count));
          String message = "round %d: %d, %d".formatted(round, multiplier, shift);
          byte[] expected = TestGraph.run(cpu, graph.model(), data);
          TestGraph.assertSame(expected, simd.run(graph.model(), message, data), message);
        }
      }
    }
  }
}
