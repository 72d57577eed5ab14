// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Each device gets what is left of a deadline, on a clock that the devices move. */
class HandedOnDeadlineTest {
  private static final Duration CALL = Duration.ofMillis(1);
  private static final Duration GIVEN = Duration.ofMillis(20);
  private static final String FOR_EVER = "for ever";

  private final SteppedTime time = new SteppedTime();
  private final List<String> calls = new ArrayList<>();
  private final List<String> failing = new ArrayList<>();
  private final LimitedDevice cpu = LimitedDevice.pointers("thalamus-cpu", 1);
  private final TestRuntime runtime =
      TestRuntime.stepped(
          time,
          TestRuntime.SETTINGS,
          new Watched(LimitedDevice.pointers("test-adder", 0.5, OperationCode.ADD), "adder"),
          new Watched(LimitedDevice.pointers("test-multiplier", 0.5, OperationCode.MUL), "mul"),
          new Watched(cpu, "cpu"));

  @AfterEach
  void close() {
    runtime.close();
    assertEquals(0, cpu.open(), "left open");
  }

  /** Notes what is left of the deadline of each call; each takes a millisecond. */
  private final class Watched extends DelegatingDevice {
    private final String name;

    Watched(Device inner, String name) {
      super(inner);
      this.name = name;
    }

    private void called(String what, Deadline deadline) {
      calls.add(
          what
              + " "
              + name
              + " "
              + (deadline.isSet() ? deadline.remaining().toMillis() : FOR_EVER));
      time.advance(CALL);
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      called("prepare", config.deadline());
      return new DelegatingPreparedModel(this, super.prepare(model, config)) {
        @Override
        public ExecutionResult execute(Request request, ExecutionConfig settings) {
          called("execute", settings.deadline());
          return failing.contains(name)
              ? new Failed(ErrorStatus.GENERAL_FAILURE, "broken")
              : super.execute(request, settings);
        }
      };
    }
  }

  private Compilation compile() throws Exception {
    Compilation compilation =
        runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT);
    assertEquals(List.of("prepare adder for ever", "prepare mul for ever"), calls);
    calls.clear();
    return compilation;
  }

  private ExecutionReport run(Compilation compilation) {
    return Graphs.addThenMulExecution(compilation, new float[4]).setTimeout(GIVEN).compute();
  }

  @Test
  void theStepsOfAPlanGetWhatIsLeft() throws Exception {
    assertTrue(run(compile()).isSuccess());
    assertEquals(List.of("execute adder 20", "execute mul 19"), calls);
  }

  @Test
  void aStepThatIsRepeatedElsewhereGetsWhatIsLeft() throws Exception {
    failing.add("adder");
    assertTrue(run(compile()).isSuccess());
    assertEquals(
        List.of("execute adder 20", "prepare cpu 19", "execute cpu 18", "execute mul 17"), calls);
  }

  @Test
  void theWholeModelOnTheReferenceGetsWhatIsLeft() throws Exception {
    Compilation compilation = compile();
    failing.add("adder");
    failing.add("cpu");
    ExecutionReport report = run(compilation);
    assertEquals(ResultCode.OP_FAILED, report.code());
    assertEquals(
        List.of(
            "execute adder 20",
            "prepare cpu 19",
            "execute cpu 18",
            "prepare cpu 17",
            "execute cpu 16"),
        calls);
  }

  @Test
  void nothingIsBegunForADeadlineThatIsOver() throws Exception {
    Compilation compilation = compile();
    failing.add("adder");
    ExecutionReport report =
        Graphs.addThenMulExecution(compilation, new float[4]).setTimeout(CALL).compute();
    assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, report.code());
    assertEquals(List.of("execute adder 1"), calls);
  }

  @Test
  void aCompilationHandsItsTimeoutOn() throws Exception {
    runtime
        .networks()
        .compile(
            Graphs.addThenMul(),
            CompilationOptions.DEFAULT.withDevices(List.of("cpu")).withTimeout(GIVEN));
    assertEquals(List.of("prepare cpu 20"), calls);
  }
}
