// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.Quantization.NONE;
import static io.thalamus.x86.RandomGraphs.compare;
import static io.thalamus.x86.RandomGraphs.floats;
import static io.thalamus.x86.RandomGraphs.one;

import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Recurrent layers against the reference. */
class RecurrenceTest {
  /** Sizes of one layer, and its graph. */
  private static final class Layer {
    final TestGraph graph;
    final Random random;
    final int steps;
    final int batches;
    final int size;
    final int cells;
    final boolean isTimeMajor;
    final List<byte[]> data = new ArrayList<>();

    Layer(TestGraph graph, Random random) {
      this.graph = graph;
      this.random = random;
      steps = 1 + random.nextInt(6);
      batches = 1 + random.nextInt(random.nextBoolean() ? 4 : 20);
      size = 1 + random.nextInt(20);
      cells = 1 + random.nextInt(50);
      isTimeMajor = random.nextBoolean();
    }

    int weights(int... shape) {
      return graph.constant(TENSOR_FLOAT32, NONE, floats(random, 0.4, shape), shape);
    }

    /**
     * Weights of what a layer without limits reads of its last step: larger ones would let results,
     * and with them what floats cannot hold, grow from step to step.
     */
    int recurrentWeights() {
      return graph.constant(
          TENSOR_FLOAT32, NONE, floats(random, 0.8 / Math.sqrt(cells), cells, cells), cells, cells);
    }

    int omitted() {
      return graph.noValue(TENSOR_FLOAT32);
    }

    int input(int... shape) {
      data.add(floats(random, 1, shape));
      return graph.input(TENSOR_FLOAT32, NONE, shape);
    }

    int[] rows(int depth) {
      return isTimeMajor ? new int[] {steps, batches, depth} : new int[] {batches, steps, depth};
    }

    /** The weights and biases of one cell with a long memory. */
    List<Integer> cell(boolean isCoupled) {
      List<Integer> inputs = new ArrayList<>();
      for (int[] shape : new int[][] {{cells, size}, {cells, cells}, {}, {cells}}) {
        if (shape.length == 0) {
          inputs.addAll(List.of(omitted(), omitted(), omitted()));
        } else {
          inputs.add(isCoupled ? omitted() : weights(shape));
          for (int gate = 1; gate < 4; gate++) {
            inputs.add(weights(shape));
          }
        }
      }
      inputs.add(omitted());
      inputs.add(omitted());
      return inputs;
    }

    List<Integer> scalars() {
      return List.of(
          graph.int32(one(random, List.of(4, 4, 1, 6))),
          graph.float32(random.nextBoolean() ? 0.5f : 0),
          graph.float32(0));
    }

    void omit(List<Integer> inputs, int count) {
      for (int i = 0; i < count; i++) {
        inputs.add(omitted());
      }
    }

    byte[][] inputs() {
      return data.toArray(byte[][]::new);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void sequencesWithLongMemoryAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          Layer layer = new Layer(graph, random);
          List<Integer> inputs = new ArrayList<>();
          inputs.add(layer.input(layer.rows(layer.size)));
          inputs.addAll(layer.cell(random.nextInt(3) == 0));
          inputs.add(layer.input(layer.batches, layer.cells));
          inputs.add(layer.input(layer.batches, layer.cells));
          inputs.addAll(layer.scalars());
          inputs.add(graph.bool(layer.isTimeMajor));
          layer.omit(inputs, 4);
          graph.operation(
              OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM,
              inputs,
              graph.output(TENSOR_FLOAT32, NONE, layer.rows(layer.cells)));
          return layer.inputs();
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void sequencesReadBothWaysAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          Layer layer = new Layer(graph, random);
          List<Integer> inputs = new ArrayList<>();
          inputs.add(layer.input(layer.rows(layer.size)));
          inputs.addAll(layer.cell(false));
          inputs.addAll(layer.cell(false));
          for (int i = 0; i < 4; i++) {
            inputs.add(layer.input(layer.batches, layer.cells));
          }
          layer.omit(inputs, 9);
          inputs.addAll(layer.scalars());
          inputs.add(graph.bool(true));
          inputs.add(graph.bool(layer.isTimeMajor));
          layer.omit(inputs, 8);
          graph.operation(
              OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM,
              inputs,
              graph.output(TENSOR_FLOAT32, NONE, layer.rows(2 * layer.cells)));
          return layer.inputs();
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void sequencesWithShortMemoryAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          Layer layer = new Layer(graph, random);
          List<Integer> inputs =
              List.of(
                  layer.input(layer.rows(layer.size)),
                  layer.weights(layer.cells, layer.size),
                  layer.recurrentWeights(),
                  layer.weights(layer.cells),
                  layer.input(layer.batches, layer.cells),
                  graph.int32(one(random, List.of(0, 1, 2, 3, 4, 6))),
                  graph.int32(layer.isTimeMajor ? 1 : 0));
          graph.operation(
              OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN,
              inputs,
              graph.output(TENSOR_FLOAT32, NONE, layer.rows(layer.cells)));
          return layer.inputs();
        });
  }

  /** The first output is what is compared: the state in one test, the result in the other. */
  private static byte[][] filters(TestGraph graph, Random random, boolean isStateFirst) {
    Layer layer = new Layer(graph, random);
    int rank = 1 + random.nextInt(3);
    int units = layer.cells;
    int memory = 1 + random.nextInt(40);
    int filters = units * rank;
    boolean isConstant = random.nextBoolean();
    List<Integer> inputs =
        List.of(
            layer.input(layer.batches, layer.size),
            isConstant ? layer.weights(filters, layer.size) : layer.input(filters, layer.size),
            isConstant ? layer.weights(filters, memory) : layer.input(filters, memory),
            random.nextBoolean() ? layer.weights(units) : layer.omitted(),
            layer.input(layer.batches, filters * memory),
            graph.int32(rank),
            graph.int32(one(random, List.of(0, 1, 2, 3, 4, 6))));
    int[] state = {layer.batches, filters * memory};
    int[] result = {layer.batches, units};
    int first = graph.output(TENSOR_FLOAT32, NONE, isStateFirst ? state : result);
    int second = graph.output(TENSOR_FLOAT32, NONE, isStateFirst ? result : state);
    graph.operation(
        OperationCode.SVDF, inputs, isStateFirst ? List.of(first, second) : List.of(second, first));
    return layer.inputs();
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void filtersOverTimeAreNearTheReference(Level level) throws Exception {
    compare(level, 1e-5, (graph, random) -> filters(graph, random, false));
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void statesOfFiltersOverTimeAreNearTheReference(Level level) throws Exception {
    compare(level, 1e-5, (graph, random) -> filters(graph, random, true));
  }
}
