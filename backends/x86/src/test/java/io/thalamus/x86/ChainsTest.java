// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.Quantization.NONE;
import static io.thalamus.x86.RandomGraphs.floats;
import static io.thalamus.x86.RandomGraphs.ints;
import static io.thalamus.x86.RandomGraphs.one;
import static io.thalamus.x86.RandomGraphs.special;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.driver.StaticGraph;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.compile.Program;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Operations on single elements that are one pass over memory: each call between guard pages, with
 * the bits of the operations one by one.
 */
class ChainsTest {
  private static final int ROUNDS = 120;

  private static final List<OperationType> OF_ONE =
      List.of(
          OperationCode.RELU,
          OperationCode.RELU1,
          OperationCode.RELU6,
          OperationCode.LOGISTIC,
          OperationCode.TANH,
          OperationCode.HARD_SWISH,
          OperationCode.ABS,
          OperationCode.NEG,
          OperationCode.SQRT,
          OperationCode.RSQRT,
          OperationCode.EXP,
          OperationCode.LOG,
          OperationCode.SIN,
          OperationCode.FLOOR,
          ThalamusExtension.ERF);

  private static final List<OperationType> OF_TWO =
      List.of(
          OperationCode.MAXIMUM,
          OperationCode.MINIMUM,
          OperationCode.PRELU,
          OperationCode.POW,
          ThalamusExtension.SQUARED_DIFFERENCE,
          ThalamusExtension.FLOOR_DIV);

  private static final List<OperationCode> ARITHMETIC =
      List.of(OperationCode.ADD, OperationCode.SUB, OperationCode.MUL, OperationCode.DIV);

  private static final List<OperationType> OF_INTEGERS =
      List.of(
          OperationCode.ADD,
          OperationCode.SUB,
          OperationCode.MUL,
          OperationCode.MAXIMUM,
          OperationCode.MINIMUM,
          OperationCode.ABS,
          OperationCode.NEG,
          ThalamusExtension.SQUARED_DIFFERENCE,
          ThalamusExtension.BITWISE_XOR,
          ThalamusExtension.RESCALE);

  /** A formula in float64 of a number, by its place in a row of so many. */
  @FunctionalInterface
  private interface Formula {
    double of(double x, int channel);
  }

  /** Adds operations between an input and an output. */
  @FunctionalInterface
  private interface Body {
    void add(TestGraph graph, int input, int output, int[] shape);
  }

  private static int calls(X86Device device, Level level, Model model) throws Exception {
    Program program =
        device.compile(
            StaticGraph.resolve(model.main(), OperationCatalog.standard()),
            level,
            PrepareConfig.DEFAULT);
    program.constants().close();
    return program.functions().size();
  }

  private static int calls(Level level, Body body) throws Exception {
    Levels.assume(level);
    try (X86Device device = Levels.device(level);
        TestGraph graph = new TestGraph()) {
      int[] shape = {2, 5, 40};
      int input = graph.input(TENSOR_FLOAT32, NONE, shape);
      body.add(graph, input, graph.output(TENSOR_FLOAT32, NONE, shape), shape);
      return calls(device, level, graph.model());
    }
  }

