// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Plan;
import io.thalamus.model.DeviceType;
import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * AOSP's TestPartitioningRandom: each kind of operation belongs to one random device, and the
 * partitioned model must compute what the whole one computes on one device.
 */
class RandomGraphsTest {
  private static final int GRAPHS = 240;
  private static final int MAX_OPERATIONS = 100;
  private static final int ELEMENTS = 6;
  private static final OperationCode[] TYPES = {
    OperationCode.ADD, OperationCode.SUB, OperationCode.MUL, OperationCode.MAXIMUM
  };

  private final long base = Long.getLong("thalamus.seed", 1);

  @Test
  void partitionedEqualsWhole() throws Exception {
    int compound = 0;
    for (int i = 0; i < GRAPHS; i++) {
      compound += check(base + i);
    }
    System.out.println("random graphs: seed = " + base + ", compound = " + compound);
    assertTrue(compound > GRAPHS / 3, "only " + compound + " of the plans had several steps");
  }

  /** The work of an operation: its type and its activation. */
  private static String kind(Subgraph graph, Operation operation) {
    if (operation.inputs().size() < 3) {
      return operation.type().text();
    }
    Constant activation = (Constant) graph.operands().get(operation.inputs().get(2)).lifetime();
    return operation.type().text() + activation.bytes().get(ValueLayout.JAVA_INT_UNALIGNED, 0);
  }

  private static int check(long seed) throws Exception {
    Random random = new Random(seed);
    Model model = model(random);
    int deviceCount = 1 + random.nextInt(5);
    Map<String, Integer> owner = new HashMap<>();
    for (Operation operation : model.main().operations()) {
      owner.computeIfAbsent(kind(model.main(), operation), key -> random.nextInt(deviceCount + 1));
    }
    LimitedDevice[] devices = new LimitedDevice[deviceCount + 1];
    for (int d = 0; d < deviceCount; d++) {
      int number = d;
      devices[d] =
          new LimitedDevice(
              LimitedDevice.info("test-" + d, type(random), 0.5 + d / 10.0)
                  .pointerArguments(random.nextBoolean())
                  .build(),
              (graph, operation) -> owner.get(kind(graph, operation)) == number);
    }
    devices[deviceCount] =
        random.nextBoolean() ? LimitedDevice.cpu() : LimitedDevice.pointers("thalamus-cpu", 1);
    float[][] inputs = new float[model.main().inputIndexes().size()][ELEMENTS];
    for (float[] input : inputs) {
      for (int i = 0; i < ELEMENTS; i++) {
        input[i] = random.nextFloat() * 4 - 2;
      }
    }
    float[][] expected;
    try (TestRuntime whole = TestRuntime.lenient(LimitedDevice.cpu())) {
      expected = run(seed, whole, model, inputs);
    }
    try (TestRuntime parted = TestRuntime.lenient(devices)) {
      float[][] actual = run(seed, parted, model, inputs);
      for (int i = 0; i < expected.length; i++) {
        assertArrayEquals(expected[i], actual[i], "seed " + seed + ", output " + i);
      }
      Plan plan = parted.networks().plan(model, CompilationOptions.DEFAULT);
      checkSteps(seed, model, plan);
      return plan.steps().size() > 1 ? 1 : 0;
    }
  }

  /** Every operation runs once, and neighbours of one device are one step where they could be. */
  private static void checkSteps(long seed, Model model, Plan plan) {
    Set<Integer> seen = new HashSet<>();
    for (int i = 0; i < plan.steps().size(); i++) {
      Plan.Step step = plan.steps().get(i);
      for (int operation : step.operations()) {
        assertTrue(seen.add(operation), "seed " + seed + ": operation twice: " + operation);
        assertEquals(step.device(), plan.operations().get(operation).device(), "seed " + seed);
      }
      if (i > 0) {
        // Draining a queue leaves nothing ready for the same device.
        assertTrue(
            !step.device().equals(plan.steps().get(i - 1).device()),
            "seed " + seed + ": two steps in a row on " + step.device());
      }
    }
    assertEquals(model.main().operations().size(), seen.size(), "seed " + seed);
  }

  private static float[][] run(long seed, TestRuntime runtime, Model model, float[][] inputs)
      throws Exception {
    Random random = new Random(seed);
    try (Compilation compilation = runtime.networks().compile(model, CompilationOptions.DEFAULT);
        Arena arena = Arena.ofConfined()) {
      Execution execution = compilation.createExecution();
      for (int i = 0; i < inputs.length; i++) {
        MemorySegment values = memory(random, arena);
        execution.setInput(i, values.copyFrom(Graphs.floats(inputs[i])));
      }
      MemorySegment[] results = new MemorySegment[model.main().outputIndexes().size()];
      for (int i = 0; i < results.length; i++) {
        results[i] = memory(random, arena);
        execution.setOutput(i, results[i]);
      }
      ExecutionReport report = execution.compute();
      assertTrue(report.isSuccess(), "seed " + seed + ": " + report.message());
      float[][] outputs = new float[results.length][];
      for (int i = 0; i < outputs.length; i++) {
        outputs[i] = results[i].toArray(Graphs.FLOAT);
      }
      return outputs;
    }
  }

  private static DeviceType type(Random random) {
    return random.nextBoolean() ? DeviceType.CPU : DeviceType.ACCELERATOR;
  }

  /** Returns memory on the heap, off it, or off it without alignment. */
  private static MemorySegment memory(Random random, Arena arena) {
    return switch (random.nextInt(4)) {
      case 0 -> Graphs.floats(new float[ELEMENTS]);
      case 1 -> arena.allocate(Float.BYTES * ELEMENTS + 1, Float.BYTES).asSlice(1);
      default -> arena.allocate(Float.BYTES * ELEMENTS, Float.BYTES);
    };
  }

  private static Model model(Random random) {
    Graphs.Builder g = new Graphs.Builder(2, 3);
    List<Integer> known = new ArrayList<>();
    int inputs = 1 + random.nextInt(4);
    for (int i = 0; i < inputs; i++) {
      known.add(g.input("in" + i));
    }
    int operations = 1 + random.nextInt(MAX_OPERATIONS);
    boolean hasOutput = false;
    for (int i = 0; i < operations; i++) {
      int a = known.get(random.nextInt(known.size()));
      int b = known.get(random.nextInt(known.size()));
      boolean isOutput = random.nextInt(5) == 0 || (i == operations - 1 && !hasOutput);
      hasOutput |= isOutput;
      int to = isOutput ? g.output("out" + i) : g.temporary("t" + i);
      // RELU1 keeps values small, so that chains of MUL stay finite.
      int activation = random.nextInt(3) == 0 ? 0 : 2;
      g.op(TYPES[random.nextInt(TYPES.length)], activation, a, b, to);
      known.add(to);
    }
    return g.model();
  }
}
