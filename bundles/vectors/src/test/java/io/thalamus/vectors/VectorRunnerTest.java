// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.vectors.AddDevice.Fault;
import io.thalamus.vectors.RawOperand.ChannelQuant;
import io.thalamus.vectors.RunOptions.Inputs;
import io.thalamus.vectors.RunOptions.Mode;
import io.thalamus.vectors.RunOptions.Outputs;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class VectorRunnerTest {
  private static Outcome run(String example, Fault fault, RunOptions options) throws Exception {
    return new VectorRunner(new DeviceTarget(new AddDevice(fault)), options)
        .run(Cases.example(example));
  }

  private static String reason(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Passed _ -> "passed";
      case Outcome.Failed failed -> failed.reason();
      case Outcome.Skipped skipped -> "skipped: " + skipped.reason();
    };
  }

  @ParameterizedTest
  @CsvSource({
    "SYNC, FULLY_SPECIFIED, FULLY_SPECIFIED, false",
    "SYNC, FULLY_SPECIFIED, FULLY_SPECIFIED, true",
    "SYNC, FULLY_SPECIFIED, UNSPECIFIED, false",
    "SYNC, FULLY_SPECIFIED, INSUFFICIENT, true",
    "SYNC, UNSPECIFIED, FULLY_SPECIFIED, false",
    "SYNC, UNSPECIFIED, UNSPECIFIED, false",
    "SYNC, UNSPECIFIED, INSUFFICIENT, false",
    "FENCED, FULLY_SPECIFIED, FULLY_SPECIFIED, true",
    "FENCED, FULLY_SPECIFIED, UNSPECIFIED, false",
    "FENCED, FULLY_SPECIFIED, INSUFFICIENT, false",
    "FENCED, UNSPECIFIED, FULLY_SPECIFIED, true"
  })
  void passesWhatIsRight(Mode mode, Inputs inputs, Outputs outputs, boolean timed)
      throws Exception {
    RunOptions options = new RunOptions(mode, inputs, outputs, timed);
    for (String example : List.of("add_float", "add_float_large_constant", "add_wrong_shapes")) {
      assertEquals("passed", reason(run(example, Fault.NONE, options)), example);
    }
  }

  @Test
  void givesZeroSizedOutputsABuffer() throws Exception {
    assertEquals("passed", reason(run("add_zero_sized", Fault.NONE, RunOptions.DEFAULT)));
    assertEquals(
        "passed",
        reason(run("add_zero_sized", Fault.NONE, RunOptions.DEFAULT.with(Outputs.UNSPECIFIED))));
    assertEquals(
        "passed", reason(run("add_zero_sized", Fault.NONE, RunOptions.DEFAULT.with(Mode.FENCED))));
    assertEquals(
        "skipped: output 0 of at most one byte cannot be a byte short",
        reason(run("add_zero_sized", Fault.NONE, RunOptions.DEFAULT.with(Outputs.INSUFFICIENT))));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "WRONG_VALUE          | FULLY_SPECIFIED | ADD: output 0[1,2] is 7.5, expected 7; 1 of 6",
        "WRITES_NOTHING       | FULLY_SPECIFIED | ADD: output 0[0,0] is 8.4",
        "WRONG_SHAPE          | FULLY_SPECIFIED | has shape [1, 2, 3], expected [2, 3]",
        "WRONG_SHAPE          | UNSPECIFIED     | has shape [1, 2, 3], expected [2, 3]",
        "ALL_INSUFFICIENT     | UNSPECIFIED     | output 0 is called insufficient, but all is done",
        "NOTHING_INSUFFICIENT | INSUFFICIENT    | output 0 is not called insufficient",
        "UNASKED_TIMING       | FULLY_SPECIFIED | timing was not asked for",
        "WRITES_BEHIND        | FULLY_SPECIFIED | byte 0 behind output 0 was written",
        "CHANGES_INPUT        | FULLY_SPECIFIED | input 0 was changed",
        "THROWS               | FULLY_SPECIFIED | threw java.lang.IllegalStateException: a bug at"
      })
  void catchesEachFault(Fault fault, Outputs outputs, String reason) throws Exception {
    Outcome outcome = run("add_float", fault, RunOptions.DEFAULT.with(outputs));

    assertTrue(
        reason(assertInstanceOf(Outcome.Failed.class, outcome)).contains(reason),
        () -> reason(outcome));
  }

  @Test
  void catchesImpossibleTiming() throws Exception {
    assertTrue(
        reason(
                run(
                    "add_float",
                    Fault.IMPOSSIBLE_TIMING,
                    RunOptions.DEFAULT.withMeasureTiming(true)))
            .contains("exceeds"));
  }

  @Test
  void skipsWhatADeviceDoesNotSupport() throws Exception {
    assertEquals(
        "skipped: device test-add does not support SUB TENSOR_QUANT8_ASYMM_SIGNED",
        reason(run("sub_quant8", Fault.NONE, RunOptions.DEFAULT)));
    assertEquals(
        "skipped: device test-add does not execute in mode ASYNC",
        reason(run("add_float", Fault.NONE, RunOptions.DEFAULT.with(Mode.ASYNC))));
  }

  @Test
  void leavesTheDimensionsOfInputsToTheRequest() throws Exception {
    Example example = Cases.addFloat();
    ChannelQuant scales = new ChannelQuant(1, Values.of(0.5, 2, 0.1));
    RawSubgraph main = example.main();
    RawOperand perChannel = main.operands().getFirst().withChannelQuant(Optional.of(scales));
    List<Subgraph> seen = new ArrayList<>();
    Target target =
        model -> {
          seen.add(model.main());
          throw new Target.Refusal(Target.Status.REFUSED, "seen", null);
        };
    VectorRunner runner = new VectorRunner(target, RunOptions.DEFAULT.with(Inputs.UNSPECIFIED));
    runner.run(example);
    runner.run(example.withMain(main.withOperand(0, perChannel)));

    assertEquals(Shape.of(0, 0), seen.get(0).input(0).shape());
    assertEquals(Shape.of(2, 3), seen.get(0).output(0).shape());
    // NNAPI wants to know how many channels there are to the scales.
    assertEquals(Shape.of(0, 3), seen.get(1).input(0).shape());
  }

  @Test
  void skipsWhatNeedsALaterNnapi() throws Exception {
    Example example = Cases.example("add_float");
    VectorRunner runner =
        new VectorRunner(new DeviceTarget(new AddDevice(Fault.NONE)), RunOptions.DEFAULT);

    assertEquals(
        "skipped: the model needs feature level AIDL_V2, beyond V1_3",
        reason(runner.run(example.withHalVersion("AIDL_V2"))));
    assertEquals("passed", reason(runner.run(example.withHalVersion("V1_2"))));
  }

  @Test
  void mustSeeFailuresFail() throws Exception {
    assertEquals(
        "must fail, but was executed",
        reason(run("add_wrong_shapes", Fault.ACCEPTS_EVERYTHING, RunOptions.DEFAULT)));
  }

  @ParameterizedTest
  @CsvSource({"SYNC", "FENCED"})
  void stopsEndlessLoopsSoon(Mode mode) throws Exception {
    RunOptions options = RunOptions.DEFAULT.with(mode);

    assertEquals("passed", reason(run("while_forever", Fault.NONE, options)));
    assertEquals(
        "an infinite loop must miss its deadline, but ended with GENERAL_FAILURE: it loops",
        reason(run("while_forever", Fault.LOOP_FAILS_OTHERWISE, options)));
  }

  @Test
  void failsWhatCannotBeDecoded() throws Exception {
    Example example = Cases.addFloat();
    RawOperand input = example.main().operands().getFirst();
    Example broken = example.withMain(example.main().withOperand(0, input.withConsumers(5)));
    VectorRunner runner =
        new VectorRunner(new DeviceTarget(new AddDevice(Fault.NONE)), RunOptions.DEFAULT);

    assertTrue(reason(runner.run(broken)).contains("5 consumers are stated"));
    assertEquals("passed", reason(runner.run(broken.withExpectFailure(true))));
  }
}
