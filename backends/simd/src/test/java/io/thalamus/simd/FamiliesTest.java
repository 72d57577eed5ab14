// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.check.EqualScores;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * The other families on awkward shapes against the reference: 8-bit integers bit for bit, floats to
 * a few units in the last place, exponentials included.
 */
@Widths
class FamiliesTest {
  private static final OperandCode[] TYPES = {
    TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
  };
  private static final int[] SIZES = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100};

  private final Twins simd = new Twins();
  private final CpuDevice cpu = new CpuDevice("1.0.0");
  private final Seeded random = new Seeded(FamiliesTest.class);

  private OperandCode pickType() {
    return TYPES[random.nextInt(TYPES.length)];
  }

  private Quantization quantization(OperandCode type) {
    if (type == TENSOR_FLOAT32) {
      return Quantization.NONE;
    }
    return Quantization.of(0.01f + random.nextFloat() / 4, least(type) + random.nextInt(256));
  }

  private static int least(OperandCode type) {
    return type == TENSOR_QUANT8_ASYMM ? 0 : -128;
  }

  private byte[] values(OperandCode type, int... shape) {
    int count = Arrays.stream(shape).reduce(1, (a, b) -> a * b);
    if (type == TENSOR_FLOAT32) {
      float[] floats = new float[count];
      for (int i = 0; i < count; i++) {
        floats[i] = (float) (random.nextGaussian() * 3);
      }
      return TestGraph.bytes(floats);
    }
    byte[] bytes = new byte[count];
    random.nextBytes(bytes);
    return bytes;
  }

  private void check(TestGraph graph, OperandCode type, String message, byte[]... inputs)
      throws DeviceException {
    check(graph, type, message, 1e-6f, inputs);
  }

  private void check(
      TestGraph graph, OperandCode type, String message, float tolerance, byte[]... inputs)
      throws DeviceException {
    byte[] expected = TestGraph.run(cpu, graph.model(), inputs);
    byte[] actual = simd.run(graph.model(), message, inputs);
    if (type != TENSOR_FLOAT32) {
      TestGraph.assertSame(expected, actual, message);
      return;
    }
    float[] wanted = TestGraph.floats(expected);
    float[] got = TestGraph.floats(actual);
    assertEquals(wanted.length, got.length, message);
    for (int i = 0; i < wanted.length; i++) {
      int element = i;
      assertEquals(
          wanted[i],
          got[i],
          tolerance + 2e-6f * Math.abs(wanted[i]),
          () -> message + " element " + element);
    }
  }

  @Test
  void arithmeticBroadcasts() throws DeviceException {
    for (int i = 0; i < 300; i++) {
      OperandCode type = pickType();
      OperationCode code =
          new OperationCode[] {OperationCode.ADD, OperationCode.SUB, OperationCode.MUL}
              [random.pick(0, 1, 2)];
      int[] result = {
        random.pick(1, 2),
        random.pick(1, 3),
        random.pick(1, 4, 5),
        random.pick(8, 9, 15, 16, 17, 33, 100)
      };
      int[] first = result.clone();
      int[] second = result.clone();
      int form = random.pick(0, 1, 2, 3, 4);
      if (form == 1) {
        second = new int[] {result[3]};
      } else if (form == 2) {
        first = new int[] {1};
      } else if (form == 3) {
        second = new int[] {result[0], 1, 1, result[3]};
      } else if (form == 4) {
        first[3] = 1;
      }
      if (random.nextBoolean()) {
        int[] swapped = first;
        first = second;
        second = swapped;
      }
      Quantization firstQ = quantization(type);
      Quantization secondQ = quantization(type);
      Quantization outQ =
          type == TENSOR_FLOAT32
              ? Quantization.NONE
              : Quantization.of(
                  code == OperationCode.MUL
                      ? firstQ.scale() * secondQ.scale() * (0.1f + 60 * random.nextFloat())
                      : (firstQ.scale() + secondQ.scale()) * (0.2f + random.nextFloat()),
                  least(type) + random.nextInt(256));
      try (TestGraph graph = new TestGraph()) {
        int a = graph.input(type, firstQ, first);
        int b = graph.input(type, secondQ, second);
        graph.operation(
            type == TENSOR_FLOAT32 ? code : TestGraph.anyRounding(random, code),
            List.of(a, b, graph.int32(random.pick(0, 1, 3))),
            graph.output(type, outQ, Shape.of(result).toArray()));
        check(
            graph,
            type,
            code + " " + type + Arrays.toString(first) + Arrays.toString(second),
            values(type, first),
            values(type, second));
      }
    }
  }

  @Test
  void longRuns() throws DeviceException {
    int[][][] shapes = {
      {{3, 4099}, {3, 1}, {3, 4099}},
      {{2, 70, 47}, {2, 1, 47}, {2, 70, 47}},
      {{2, 1, 47}, {2, 70, 47}, {2, 70, 47}}
    };
    for (OperandCode type : TYPES) {
      Quantization q = type == TENSOR_FLOAT32 ? Quantization.NONE : Quantization.of(0.1f, 3);
      for (int[][] shape : shapes) {
        try (TestGraph graph = new TestGraph()) {
          int a = graph.input(type, q, shape[0]);
          int b = graph.input(type, q, shape[1]);
          graph.operation(
              OperationCode.SUB, List.of(a, b, graph.int32(0)), graph.output(type, q, shape[2]));
          check(graph, type, "runs", values(type, shape[0]), values(type, shape[1]));
        }
      }
    }
  }

  @Test
  void poolings() throws DeviceException {
    for (int i = 0; i < 200; i++) {
      OperandCode type = pickType();
      OperationType average = OperationCode.AVERAGE_POOL_2D;
      if (type != TENSOR_FLOAT32) {
        average = TestGraph.anyRounding(random, OperationCode.AVERAGE_POOL_2D);
      }
      OperationType code = random.nextBoolean() ? average : OperationCode.MAX_POOL_2D;
      int width = random.pick(1, 2, 3, 7);
      int height = random.pick(1, 2, 3, 5);
      int[] paddings = {
        random.nextInt(width), random.nextInt(width), random.nextInt(height), random.nextInt(height)
      };
      int[] strides = {random.pick(1, 2, 3), random.pick(1, 2)};
      int[] input = {
        random.pick(1, 2), height + random.nextInt(5), width + random.nextInt(5), random.pick(SIZES)
      };
      int outputHeight = (input[1] + paddings[2] + paddings[3] - height) / strides[1] + 1;
      int outputWidth = (input[2] + paddings[0] + paddings[1] - width) / strides[0] + 1;
      Quantization q = quantization(type);
      try (TestGraph graph = new TestGraph()) {
        List<Integer> arguments = new ArrayList<>();
        arguments.add(graph.input(type, q, input));
        for (int value : paddings) {
          arguments.add(graph.int32(value));
        }
        for (int value : new int[] {strides[0], strides[1], width, height, random.pick(0, 1, 3)}) {
          arguments.add(graph.int32(value));
        }
        graph.operation(
            code, arguments, graph.output(type, q, input[0], outputHeight, outputWidth, input[3]));
        String label = code + " " + type + Arrays.toString(input) + width + "x" + height;
        check(graph, type, label, values(type, input));
      }
    }
  }

  @Test
  void activations() throws DeviceException {
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RELU,
          OperationCode.RELU1,
          OperationCode.RELU6,
          OperationCode.LOGISTIC,
          OperationCode.TANH,
          OperationCode.HARD_SWISH
        }) {
      for (OperandCode type : TYPES) {
        if (code == OperationCode.RELU1 && type == TENSOR_FLOAT32) {
          continue;
        }
        for (int i = 0; i < 5; i++) {
          activation(code, type, random.pick(1, 255, 256, 257, 4099));
        }
      }
    }
  }

  private void activation(OperationCode code, OperandCode type, int size) throws DeviceException {
    Quantization in = quantization(type);
    Quantization out = in;
    int least = least(type);
    if (type != TENSOR_FLOAT32) {
      out =
          switch (code) {
            case LOGISTIC -> Quantization.of(1f / 256, least);
            case TANH -> Quantization.of(1f / 128, least + 128);
            case HARD_SWISH -> Quantization.of(in.scale() * 0.8f, least + 20);
            default -> in;
          };
    }
    byte[] values = values(type, size);
    if (type != TENSOR_FLOAT32) {
      for (int i = 0; i < Math.min(256, size); i++) {
        values[i] = (byte) i;
      }
    }
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(type, in, 1, size);
      graph.operation(code, List.of(input), graph.output(type, out, 1, size));
      check(graph, type, code + " " + type + " " + size, values);
    }
  }

  @Test
  void exponentialsOfLargeAndSmallValues() throws DeviceException {
    float[] values = new float[2000];
    for (int i = 0; i < values.length; i++) {
      double magnitude = Math.pow(10, random.nextDouble() * 12 - 9);
      values[i] = (float) (random.nextBoolean() ? magnitude : -magnitude);
    }
    values[0] = 0;
    values[1] = -0f;
    values[2] = Float.POSITIVE_INFINITY;
    values[3] = Float.NEGATIVE_INFINITY;
    float[] logistic = unary(OperationCode.LOGISTIC, values);
    float[] tanh = unary(OperationCode.TANH, values);
    for (int i = 0; i < values.length; i++) {
      double x = values[i];
      double wanted = 1 / (1 + Math.exp(-x));
      // Results that are no normal floats may be the least normal one.
      assertEquals(wanted, logistic[i], 3e-7 * wanted + 2e-38, "logistic of " + x);
      wanted = Math.tanh(x);
      assertEquals(wanted, tanh[i], 3e-7 * Math.abs(wanted), "tanh of " + x);
    }
    assertTrue(Float.floatToRawIntBits(tanh[1]) < 0, "the sign of zero is lost");
  }

  private float[] unary(OperationCode code, float[] values) throws DeviceException {
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, 1, values.length);
      graph.operation(
          code, List.of(input), graph.output(TENSOR_FLOAT32, Quantization.NONE, 1, values.length));
      return TestGraph.floats(simd.run(graph.model(), "a function", TestGraph.bytes(values)));
    }
  }

  @Test
  void fullyConnectedLayersSomeOfSignedBytes() throws DeviceException {
    for (int i = 0; i < 150; i++) {
      OperandCode type = pickType();
      int batches = random.pick(1, 1, 2, 3, 4, 5, 9);
      int size = random.pick(1, 2, 7, 16, 33, 100, 513, 1100);
      int units = random.pick(1, 3, 15, 16, 17, 33, 63, 64, 65, 100, 120, 128, 150);
      Quantization in = quantization(type);
      OperationCode dense = OperationCode.FULLY_CONNECTED;
      Quantization some = quantization(type);
      Quantization weights = i % 2 == 0 ? some : Quantization.of(some.scale(), least(type) + 128);
      Quantization bias =
          type == TENSOR_FLOAT32
              ? Quantization.NONE
              : Quantization.of(in.scale() * weights.scale(), 0);
      Quantization out =
          type == TENSOR_FLOAT32
              ? Quantization.NONE
              : Quantization.of(
                  (float) (bias.scale() * 74 * 74 * Math.sqrt(size) / 60),
                  least(type) + random.nextInt(256));
      int[] biases = random.ints(units, -10_000, 10_000).toArray();
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(type, in, batches, size);
        int filter = graph.constant(type, weights, values(type, units, size), units, size);
        int added =
            type == TENSOR_FLOAT32
                ? graph.constant(type, bias, values(type, units), units)
                : graph.constant(OperandCode.TENSOR_INT32, bias, TestGraph.bytes(biases), units);
        graph.operation(
            type == TENSOR_FLOAT32 ? dense : TestGraph.anyRounding(random, dense),
            List.of(input, filter, added, graph.int32(random.pick(0, 1, 3))),
            graph.output(type, out, batches, units));
        check(
            graph,
            type,
            "dense " + type + " " + batches + "x" + size + "x" + units,
            1e-5f * (float) Math.sqrt(size),
            values(type, batches, size));
      }
    }
  }

  @Test
  void softmax() throws DeviceException {
    for (int i = 0; i < 120; i++) {
      OperandCode type = pickType();
      int[] shape = {random.pick(1, 3), random.pick(SIZES)};
      Quantization in = quantization(type);
      Quantization out =
          type == TENSOR_FLOAT32 ? Quantization.NONE : Quantization.of(1f / 256, least(type));
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(type, in, shape);
        float beta = 0.1f + random.nextFloat() * 2;
        graph.operation(
            OperationCode.SOFTMAX,
            List.of(input, graph.float32(beta)),
            graph.output(type, out, shape));
        check(graph, type, "softmax " + type + Arrays.toString(shape) + beta, values(type, shape));
      }
    }
  }

  @Test
  void scoresThatHardlyDifferHaveSmallProbabilities() throws DeviceException {
    try (SimdDevice device = Twins.device("simd", WarmUp.Stage.ALWAYS_WARM)) {
      EqualScores.check(device, Integer.MAX_VALUE);
    }
  }

  @Test
  void concatenations() throws DeviceException {
    for (int i = 0; i < 120; i++) {
      OperandCode type = pickType();
      int axis = random.pick(0, 1, 2, 3);
      int[] shape = {random.pick(1, 2), random.pick(1, 3), random.pick(1, 4), random.pick(SIZES)};
      int count = random.pick(1, 2, 3);
      Quantization out = quantization(type);
      boolean rescales = random.nextBoolean();
      try (TestGraph graph = new TestGraph()) {
        List<Integer> arguments = new ArrayList<>();
        byte[][] inputs = new byte[count][];
        int sum = 0;
        for (int j = 0; j < count; j++) {
          int[] part = shape.clone();
          part[axis] = 1 + random.nextInt(20);
          sum += part[axis];
          arguments.add(graph.input(type, rescales ? quantization(type) : out, part));
          inputs[j] = values(type, part);
        }
        arguments.add(graph.int32(axis));
        shape[axis] = sum;
        graph.operation(OperationCode.CONCATENATION, arguments, graph.output(type, out, shape));
        check(graph, type, "concatenation " + type + Arrays.toString(shape) + axis, inputs);
      }
    }
  }

  @Test
  void paddings() throws DeviceException {
    for (int i = 0; i < 120; i++) {
      OperandCode type = pickType();
      int[] shape = {random.pick(1, 2), random.pick(1, 3), random.pick(1, 4), random.pick(SIZES)};
      int[] paddings = new int[8];
      int[] padded = shape.clone();
      for (int j = 0; j < 8; j++) {
        paddings[j] = random.pick(0, 0, 1, 2, 5);
        padded[j / 2] += paddings[j];
      }
      Quantization q = quantization(type);
      boolean withValue = type == TENSOR_FLOAT32 && random.nextBoolean();
      try (TestGraph graph = new TestGraph()) {
        List<Integer> arguments = new ArrayList<>();
        arguments.add(graph.input(type, q, shape));
        arguments.add(
            graph.constant(
                OperandCode.TENSOR_INT32, Quantization.NONE, TestGraph.bytes(paddings), 4, 2));
        if (withValue) {
          arguments.add(graph.float32(-7.5f));
        }
        graph.operation(
            withValue ? OperationCode.PAD_V2 : OperationCode.PAD,
            arguments,
            graph.output(type, q, padded));
        check(
            graph,
            type,
            "padding " + type + Arrays.toString(shape) + Arrays.toString(paddings),
            values(type, shape));
      }
    }
  }

  @Test
  void means() throws DeviceException {
    for (int i = 0; i < 300; i++) {
      OperandCode type = pickType();
      int[] shape = new int[random.pick(1, 2, 3, 4)];
      Arrays.setAll(shape, axis -> random.pick(1, 3, 4, 7));
      shape[random.nextInt(shape.length)] = random.pick(SIZES);
      int first = random.nextInt(shape.length);
      int end = first + 1 + random.nextInt(shape.length - first);
      boolean keeps = random.nextBoolean();
      List<Integer> axes = new ArrayList<>();
      List<Integer> result = new ArrayList<>();
      for (int axis = 0; axis < shape.length; axis++) {
        if (axis < first || axis >= end) {
          result.add(shape[axis]);
        } else {
          axes.add(random.pick(0, 1) * -shape.length + axis);
          if (keeps) {
            result.add(1);
          }
        }
      }
      if (result.isEmpty()) {
        result.add(1);
      }
      Collections.shuffle(axes, random);
      Quantization q = quantization(type);
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(type, q, shape);
        graph.operation(
            OperationCode.MEAN,
            List.of(input, graph.int32Vector(ints(axes)), graph.int32(keeps ? 1 : 0)),
            graph.output(type, q, ints(result)));
        check(graph, type, "mean " + type + Arrays.toString(shape) + axes, values(type, shape));
      }
    }
  }

  private static int[] ints(List<Integer> list) {
    return list.stream().mapToInt(i -> i).toArray();
  }

  @Test
  void transpositions() throws DeviceException {
    for (int i = 0; i < 200; i++) {
      OperandCode type = pickType();
      int[] shape = new int[random.pick(1, 2, 3, 4)];
      Arrays.setAll(shape, axis -> random.pick(1, 2, 3, 5));
      shape[random.nextInt(shape.length)] = random.pick(SIZES);
      List<Integer> order = new ArrayList<>(IntStream.range(0, shape.length).boxed().toList());
      Collections.shuffle(order, random);
      int[] result = order.stream().mapToInt(axis -> shape[axis]).toArray();
      Quantization q = quantization(type);
      try (TestGraph graph = new TestGraph()) {
        graph.operation(
            OperationCode.TRANSPOSE,
            List.of(graph.input(type, q, shape), graph.int32Vector(ints(order))),
            graph.output(type, q, result));
        check(graph, type, "transpose " + Arrays.toString(shape) + order, values(type, shape));
      }
    }
  }

  /** Backwards too, and beyond both ends. */
  @Test
  void slices() throws DeviceException {
    for (int i = 0; i < 200; i++) {
      OperandCode type = pickType();
      int[] shape = {random.pick(1, 2, 3), random.pick(1, 3, 7), random.pick(SIZES)};
      int[] begin = new int[3];
      int[] end = new int[3];
      int[] strides = new int[3];
      int[] sizes = new int[3];
      for (int axis = 0; axis < 3; axis++) {
        int first = random.nextInt(shape[axis]);
        int last = random.nextInt(shape[axis]);
        int stride = random.pick(1, 2, 3);
        boolean isBackwards = last < first;
        strides[axis] = isBackwards ? -stride : stride;
        begin[axis] = first;
        // The end of a walk back to element 0 can only be told from behind.
        end[axis] = isBackwards ? last - 1 - (last == 0 ? shape[axis] : 0) : last + 1;
        sizes[axis] = Math.abs(last - first) / stride + 1;
      }
      Quantization q = quantization(type);
      try (TestGraph graph = new TestGraph()) {
        graph.operation(
            OperationCode.STRIDED_SLICE,
            List.of(
                graph.input(type, q, shape),
                graph.int32Vector(begin),
                graph.int32Vector(end),
                graph.int32Vector(strides),
                graph.int32(0),
                graph.int32(0),
                graph.int32(0)),
            graph.output(type, q, sizes));
        String message = "strided slice " + Arrays.toString(shape) + Arrays.toString(begin);
        check(graph, type, message + Arrays.toString(sizes), values(type, shape));
      }
      Arrays.setAll(begin, axis -> Math.min(begin[axis], shape[axis] - sizes[axis]));
      try (TestGraph graph = new TestGraph()) {
        graph.operation(
            OperationCode.SLICE,
            List.of(
                graph.input(type, q, shape), graph.int32Vector(begin), graph.int32Vector(sizes)),
            graph.output(type, q, sizes));
        String message = "slice " + Arrays.toString(shape) + Arrays.toString(begin);
        check(graph, type, message + Arrays.toString(sizes), values(type, shape));
      }
    }
  }

  /** Of NCHW, too. */
  @Test
  void blocksBecomeDepthAndBack() throws DeviceException {
    for (OperandCode type : TYPES) {
      for (boolean isChannelsFirst : new boolean[] {false, true}) {
        int block = random.pick(1, 2, 3);
        int channels = block * block * random.pick(1, 2, 5);
        int height = block * random.pick(1, 2, 3);
        int width = block * random.pick(1, 4);
        int[] shape = image(isChannelsFirst, 2, height, width, channels);
        Quantization q = quantization(type);
        int wide = block * block;
        for (OperationCode code :
            new OperationCode[] {OperationCode.DEPTH_TO_SPACE, OperationCode.SPACE_TO_DEPTH}) {
          int[] result =
              code == OperationCode.DEPTH_TO_SPACE
                  ? image(isChannelsFirst, 2, height * block, width * block, channels / wide)
                  : image(isChannelsFirst, 2, height / block, width / block, channels * wide);
          try (TestGraph graph = new TestGraph()) {
            graph.operation(
                code,
                List.of(
                    graph.input(type, q, shape), graph.int32(block), graph.bool(isChannelsFirst)),
                graph.output(type, q, result));
            check(graph, type, code + " " + block + Arrays.toString(shape), values(type, shape));
          }
        }
      }
    }
  }

  private static int[] image(
      boolean isChannelsFirst, int batches, int height, int width, int channels) {
    return isChannelsFirst
        ? new int[] {batches, channels, height, width}
        : new int[] {batches, height, width, channels};
  }

  @Test
  void dimensionsChange() throws DeviceException {
    for (OperandCode type : TYPES) {
      Quantization q = quantization(type);
      try (TestGraph graph = new TestGraph()) {
        int input = graph.input(type, q, 2, 3, 1, 7);
        int flat = graph.temporary(type, q, 6, 7);
        int expanded = graph.temporary(type, q, 1, 6, 7);
        graph.operation(OperationCode.RESHAPE, List.of(input, graph.int32Vector(-1, 7)), flat);
        graph.operation(OperationCode.EXPAND_DIMS, List.of(flat, graph.int32(0)), expanded);
        graph.operation(
            OperationCode.SQUEEZE,
            List.of(expanded, graph.int32Vector(0)),
            graph.output(type, q, 6, 7));
        byte[] values = values(type, 2, 3, 1, 7);
        TestGraph.assertSame(
            values, simd.run(graph.model(), "reshape " + type, values), "reshape " + type);
      }
    }
  }
}
