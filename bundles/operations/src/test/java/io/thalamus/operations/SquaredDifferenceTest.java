// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.extension.Elementwise.QuantizedSquare;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The squared difference of stored integers. */
class SquaredDifferenceTest {
  private static QuantizedSquare square(float first, float second, float output)
      throws ValidationException {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(8);
    List<Integer> inputs =
        List.of(
            graph.input("a", TENSOR_QUANT8_ASYMM_SIGNED, shape, Quantization.of(first, 0)),
            graph.input("b", TENSOR_QUANT8_ASYMM_SIGNED, shape, Quantization.of(second, 0)));
    int result =
        graph.output("y", TENSOR_QUANT8_ASYMM_SIGNED, shape, Quantization.of(output, -128));
    OperationDefinition definition =
        OperationCatalog.standard().find(ThalamusExtension.SQUARED_DIFFERENCE).orElseThrow();
    OperationView view =
        OperationView.of(graph, ThalamusExtension.SQUARED_DIFFERENCE, inputs, List.of(result));
    return (QuantizedSquare) definition.resolve(view);
  }

  /** The result at 4 is 125.4997 in real numbers. */
  @Test
  void equalsTensorFlowLite220() throws ValidationException {
    QuantizedSquare square = square(0.028995378f, 0.02280494f, 0.122033104f);
    int[] first = {-29, -24, 109, -127, 110, 53, -116, -80};
    int[] second = {74, -81, 121, -21, 107, 100, -28, 20};
    int[] expected = {-125, 25, -24, -128, -2, -80, -126, -127};
    for (int i = 0; i < expected.length; i++) {
      int result = square.apply(first[i] + 128, second[i] + 24) - 128;
      assertEquals(expected[i], Math.clamp(result, Byte.MIN_VALUE, Byte.MAX_VALUE), "at " + i);
    }
  }

  /** Each input is rounded to a 64th of a step of the larger scale. */
  @Test
  void isNearTheRealResult() throws ValidationException {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("squared difference: seed " + seed);
    Random random = new Random(seed);
    for (int i = 0; i < 1000; i++) {
      float first = random.nextFloat(0.001f, 1);
      float second = random.nextFloat(0.001f, 1);
      float output = random.nextFloat(0.001f, 100);
      QuantizedSquare square = square(first, second, output);
      double off = Math.max(first, second) / 64;
      for (int j = 0; j < 100; j++) {
        int a = random.nextInt(-255, 256);
        int b = random.nextInt(-255, 256);
        double difference = Math.abs((double) a * first - (double) b * second);
        double most = (difference + off) * (difference + off) / output;
        double least = Math.max(0, difference - off) * Math.max(0, difference - off) / output;
        int result = square.apply(a, b);
        String what = "%d * %s, %d * %s to %s: %d".formatted(a, first, b, second, output, result);
        assertTrue(Math.min(result, 255) <= most + 1 && result >= Math.min(least, 255) - 1, what);
      }
    }
  }

  @Test
  void manyTooFineStepsAreBeyondTheType() throws ValidationException {
    QuantizedSquare square = square(1, 1, 1e-30f);
    assertEquals(0, square.apply(7, 7));
    assertTrue(square.apply(8, 7) > 255);
    assertTrue(square.apply(-255, 255) > 255);
  }
}
