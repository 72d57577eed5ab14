// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.driver.StaticGraph;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.simd.program.Program;
import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.check.TestGraph;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A device that begins with scalar kernels, and its thread. */
class WarmUpTest {
  /** More than kernels sum up at a time. */
  private static final int UNITS = 1100;

  private static final String NAME = "thalamus-cold";

  private static Model model(TestGraph graph) {
    int in = graph.input(TENSOR_FLOAT32, Quantization.NONE, 1, UNITS);
    float[] weights = new float[UNITS * UNITS];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = (i % 7 - 3) / 8f;
    }
    int filter =
        graph.constant(TENSOR_FLOAT32, Quantization.NONE, TestGraph.bytes(weights), UNITS, UNITS);
    int bias =
        graph.constant(TENSOR_FLOAT32, Quantization.NONE, TestGraph.bytes(new float[UNITS]), UNITS);
    int out = graph.output(TENSOR_FLOAT32, Quantization.NONE, 1, UNITS);
    graph.operation(OperationCode.FULLY_CONNECTED, List.of(in, filter, bias, graph.int32(0)), out);
    return graph.model();
  }

  private static boolean isWarmingUp() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().equals(NAME + "-warm-up"));
  }

  private static byte[] input() {
    float[] input = new float[UNITS];
    for (int i = 0; i < UNITS; i++) {
      input[i] = (float) Math.sin(i);
    }
    return TestGraph.bytes(input);
  }

  @Test
  void beginsWithTheSecondExecutionAndChangesNoBit() throws Exception {
    try (TestGraph graph = new TestGraph();
        SimdDevice device = Twins.device(NAME, WarmUp.Stage.COLD)) {
      Model model = model(graph);
      try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
        byte[] expected = TestGraph.run(prepared, model.main(), input()).get(0);
        assertFalse(isWarmingUp());
        int executions = 0;
        do {
          byte[] actual = TestGraph.run(prepared, model.main(), input()).get(0);
          assertTrue(Arrays.equals(expected, actual));
          executions++;
        } while (isWarmingUp());
        assertTrue(executions > 1, "no thread was seen");
        byte[] actual = TestGraph.run(prepared, model.main(), input()).get(0);
        assertTrue(Arrays.equals(expected, actual));
        assertFalse(isWarmingUp());
      }
    }
  }

  @Test
  void endsWhenItIsClosed() throws Exception {
    WarmUp warmUp = new WarmUp(NAME + "-warm-up", WarmUp.Stage.COLD);
    try (TestGraph graph = new TestGraph();
        SimdDevice device = Twins.device(NAME, WarmUp.Stage.COLD)) {
      Program program = compile(device, graph);
      // No vector is as fast: the thread goes on for many seconds.
      warmUp.scalarNanos(0);
      warmUp.begin(program);
      assertTrue(isWarmingUp());
      warmUp.close();
      assertFalse(isWarmingUp());
      warmUp.begin(program);
      assertFalse(isWarmingUp());
    }
  }

  @Test
  void endsWithTheDevice() throws Exception {
    try (TestGraph graph = new TestGraph()) {
      Model model = model(graph);
      SimdDevice device = Twins.device(NAME, WarmUp.Stage.COLD);
      try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
        TestGraph.run(prepared, model.main(), input());
        TestGraph.run(prepared, model.main(), input());
        device.close();
        assertFalse(isWarmingUp());
      }
    }
  }

  private static Program compile(SimdDevice device, TestGraph graph) throws Exception {
    return device.compile(
        StaticGraph.resolve(model(graph).main(), OperationCatalog.standard()),
        PrepareConfig.DEFAULT);
  }

  @Test
  void programsOfKnownStepsAreWarmAtOnce() throws Exception {
    try (TestGraph graph = new TestGraph();
        SimdDevice device = Twins.device(NAME, WarmUp.Stage.COLD);
        WarmUp warmUp = new WarmUp(NAME + "-warm-up", WarmUp.Stage.COLD)) {
      StaticGraph resolved = StaticGraph.resolve(model(graph).main(), OperationCatalog.standard());
      Program program = device.compile(resolved, PrepareConfig.DEFAULT);
      assertFalse(warmUp.isWarm(program));
      warmUp.begin(program);
      while (isWarmingUp()) {
        Thread.sleep(1);
      }
      assertTrue(warmUp.isWarm(program));
      assertTrue(warmUp.isWarm(device.compile(resolved, PrepareConfig.DEFAULT)));
      assertEquals(1, program.steps().size());
    }
  }

  @Test
  void scalarTwinsStayWhereVectorsAreNoFaster() throws Exception {
    try (TestGraph graph = new TestGraph();
        SimdDevice device = Twins.device(NAME, WarmUp.Stage.COLD);
        WarmUp warmUp = new WarmUp(NAME + "-warm-up", WarmUp.Stage.COLD, 1)) {
      Program program = compile(device, graph);
      warmUp.scalarNanos(0);
      warmUp.begin(program);
      while (isWarmingUp()) {
        Thread.sleep(1);
      }
      assertFalse(warmUp.isWarm(program));
      warmUp.begin(program);
      assertFalse(isWarmingUp(), "another attempt without a pause");
    }
  }
}
