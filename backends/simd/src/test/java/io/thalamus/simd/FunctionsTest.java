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
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Functions of floats against ones of double; pairs and stored bytes against the reference. */
class FunctionsTest {
  private static final float[] ENDS = {
    0, -0f, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.NaN, 88.7f, 88.8f, -87.3f, -104
  };

  private static final Map<OperationType, DoubleUnaryOperator> FUNCTIONS =
      Map.of(
          OperationCode.EXP, Math::exp,
          OperationCode.SQRT, Math::sqrt,
          OperationCode.RSQRT, x -> 1 / Math.sqrt(x),
          OperationCode.ABS, Math::abs,
          OperationCode.NEG, x -> -x,
          OperationCode.FLOOR, Math::floor);

  private final Seeded random = new Seeded(FunctionsTest.class);
  private final Twins simd = new Twins();
  private final CpuDevice cpu = new CpuDevice("1.0.0");

  @AfterEach
  void close() {
    simd.close();
    cpu.close();
  }

  private float[] floats(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) (random.nextGaussian() * Math.pow(10, random.nextInt(5) - 2));
    }
    System.arraycopy(ENDS, 0, values, 0, Math.min(count, ENDS.length));
    return values;
  }

  @Test
  void functionsAreThoseOfDouble() throws DeviceException {
    for (var function : FUNCTIONS.entrySet()) {
      for (int count : new int[] {1, 15, 16, 17, 3001}) {
        float[] values = floats(count);
        float[] results = unary(function.getKey(), values);
        for (int i = 0; i < count; i++) {
          float wanted = (float) function.getValue().applyAsDouble(values[i]);
          // Results that are no normal floats may be 0.
          float tolerance = Float.isFinite(wanted) ? 3e-7f * Math.abs(wanted) + 1.2e-38f : 0;
          assertEquals(wanted, results[i], tolerance, function.getKey() + " of " + values[i]);
        }
      }
    }
  }

  /** {@code erf} by its series, which is exact enough for arguments that are not large. */
  @Test
  void errorFunction() throws DeviceException {
    float[] values = floats(2000);
    float[] results = unary(ThalamusExtension.ERF, values);
    for (int i = 0; i < values.length; i++) {
      double x = values[i];
      double wanted = Math.signum(x);
      if (Math.abs(x) < 4) {
        double term = x;
        wanted = x;
        for (int n = 1; n < 200; n++) {
          term *= -x * x / n;
          wanted += term / (2 * n + 1);
        }
        wanted *= 2 / Math.sqrt(Math.PI);
      }
      assertEquals(wanted, results[i], 5e-7, "erf of " + x);
    }
  }

  private float[] unary(OperationType code, float[] values) throws DeviceException {
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, values.length);
      int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, values.length);
      graph.operation(code, List.of(input), output);
      String message = code.text();
      return TestGraph.floats(simd.run(graph.model(), message, TestGraph.bytes(values)));
    }
  }

  @Test
  void pairsAreThoseOfTheReference() throws DeviceException {
    for (int round = 0; round < 120; round++) {
      OperationCode code =
          List.of(OperationCode.DIV, OperationCode.MAXIMUM, OperationCode.MINIMUM).get(round % 3);
      int[] result = {1 + random.nextInt(3), 8 + random.nextInt(100)};
      int[] other =
          random.nextBoolean() ? result : new int[] {random.nextBoolean() ? 1 : result[1]};
      boolean isFirst = random.nextBoolean();
      try (TestGraph graph = new TestGraph()) {
        int[] first = isFirst ? result : other;
        int[] second = isFirst ? other : result;
        int x = graph.input(TENSOR_FLOAT32, Quantization.NONE, first);
        int y = graph.input(TENSOR_FLOAT32, Quantization.NONE, second);
        int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, result);
        graph.operation(
            code,
            code == OperationCode.DIV
                ? List.of(x, y, graph.int32(List.of(0, 1, 3).get(random.nextInt(3))))
                : List.of(x, y),
            output);
        check(graph, code + ", round " + round, elements(first), elements(second));
      }
    }
  }

  @Test
  void constantPowers() throws DeviceException {
    for (float exponent : new float[] {2, 3, 0.5f, -1}) {
      float[] values = floats(100);
      try (TestGraph graph = new TestGraph()) {
        int base = graph.input(TENSOR_FLOAT32, Quantization.NONE, values.length);
        int power = graph.constant(TENSOR_FLOAT32, Quantization.NONE, TestGraph.bytes(exponent), 1);
        int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, values.length);
        graph.operation(OperationCode.POW, List.of(base, power), output);
        String message = "power of " + exponent;
        float[] got = TestGraph.floats(simd.run(graph.model(), message, TestGraph.bytes(values)));
        for (int i = 0; i < got.length; i++) {
          float wanted = (float) Math.pow(values[i], exponent);
          float tolerance = Float.isFinite(wanted) ? 3e-7f * Math.abs(wanted) + 1.2e-38f : 0;
          assertEquals(wanted, got[i], tolerance, values[i] + " to the " + message);
        }
      }
    }
  }

  private byte[] elements(int... shape) {
    return TestGraph.bytes(floats(Arrays.stream(shape).reduce(1, (a, b) -> a * b)));
  }

  /** Halves of a scale of a power of two are ties. */
  @Test
  void bytesAreThoseOfTheReference() throws DeviceException {
    for (int round = 0; round < 60; round++) {
      OperandCode type = random.nextBoolean() ? TENSOR_QUANT8_ASYMM : TENSOR_QUANT8_ASYMM_SIGNED;
      int count = 1 + random.nextInt(600);
      float scale = random.nextBoolean() ? 0.25f : random.nextFloat() + 0.01f;
      int least = type == TENSOR_QUANT8_ASYMM ? 0 : -128;
      Quantization quantization = Quantization.of(scale, least + random.nextInt(256));
      float[] numbers = floats(count);
      for (int i = ENDS.length; i < count; i += 2) {
        numbers[i] = scale * (random.nextInt(200) - 100) / 2;
      }
      byte[] stored = new byte[count];
      random.nextBytes(stored);
      for (OperationType code : List.of(OperationCode.QUANTIZE, ThalamusExtension.QUANTIZE)) {
        try (TestGraph graph = new TestGraph()) {
          int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, count);
          graph.operation(code, List.of(input), graph.output(type, quantization, count));
          check(graph, code + ", round " + round, TestGraph.bytes(numbers));
        }
      }
      for (OperationType code : List.of(OperationCode.DEQUANTIZE, ThalamusExtension.CAST)) {
        try (TestGraph graph = new TestGraph()) {
          int input = graph.input(type, quantization, count);
          int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, count);
          graph.operation(code, List.of(input), output);
          check(graph, code + ", round " + round, stored);
        }
      }
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(type, quantization, count);
        int output = graph.output(type, Quantization.of(1, least + 7), count);
        graph.operation(ThalamusExtension.CAST, List.of(input), output);
        check(graph, "the same bytes, round " + round, stored);
      }
    }
  }

  private void check(TestGraph graph, String message, byte[]... inputs) throws DeviceException {
    byte[] expected = TestGraph.run(cpu, graph.model(), inputs);
    TestGraph.assertSame(expected, simd.run(graph.model(), message, inputs), message);
  }
}
