// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.Quantization.NONE;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Layers whose activations are quantized while they run, to the bit. */
@Widths
class DynamicQuantizationTest {
  private static final int ROUNDS = 120;
  private static final Quantization PLAIN = Quantization.of(1, 0);
  private static final float[] SPECIAL = {
    -0f,
    Float.NaN,
    Float.POSITIVE_INFINITY,
    Float.NEGATIVE_INFINITY,
    Float.MAX_VALUE,
    -Float.MAX_VALUE,
    Float.MIN_VALUE,
    -382 * Float.MIN_VALUE
  };

  private final CpuDevice cpu = new CpuDevice("1.0.0");
  private final long seed = Long.getLong("thalamus.seed", 1);
  private final Random random = new Random(seed);

  /** Fills one graph by random numbers, and says what it is given. */
  @FunctionalInterface
  private interface Source {
    byte[] fill(TestGraph graph);
  }

  private void compare(Source source) throws DeviceException {
    try (Twins simd = new Twins()) {
      for (int round = 0; round < ROUNDS; round++) {
        try (TestGraph graph = new TestGraph()) {
          byte[] input = source.fill(graph);
          String message = "round " + round + ", seed " + seed;
          byte[] expected = TestGraph.run(cpu, graph.model(), input);
          TestGraph.assertSame(expected, simd.run(graph.model(), message, input), message);
        }
      }
    }
  }

  private byte[] bytes(int count) {
    byte[] bytes = new byte[count];
    random.nextBytes(bytes);
    return bytes;
  }

  @Test
  void whatIsFoundIsTheReferences() throws DeviceException {
    compare(
        graph -> {
          // The longest are several tiles.
          int[] shape = {
            1 + random.nextInt(3), 1 + random.nextInt(random.nextInt(4) == 0 ? 70_000 : 90)
          };
          // Each result in turn is what is compared.
          int observed = random.nextInt(3);
          int x = graph.input(TENSOR_FLOAT32, NONE, shape);
          List<Integer> results = new ArrayList<>();
          for (int i = 0; i < 3; i++) {
            OperandCode type = i == 1 ? TENSOR_FLOAT32 : TENSOR_QUANT8_ASYMM;
            Quantization quantization = i == 1 ? NONE : PLAIN;
            int[] own = i == 0 ? shape : new int[] {1};
            results.add(
                i == observed
                    ? graph.output(type, quantization, own)
                    : graph.temporary(type, quantization, own));
          }
          graph.operation(ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR, List.of(x), results);
          return TestGraph.bytes(floats(shape[0] * shape[1]));
        });
  }

  private float[] floats(int count) {
    float[] values = new float[count];
    float scale = (float) Math.pow(10, random.nextInt(9) - 4);
    float offset = random.nextInt(5) - 2;
    if (random.nextInt(10) > 0) {
      for (int i = 0; i < count; i++) {
        // Some lie in the middle between two steps.
        values[i] =
            random.nextInt(8) == 0
                ? scale * random.nextInt(3)
                : (random.nextFloat() * 2 - 1 + offset) * scale;
      }
    }
    for (int i = random.nextInt(6); i < 3; i++) {
      values[random.nextInt(count)] = SPECIAL[random.nextInt(SPECIAL.length)];
    }
    return values;
  }

  @Test
  void sumsOfProductsAreExact() throws DeviceException {
    compare(
        graph -> {
          OperandCode type = type();
          OperandCode ofWeights = type();
          int size = 1 + random.nextInt(random.nextInt(4) == 0 ? 700 : 40);
          int units = 1 + random.nextInt(random.nextInt(4) == 0 ? 150 : 40);
          int batches = 1 + random.nextInt(3);
          int rows = 1 + random.nextInt(20);
          int x = graph.input(type, quantization(type), batches, rows, size);
          byte[] weights = bytes(size * units);
          if (random.nextInt(3) == 0) {
            // Those that are summed in fewer parts.
            for (int i = 0; i < weights.length; i++) {
              weights[i] /= 4;
            }
          }
          int w = graph.constant(ofWeights, quantization(ofWeights), weights, size, units);
          int output = graph.output(TENSOR_INT32, NONE, batches, rows, units);
          graph.operation(ThalamusExtension.MATMUL_INTEGER, List.of(x, w), output);
          return bytes(batches * rows * size);
        });
  }

  private OperandCode type() {
    return random.nextBoolean() ? TENSOR_QUANT8_ASYMM : TENSOR_QUANT8_ASYMM_SIGNED;
  }

  private Quantization quantization(OperandCode type) {
    IntRange range = IntRange.of(type);
    return Quantization.of(
        1, random.nextInt(3) == 0 ? range.min() + random.nextInt(256) : Math.max(range.min(), 0));
  }
}
