// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.check.RandomDetections;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Boxes that are chosen by their scores, against the reference. */
@Widths
class DetectionsTest {
  private static final int ROUNDS = 300;

  /** Nothing is left of an earlier run of other boxes. */
  @Test
  void theSameBoxesAreChosenAsByTheReference() throws DeviceException {
    Seeded random = new Seeded(DetectionsTest.class);
    try (CpuDevice cpu = new CpuDevice("1.0.0");
        SimdDevice vectors = Twins.device("vectors", WarmUp.Stage.ALWAYS_WARM);
        SimdDevice scalars = Twins.device("scalars", WarmUp.Stage.ALWAYS_COLD)) {
      for (int round = 0; round < ROUNDS; round++) {
        try (TestGraph graph = new TestGraph()) {
          byte[][] inputs = RandomDetections.fill(graph, random);
          Model model = graph.model();
          assertTrue(vectors.supportedOperations(model).get(0));
          List<byte[]> expected = run(cpu, model, inputs);
          check(expected, run(vectors, model, inputs), "round " + round);
          check(expected, run(scalars, model, inputs), "round " + round + ", scalar");
        }
      }
    }
  }

  private static List<byte[]> run(Device device, Model model, byte[]... inputs)
      throws DeviceException {
    byte[][] others = new byte[inputs.length][];
    for (int i = 0; i < inputs.length; i++) {
      others[i] = new byte[inputs[i].length];
    }
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
      TestGraph.run(prepared, model.main(), others);
      return TestGraph.run(prepared, model.main(), inputs);
    }
  }

  private static void check(List<byte[]> expected, List<byte[]> actual, String message) {
    for (int i = 0; i < expected.size(); i++) {
      TestGraph.assertSame(expected.get(i), actual.get(i), message + ", output " + i);
    }
  }
}
