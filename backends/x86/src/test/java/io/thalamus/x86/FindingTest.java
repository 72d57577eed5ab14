// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.Quantization.NONE;
import static io.thalamus.x86.RandomGraphs.bytes;
import static io.thalamus.x86.RandomGraphs.compare;
import static io.thalamus.x86.RandomGraphs.count;
import static io.thalamus.x86.RandomGraphs.floats;
import static io.thalamus.x86.RandomGraphs.halves;
import static io.thalamus.x86.RandomGraphs.one;
import static io.thalamus.x86.RandomGraphs.shape;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.extension.Selection.Update;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.OutcomeException;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.util.List;
import java.util.Random;
import java.util.function.IntSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Places of elements, and elements by their places, against the reference. */
class FindingTest {
  private static Quantization quantization(OperandCode type) {
    return type == TENSOR_QUANT8_ASYMM || type == TENSOR_QUANT8_ASYMM_SIGNED
        ? Quantization.of(0.5f, 3)
        : NONE;
  }

  private static byte[] data(OperandCode type, Random random, int[] shape) {
    return switch (type) {
      case TENSOR_FLOAT16 -> halves(random, shape);
      case TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED -> bytes(random, 256, shape);
      default -> random.nextBoolean() ? floats(random, 5, shape) : equals(random, shape);
    };
  }