  private static int constant(TestGraph graph, float... values) {
    return graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(values), values.length);
  }

  private static void pair(TestGraph graph, OperationCode code, int first, int second, int result) {
    graph.operation(code, List.of(first, second, graph.int32(0)), result);
  }

  private static int pair(TestGraph graph, OperationCode code, int first, int second, int[] shape) {
    int result = graph.temporary(TENSOR_FLOAT32, NONE, shape);
    pair(graph, code, first, second, result);
    return result;
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void factorAndSumAreOnePass(Level level) throws Exception {
    assertEquals(
        1,
        calls(
            level,
            (graph, input, output, shape) -> {
              int scaled = pair(graph, OperationCode.MUL, input, constant(graph, 3), shape);
              pair(graph, OperationCode.ADD, scaled, constant(graph, new float[40]), output);
            }));
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void resultThatOthersReadIsStored(Level level) throws Exception {
    assertEquals(
        2,
        calls(
            level,
            (graph, input, output, shape) -> {
              int stored = graph.output(TENSOR_FLOAT32, NONE, shape);
              pair(graph, OperationCode.MUL, input, constant(graph, 3), stored);
              pair(graph, OperationCode.ADD, stored, constant(graph, 1), output);
            }),
        "an output");
    assertEquals(
        3,
        calls(
            level,
            (graph, input, output, shape) -> {
              int read = pair(graph, OperationCode.MUL, input, constant(graph, 3), shape);
              int result = graph.output(TENSOR_FLOAT32, NONE, shape);
              graph.operation(OperationCode.SOFTMAX, List.of(read, graph.float32(1)), result);
              pair(graph, OperationCode.ADD, read, constant(graph, 1), output);
            }),
        "a result that another operation reads");
    assertEquals(
        1,
        calls(
            level,
            (graph, input, output, shape) -> {
              int read = pair(graph, OperationCode.MUL, input, constant(graph, 3), shape);
              int other = graph.temporary(TENSOR_FLOAT32, NONE, shape);
              graph.operation(OperationCode.LOGISTIC, List.of(read), other);
              pair(graph, OperationCode.MUL, read, other, output);
            }),
        "a result that the pass alone reads twice");
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void longChainIsCut(Level level) throws Exception {
    int calls =
        calls(
            level,
            (graph, input, output, shape) -> {
              int from = input;
              for (int i = 0; i < 40; i++) {
                from = pair(graph, OperationCode.MUL, from, constant(graph, i), shape);
              }
              pair(graph, OperationCode.ADD, from, constant(graph, 1), output);
            });
    assertTrue(calls > 1 && calls < 6, calls + " calls");
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void treeThatNeedsMoreRegistersIsCut(Level level) throws Exception {
    int calls =
        calls(
            level,
            (graph, input, output, shape) -> {
              List<Integer> leaves = new ArrayList<>();
              for (int i = 0; i < 12; i++) {
                leaves.add(pair(graph, OperationCode.MUL, input, constant(graph, i), shape));
              }
              int sum = leaves.removeFirst();
              while (leaves.size() > 1) {
                sum = pair(graph, OperationCode.ADD, sum, leaves.removeFirst(), shape);
              }
              pair(graph, OperationCode.ADD, sum, leaves.removeFirst(), output);
            });
    assertTrue(calls > 1 && calls < 12, calls + " calls");
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void shortRunsDoNotSlowLongOnes(Level level) throws Exception {
    assertEquals(
        2,
        calls(
            level,
            (graph, input, output, shape) -> {
              int narrow = graph.input(TENSOR_FLOAT32, NONE, 500, 3);
              int other = graph.input(TENSOR_FLOAT32, NONE, 500, 3);
              int[] rows = {500, 3};
              int sum = pair(graph, OperationCode.ADD, narrow, other, rows);
              int result = graph.output(TENSOR_FLOAT32, NONE, rows);
              pair(graph, OperationCode.MUL, sum, constant(graph, 1, 2, 3), result);
            }));
  }

  /** Compares with a formula, on rows of any length. */
  private static void compare(Level level, double magnitude, Formula formula, Body body)
      throws Exception {
    Levels.assume(level);
    long seed = Long.getLong("thalamus.seed", 1);
    Random random = new Random(seed);
    try (X86Device device = Levels.device(level)) {
      for (int round = 0; round < 20; round++) {
        try (TestGraph graph = new TestGraph()) {
          int[] shape = {1 + random.nextInt(9), 32 + random.nextInt(70)};
          int input = graph.input(TENSOR_FLOAT32, NONE, shape);
          body.add(graph, input, graph.output(TENSOR_FLOAT32, NONE, shape), shape);
          assertEquals(1, calls(device, level, graph.model()));
          byte[] numbers = floats(random, magnitude, shape);
          byte[] found = GuardedProgram.run(device, level, graph.model(), random, numbers);
          float[] x = TestGraph.floats(numbers);
          float[] y = TestGraph.floats(found);
          for (int i = 0; i < x.length; i++) {
            double wanted = formula.of(x[i], i % shape[1]);
            assertEquals(
                wanted,
                y[i],
                2e-6 * Math.max(1, Math.abs(wanted)),
                "element " + i + " of " + Arrays.toString(shape) + ", seed " + seed);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void geluIsWhatTheFormulaSays(Level level) throws Exception {
    compare(
        level,
        4,
        (x, _) -> x * 0.5 * (1 + erf(x / Math.sqrt(2))),
        (graph, input, output, shape) -> {
          int root = constant(graph, (float) Math.sqrt(2));
          int divided = pair(graph, OperationCode.DIV, input, root, shape);
          int erf = graph.temporary(TENSOR_FLOAT32, NONE, shape);
          graph.operation(ThalamusExtension.ERF, List.of(divided), erf);
          int sum = pair(graph, OperationCode.ADD, constant(graph, 1), erf, shape);
          int half = pair(graph, OperationCode.MUL, input, constant(graph, 0.5f), shape);
          pair(graph, OperationCode.MUL, half, sum, output);
        });
  }

  /** The series, which is exact for the small arguments here. */
  private static double erf(double x) {
    double term = x;
    double sum = x;
    for (int n = 1; n < 100; n++) {
      term *= -x * x / n;
      sum += term / (2 * n + 1);
    }
    return 2 / Math.sqrt(Math.PI) * sum;
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void scaleAndShiftOfChannelsAreWhatTheFormulaSays(Level level) throws Exception {
    compare(
        level,
        3,
        (x, channel) -> Math.max(0, (x - 0.25) * (channel + 1) / 7 + channel % 5) + 1,
        (graph, input, output, shape) -> {
          float[] factors = new float[shape[1]];
          float[] sums = new float[shape[1]];
          for (int i = 0; i < factors.length; i++) {
            factors[i] = (i + 1) / 7f;
            sums[i] = i % 5;
          }
          int less = pair(graph, OperationCode.SUB, input, constant(graph, 0.25f), shape);
          int scaled = pair(graph, OperationCode.MUL, constant(graph, factors), less, shape);
          int shifted = pair(graph, OperationCode.ADD, scaled, constant(graph, sums), shape);
          int positive = graph.temporary(TENSOR_FLOAT32, NONE, shape);
          graph.operation(OperationCode.RELU, List.of(shifted), positive);
          pair(graph, OperationCode.ADD, positive, constant(graph, 1), output);
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void chainsOfIntegersEqualTheReference(Level level) throws Exception {
    RandomGraphs.compare(
        level,
        0,
        (graph, random) -> {
          int[][] shapes = RandomGraphs.broadcast(random);
          int[] shape = shapes[2];
          int x = graph.input(TENSOR_INT32, NONE, shape);
          int y = graph.input(TENSOR_INT32, NONE, shapes[0]);
          int number = graph.constant(TENSOR_INT32, NONE, ints(random, 1), 1);
          int from = x;
          int output = graph.output(TENSOR_INT32, NONE, shape);
          for (int left = 2 + random.nextInt(6); left > 0; left--) {
            int to = left == 1 ? output : graph.temporary(TENSOR_INT32, NONE, shape);
            OperationType type = one(random, OF_INTEGERS);
            List<Integer> inputs = new ArrayList<>(List.of(from));
            if (type == ThalamusExtension.RESCALE) {
              inputs.add(graph.int32(random.nextInt(1 << 30, Integer.MAX_VALUE)));
              inputs.add(graph.int32(random.nextInt(-31, 31)));
            } else if (type != OperationCode.ABS && type != OperationCode.NEG) {
              inputs.add(random.nextInt(inputs.size() + 1), one(random, List.of(x, y, number)));
            }
            if (ARITHMETIC.contains(type)) {
              inputs.add(graph.int32(0));
            }
            graph.operation(type, inputs, to);
            from = to;
          }
          return new byte[][] {ints(random, shape), ints(random, shapes[0])};
        });
  }

  /** Any operations on tensors, channels, rows and numbers; some results are outputs. */
  private static final class AnyGraph {
    private final Random random;
    private final TestGraph graph;
    private final int[] shape = {1, 1, 1};
    private final List<Integer> whole = new ArrayList<>();
    private final List<Integer> parts = new ArrayList<>();
    private final List<byte[]> inputs = new ArrayList<>();

    /**
     * A graph.
     *
     * @param random the same for the same graph
     * @param isEachStored whether all results are outputs, so that each operation is a pass
     */
    AnyGraph(Random random, TestGraph graph, boolean isEachStored) {
      this.random = random;
      this.graph = graph;
      shape[0] = 1 + random.nextInt(3);
      shape[1] = 1 + random.nextInt(4);
      shape[2] = 1 + random.nextInt(random.nextBoolean() ? 5 : 90);
      for (int i = random.nextInt(2); i < 2; i++) {
        whole.add(input(shape));
      }
      for (int i = random.nextInt(5); i < 5; i++) {
        parts.add(part());
      }
      int last = graph.output(TENSOR_FLOAT32, NONE, shape);
      for (int left = 2 + random.nextInt(22); left > 0; left--) {
        boolean isOutput = random.nextInt(8) == 0 || isEachStored;
        int result =
            left == 1
                ? last
                : isOutput
                    ? graph.output(TENSOR_FLOAT32, NONE, shape)
                    : graph.temporary(TENSOR_FLOAT32, NONE, shape);
        add(result);
        whole.add(result);
      }
    }

    private int input(int... of) {
      inputs.add(random.nextBoolean() ? floats(random, 3, of) : special(random, of));
      return graph.input(TENSOR_FLOAT32, NONE, of);
    }

    private int part() {
      int[] of =
          switch (random.nextInt(6)) {
            case 0 -> new int[] {shape[2]};
            case 1 -> new int[] {shape[0], 1, shape[2]};
            case 2 -> new int[] {shape[1], 1};
            case 3 -> new int[] {1};
            case 4 -> new int[] {1, 1, 1, 1};
            default -> new int[] {shape[0], 1, 1};
          };
      of = of.length > shape.length ? new int[] {1, 1, 1} : of;
      if (random.nextBoolean()) {
        return input(of);
      }
      return graph.constant(TENSOR_FLOAT32, NONE, special(random, of), of);
    }

    private int recent() {
      return random.nextInt(3) > 0 ? whole.getLast() : one(random, whole);
    }

    private void add(int result) {
      if (random.nextInt(3) == 0) {
        graph.operation(one(random, OF_ONE), List.of(recent()), result);
        return;
      }
      int first = recent();
      int second =
          parts.isEmpty() || random.nextInt(3) == 0 ? one(random, whole) : one(random, parts);
      if (random.nextInt(3) > 0) {
        boolean isSwapped = random.nextBoolean();
        List<Integer> operands =
            List.of(
                isSwapped ? second : first,
                isSwapped ? first : second,
                graph.int32(random.nextInt(4)));
        graph.operation(one(random, ARITHMETIC), operands, result);
      } else {
        OperationType type = one(random, OF_TWO);
        boolean isNumber = type == OperationCode.POW && random.nextBoolean();
        int exponent = isNumber ? constant(graph, 2 + random.nextInt(2)) : second;
        graph.operation(type, List.of(first, exponent), result);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void anyChainHasTheBitsOfItsOperations(Level level) throws Exception {
    Levels.assume(level);
    long seed = Long.getLong("thalamus.seed", 1);
    int fewer = 0;
    try (X86Device device = Levels.device(level)) {
      for (int round = 0; round < ROUNDS; round++) {
        String message = "round " + round + ", seed " + seed;
        try (TestGraph chained = new TestGraph();
            TestGraph stored = new TestGraph()) {
          AnyGraph any = new AnyGraph(new Random(seed * ROUNDS + round), chained, false);
          new AnyGraph(new Random(seed * ROUNDS + round), stored, true);
          byte[][] inputs = any.inputs.toArray(byte[][]::new);
          Random noise = new Random(seed);
          byte[] wanted = TestGraph.run(device, stored.model(), inputs);
          byte[] found = TestGraph.run(device, chained.model(), inputs);
          byte[] guarded = GuardedProgram.run(device, level, chained.model(), noise, inputs);
          TestGraph.assertSame(wanted, found, message);
          TestGraph.assertSame(wanted, guarded, message + ", guarded");
          if (calls(device, level, chained.model()) < calls(device, level, stored.model())) {
            fewer++;
          }
        }
      }
    }
    assertTrue(fewer > ROUNDS / 2, fewer + " graphs of " + ROUNDS + " have chains, seed " + seed);
  }
}
