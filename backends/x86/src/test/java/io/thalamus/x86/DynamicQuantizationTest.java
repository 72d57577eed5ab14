// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.Quantization.NONE;
import static io.thalamus.x86.RandomGraphs.compare;
import static io.thalamus.x86.RandomGraphs.stored;
import static io.thalamus.x86.RandomGraphs.storedType;

import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Layers whose activations are quantized while they run, to the bit, between guard pages. */
class DynamicQuantizationTest {
  private static final Quantization PLAIN = Quantization.of(1, 0);

  @ParameterizedTest
  @EnumSource
  void whatIsFoundIsTheReferences(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          int rows = 1 + random.nextInt(3);
          int columns = 1 + random.nextInt(random.nextInt(4) == 0 ? 20_000 : 90);
          int[] shape = {rows, columns};
          int[] single = {1};
          // Each result in turn is what is compared.
          int observed = random.nextInt(3);
          int x = graph.input(TENSOR_FLOAT32, NONE, shape);
          List<Integer> results = new ArrayList<>();
          for (int i = 0; i < 3; i++) {
            OperandCode type = i == 1 ? TENSOR_FLOAT32 : TENSOR_QUANT8_ASYMM;
            Quantization quantization = i == 1 ? NONE : PLAIN;
            int[] own = i == 0 ? shape : single;
            results.add(
                i == observed
                    ? graph.output(type, quantization, own)
                    : graph.temporary(type, quantization, own));
          }
          graph.operation(ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR, List.of(x), results);
          float scale = (float) Math.pow(10, random.nextInt(9) - 4);
          float offset = random.nextInt(5) - 2;
          float[] values = new float[rows * columns];
          boolean areZeros = random.nextInt(10) == 0;
          for (int i = 0; i < values.length && !areZeros; i++) {
            // Some lie in the middle between two steps.
            values[i] =
                random.nextInt(8) == 0
                    ? scale * random.nextInt(3)
                    : (random.nextFloat() * 2 - 1 + offset) * scale;
          }
          return new byte[][] {TestGraph.bytes(values)};
        });
  }

  @ParameterizedTest
  @EnumSource
  void sumsOfProductsAreExact(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          OperandCode type = storedType(random);
          OperandCode ofWeights = storedType(random);
          int size = 1 + random.nextInt(random.nextInt(4) == 0 ? 700 : 40);
          int units = 1 + random.nextInt(random.nextInt(4) == 0 ? 150 : 40);
          int batches = 1 + random.nextInt(3);
          int rows = 1 + random.nextInt(20);
          int x = graph.input(type, quantization(random, type), batches, rows, size);
          byte[] weights = stored(random, size * units);
          if (random.nextInt(3) == 0) {
            // Those that never saturate, and are multiplied otherwise.
            for (int i = 0; i < weights.length; i++) {
              weights[i] /= 4;
            }
          }
          int w = graph.constant(ofWeights, quantization(random, ofWeights), weights, size, units);
          int output = graph.output(TENSOR_INT32, NONE, batches, rows, units);
          graph.operation(ThalamusExtension.MATMUL_INTEGER, List.of(x, w), output);
          return new byte[][] {stored(random, batches, rows, size)};
        });
  }

  private static Quantization quantization(Random random, OperandCode type) {
    IntRange range = IntRange.of(type);
    return Quantization.of(
        1, random.nextInt(3) == 0 ? range.min() + random.nextInt(256) : Math.max(range.min(), 0));
  }
}