  /** Few numbers, each of which is there often. */
  private static byte[] equals(Random random, int[] shape) {
    float[] values = new float[count(shape)];
    for (int i = 0; i < values.length; i++) {
      values[i] = random.nextInt(3) - 1;
    }
    return TestGraph.bytes(values);
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void placesOfExtremesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          OperandCode type =
              one(
                  random,
                  List.of(
                      TENSOR_FLOAT32,
                      TENSOR_FLOAT32,
                      TENSOR_FLOAT16,
                      TENSOR_INT32,
                      TENSOR_QUANT8_ASYMM,
                      TENSOR_QUANT8_ASYMM_SIGNED));
          int[] shape = shape(random);
          int axis = random.nextInt(4);
          int[] result = new int[3];
          for (int i = 0; i < 3; i++) {
            result[i] = shape[i < axis ? i : i + 1];
          }
          graph.operation(
              random.nextBoolean() ? OperationCode.ARGMAX : OperationCode.ARGMIN,
              List.of(graph.input(type, quantization(type), shape), graph.int32(axis)),
              graph.output(TENSOR_INT32, NONE, result));
          return new byte[][] {data(type, random, shape)};
        });
  }

  /** Without NaN, which the reference leaves wherever it meets it. */
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void theLargestAndTheirPlacesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          OperandCode type =
              one(
                  random,
                  List.of(
                      TENSOR_FLOAT32,
                      TENSOR_FLOAT16,
                      TENSOR_INT32,
                      TENSOR_QUANT8_ASYMM,
                      TENSOR_QUANT8_ASYMM_SIGNED));
          int[] shape = shape(random);
          int[] top = shape.clone();
          top[3] = 1 + random.nextInt(shape[3]);
          boolean arePlacesFirst = random.nextBoolean();
          int first =
              arePlacesFirst
                  ? graph.output(TENSOR_INT32, NONE, top)
                  : graph.output(type, quantization(type), top);
          int second =
              arePlacesFirst
                  ? graph.output(type, quantization(type), top)
                  : graph.output(TENSOR_INT32, NONE, top);
          graph.operation(
              OperationCode.TOPK_V2,
              List.of(graph.input(type, quantization(type), shape), graph.int32(top[3])),
              arePlacesFirst ? List.of(second, first) : List.of(first, second));
          return new byte[][] {data(type, random, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void elementsAtComputedPlacesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          OperandCode type =
              one(random, List.of(TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM));
          int[] shape = shape(random);
          int axis = random.nextInt(4);
          int[] places = new int[1 + random.nextInt(70)];
          for (int i = 0; i < places.length; i++) {
            places[i] = random.nextInt(shape[axis]);
          }
          gather(
              graph,
              type,
              shape,
              axis,
              places.length,
              () -> graph.input(TENSOR_INT32, NONE, places.length));
          return new byte[][] {data(type, random, shape), TestGraph.bytes(places)};
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void slicesAtTuplesOfIndexesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          OperandCode type =
              one(random, List.of(TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM));
          int[] shape = shape(random);
          int depth = 1 + random.nextInt(4);
          int tuples = 1 + random.nextInt(40);
          int[] places = new int[tuples * depth];
          for (int i = 0; i < places.length; i++) {
            places[i] = random.nextInt(shape[i % depth]);
          }
          int[] result = new int[1 + 4 - depth];
          result[0] = tuples;
          System.arraycopy(shape, depth, result, 1, 4 - depth);
          boolean isConstant = random.nextBoolean();
          int data = graph.input(type, quantization(type), shape);
          graph.operation(
              ThalamusExtension.GATHER_ND,
              List.of(
                  data,
                  isConstant
                      ? graph.constant(TENSOR_INT32, NONE, TestGraph.bytes(places), tuples, depth)
                      : graph.input(TENSOR_INT32, NONE, tuples, depth)),
              graph.output(type, quantization(type), result));
          byte[] values = data(type, random, shape);
          return isConstant
              ? new byte[][] {values}
              : new byte[][] {values, TestGraph.bytes(places)};
        });
  }

  /** Places come several times, so that the order of updates is seen. */
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void updatedSlicesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          Update update = one(random, List.of(Update.values()));
          OperandCode type =
              update == Update.REPLACE
                  ? one(random, List.of(TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM))
                  : one(random, List.of(TENSOR_FLOAT32, TENSOR_INT32));
          int[] shape = shape(random);
          int depth = 1 + random.nextInt(4);
          int tuples = 1 + random.nextInt(40);
          int[] places = new int[tuples * depth];
          for (int i = 0; i < places.length; i++) {
            places[i] = random.nextInt(Math.min(3, shape[i % depth]));
          }
          int[] slices = new int[1 + 4 - depth];
          slices[0] = tuples;
          System.arraycopy(shape, depth, slices, 1, 4 - depth);
          graph.operation(
              ThalamusExtension.SCATTER_ND,
              List.of(
                  graph.input(type, quantization(type), shape),
                  graph.input(TENSOR_INT32, NONE, tuples, depth),
                  graph.input(type, quantization(type), slices),
                  graph.int32(update.code())),
              graph.output(type, quantization(type), shape));
          return new byte[][] {
            data(type, random, shape), TestGraph.bytes(places), data(type, random, slices)
          };
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 2, Integer.MAX_VALUE})
  void theFirstIndexOfATupleOutOfBoundsIsNamed(int wrong) throws Exception {
    try (X86Device device = new X86Device("1.0.0");
        TestGraph graph = new TestGraph()) {
      graph.operation(
          ThalamusExtension.GATHER_ND,
          List.of(graph.input(TENSOR_FLOAT32, NONE, 3, 2), graph.input(TENSOR_INT32, NONE, 3, 2)),
          graph.output(TENSOR_FLOAT32, NONE, 3));
      byte[] table = TestGraph.bytes(new float[6]);
      byte[] places = TestGraph.bytes(new int[] {2, 1, 0, wrong, 1, -9});
      OutcomeException failed =
          assertThrows(
              OutcomeException.class, () -> TestGraph.run(device, graph.model(), table, places));
      assertTrue(
          failed.getMessage().contains("index 1 is " + wrong + ", outside of [0, 2)"),
          failed.getMessage());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 3, Integer.MIN_VALUE, Integer.MAX_VALUE})
  void theFirstIndexOutOfBoundsIsNamed(int wrong) throws Exception {
    try (X86Device device = new X86Device("1.0.0");
        TestGraph graph = new TestGraph()) {
      graph.operation(
          OperationCode.GATHER,
          List.of(
              graph.input(TENSOR_FLOAT32, NONE, 3, 2),
              graph.int32(0),
              graph.input(TENSOR_INT32, NONE, 4)),
          graph.output(TENSOR_FLOAT32, NONE, 4, 2));
      byte[] table = TestGraph.bytes(new float[6]);
      byte[] places = TestGraph.bytes(new int[] {2, wrong, -7, 0});
      OutcomeException failed =
          assertThrows(
              OutcomeException.class, () -> TestGraph.run(device, graph.model(), table, places));
      assertTrue(
          failed.getMessage().contains("index 1 is " + wrong + ", outside of [0, 3)"),
          failed.getMessage());
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void elementsAtConstantPlacesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          OperandCode type =
              one(random, List.of(TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM));
          int[] shape = shape(random);
          int axis = random.nextInt(4);
          int[] places = new int[1 + random.nextInt(16)];
          int step = 0;
          for (int i = 0; i < places.length; i++) {
            // Lines of equal distances, forth and back, of any length.
            step = random.nextInt(3) == 0 ? random.nextInt(5) - 2 : step;
            int next = i == 0 ? -1 : places[i - 1] + step;
            places[i] = next >= 0 && next < shape[axis] ? next : random.nextInt(shape[axis]);
          }
          gather(graph, type, shape, axis, places.length, () -> graph.int32Vector(places));
          return new byte[][] {data(type, random, shape)};
        });
  }

  /** A row with a margin of its own elements, in reverse, as images are padded. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void mirroredMarginsOfManyRowsAreTheirElements(int length) throws Exception {
    int rows = 1200;
    int columns = 250;
    int margin = 20;
    int[] places = new int[columns + 2 * margin];
    for (int i = 0; i < places.length; i++) {
      int column = Math.abs(i - margin);
      places[i] = Math.min(column, 2 * (columns - 1) - column);
    }
    float[] values = new float[rows * columns * length];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    try (X86Device device = new X86Device("1.0.0");
        TestGraph graph = new TestGraph()) {
      int[] shape = {1, rows, columns, length};
      gather(graph, TENSOR_FLOAT32, shape, 2, places.length, () -> graph.int32Vector(places));
      float[] results =
          TestGraph.floats(TestGraph.run(device, graph.model(), TestGraph.bytes(values)));
      for (int i = 0; i < results.length; i++) {
        int row = i / length / places.length;
        int column = places[i / length % places.length];
        assertEquals((row * columns + column) * length + i % length, results[i], "element " + i);
      }
    }
  }

  /** Adds a GATHER; its indexes become an operand behind the others. */
  private static void gather(
      TestGraph graph, OperandCode type, int[] shape, int axis, int count, IntSupplier indexes) {
    int[] result = shape.clone();
    result[axis] = count;
    graph.operation(
        OperationCode.GATHER,
        List.of(
            graph.input(type, quantization(type), shape), graph.int32(axis), indexes.getAsInt()),
        graph.output(type, quantization(type), result));
  }
}
