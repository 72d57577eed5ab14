// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * NaN and infinities on their way through sums and fused clamps: NaN where the reference has NaN,
 * and the same infinity or bound where it has one. A NaN that a clamp turns into a number hides
 * from an application that its input was bad.
 */
@Widths
class NotFiniteTest {
  private static final float[] SPECIAL = {
    Float.NaN,
    Float.intBitsToFloat(0xFFC00000),
    Float.POSITIVE_INFINITY,
    Float.NEGATIVE_INFINITY,
    -0f
  };
  private static final int[] ACTIVATIONS = {0, 1, 3};

  private final Seeded random = new Seeded(NotFiniteTest.class);
  private int notANumber;

  private byte[] values(int count, boolean hasSpecial) {
    float[] floats = new float[count];
    for (int i = 0; i < count; i++) {
      floats[i] = (float) (random.nextGaussian() * 3);
    }
    for (int i = 0; hasSpecial && i <= count / 64; i++) {
      floats[random.nextInt(count)] = SPECIAL[random.nextInt(SPECIAL.length)];
    }
    return TestGraph.bytes(floats);
  }

  private int constant(TestGraph graph, int... shape) {
    int count = Arrays.stream(shape).reduce(1, (a, b) -> a * b);
    return graph.constant(TENSOR_FLOAT32, Quantization.NONE, values(count, false), shape);
  }

  private void check(TestGraph graph, String message, byte[]... inputs) throws DeviceException {
    float[] expected = run(new CpuDevice("1.0.0"), graph, inputs);
    for (WarmUp.Stage stage : List.of(WarmUp.Stage.ALWAYS_WARM, WarmUp.Stage.ALWAYS_COLD)) {
      float[] actual;
      try (SimdDevice simd = Twins.device("simd", stage)) {
        actual = run(simd, graph, inputs);
      }
      for (int i = 0; i < expected.length; i++) {
        String place = message + " " + stage + " element " + i;
        if (Float.isFinite(expected[i])) {
          assertEquals(expected[i], actual[i], 1e-3f, place);
        } else {
          assertEquals(expected[i], actual[i], place);
        }
        notANumber += Float.isNaN(expected[i]) ? 1 : 0;
      }
    }
  }

  private static float[] run(Device device, TestGraph graph, byte[]... inputs)
      throws DeviceException {
    return TestGraph.floats(TestGraph.run(device, graph.model(), inputs));
  }

  private static int[] scalars(TestGraph graph, int... values) {
    return Arrays.stream(values).map(graph::int32).toArray();
  }

  private static List<Integer> with(int[] scalars, Integer... operands) {
    List<Integer> arguments = new ArrayList<>(List.of(operands));
    Arrays.stream(scalars).forEach(arguments::add);
    return arguments;
  }

  @Test
  void convolutions() throws DeviceException {
    for (int channels : new int[] {1, 3, 16, 33, 100}) {
      for (int size : new int[] {1, 3}) {
        for (int activation : ACTIVATIONS) {
          try (TestGraph graph = new TestGraph()) {
            int in = graph.input(TENSOR_FLOAT32, Quantization.NONE, 1, 9, 7, 8);
            int filter = constant(graph, channels, size, size, 8);
            int bias = constant(graph, channels);
            graph.operation(
                OperationCode.CONV_2D,
                with(scalars(graph, 1, 1, 1, activation), in, filter, bias),
                graph.output(TENSOR_FLOAT32, Quantization.NONE, 1, 9, 7, channels));
            check(
                graph,
                "CONV_2D " + size + " to " + channels + " activation " + activation,
                values(9 * 7 * 8, true));
          }
        }
      }
    }
    assertTrue(notANumber > 1000, "NaN came out " + notANumber + " times only");
  }

  @Test
  void depthwiseConvolutions() throws DeviceException {
    for (int channels : new int[] {1, 3, 16, 33, 100}) {
      for (int size : new int[] {3, 5}) {
        for (int activation : ACTIVATIONS) {
          try (TestGraph graph = new TestGraph()) {
            int in = graph.input(TENSOR_FLOAT32, Quantization.NONE, 1, 9, 7, channels);
            int filter = constant(graph, 1, size, size, channels);
            int bias = constant(graph, channels);
            graph.operation(
                OperationCode.DEPTHWISE_CONV_2D,
                with(scalars(graph, 1, 1, 1, 1, activation), in, filter, bias),
                graph.output(TENSOR_FLOAT32, Quantization.NONE, 1, 9, 7, channels));
            check(
                graph,
                "DEPTHWISE_CONV_2D " + size + " of " + channels + " activation " + activation,
                values(9 * 7 * channels, true));
          }
        }
      }
    }
    assertTrue(notANumber > 1000, "NaN came out " + notANumber + " times only");
  }

  @Test
  void elementwise() throws DeviceException {
    for (OperationCode code :
        List.of(OperationCode.ADD, OperationCode.SUB, OperationCode.MUL, OperationCode.RELU)) {
      for (int activation : ACTIVATIONS) {
        try (TestGraph graph = new TestGraph()) {
          int first = graph.input(TENSOR_FLOAT32, Quantization.NONE, 5, 203);
          int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, 5, 203);
          if (code == OperationCode.RELU) {
            graph.operation(
                activation == 3 ? OperationCode.RELU6 : OperationCode.RELU, List.of(first), output);
            check(graph, code + " " + activation, values(5 * 203, true));
          } else {
            int second = graph.input(TENSOR_FLOAT32, Quantization.NONE, 5, 203);
            graph.operation(code, with(scalars(graph, activation), first, second), output);
            check(
                graph,
                code + " activation " + activation,
                values(5 * 203, true),
                values(5 * 203, true));
          }
        }
      }
    }
    assertTrue(notANumber > 30, "NaN came out " + notANumber + " times only");
  }

  @Test
  void poolings() throws DeviceException {
    for (OperationCode code : List.of(OperationCode.AVERAGE_POOL_2D, OperationCode.MAX_POOL_2D)) {
      for (int activation : ACTIVATIONS) {
        try (TestGraph graph = new TestGraph()) {
          int in = graph.input(TENSOR_FLOAT32, Quantization.NONE, 1, 8, 6, 37);
          graph.operation(
              code,
              with(scalars(graph, 1, 2, 2, 2, 2, activation), in),
              graph.output(TENSOR_FLOAT32, Quantization.NONE, 1, 4, 3, 37));
          check(graph, code + " activation " + activation, values(8 * 6 * 37, true));
        }
      }
    }
    assertTrue(notANumber > 10, "NaN came out " + notANumber + " times only");
  }
}
