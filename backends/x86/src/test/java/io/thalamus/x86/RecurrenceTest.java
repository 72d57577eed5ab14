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

    /** Floats of an output; as many as cells where there is no projection. */
    final int outputs;

    final boolean isProjected;
    final boolean isNormalized;
    final boolean hasPeepholes;
    final List<byte[]> data = new ArrayList<>();

    Layer(TestGraph graph, Random random) {
      this(graph, random, 0);
    }

    /**
     * A layer with optional parts.
     *
     * @param parts in how many of 100 layers there is each of them
     */
    Layer(TestGraph graph, Random random, int parts) {
      this.graph = graph;
      this.random = random;
      steps = 1 + random.nextInt(6);
      batches = 1 + random.nextInt(random.nextBoolean() ? 4 : 20);
      size = 1 + random.nextInt(20);
      cells = 1 + random.nextInt(50);
      isTimeMajor = random.nextBoolean();
      isProjected = random.nextInt(100) < parts;
      isNormalized = random.nextInt(100) < parts;
      hasPeepholes = random.nextInt(100) < parts;
      outputs = isProjected ? 1 + random.nextInt(30) : cells;
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
      for (int[] shape : new int[][] {{cells, size}, {cells, outputs}}) {
        inputs.addAll(gates(!isCoupled, shape));
      }
      for (int gate = 0; gate < 3; gate++) {
        boolean isThere = hasPeepholes && (gate > 0 || !isCoupled);
        inputs.add(isThere ? weights(cells) : omitted());
      }
      inputs.addAll(gates(!isCoupled, cells));
      inputs.add(isProjected ? weights(outputs, cells) : omitted());
      inputs.add(isProjected && random.nextBoolean() ? weights(outputs) : omitted());
      return inputs;
    }

    private List<Integer> gates(boolean hasFirst, int... shape) {
      List<Integer> inputs = new ArrayList<>();
      inputs.add(hasFirst ? weights(shape) : omitted());
      for (int gate = 1; gate < 4; gate++) {
        inputs.add(weights(shape));
      }
      return inputs;
    }

    void norms(List<Integer> inputs, boolean isCoupled) {
      if (isNormalized) {
        inputs.addAll(gates(!isCoupled, cells));
      } else {
        omit(inputs, 4);
      }
    }

    List<Integer> scalars() {
      return List.of(
          graph.int32(one(random, List.of(4, 4, 1, 6))),
          graph.float32(random.nextBoolean() ? 0.5f : 0),
          graph.float32(isProjected && random.nextBoolean() ? 0.5f : 0));
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

  /** One of the outputs of the layer is the first one, which is compared. */
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void optionalPartsOfCellsAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-4,
        (graph, random) -> {
          Layer layer = new Layer(graph, random, 60);
          boolean isCoupled = random.nextInt(3) == 0;
          List<Integer> inputs = new ArrayList<>();
          inputs.add(layer.input(layer.rows(layer.size)));
          inputs.addAll(layer.cell(isCoupled));
          inputs.add(layer.input(layer.batches, layer.outputs));
          inputs.add(layer.input(layer.batches, layer.cells));
          inputs.addAll(layer.scalars());
          inputs.add(graph.bool(layer.isTimeMajor));
          layer.norms(inputs, isCoupled);
          int[][] shapes = {
            layer.rows(layer.outputs), {layer.batches, layer.outputs}, {layer.batches, layer.cells}
          };
          int compared = random.nextInt(3);
          int first = graph.output(TENSOR_FLOAT32, NONE, shapes[compared]);
          List<Integer> outputs = new ArrayList<>();
          for (int i = 0; i < 3; i++) {
            outputs.add(i == compared ? first : graph.output(TENSOR_FLOAT32, NONE, shapes[i]));
          }
          graph.operation(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, outputs);
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
          Layer layer = new Layer(graph, random, 30);
          List<Integer> inputs = new ArrayList<>();
          inputs.add(layer.input(layer.rows(layer.size)));
          inputs.addAll(layer.cell(false));
          inputs.addAll(layer.cell(false));
          for (int i = 0; i < 4; i++) {
            inputs.add(layer.input(layer.batches, i % 2 == 0 ? layer.outputs : layer.cells));
          }
          layer.omit(inputs, 9);
          inputs.addAll(layer.scalars());
          inputs.add(graph.bool(true));
          inputs.add(graph.bool(layer.isTimeMajor));
          layer.norms(inputs, false);
          layer.norms(inputs, false);
          graph.operation(
              OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM,
              inputs,
              graph.output(TENSOR_FLOAT32, NONE, layer.rows(2 * layer.outputs)));
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
