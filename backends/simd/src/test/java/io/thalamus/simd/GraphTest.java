// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.driver.StaticGraph;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whole graphs: what is fused, what shares a place, and how work is divided. */
class GraphTest {
  private static final Quantization NONE = Quantization.NONE;

  private final CpuDevice cpu = new CpuDevice("1.0.0");
  private final SimdDevice simd = Twins.device("vectors", WarmUp.Stage.ALWAYS_WARM);
  private final Seeded random = new Seeded(GraphTest.class);

  private float[] floats(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextFloat() * 2 - 1;
    }
    return values;
  }

  /** A convolution of 3 by 3 with padding SAME, as many channels out as in, into {@code output}. */
  private void convolution(
      TestGraph graph, int input, int channels, int activation, boolean depthwise, int output) {
    int filter =
        graph.constant(
            TENSOR_FLOAT32,
            NONE,
            TestGraph.bytes(floats(9 * channels * (depthwise ? 1 : channels))),
            depthwise ? new int[] {1, 3, 3, channels} : new int[] {channels, 3, 3, channels});
    int bias = graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(floats(channels)), channels);
    List<Integer> arguments = new ArrayList<>(List.of(input, filter, bias));
    for (int value : new int[] {1, 1, 1}) {
      arguments.add(graph.int32(value));
    }
    if (depthwise) {
      arguments.add(graph.int32(1));
    }
    arguments.add(graph.int32(activation));
    graph.operation(
        depthwise ? OperationCode.DEPTHWISE_CONV_2D : OperationCode.CONV_2D, arguments, output);
  }

  private static int temporary(TestGraph graph, int channels) {
    return graph.temporary(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
  }

  private int steps(Model model) throws Exception {
    StaticGraph graph = StaticGraph.resolve(model.main(), OperationCatalog.standard());
    return simd.compile(graph, PrepareConfig.DEFAULT).steps().size();
  }

  private void compare(Model model, float[] input, double tolerance) throws DeviceException {
    List<byte[]> expected = runAll(cpu.prepare(model, PrepareConfig.DEFAULT), model, input);
    List<byte[]> actual = runAll(simd.prepare(model, PrepareConfig.DEFAULT), model, input);
    for (int i = 0; i < expected.size(); i++) {
      float[] wanted = TestGraph.floats(expected.get(i));
      double largest = 0;
      for (float value : wanted) {
        largest = Math.max(largest, Math.abs(value));
      }
      assertArrayEquals(
          wanted, TestGraph.floats(actual.get(i)), (float) (tolerance * largest), "output " + i);
    }
  }

  private static List<byte[]> runAll(PreparedModel prepared, Model model, float[] input) {
    try (prepared) {
      return TestGraph.run(prepared, model.main(), TestGraph.bytes(input));
    }
  }

  @Test
  void anAdditionAndAnActivationBehindAConvolutionVanish() throws Exception {
    int channels = 19;
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      int first = temporary(graph, channels);
      int second = temporary(graph, channels);
      int sum = temporary(graph, channels);
      int output = graph.output(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      convolution(graph, input, channels, 1, false, first);
      convolution(graph, first, channels, 0, false, second);
      graph.operation(OperationCode.ADD, List.of(second, first, graph.int32(0)), sum);
      graph.operation(OperationCode.RELU6, List.of(sum), output);
      assertEquals(2, steps(graph.model()));
      compare(graph.model(), floats(30 * channels), 1e-5);
    }
  }

  @Test
  void aConstantThatIsAddedKeepsItsPlaceFromTheFirstStepOn() throws Exception {
    int channels = 16;
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      int first = temporary(graph, channels);
      int second = temporary(graph, channels);
      int third = temporary(graph, channels);
      int added =
          graph.constant(
              TENSOR_FLOAT32, NONE, TestGraph.bytes(floats(30 * channels)), 1, 5, 6, channels);
      int output = graph.output(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      convolution(graph, input, channels, 0, false, first);
      convolution(graph, first, channels, 0, false, second);
      convolution(graph, second, channels, 0, false, third);
      graph.operation(OperationCode.ADD, List.of(third, added, graph.int32(0)), output);
      assertEquals(3, steps(graph.model()));
      compare(graph.model(), floats(30 * channels), 1e-5);
    }
  }

  @Test
  void theLaterOfTwoConvolutionsTakesTheAddition() throws Exception {
    int channels = 16;
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      int first = temporary(graph, channels);
      int second = temporary(graph, channels);
      int output = graph.output(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      convolution(graph, input, channels, 0, false, first);
      convolution(graph, input, channels, 0, false, second);
      graph.operation(OperationCode.ADD, List.of(first, second, graph.int32(1)), output);
      assertEquals(2, steps(graph.model()));
      compare(graph.model(), floats(30 * channels), 1e-5);
    }
  }

  @Test
  void whatOthersReadIsNotFused() throws Exception {
    int channels = 8;
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      int first = temporary(graph, channels);
      int kept = graph.output(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      int sum = graph.output(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      int twice = graph.output(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      int activated = graph.output(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
      int bent = temporary(graph, channels);
      convolution(graph, input, channels, 0, false, kept);
      graph.operation(OperationCode.ADD, List.of(kept, input, graph.int32(0)), sum);
      convolution(graph, input, channels, 0, false, first);
      graph.operation(OperationCode.ADD, List.of(first, first, graph.int32(0)), twice);
      // An activation of its own comes before what is added.
      convolution(graph, input, channels, 1, true, bent);
      graph.operation(OperationCode.RELU6, List.of(bent), activated);
      assertEquals(6, steps(graph.model()));
      compare(graph.model(), floats(30 * channels), 1e-5);
    }
  }

  @Test
  void anOutputThatIsAnInputByAnotherNameIsCopied() throws Exception {
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, NONE, 2, 6);
      graph.operation(
          OperationCode.RESHAPE,
          List.of(input, graph.int32Vector(3, 4)),
          graph.output(TENSOR_FLOAT32, NONE, 3, 4));
      int constant = graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(floats(12)), 12);
      graph.operation(
          OperationCode.RESHAPE,
          List.of(constant, graph.int32Vector(6, 2)),
          graph.output(TENSOR_FLOAT32, NONE, 6, 2));
      assertEquals(0, steps(graph.model()));
      compare(graph.model(), floats(12), 0);
    }
  }

  /** A net of many forms. Each time another one, of the same size. */
  private Model net(TestGraph graph, int channels) {
    int input = graph.input(TENSOR_FLOAT32, NONE, 1, 5, 6, channels);
    List<Integer> values = new ArrayList<>(List.of(input));
    for (int i = 0; i < 12; i++) {
      int output = temporary(graph, channels);
      int a = values.get(random.nextInt(values.size()));
      int b = values.get(random.nextInt(values.size()));
      switch (random.nextInt(6)) {
        case 0, 1 -> convolution(graph, a, channels, random.nextInt(2), false, output);
        case 2 -> convolution(graph, a, channels, 3 * random.nextInt(2), true, output);
        case 3 -> graph.operation(OperationCode.RELU6, List.of(a), output);
        case 4 ->
            graph.operation(
                OperationCode.ADD, List.of(a, b, graph.int32(random.nextInt(2))), output);
        default -> graph.operation(OperationCode.LOGISTIC, List.of(a), output);
      }
      values.add(output);
    }
    int all = graph.output(TENSOR_FLOAT32, NONE, 1, 5, 6, channels * values.size());
    List<Integer> arguments = new ArrayList<>(values);
    arguments.add(graph.int32(3));
    graph.operation(OperationCode.CONCATENATION, arguments, all);
    return graph.model();
  }

  @Test
  void randomNetsFollowTheReference() throws Exception {
    for (int i = 0; i < 40; i++) {
      int channels = new int[] {1, 3, 8, 17}[i % 4];
      try (TestGraph graph = new TestGraph()) {
        compare(net(graph, channels), floats(30 * channels), 1e-4);
      }
    }
  }

  @Test
  void noDivisionOfTheWorkChangesABit() throws Exception {
    for (int i = 0; i < 20; i++) {
      int channels = new int[] {4, 15, 33}[i % 3];
      try (TestGraph graph = new TestGraph()) {
        Model model = net(graph, channels);
        byte[] input = TestGraph.bytes(floats(30 * channels));
        byte[] expected = null;
        for (int threads : new int[] {1, 2, 3, 7}) {
          for (long leastWork : new long[] {1, 50, 10_000}) {
            try (SimdDevice device = new SimdDevice("1.0.0", new Budget(threads, leastWork))) {
              byte[] actual = TestGraph.run(device, model, input);
              expected = expected == null ? actual : expected;
              TestGraph.assertSame(expected, actual, threads + " threads");
            }
          }
        }
      }
    }
  }

  @Test
  void deepProductsAreExactInParts() throws Exception {
    int[][] sizes = {
      {1, 1, 1500, 40, 1}, {9, 8, 300, 33, 3}, {5, 3, 700, 20, 3}, {2, 2, 64, 70, 5}
    };
    for (int[] size : sizes) {
      for (boolean extreme : new boolean[] {false, true}) {
        deepProduct(size[0], size[1], size[2], size[3], size[4], extreme);
      }
    }
  }

  private void deepProduct(
      int height, int width, int channels, int outputs, int window, boolean extreme)
      throws Exception {
    byte[] weights = new byte[outputs * window * window * channels];
    byte[] input = new byte[height * width * channels];
    int[] bias = new int[outputs];
    random.nextBytes(weights);
    random.nextBytes(input);
    if (extreme) {
      // All terms as large as they can be, of one sign.
      java.util.Arrays.fill(weights, (byte) 255);
      java.util.Arrays.fill(input, (byte) 255);
    }
    for (int i = 0; i < outputs; i++) {
      bias[i] = random.nextInt(2_000_000) - 1_000_000;
    }
    int zeroPoint = extreme ? 0 : 128;
    float terms = window * window * channels;
    try (TestGraph graph = new TestGraph()) {
      int in =
          graph.input(
              TENSOR_QUANT8_ASYMM, Quantization.of(0.5f, zeroPoint), 1, height, width, channels);
      int filter =
          graph.constant(
              TENSOR_QUANT8_ASYMM,
              Quantization.of(0.25f, zeroPoint),
              weights,
              outputs,
              window,
              window,
              channels);
      int biases =
          graph.constant(TENSOR_INT32, Quantization.of(0.125f, 0), TestGraph.bytes(bias), outputs);
      List<Integer> arguments = new ArrayList<>(List.of(in, filter, biases));
      for (int value : new int[] {1, 1, 1, 0}) {
        arguments.add(graph.int32(value));
      }
      float scale =
          extreme
              ? 0.125f * 255 * 255 * terms / 200
              : (float) (0.125 * 74 * 74 * Math.sqrt(terms) / 50);
      graph.operation(
          OperationCode.CONV_2D,
          arguments,
          graph.output(TENSOR_QUANT8_ASYMM, Quantization.of(scale, 10), 1, height, width, outputs));
      byte[] expected = TestGraph.run(cpu, graph.model(), input);
      for (Budget budget : new Budget[] {Budget.of(2), new Budget(2, 1)}) {
        try (SimdDevice device = new SimdDevice("1.0.0", budget)) {
          TestGraph.assertSame(
              expected,
              TestGraph.run(device, graph.model(), input),
              channels + " channels " + window + " extreme " + extreme);
        }
      }
    }
  }

  @Test
  void typesOfOthersAreNotClaimed() throws DeviceException {
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(OperandCode.TENSOR_FLOAT16, NONE, 1, 5);
      graph.operation(
          OperationCode.RELU, List.of(input), graph.output(OperandCode.TENSOR_FLOAT16, NONE, 1, 5));
      assertEquals(0, simd.supportedOperations(graph.model()).cardinality());
    }
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, NONE, 0, 5);
      graph.operation(OperationCode.RELU, List.of(input), graph.output(TENSOR_FLOAT32, NONE, 0, 5));
      assertEquals(0, simd.supportedOperations(graph.model()).cardinality(), "unknown shapes");
    }
  }
}
