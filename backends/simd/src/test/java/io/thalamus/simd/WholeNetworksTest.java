// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.operations.extension.Selection.Update;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.check.OutcomeException;
import io.thalamus.tck.check.TestGraph;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Operations between the layers of a network: floats against sums in double, integers, truth values
 * and places of elements against the reference, bit for bit.
 */
@Widths
class WholeNetworksTest {
  private final Seeded random = new Seeded(WholeNetworksTest.class);
  private final Twins simd = new Twins();
  private final CpuDevice cpu = new CpuDevice("1.0.0");

  @AfterEach
  void close() {
    simd.close();
    cpu.close();
  }

  private static int count(int... shape) {
    return Arrays.stream(shape).reduce(1, (a, b) -> a * b);
  }

  private float[] floats(int... shape) {
    float[] values = new float[count(shape)];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }

  /** Random elements; integers are small, so that some are equal. */
  private byte[] elements(OperandCode type, int... shape) {
    if (type == TENSOR_FLOAT32) {
      float[] values = floats(shape);
      for (int i = 0; i < values.length; i++) {
        values[i] = Math.round(values[i] * 4) / 4f;
      }
      return TestGraph.bytes(values);
    }
    if (type == TENSOR_INT32) {
      return TestGraph.bytes(random.ints(count(shape), -9, 10).toArray());
    }
    byte[] bytes = new byte[count(shape)];
    random.nextBytes(bytes);
    for (int i = 0; type == TENSOR_BOOL8 && i < bytes.length; i++) {
      bytes[i] &= 1;
    }
    return bytes;
  }

  private Quantization quantization(OperandCode type) {
    return switch (type) {
      case TENSOR_QUANT8_ASYMM -> Quantization.of(0.1f + random.nextFloat(), random.nextInt(256));
      case TENSOR_QUANT8_ASYMM_SIGNED ->
          Quantization.of(0.1f + random.nextFloat(), random.nextInt(256) - 128);
      default -> Quantization.NONE;
    };
  }

  private void check(TestGraph graph, String message, byte[]... inputs) throws DeviceException {
    byte[] expected = TestGraph.run(cpu, graph.model(), inputs);
    TestGraph.assertSame(expected, simd.run(graph.model(), message, inputs), message);
  }

  private static void assertNear(double[] wanted, byte[] actual, double tolerance, String message) {
    float[] got = TestGraph.floats(actual);
    assertEquals(wanted.length, got.length, message);
    for (int i = 0; i < got.length; i++) {
      assertEquals(wanted[i], got[i], tolerance, message + ", element " + i);
    }
  }

