// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Random graphs, a third of them with an IF whose branches are graphs themselves, a few with a
 * dimension that only the execution knows, over random devices: each supports a random part at
 * random cost, and some refuse to prepare, or fail now and then. Whatever the policy makes of it,
 * the results must be those of one device that executes all of it.
 */
class RandomDevicesTest {
  private static final int SEEDS = 225;
  private static final int ROWS = 5;
  private static final OperationCode[] TYPES = {
    OperationCode.ADD,
    OperationCode.SUB,
    OperationCode.MUL,
    OperationCode.MAXIMUM,
    OperationCode.MINIMUM
  };

  private final long base = Long.getLong("thalamus.seed", 1);

  /** A model and what to know of it. */
  private record Sample(Model model, boolean hasCondition, int inputs, int outputs) {}

  @ParameterizedTest
  @CsvSource({"nnapi", "search"})
  void partitionedEqualsWhole(String policy) throws Exception {
    int compound = 0;
    int repeated = 0;
    for (int i = 0; i < SEEDS; i++) {
      Random random = new Random(base + i);
      Sample sample = sample(random);
      float[][] inputs = new float[sample.inputs()][2 * ROWS];
      for (float[] input : inputs) {
        for (int k = 0; k < input.length; k++) {
          input[k] = random.nextFloat() * 4 - 2;
        }
      }
      boolean condition = random.nextBoolean();
      Device[] devices = devices(random);
      CompilationOptions options =
          CompilationOptions.DEFAULT
              .withPolicy(policy)
              .with(
                  ExecutionPreference.values()[
                      random.nextInt(ExecutionPreference.values().length)]);
      if (random.nextInt(4) == 0) {
        options = options.withPowerBudget(0.3 + random.nextDouble());
      }
      float[][] expected;
      try (TestRuntime whole = TestRuntime.lenient(LimitedDevice.cpu())) {
        ExecutionReport[] report = new ExecutionReport[1];
        expected = run(whole, sample, CompilationOptions.DEFAULT, condition, inputs, report);
      }
      try (TestRuntime parted = TestRuntime.lenient(devices)) {
        for (int repetition = 0; repetition < 2; repetition++) {
          ExecutionReport[] report = new ExecutionReport[1];
          float[][] actual = run(parted, sample, options, condition, inputs, report);
          for (int output = 0; output < expected.length; output++) {
            assertArrayEquals(
                expected[output], actual[output], "seed " + (base + i) + ", output " + output);
          }
          compound += report[0].steps().size() > 1 ? 1 : 0;
          repeated +=
              report[0].steps().stream()
                      .anyMatch(step -> step.code() != io.thalamus.api.ResultCode.NO_ERROR)
                  ? 1
                  : 0;
        }
      }
    }
    System.out.println(
        "random devices: policy = "
            + policy
            + ", seed = "
            + base
            + ", several steps = "
            + compound
            + ", repeated = "
            + repeated
            + " of "
            + 2 * SEEDS);
    assertTrue(repeated > 0, "no device failed: the seeds test nothing");
    assertTrue(!policy.equals("nnapi") || compound > SEEDS / 3, "only " + compound + " were cut");
  }

  private static Device[] devices(Random random) {
    int count = 1 + random.nextInt(4);
    Device[] devices = new Device[count + 1];
    for (int d = 0; d < count; d++) {
      int claims = random.nextInt(1, 1 << TYPES.length);
      DeviceType type =
          random.nextBoolean() ? DeviceType.CPU : DeviceType.ACCELERATOR; // which is guarded
      LimitedDevice device =
          new LimitedDevice(
              LimitedDevice.info("test-" + d, type, 1).capabilities(capabilities(random)).build(),
              (graph, operation) -> isClaimed(claims, operation));
      devices[d] = faulty(random, device);
    }
    devices[count] = LimitedDevice.cpu();
    return devices;
  }

  private static boolean isClaimed(int claims, Operation operation) {
    int type = List.of(TYPES).indexOf((OperationCode) operation.type());
    return type >= 0 && (claims >> type & 1) == 1;
  }

