// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.HangingDevice;
import io.thalamus.runtime.fakes.HangingDevice.Call;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Executed steps are not executed again. */
class ResumeTest {
  private static final long PATIENCE_SECONDS = 60;

  private final SteppedTime time = new SteppedTime();
  private final LimitedDevice adder = LimitedDevice.of("adder", 0.5, OperationCode.ADD);
  private final LimitedDevice multiplier = LimitedDevice.of("multiplier", 0.5, OperationCode.MUL);
  private final LimitedDevice subtractor = LimitedDevice.of("subtractor", 0.5, OperationCode.SUB);
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final TestRuntime runtime =
      TestRuntime.stepped(time, TestRuntime.SETTINGS, adder, multiplier, cpu);

  @AfterEach
  void closeAll() {
    runtime.close();
  }

  /** {@code (a + b) * a - b}. */
  private static Model three() {
    Graphs.Builder g = new Graphs.Builder(2);
    int a = g.input("a");
    int b = g.input("b");
    int sum = g.temporary("sum");
    int product = g.temporary("product");
    int out = g.output("out");
    g.op(OperationCode.ADD, a, b, sum);
    g.op(OperationCode.MUL, sum, a, product);
    g.op(OperationCode.SUB, product, b, out);
    return g.model();
  }

  private ExecutionReport run(Compilation compilation) {
    float[] result = new float[2];
    ExecutionReport report =
        compilation
            .createExecution()
            .setInput(0, Graphs.floats(2, 3))
            .setInput(1, Graphs.floats(5, 7))
            .setOutput(0, Graphs.floats(result))
            .compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(new float[] {9, 23}, result);
    return report;
  }

  private Compilation compile() throws Exception {
    return runtime.networks().compile(three(), CompilationOptions.DEFAULT);
  }

  @Test
  void theLastStepIsRepeatedAlone() throws Exception {
    runtime.add(
        new FaultyDevice(subtractor)
            .onExecute((request, config) -> new Failed(ErrorStatus.GENERAL_FAILURE, "broken")));
    ExecutionReport report = run(compile());
    assertEquals(List.of("adder", "multiplier", "subtractor", "cpu"), Graphs.ranOn(report));
    assertEquals(1, adder.executions());
    assertEquals(1, multiplier.executions());
    assertEquals(1, cpu.executions());
    assertEquals(1, report.steps().getLast().operations());
  }

  @Test
  void aStepThatHangsIsRepeatedAloneOnWhatTheOthersHaveLeft() throws Exception {
    HangingDevice hanging = new HangingDevice(subtractor).hang(Call.EXECUTE);
    runtime.add(hanging);
    Compilation compilation = compile();
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      Future<ExecutionReport> running = thread.submit(() -> run(compilation));
      hanging.awaitInside();
      time.advance(Duration.ofMillis(TestRuntime.SETTINGS.firstExecutionMillis()));
      ExecutionReport report = running.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      assertEquals(List.of("adder", "multiplier", "subtractor", "cpu"), Graphs.ranOn(report));
      assertEquals(1, adder.executions());
      assertEquals(1, multiplier.executions());
    } finally {
      hanging.letGo();
      thread.shutdown();
    }
  }

  @Test
  void whereTheReferenceLeavesBetweenTwoStepsTheNextOneGoesOn() throws Exception {
    LimitedDevice other = LimitedDevice.cpu();
    // Nobody but the reference subtracts; it goes while the step before is executed.
    FaultyDevice last = new FaultyDevice(multiplier);
    runtime.remove(multiplier);
    runtime.add(
        last.onExecute(
            (request, config) -> {
              runtime.remove(cpu);
              runtime.add(other);
              return null;
            }));
    Compilation compilation = compile();
    ExecutionReport report = run(compilation);
    assertEquals(List.of("adder", "multiplier", "cpu", "cpu"), Graphs.ranOn(report));
    assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.steps().get(2).code());
    assertEquals(0, cpu.executions());
    assertEquals(1, other.executions());
    assertEquals(1, adder.executions());
    assertEquals(1, multiplier.executions());
  }
}
