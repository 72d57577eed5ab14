// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CompilationOptions;
import io.thalamus.vectors.AddDevice.Fault;
import io.thalamus.vectors.RunOptions.Mode;
import io.thalamus.vectors.RunOptions.Outputs;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class NeuralNetworksTargetTest {
  private static final CompilationOptions ONE =
      CompilationOptions.DEFAULT.withDevices(List.of("add"));

  private static Outcome run(String example, Fault fault, RunOptions options, boolean sharedMemory)
      throws Exception {
    Target target =
        new NeuralNetworksTarget(new FakeNeuralNetworks(new AddDevice(fault)), ONE, sharedMemory);
    return new VectorRunner(target, options).run(Cases.example(example));
  }

  @ParameterizedTest
  @EnumSource
  void passesWhatIsRight(Mode mode) throws Exception {
    for (Outputs outputs : Outputs.values()) {
      for (boolean shared : List.of(false, true)) {
        for (String example : List.of("add_float", "add_float_large_constant", "while_forever")) {
          RunOptions options = new RunOptions(mode, outputs, shared);
          assertEquals(
              Outcome.PASSED, run(example, Fault.NONE, options, shared), example + " " + options);
        }
      }
    }
  }

  @Test
  void tellsUnsupportedFromInvalid() throws Exception {
    assertEquals(
        new Outcome.Skipped("device add does not support SUB TENSOR_QUANT8_ASYMM_SIGNED"),
        run("sub_quant8", Fault.NONE, RunOptions.DEFAULT, false));
    assertEquals(Outcome.PASSED, run("add_wrong_shapes", Fault.NONE, RunOptions.DEFAULT, false));
  }

  @ParameterizedTest
  @CsvSource({
    "WRONG_VALUE, SYNC, expected 7",
    "WRONG_VALUE, ASYNC, expected 7",
    "WRONG_VALUE, FENCED, expected 7",
    "UNASKED_TIMING, SYNC, timing was not asked for",
    "THROWS, ASYNC, the execution threw java.lang.IllegalStateException: a bug"
  })
  void catchesFaults(Fault fault, Mode mode, String reason) throws Exception {
    Outcome outcome = run("add_float", fault, RunOptions.DEFAULT.with(mode), false);

    String text = assertInstanceOf(Outcome.Failed.class, outcome).reason();
    assertTrue(text.contains(reason), text);
  }
}