  private static Device faulty(Random random, LimitedDevice device) {
    FaultyDevice faulty = new FaultyDevice(device);
    switch (random.nextInt(6)) {
      case 0 ->
          faulty.onPrepare(
              model -> {
                throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "it prepares nothing");
              });
      case 1 -> {
        int most = 1 + random.nextInt(4);
        faulty.onPrepare(
            model -> {
              if (model.main().operations().size() > most) {
                throw new DeviceException(ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT, "too large");
              }
            });
      }
      case 2 -> {
        Random chance = new Random(random.nextLong());
        faulty.onExecute(
            (request, config) -> {
              synchronized (chance) {
                return chance.nextInt(3) == 0
                    ? new Failed(ErrorStatus.GENERAL_FAILURE, "a bad day")
                    : null;
              }
            });
      }
      default -> {}
    }
    return faulty;
  }

  private static Capabilities capabilities(Random random) {
    Map<OperandType, PerformanceInfo> costs = new HashMap<>();
    for (OperandCode type : OperandCode.values()) {
      if (type != OperandCode.SUBGRAPH && random.nextInt(10) > 0) {
        costs.put(type, cost(random));
      }
    }
    return new Capabilities(cost(random), cost(random), costs, cost(random), cost(random));
  }

  private static PerformanceInfo cost(Random random) {
    return new PerformanceInfo(0.1f + random.nextFloat() * 1.5f, 0.1f + random.nextFloat() * 1.5f);
  }

  private static float[][] run(
      TestRuntime runtime,
      Sample sample,
      CompilationOptions options,
      boolean condition,
      float[][] inputs,
      ExecutionReport[] report)
      throws Exception {
    try (Compilation compilation = runtime.networks().compile(sample.model(), options)) {
      Execution execution = compilation.createExecution();
      int next = 0;
      if (sample.hasCondition()) {
        byte[] flag = {(byte) (condition ? 1 : 0)};
        execution.setInput(next++, MemorySegment.ofArray(flag));
      }
      for (float[] input : inputs) {
        boolean isOpen = !sample.model().main().input(next).isSizeKnown();
        if (isOpen) {
          execution.setInput(next++, Graphs.floats(input), io.thalamus.model.Shape.of(ROWS, 2));
        } else {
          execution.setInput(next++, Graphs.floats(input));
        }
      }
      float[][] outputs = new float[sample.outputs()][2 * ROWS];
      for (int i = 0; i < outputs.length; i++) {
        execution.setOutput(i, Graphs.floats(outputs[i]));
      }
      report[0] = execution.compute().orThrow();
      return outputs;
    }
  }

  private static Sample sample(Random random) {
    int kind = random.nextInt(9);
    int inputs = 1 + random.nextInt(3);
    if (kind < 3) {
      int outputs = 1 + random.nextInt(2);
      return branching(random, inputs, outputs);
    }
    Graphs.Builder g = kind == 3 ? new Graphs.Builder(0, 2) : new Graphs.Builder(ROWS, 2);
    int outputs = 1 + random.nextInt(4);
    fill(random, g, inputs, outputs, 1 + random.nextInt(60));
    return new Sample(g.model(), false, inputs, outputs);
  }

  /** {@code c ? A(x) : B(x)}, and something before and behind it. */
  private static Sample branching(Random random, int inputs, int outputs) {
    Graphs.Builder g = new Graphs.Builder(ROWS, 2);
    int condition = g.boolInput("c");
    List<Integer> arguments = new ArrayList<>(List.of(condition, g.reference(0), g.reference(1)));
    for (int i = 0; i < inputs; i++) {
      int x = g.input("x" + i);
      int t = g.temporary("t" + i);
      g.op(TYPES[random.nextInt(TYPES.length)], 2, x, x, t);
      arguments.add(t);
    }
    List<Integer> results = new ArrayList<>();
    for (int i = 0; i < outputs; i++) {
      results.add(g.temporary("r" + i));
    }
    g.raw().operation(OperationCode.IF, arguments, results);
    for (int i = 0; i < outputs; i++) {
      int y = g.output("y" + i);
      int other = arguments.get(3 + random.nextInt(inputs));
      g.op(TYPES[random.nextInt(TYPES.length)], 2, results.get(i), other, y);
    }
    List<Subgraph> branches = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      Graphs.Builder branch = new Graphs.Builder(ROWS, 2);
      fill(random, branch, inputs, outputs, 1 + random.nextInt(15));
      branches.add(branch.build());
    }
    return new Sample(new Model(g.build(), branches, false), true, inputs, outputs);
  }

  /** Operations in a random order of dependence; the last of them make the outputs. */
  private static void fill(Random random, Graphs.Builder g, int inputs, int outputs, int inner) {
    List<Integer> known = new ArrayList<>();
    for (int i = 0; i < inputs; i++) {
      known.add(g.input("x" + i));
    }
    for (int i = 0; i < inner + outputs; i++) {
      int a = known.get(random.nextInt(known.size()));
      int b = known.get(random.nextInt(known.size()));
      int to = i < inner ? g.temporary("t" + i) : g.output("y" + (i - inner));
      // RELU1 keeps values small, so that chains of MUL stay finite.
      g.op(TYPES[random.nextInt(TYPES.length)], random.nextInt(3) == 0 ? 0 : 2, a, b, to);
      known.add(to);
    }
  }
}
