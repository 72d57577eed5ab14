// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.Quantization.NONE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cache.NoCacheEngine;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.driver.BurstSource;
import io.thalamus.driver.StaticGraph;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.code.Machine;
import io.thalamus.x86.compile.Program;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Random networks against the reference, with any number of threads. */
class NetworkTest {
  private static final int SIDE = 24;
  private static final int NETWORKS = 12;
  private static final int OPERATIONS = 10;

  private final Random random = new Random(1);

  private float[] floats(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextFloat() * 2 - 1;
    }
    return values;
  }

  private int constant(TestGraph graph, int... shape) {
    int count = 1;
    for (int dimension : shape) {
      count *= dimension;
    }
    float[] values = floats(count);
    int last = shape.length == 1 ? 1 : count / shape[0];
    for (int i = 0; i < count; i++) {
      values[i] /= (float) Math.sqrt(last);
    }
    return graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(values), shape);
  }

  private static int same(TestGraph graph, int channels) {
    return graph.temporary(TENSOR_FLOAT32, NONE, 1, SIDE, SIDE, channels);
  }

  private static void add(
      TestGraph graph, OperationCode code, List<Integer> tensors, int output, int... numbers) {
    List<Integer> inputs = new ArrayList<>(tensors);
    for (int number : numbers) {
      inputs.add(graph.int32(number));
    }
    graph.operation(code, inputs, output);
  }

  private int next(TestGraph graph, List<Integer> values, int channels) {
    int from = values.get(random.nextInt(values.size()));
    int other = values.get(random.nextInt(values.size()));
    int to = same(graph, channels);
    switch (random.nextInt(7)) {
      case 0, 1 -> {
        int side = 1 + 2 * random.nextInt(2);
        int filter = constant(graph, channels, side, side, channels);
        add(
            graph,
            OperationCode.CONV_2D,
            List.of(from, filter, constant(graph, channels)),
            to,
            1,
            1,
            1,
            random.nextInt(4));
      }
      case 2 -> {
        int filter = constant(graph, 1, 3, 3, channels);
        add(
            graph,
            OperationCode.DEPTHWISE_CONV_2D,
            List.of(from, filter, constant(graph, channels)),
            to,
            1,
            1,
            1,
            1,
            0);
      }
      case 3 -> add(graph, OperationCode.ADD, List.of(from, other), to, random.nextInt(4));
      case 4 -> graph.operation(OperationCode.LOGISTIC, List.of(from), to);
      case 5 -> add(graph, OperationCode.MAX_POOL_2D, List.of(from), to, 1, 1, 1, 3, 3, 0);
      default -> add(graph, OperationCode.AVERAGE_POOL_2D, List.of(from), to, 1, 1, 1, 2, 3, 0);
    }
    return to;
  }

  private Model network(TestGraph graph, int channels) {
    List<Integer> values = new ArrayList<>();
    values.add(graph.input(TENSOR_FLOAT32, NONE, 1, SIDE, SIDE, channels));
    for (int i = 0; i < OPERATIONS; i++) {
      values.add(next(graph, values, channels));
    }
    int all = graph.temporary(TENSOR_FLOAT32, NONE, 1, SIDE, SIDE, channels * values.size());
    add(graph, OperationCode.CONCATENATION, values, all, 3);
    int output = graph.output(TENSOR_FLOAT32, NONE, 1, SIDE + 3, SIDE, channels * values.size());
    int paddings =
        graph.constant(TENSOR_INT32, NONE, TestGraph.bytes(0, 0, 1, 2, 0, 0, 0, 0), 4, 2);
    graph.operation(OperationCode.PAD, List.of(all, paddings), output);
    return graph.model();
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void noNumberOfThreadsChangesABit(Level level) throws Exception {
    Levels.assume(level);
    Machine machine = Machine.of(level);
    int shared = 0;
    for (int i = 0; i < NETWORKS; i++) {
      int channels = new int[] {5, 16, 40}[i % 3];
      try (TestGraph graph = new TestGraph();
          CpuDevice cpu = new CpuDevice("1.0.0")) {
        Model model = network(graph, channels);
        byte[] input = TestGraph.bytes(floats(SIDE * SIDE * channels));
        float[] wanted = TestGraph.floats(TestGraph.run(cpu, model, input));
        byte[] first = null;
        for (int threads : new int[] {1, 2, 5}) {
          try (X86Device device =
              new X86Device("1.0.0", machine, threads, new NoCacheEngine(), BurstSource.NONE)) {
            StaticGraph resolved = StaticGraph.resolve(model.main(), OperationCatalog.standard());
            Program program = device.compile(resolved, level, PrepareConfig.DEFAULT);
            program.constants().close();
            shared += (int) program.groups().stream().filter(Program.Group::isShared).count();
            byte[] actual = TestGraph.run(device, model, input);
            first = first == null ? actual : first;
            TestGraph.assertSame(first, actual, "network " + i + ", " + threads + " threads");
          }
        }
        float[] found = TestGraph.floats(first);
        for (int k = 0; k < wanted.length; k++) {
          assertEquals(
              wanted[k], found[k], 1e-4 * Math.max(1, Math.abs(wanted[k])), "network " + i);
        }
      }
    }
    assertTrue(shared > NETWORKS, "hardly anything is shared: the test shows nothing");
  }
}
