// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.tck.check.TestGraph;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Lines along any axis brought to length 1, or divided by what is near: floats by the formula,
 * bytes as the reference has.
 */
class LengthsTest {
  private final Seeded random = new Seeded(LengthsTest.class);

  private int[] shape() {
    return new int[] {1 + random.nextInt(3), 1 + random.nextInt(9), 1 + random.nextInt(40)};
  }

  private static int stride(int[] shape, int axis) {
    return Arrays.stream(shape, axis + 1, shape.length).reduce(1, (a, b) -> a * b);
  }

  @Test
  void floatsFollowTheFormula() throws DeviceException {
    try (Twins simd = new Twins()) {
      for (int round = 0; round < 60; round++) {
        int[] shape = shape();
        int axis = random.nextInt(3);
        float[] values = new float[Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < values.length; i++) {
          values[i] = round % 10 == 0 ? 0 : (float) random.nextGaussian();
        }
        double[] wanted = new double[values.length];
        int stride = stride(shape, axis);
        for (int i = 0; i < values.length; i++) {
          int first = i - i / stride % shape[axis] * stride;
          double sum = 0;
          for (int k = 0; k < shape[axis]; k++) {
            sum += Math.pow(values[first + k * stride], 2);
          }
          wanted[i] = values[i] / Math.max(Math.sqrt(sum), 1e-6);
        }
        try (TestGraph graph = new TestGraph()) {
          graph.operation(
              OperationCode.L2_NORMALIZATION,
              List.of(graph.input(TENSOR_FLOAT32, Quantization.NONE, shape), graph.int32(axis)),
              graph.output(TENSOR_FLOAT32, Quantization.NONE, shape));
          String message = "round " + round;
          float[] got = TestGraph.floats(simd.run(graph.model(), message, TestGraph.bytes(values)));
          for (int i = 0; i < got.length; i++) {
            assertEquals(wanted[i], got[i], 1e-6, message + ", element " + i);
          }
        }
      }
    }
  }

  @Test
  void responsesFollowTheFormula() throws DeviceException {
    try (Twins simd = new Twins()) {
      for (int round = 0; round < 60; round++) {
        int[] shape = shape();
        shape[2] += round % 6 == 0 ? 250 : 0;
        int axis = random.nextInt(3);
        int radius = random.nextInt(7);
        float bias = random.nextFloat() + 0.5f;
        float alpha = random.nextFloat();
        float beta = new float[] {0.75f, 0.5f, 1.3f}[round % 3];
        float[] values = new float[Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < values.length; i++) {
          values[i] = (float) random.nextGaussian();
        }
        double[] wanted = new double[values.length];
        int stride = stride(shape, axis);
        for (int i = 0; i < values.length; i++) {
          int place = i / stride % shape[axis];
          double sum = 0;
          for (int k = Math.max(0, place - radius);
              k <= Math.min(shape[axis] - 1, place + radius);
              k++) {
            sum += Math.pow(values[i + (k - place) * stride], 2);
          }
          wanted[i] = values[i] * Math.pow(bias + alpha * sum, -beta);
        }
        try (TestGraph graph = new TestGraph()) {
          graph.operation(
              OperationCode.LOCAL_RESPONSE_NORMALIZATION,
              List.of(
                  graph.input(TENSOR_FLOAT32, Quantization.NONE, shape),
                  graph.int32(radius),
                  graph.float32(bias),
                  graph.float32(alpha),
                  graph.float32(beta),
                  graph.int32(axis)),
              graph.output(TENSOR_FLOAT32, Quantization.NONE, shape));
          String message = "round " + round;
          float[] got = TestGraph.floats(simd.run(graph.model(), message, TestGraph.bytes(values)));
          for (int i = 0; i < got.length; i++) {
            assertEquals(wanted[i], got[i], 1e-6, message + ", element " + i);
          }
        }
      }
    }
  }

  @Test
  void bytesEqualTheReference() throws DeviceException {
    CpuDevice cpu = new CpuDevice("1.0.0");
    try (Twins simd = new Twins()) {
      for (int round = 0; round < 60; round++) {
        int[] shape = shape();
        OperandCode type = random.nextBoolean() ? TENSOR_QUANT8_ASYMM : TENSOR_QUANT8_ASYMM_SIGNED;
        int least = type == TENSOR_QUANT8_ASYMM ? 0 : -128;
        byte[] values = new byte[Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
        random.nextBytes(values);
        try (TestGraph graph = new TestGraph()) {
          graph.operation(
              OperationCode.L2_NORMALIZATION,
              List.of(
                  graph.input(type, Quantization.of(0.1f, least + random.nextInt(256)), shape),
                  graph.int32(random.nextInt(3))),
              graph.output(type, Quantization.of(1f / 128, least + 128), shape));
          String message = "round " + round;
          TestGraph.assertSame(
              TestGraph.run(cpu, graph.model(), values),
              simd.run(graph.model(), message, values),
              message);
        }
      }
    }
  }
}
