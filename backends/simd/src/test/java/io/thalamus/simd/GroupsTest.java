// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Convolutions of groups of channels, and slopes of channels of stored bytes. */
class GroupsTest {
  private final Seeded random = new Seeded(GroupsTest.class);
  private final Twins simd = new Twins();
  private final CpuDevice cpu = new CpuDevice("1.0.0");

  @AfterEach
  void close() {
    simd.close();
    cpu.close();
  }

  /** Windows reach beyond the image on each side; half of the results are added to others. */
  @Test
  void groupsOfChannelsFollowTheFormula() throws DeviceException {
    for (int round = 0; round < 120; round++) {
      int groups = random.pick(2, 3, 4, 8);
      int channels = random.pick(1, 2, 5, 8, 17, 40);
      int units = random.pick(1, 3, 8, 16, 33);
      int[] input = {
        random.pick(1, 2), random.pick(3, 6, 11), random.pick(3, 7, 14), groups * channels
      };
      int side = random.pick(1, 2, 3);
      int stride = random.pick(1, 1, 2);
      int before = random.nextInt(side);
      int after = random.nextInt(side);
      int height = (input[1] + before + after - side) / stride + 1;
      int width = (input[2] + before + after - side) / stride + 1;
      int[] result = {input[0], height, width, groups * units};
      float[] values = random.floats(1, input[0] * input[1] * input[2] * input[3]);
      float[] filter = random.floats(0.1, groups * units * side * side * channels);
      float[] bias = random.floats(1, groups * units);
      float[] more = random.floats(1, result[0] * height * width * result[3]);
      boolean isAdded = random.nextBoolean();
      int activation = isAdded ? 0 : random.pick(0, 1, 3);
      float[] actual;
      try (TestGraph graph = new TestGraph()) {
        List<Integer> inputs = new ArrayList<>();
        inputs.add(graph.input(TENSOR_FLOAT32, Quantization.NONE, input));
        inputs.add(
            graph.constant(
                TENSOR_FLOAT32,
                Quantization.NONE,
                TestGraph.bytes(filter),
                groups * units,
                side,
                side,
                channels));
        inputs.add(
            graph.constant(
                TENSOR_FLOAT32, Quantization.NONE, TestGraph.bytes(bias), groups * units));
        for (int number : new int[] {before, after, before, after, stride, stride, groups}) {
          inputs.add(graph.int32(number));
        }
        inputs.add(graph.int32(activation));
        inputs.add(graph.bool(false));
        int other = graph.input(TENSOR_FLOAT32, Quantization.NONE, result);
        int sum = graph.output(TENSOR_FLOAT32, Quantization.NONE, result);
        int product = isAdded ? graph.temporary(TENSOR_FLOAT32, Quantization.NONE, result) : sum;
        graph.operation(OperationCode.GROUPED_CONV_2D, inputs, product);
        if (isAdded) {
          graph.operation(OperationCode.ADD, List.of(product, other, graph.int32(0)), sum);
        }
        actual =
            TestGraph.floats(
                simd.run(
                    graph.model(),
                    "round " + round,
                    TestGraph.bytes(values),
                    TestGraph.bytes(more)));
      }
      for (int i = 0; i < actual.length; i++) {
        int unit = i % result[3];
        int x = i / result[3] % width * stride - before;
        int y = i / result[3] / width % height * stride - before;
        int image = i / result[3] / width / height;
        double wanted = bias[unit];
        for (int tap = 0; tap < side * side * channels; tap++) {
          int column = x + tap / channels % side;
          int row = y + tap / channels / side;
          if (column >= 0 && column < input[2] && row >= 0 && row < input[1]) {
            int channel = unit / units * channels + tap % channels;
            int at = ((image * input[1] + row) * input[2] + column) * input[3] + channel;
            wanted += (double) values[at] * filter[unit * side * side * channels + tap];
          }
        }
        wanted = activation == 0 ? wanted : Math.max(0, wanted);
        wanted = activation == 3 ? Math.min(6, wanted) : wanted;
        assertEquals(isAdded ? wanted + more[i] : wanted, actual[i], 1e-4, "round " + round);
      }
    }
  }

  /** Factors above 1 too, which vectors do not take. */
  @Test
  void slopesOfStoredBytesEqualTheReference() throws DeviceException {
    for (int round = 0; round < 60; round++) {
      OperandCode type = round % 2 == 0 ? TENSOR_QUANT8_ASYMM : TENSOR_QUANT8_ASYMM_SIGNED;
      int middle = type == TENSOR_QUANT8_ASYMM ? 128 : 0;
      int[] shape = {random.pick(1, 4), random.pick(1, 9), random.pick(1, 3, 16, 41)};
      byte[] values = new byte[shape[0] * shape[1] * shape[2]];
      byte[] slopes = new byte[shape[2]];
      random.nextBytes(values);
      random.nextBytes(slopes);
      float scale = random.pick(1, 3) == 1 ? 0.5f : 3;
      try (TestGraph graph = new TestGraph()) {
        graph.operation(
            OperationCode.PRELU,
            List.of(
                graph.input(type, Quantization.of(scale, middle + 7), shape),
                graph.constant(type, Quantization.of(0.01f, middle - 5), slopes, shape[2])),
            graph.output(type, Quantization.of(1, middle + 3), shape));
        assertArrayEquals(
            TestGraph.run(cpu, graph.model(), values),
            simd.run(graph.model(), "round " + round, values),
            "round " + round);
      }
    }
  }
}
