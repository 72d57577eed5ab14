// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CompilationOptions;
import io.thalamus.vectors.AddDevice.Fault;
import io.thalamus.vectors.NeuralNetworksTarget.ArgumentMemory;
import io.thalamus.vectors.RunOptions.Inputs;
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

  private static Outcome run(String example, Fault fault, RunOptions options, ArgumentMemory memory)
      throws Exception {
    Target target =
        new NeuralNetworksTarget(new FakeNeuralNetworks(new AddDevice(fault)), ONE, memory);
    return new VectorRunner(target, options).run(Cases.example(example));
  }

  @ParameterizedTest
  @EnumSource
  void passesWhatIsRight(Mode mode) throws Exception {
    for (Inputs inputs : Inputs.values()) {
      for (Outputs outputs : Outputs.values()) {
        for (ArgumentMemory memory : ArgumentMemory.values()) {
          RunOptions options =
              new RunOptions(mode, inputs, outputs, memory != ArgumentMemory.PLAIN);
          for (String example : List.of("add_float", "add_float_large_constant", "while_forever")) {
            assertEquals(
                Outcome.PASSED, run(example, Fault.NONE, options, memory), example + " " + options);
          }
        }
      }
    }
  }

  @Test
  void makesAMemoryForEachArgument() throws Exception {
    FakeNeuralNetworks networks = new FakeNeuralNetworks(new AddDevice(Fault.NONE));
    Target target = new NeuralNetworksTarget(networks, ONE, ArgumentMemory.DEVICE);
    Outcome outcome = new VectorRunner(target, RunOptions.DEFAULT).run(Cases.example("add_float"));
    assertEquals(Outcome.PASSED, outcome);
    assertTrue(networks.memoriesMade().get() >= 2, networks.toString());
    assertInstanceOf(
        Outcome.Failed.class,
        run("add_float", Fault.WRONG_VALUE, RunOptions.DEFAULT, ArgumentMemory.DEVICE));
  }

  @Test
  void tellsUnsupportedFromInvalid() throws Exception {
    assertEquals(
        new Outcome.Skipped("device add does not support SUB TENSOR_QUANT8_ASYMM_SIGNED"),
        run("sub_quant8", Fault.NONE, RunOptions.DEFAULT, ArgumentMemory.PLAIN));
    assertEquals(
        Outcome.PASSED,
        run("add_wrong_shapes", Fault.NONE, RunOptions.DEFAULT, ArgumentMemory.PLAIN));
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
    Outcome outcome = run("add_float", fault, RunOptions.DEFAULT.with(mode), ArgumentMemory.PLAIN);

    String text = assertInstanceOf(Outcome.Failed.class, outcome).reason();
    assertTrue(text.contains(reason), text);
  }
}