  @Test
  void productsOfComputedMatrices() throws DeviceException {
    for (int round = 0; round < 80; round++) {
      int batch = random.pick(1, 2, 5);
      int rows = random.pick(1, 3, 12, 49, 130);
      int inner = random.pick(1, 7, 64, 513);
      int columns = random.pick(1, 8, 17, 64, 100);
      boolean isFirstTurned = random.nextBoolean();
      boolean isSecondTurned = random.nextBoolean();
      boolean isShared = random.nextInt(3) == 0;
      int[] first = isFirstTurned ? new int[] {batch, inner, rows} : new int[] {batch, rows, inner};
      int some = isShared ? 1 : batch;
      int[] second =
          isSecondTurned ? new int[] {some, columns, inner} : new int[] {some, inner, columns};
      float[] a = floats(first);
      float[] b = floats(second);
      double[] wanted = new double[batch * rows * columns];
      for (int i = 0; i < wanted.length; i++) {
        int matrix = i / (rows * columns);
        int row = i / columns % rows;
        int column = i % columns;
        for (int k = 0; k < inner; k++) {
          double x = a[matrix * rows * inner + (isFirstTurned ? k * rows + row : row * inner + k)];
          int of = isShared ? 0 : matrix * inner * columns;
          wanted[i] += x * b[of + (isSecondTurned ? column * inner + k : k * columns + column)];
        }
      }
      try (TestGraph graph = new TestGraph()) {
        int x = graph.input(TENSOR_FLOAT32, Quantization.NONE, first);
        int y = graph.input(TENSOR_FLOAT32, Quantization.NONE, second);
        int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, batch, rows, columns);
        graph.operation(
            ThalamusExtension.BATCH_MATMUL,
            List.of(x, y, graph.bool(isFirstTurned), graph.bool(isSecondTurned)),
            output);
        String message = "round " + round;
        byte[] actual = simd.run(graph.model(), message, TestGraph.bytes(a), TestGraph.bytes(b));
        assertNear(wanted, actual, 1e-6 * inner + 1e-6, message);
      }
    }
  }

  @Test
  void productsOfIntegers() throws DeviceException {
    for (int round = 0; round < 40; round++) {
      OperandCode type =
          List.of(TENSOR_INT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED).get(round % 3);
      int[] first = {random.pick(1, 3), random.pick(1, 5, 20), random.pick(1, 9, 70)};
      boolean isTurned = random.nextBoolean();
      int columns = random.pick(1, 6, 33);
      int[] second =
          isTurned
              ? new int[] {first[0], columns, first[2]}
              : new int[] {first[0], first[2], columns};
      try (TestGraph graph = new TestGraph()) {
        int x = graph.input(type, quantization(type), first);
        int y = graph.input(type, quantization(type), second);
        Quantization scale = type == TENSOR_INT32 ? Quantization.NONE : Quantization.of(40, 3);
        int output = graph.output(type, scale, first[0], first[1], columns);
        graph.operation(
            ThalamusExtension.BATCH_MATMUL,
            List.of(x, y, graph.bool(false), graph.bool(isTurned)),
            output);
        check(graph, type + ", round " + round, elements(type, first), elements(type, second));
      }
    }
  }

  @Test
  void layersAreNormalized() throws DeviceException {
    for (int round = 0; round < 30; round++) {
      int rows = random.pick(1, 3, 40);
      int size = random.pick(1, 5, 16, 67, 512);
      boolean hasBias = random.nextBoolean();
      float[] data = floats(rows, size);
      float[] scale = floats(size);
      float[] bias = floats(size);
      double[] wanted = new double[rows * size];
      for (int row = 0; row < rows; row++) {
        double mean = 0;
        double square = 0;
        for (int i = 0; i < size; i++) {
          mean += data[row * size + i] / (double) size;
        }
        for (int i = 0; i < size; i++) {
          square += Math.pow(data[row * size + i] - mean, 2) / size;
        }
        for (int i = 0; i < size; i++) {
          double value = (data[row * size + i] - mean) / Math.sqrt(square + 1e-3);
          wanted[row * size + i] = value * scale[i] + (hasBias ? bias[i] : 0);
        }
      }
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, rows, size);
        int factor = graph.input(TENSOR_FLOAT32, Quantization.NONE, size);
        int added =
            hasBias
                ? graph.constant(TENSOR_FLOAT32, Quantization.NONE, TestGraph.bytes(bias), size)
                : graph.noValue(TENSOR_FLOAT32);
        int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, rows, size);
        graph.operation(
            ThalamusExtension.LAYER_NORMALIZATION,
            List.of(input, factor, added, graph.int32(-1), graph.float32(1e-3f)),
            output);
        String message = "round " + round;
        byte[] actual =
            simd.run(graph.model(), message, TestGraph.bytes(data), TestGraph.bytes(scale));
        assertNear(wanted, actual, 2e-6, message);
      }
    }
  }

  @Test
  void pairsOfIntegersAndQuestions() throws DeviceException {
    List<OperationType> arithmetic =
        List.of(
            OperationCode.ADD,
            OperationCode.SUB,
            OperationCode.MUL,
            OperationCode.DIV,
            OperationCode.MAXIMUM,
            OperationCode.MINIMUM,
            ThalamusExtension.SQUARED_DIFFERENCE,
            ThalamusExtension.BITWISE_XOR,
            ThalamusExtension.RIGHT_SHIFT);
    List<OperationCode> questions =
        List.of(
            OperationCode.EQUAL,
            OperationCode.NOT_EQUAL,
            OperationCode.LESS,
            OperationCode.LESS_EQUAL,
            OperationCode.GREATER,
            OperationCode.GREATER_EQUAL);
    OperandCode[] comparable = {
      TENSOR_FLOAT32, TENSOR_INT32, TENSOR_BOOL8, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
    };
    for (int round = 0; round < 300; round++) {
      boolean isQuestion = random.nextBoolean();
      OperationType code =
          isQuestion
              ? questions.get(random.nextInt(questions.size()))
              : arithmetic.get(random.nextInt(arithmetic.size()));
      OperandCode type = isQuestion ? comparable[random.nextInt(comparable.length)] : TENSOR_INT32;
      int[] result = {random.pick(1, 3), random.pick(1, 2, 5), random.pick(1, 2, 7, 16, 100)};
      int[] other = result.clone();
      other[random.nextInt(3)] = 1;
      boolean isFirst = random.nextBoolean();
      int[] first = isFirst ? result : other;
      int[] second = isFirst ? other : result;
      try (TestGraph graph = new TestGraph()) {
        int x = graph.input(type, quantization(type), first);
        int y = graph.input(type, quantization(type), second);
        OperandCode of = isQuestion ? TENSOR_BOOL8 : TENSOR_INT32;
        int output = graph.output(of, Quantization.NONE, result);
        boolean hasActivation = arithmetic.indexOf(code) >= 0 && arithmetic.indexOf(code) < 4;
        graph.operation(
            code, hasActivation ? List.of(x, y, graph.int32(0)) : List.of(x, y), output);
        check(
            graph,
            code.text() + " of " + type + ", round " + round,
            elements(type, first),
            elements(type, second));
      }
    }
  }

  @Test
  void logicAndChoices() throws DeviceException {
    for (int round = 0; round < 40; round++) {
      int count = random.pick(1, 17, 300);
      OperandCode type =
          List.of(TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED)
              .get(round % 4);
      try (TestGraph graph = new TestGraph()) {
        int a = graph.input(TENSOR_BOOL8, Quantization.NONE, count);
        int b = graph.input(TENSOR_BOOL8, Quantization.NONE, count);
        int x = graph.input(type, quantization(type), count);
        int y = graph.input(type, quantization(type), count);
        int no = graph.temporary(TENSOR_BOOL8, Quantization.NONE, count);
        int both = graph.temporary(TENSOR_BOOL8, Quantization.NONE, count);
        int either = graph.temporary(TENSOR_BOOL8, Quantization.NONE, count);
        int output = graph.output(type, quantization(type), count);
        graph.operation(OperationCode.LOGICAL_NOT, List.of(a), no);
        graph.operation(OperationCode.LOGICAL_AND, List.of(a, b), both);
        graph.operation(OperationCode.LOGICAL_OR, List.of(no, both), either);
        graph.operation(OperationCode.SELECT, List.of(either, x, y), output);
        check(
            graph,
            type + ", round " + round,
            elements(TENSOR_BOOL8, count),
            elements(TENSOR_BOOL8, count),
            elements(type, count),
            elements(type, count));
      }
    }
  }

  @Test
  void placesOfElements() throws DeviceException {
    OperandCode[] types = {
      TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
    };
    for (int round = 0; round < 80; round++) {
      OperandCode type = types[round % 4];
      int[] shape = {random.pick(1, 3), random.pick(1, 4, 9), random.pick(1, 5, 40)};
      int axis = random.nextInt(3);
      int[] result = new int[2];
      for (int i = 0; i < 2; i++) {
        result[i] = shape[i < axis ? i : i + 1];
      }
      OperationCode code = random.nextBoolean() ? OperationCode.ARGMAX : OperationCode.ARGMIN;
      Quantization scale = quantization(type);
      byte[] data = elements(type, shape);
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(type, scale, shape);
        int output = graph.output(TENSOR_INT32, Quantization.NONE, result);
        graph.operation(code, List.of(input, graph.int32(axis)), output);
        check(graph, code + ", round " + round, data);
      }
      int k = 1 + random.nextInt(shape[2]);
      for (int wanted = 0; wanted < 2; wanted++) {
        try (TestGraph graph = new TestGraph()) {
          int input = graph.input(type, scale, shape);
          int[] tops = {shape[0], shape[1], k};
          int values =
              wanted == 0 ? graph.output(type, scale, tops) : graph.temporary(type, scale, tops);
          int places =
              wanted == 1
                  ? graph.output(TENSOR_INT32, Quantization.NONE, tops)
                  : graph.temporary(TENSOR_INT32, Quantization.NONE, tops);
          graph.operation(
              OperationCode.TOPK_V2, List.of(input, graph.int32(k)), List.of(values, places));
          check(graph, "top " + k + " of " + type + ", round " + round, data);
        }
      }
    }
  }

  @Test
  void elementsByTheirPlaces() throws DeviceException {
    OperandCode[] types = {TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM};
    for (int round = 0; round < 40; round++) {
      OperandCode type = types[round % 3];
      int[] shape = {random.pick(2, 3), random.pick(4, 9), random.pick(1, 5, 40)};
      int axis = random.nextInt(3);
      int some = random.pick(1, 3, 20);
      int[] result = shape.clone();
      result[axis] = some;
      Quantization scale = quantization(type);
      byte[] data = elements(type, shape);
      byte[] indexes = TestGraph.bytes(random.ints(some, 0, shape[axis]).toArray());
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(type, scale, shape);
        int which = graph.input(TENSOR_INT32, Quantization.NONE, some);
        graph.operation(
            OperationCode.GATHER,
            List.of(input, graph.int32(axis), which),
            graph.output(type, scale, result));
        check(graph, "round " + round, data, indexes);
      }
      int[] tuples = new int[2 * some];
      for (int i = 0; i < tuples.length; i++) {
        tuples[i] = random.nextInt(shape[i % 2]);
      }
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(type, scale, shape);
        int which = graph.input(TENSOR_INT32, Quantization.NONE, some, 2);
        graph.operation(
            ThalamusExtension.GATHER_ND,
            List.of(input, which),
            graph.output(type, scale, some, shape[2]));
        check(graph, "round " + round, data, TestGraph.bytes(tuples));
      }
      int update = type == TENSOR_QUANT8_ASYMM ? 0 : random.nextInt(Update.values().length);
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(type, scale, shape);
        int which = graph.input(TENSOR_INT32, Quantization.NONE, some, 2);
        int updates = graph.input(type, scale, some, shape[2]);
        graph.operation(
            ThalamusExtension.SCATTER_ND,
            List.of(input, which, updates, graph.int32(update)),
            graph.output(type, scale, shape));
        byte[] rows = elements(type, new int[] {some, shape[2]});
        check(graph, "round " + round + " update " + update, data, TestGraph.bytes(tuples), rows);
      }
    }
  }

  @Test
  void reductionsOverAnyAxes() throws DeviceException {
    for (int round = 0; round < 80; round++) {
      int[] shape = {
        random.pick(1, 3), random.pick(1, 4), random.pick(1, 5, 70), random.pick(1, 9, 130)
      };
      List<Integer> axes =
          random.ints(1 + random.nextInt(3), 0, 4).distinct().boxed().sorted().toList();
      int[] result = shape.clone();
      axes.forEach(axis -> result[axis] = 1);
      OperationCode code =
          List.of(
                  OperationCode.MEAN,
                  OperationCode.REDUCE_SUM,
                  OperationCode.REDUCE_MAX,
                  OperationCode.REDUCE_MIN)
              .get(round % 4);
      float[] data = floats(shape);
      double[] wanted = new double[count(result)];
      int[] counted = new int[wanted.length];
      for (int i = 0; i < data.length; i++) {
        int rest = i;
        int at = 0;
        int stride = 1;
        for (int d = 3; d >= 0; d--) {
          at += axes.contains(d) ? 0 : rest % shape[d] * stride;
          stride *= result[d];
          rest /= shape[d];
        }
        boolean isFirst = counted[at]++ == 0;
        wanted[at] =
            switch (code) {
              case REDUCE_MAX -> isFirst ? data[i] : Math.max(wanted[at], data[i]);
              case REDUCE_MIN -> isFirst ? data[i] : Math.min(wanted[at], data[i]);
              default -> wanted[at] + data[i];
            };
      }
      for (int i = 0; code == OperationCode.MEAN && i < wanted.length; i++) {
        wanted[i] /= counted[i];
      }
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, shape);
        int over = graph.int32Vector(axes.stream().mapToInt(i -> i).toArray());
        int keep = code == OperationCode.MEAN ? graph.int32(1) : graph.bool(true);
        int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, result);
        graph.operation(code, List.of(input, over, keep), output);
        String message = code + " over " + axes + " of " + Arrays.toString(shape);
        byte[] actual = simd.run(graph.model(), message, TestGraph.bytes(data));
        assertNear(wanted, actual, 2e-6 * Math.sqrt(data.length) + 1e-6, message);
      }
    }
  }

  @Test
  void probabilitiesAlongAnyAxis() throws DeviceException {
    for (int round = 0; round < 60; round++) {
      int[] shape = {random.pick(1, 3), random.pick(1, 4, 20), random.pick(1, 5, 70)};
      int axis = random.nextInt(3);
      boolean isLogarithm = random.nextBoolean();
      float[] data = floats(shape);
      int inner = count(Arrays.copyOfRange(shape, axis + 1, 3));
      double[] wanted = new double[data.length];
      for (int i = 0; i < data.length; i++) {
        int first = i / (inner * shape[axis]) * inner * shape[axis] + i % inner;
        double sum = 0;
        for (int k = 0; k < shape[axis]; k++) {
          sum += Math.exp(0.7 * data[first + k * inner]);
        }
        double probability = Math.exp(0.7 * data[i]) / sum;
        wanted[i] = isLogarithm ? Math.log(probability) : probability;
      }
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, shape);
        int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, shape);
        graph.operation(
            isLogarithm ? OperationCode.LOG_SOFTMAX : OperationCode.SOFTMAX,
            List.of(input, graph.float32(0.7f), graph.int32(axis)),
            output);
        String message = "along " + axis + " of " + Arrays.toString(shape);
        byte[] actual = simd.run(graph.model(), message, TestGraph.bytes(data));
        assertNear(wanted, actual, 2e-6, message);
      }
    }
  }

  @Test
  void castsAreThoseOfTheReference() throws DeviceException {
    OperandCode[] types = {
      TENSOR_FLOAT32, TENSOR_INT32, TENSOR_BOOL8, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
    };
    for (OperandCode from : types) {
      for (OperandCode to : types) {
        if (to == TENSOR_BOOL8) {
          continue; // which nothing is cast to
        }
        int count = random.pick(1, 33, 5000);
        try (TestGraph graph = new TestGraph()) {
          int input = graph.input(from, quantization(from), count);
          graph.operation(
              ThalamusExtension.CAST, List.of(input), graph.output(to, quantization(to), count));
          byte[] data = elements(from, count);
          if (from == TENSOR_FLOAT32) {
            float[] values = floats(count);
            for (int i = 0; i < count; i++) {
              values[i] *= 200;
            }
            data = TestGraph.bytes(values);
          }
          check(graph, from + " to " + to, data);
        }
      }
    }
  }

  @Test
  void wrongPlacesAreToldAndTheNextRunIsRight() throws DeviceException {
    try (TestGraph graph = new TestGraph();
        SimdDevice device = Twins.device("places", WarmUp.Stage.ALWAYS_WARM)) {
      int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, 4, 3);
      int which = graph.input(TENSOR_INT32, Quantization.NONE, 2);
      int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, 2, 3);
      graph.operation(OperationCode.GATHER, List.of(input, graph.int32(0), which), output);
      byte[] data = elements(TENSOR_FLOAT32, 4, 3);
      Model model = graph.model();
      RuntimeException thrown =
          assertThrows(
              OutcomeException.class,
              () -> TestGraph.run(device, model, data, TestGraph.bytes(1, 4)));
      assertTrue(thrown.getMessage().contains("index 1 is 4, outside of [0, 4)"), thrown::toString);
      byte[] rows = TestGraph.run(device, model, data, TestGraph.bytes(3, 0));
      assertArrayEquals(Arrays.copyOfRange(data, 36, 48), Arrays.copyOf(rows, 12));
    }
  }

  @Test
  void picturesOfAnotherSize() throws DeviceException {
    OperandCode[] types = {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED};
    for (int round = 0; round < 60; round++) {
      OperandCode type = types[round % 3];
      OperationCode code =
          random.nextBoolean()
              ? OperationCode.RESIZE_BILINEAR
              : OperationCode.RESIZE_NEAREST_NEIGHBOR;
      boolean isNchw = random.nextBoolean();
      int channels = random.pick(1, 3, 17);
      int[] from = {2, random.pick(1, 4, 7), random.pick(1, 5, 9), channels};
      int[] to = {2, random.pick(1, 3, 8, 14), random.pick(1, 6, 13), channels};
      int[] input = isNchw ? new int[] {2, channels, from[1], from[2]} : from;
      int[] output = isNchw ? new int[] {2, channels, to[1], to[2]} : to;
      boolean alignsCorners = random.nextInt(3) == 0;
      boolean isHalf = !alignsCorners && random.nextBoolean();
      Quantization scale = quantization(type);
      try (TestGraph graph = new TestGraph()) {
        graph.operation(
            code,
            List.of(
                graph.input(type, scale, input),
                graph.int32(to[2]),
                graph.int32(to[1]),
                graph.bool(isNchw),
                graph.bool(alignsCorners),
                graph.bool(isHalf)),
            graph.output(type, scale, output));
        check(graph, code + " of " + type + ", round " + round, elements(type, input));
      }
    }
  }

  @Test
  void bentAndSignedAndExtreme() throws DeviceException {
    for (int count : new int[] {1, 17, 300}) {
      float[] data = floats(count);
      double[] wanted = new double[count];
      for (int i = 0; i < count; i++) {
        wanted[i] = data[i] < 0 ? 0.7 * Math.expm1(data[i]) : data[i];
      }
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, count);
        int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, count);
        graph.operation(OperationCode.ELU, List.of(input, graph.float32(0.7f)), output);
        String message = "ELU of " + count;
        byte[] actual = simd.run(graph.model(), message, TestGraph.bytes(data));
        assertNear(wanted, actual, 1e-6, message);
      }
      for (OperationCode code : List.of(OperationCode.ABS, OperationCode.NEG)) {
        try (TestGraph graph = new TestGraph()) {
          int input = graph.input(TENSOR_INT32, Quantization.NONE, count);
          int output = graph.output(TENSOR_INT32, Quantization.NONE, count);
          graph.operation(code, List.of(input), output);
          check(graph, code + " of " + count, elements(TENSOR_INT32, count));
        }
      }
      for (OperationCode code : List.of(OperationCode.MAXIMUM, OperationCode.MINIMUM)) {
        for (OperandCode type : List.of(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED)) {
          try (TestGraph graph = new TestGraph()) {
            int first = graph.input(type, quantization(type), 2, count);
            int second = graph.input(type, quantization(type), 1, count);
            int output = graph.output(type, quantization(type), 2, count);
            graph.operation(code, List.of(first, second), output);
            check(graph, code + " of " + type, elements(type, 2, count), elements(type, 1, count));
          }
        }
      }
    }
  }
}
