// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.junit;

import io.thalamus.hal.Device;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.ModelCase;
import io.thalamus.vectors.ModelCase.Difference;
import io.thalamus.vectors.ModelDirectory;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;

/** A trained public model beside the project, as a test of a device that takes all of it. */
public final class PublicModel {
  private PublicModel() {}

  /**
   * Runs all cases of a model; where there are no models, the test is skipped.
   *
   * @param name of the model's folder
   * @param reader of its format
   * @param isExact whether outputs equal the reference engine's bit for bit; else they keep the
   *     rule of docs/internals/conformance-data.md
   */
  public static void assertRight(Device device, String name, ModelReader reader, boolean isExact)
      throws Exception {
    Optional<Path> models = ConformanceData.models();
    Assumptions.assumeTrue(models.isPresent(), "there are no public models here");
    ModelDirectory directory = ModelDirectory.read(models.get().resolve(name));
    try (SharedMemory file = SharedMemory.map(directory.model())) {
      Model model = reader.read(file).model();
      Assertions.assertEquals(
          model.main().operations().size(), device.supportedOperations(model).cardinality());
      try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
        for (ModelCase one : directory.cases()) {
          assertRight(prepared, model, one, isExact);
        }
      }
    }
  }

  private static void assertRight(
      PreparedModel prepared, Model model, ModelCase one, boolean isExact) throws Exception {
    byte[][] inputs = new byte[one.inputs().size()][];
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = one.inputs().get(i).tensor().read();
    }
    List<byte[]> outputs = TestGraph.run(prepared, model.main(), inputs);
    for (int i = 0; i < outputs.size(); i++) {
      Difference difference =
          one.outputs().get(i).compare(0, MemorySegment.ofArray(outputs.get(i)));
      Assertions.assertTrue(
          isExact ? difference.isEqual() : difference.isAccepted(),
          () -> one.name() + ": " + difference.text());
    }
  }
}
