// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.Quantization.NONE;
import static io.thalamus.x86.RandomGraphs.bytes;
import static io.thalamus.x86.RandomGraphs.compare;
import static io.thalamus.x86.RandomGraphs.floats;
import static io.thalamus.x86.RandomGraphs.one;
import static io.thalamus.x86.RandomGraphs.shape;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.FlatMeans;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.kernel.ByteNorms;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Reductions, and what is made of them, over any axes, against the reference. */
class ReductionsTest {
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void reductionsOverAnyAxesAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          OperationCode code =
              one(
                  random,
                  List.of(
                      OperationCode.MEAN,
                      OperationCode.REDUCE_SUM,
                      OperationCode.REDUCE_MAX,
                      OperationCode.REDUCE_MIN,
                      OperationCode.REDUCE_PROD));
          int[] shape = shape(random);
          reduce(code, TENSOR_FLOAT32, shape, graph, random);
          return new byte[][] {floats(random, 1, shape)};
        });
  }

  /** More elements than one call may read become parts first. */
  @ParameterizedTest
  @EnumSource(
      value = OperationCode.class,
      names = {"MEAN", "REDUCE_MAX"})
  void millionsOfElementsBecomeOne(OperationCode code) throws Exception {
    int rows = 2100;
    int columns = 2000;
    float[] values = new float[rows * columns];
    double sum = 0;
    float most = 0;
    for (int i = 0; i < values.length; i++) {
      values[i] = 1 + (i * 7919L % 1000) / 1000f;
      sum += values[i];
      most = Math.max(most, values[i]);
    }
    try (X86Device device = new X86Device("1.0.0");
        TestGraph graph = new TestGraph()) {
      boolean isMean = code == OperationCode.MEAN;
      graph.operation(
          code,
          List.of(
              graph.input(TENSOR_FLOAT32, NONE, 1, rows, columns),
              graph.int32Vector(1, 2),
              isMean ? graph.int32(0) : graph.bool(false)),
          graph.output(TENSOR_FLOAT32, NONE, 1));
      byte[] result = TestGraph.run(device, graph.model(), TestGraph.bytes(values));
      assertEquals(isMean ? sum / values.length : most, TestGraph.floats(result)[0], 1e-6);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void flatImagesHaveTheirMeans(Level level) throws Exception {
    try (X86Device device = Levels.device(level)) {
      FlatMeans.checkMeans(device);
      FlatMeans.checkInstances(device);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void truthsOverAnyAxesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          OperationCode code =
              one(random, List.of(OperationCode.REDUCE_ANY, OperationCode.REDUCE_ALL));
          int[] shape = shape(random);
          reduce(code, TENSOR_BOOL8, shape, graph, random);
          byte[] truths = bytes(random, 256, shape);
          boolean isMostlyTrue = random.nextBoolean();
          for (int i = 0; i < truths.length; i++) {
            if (random.nextInt(20) > 0) {
              truths[i] = (byte) (isMostlyTrue ? 1 : 0);
            }
          }
          return new byte[][] {truths};
        });
  }

  private static void reduce(
      OperationCode code, OperandCode type, int[] shape, TestGraph graph, Random random) {
    List<Integer> axes = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      if (random.nextBoolean()) {
        axes.add(random.nextBoolean() ? i : i - 4);
      }
    }
    if (axes.isEmpty()) {
      axes.add(-1);
    }
    int[] kept = shape.clone();
    axes.forEach(axis -> kept[Math.floorMod(axis, 4)] = 1);
    int[] given = axes.stream().mapToInt(Integer::intValue).toArray();
    graph.operation(
        code,
        List.of(
            graph.input(type, NONE, shape),
            graph.constant(TENSOR_INT32, NONE, TestGraph.bytes(given), given.length),
            code == OperationCode.MEAN ? graph.int32(1) : graph.bool(true)),
        graph.output(type, NONE, kept));
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void normalizationsAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          OperationCode code =
              one(
                  random,
                  List.of(
                      OperationCode.SOFTMAX,
                      OperationCode.LOG_SOFTMAX,
                      OperationCode.L2_NORMALIZATION,
                      OperationCode.LOCAL_RESPONSE_NORMALIZATION,
                      OperationCode.INSTANCE_NORMALIZATION));
          int[] shape = shape(random);
          int x = graph.input(TENSOR_FLOAT32, NONE, shape);
          float beta = one(random, List.of(1f, 0.5f, 2f));
          int axis = graph.int32(random.nextInt(4) - (random.nextBoolean() ? 4 : 0));
          graph.operation(
              code,
              switch (code) {
                case L2_NORMALIZATION -> List.of(x, axis);
                case LOCAL_RESPONSE_NORMALIZATION ->
                    List.of(
                        x,
                        graph.int32(random.nextInt(4)),
                        graph.float32(1.5f),
                        graph.float32(0.3f),
                        graph.float32(beta),
                        axis);
                case INSTANCE_NORMALIZATION ->
                    List.of(
                        x,
                        graph.float32(beta),
                        graph.float32(-beta),
                        graph.float32(0.1f),
                        graph.bool(random.nextBoolean()));
                default -> List.of(x, graph.float32(beta), axis);
              },
              graph.output(TENSOR_FLOAT32, NONE, shape));
          return new byte[][] {floats(random, 3, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void normalizedLayersAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          int[] shape = shape(random);
          int axis = random.nextInt(4);
          int[] group = Arrays.copyOfRange(shape, axis, 4);
          int x = graph.input(TENSOR_FLOAT32, NONE, shape);
          int scale = graph.constant(TENSOR_FLOAT32, NONE, floats(random, 1, group), group);
          int bias = graph.constant(TENSOR_FLOAT32, NONE, floats(random, 1, shape[3]), shape[3]);
          graph.operation(
              ThalamusExtension.LAYER_NORMALIZATION,
              List.of(x, scale, bias, graph.int32(axis), graph.float32(0.1f)),
              graph.output(TENSOR_FLOAT32, NONE, shape));
          return new byte[][] {floats(random, 3, shape)};
        });
  }

  /** Rows of few bytes that differ from the zero point have the smallest sums. */
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void rowsOfBytesBroughtToLengthOneEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          boolean isSigned = random.nextBoolean();
          OperandCode type =
              isSigned ? OperandCode.TENSOR_QUANT8_ASYMM_SIGNED : OperandCode.TENSOR_QUANT8_ASYMM;
          int zeroPoint = random.nextInt(256) - (isSigned ? 128 : 0);
          int count = 1 + random.nextInt(one(random, List.of(4, 40, 600, ByteNorms.MOST)));
          int[] shape = {1 + random.nextInt(6), count};
          byte[] rows = new byte[shape[0] * count];
          for (int i = 0; i < rows.length; i++) {
            int spread = one(random, List.of(1, 2, 20, 256));
            boolean isFar = i / count % 2 == 0 || random.nextInt(count) == 0;
            int value = zeroPoint + (isFar ? random.nextInt(spread) : 0);
            rows[i] = (byte) Math.min(value, isSigned ? 127 : 255);
          }
          graph.operation(
              OperationCode.L2_NORMALIZATION,
              List.of(graph.input(type, Quantization.of(0.1f, zeroPoint), shape)),
              graph.output(type, Quantization.of(1f / 128, isSigned ? 0 : 128), shape));
          return new byte[][] {rows};
        });
  }

  /** The largest sum of squares that there may be, and ties, which bits of the factor decide. */
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void lengthsOfEqualBytesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          int count = one(random, List.of(1, 4, 16, 64, 256, 1024, 4096, ByteNorms.MOST));
          byte[] row = new byte[count];
          int value = one(random, List.of(255, 254, 128, 16, random.nextInt(256)));
          Arrays.fill(row, (byte) value);
          OperandCode type = OperandCode.TENSOR_QUANT8_ASYMM;
          graph.operation(
              OperationCode.L2_NORMALIZATION,
              List.of(graph.input(type, Quantization.of(0.1f, 0), 1, count)),
              graph.output(type, Quantization.of(1f / 128, 128), 1, count));
          return new byte[][] {row};
        });
  }
}
