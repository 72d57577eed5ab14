// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.junit.TestGraph;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.ModelCase;
import io.thalamus.vectors.ModelCase.Difference;
import io.thalamus.vectors.ModelDirectory;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Trained public models that the device runs as a whole: 8-bit ones equal TensorFlow Lite's
 * reference kernels bit for bit, float ones keep the rule of the models' FORMAT.md.
 */
class ModelsTest {
  @ParameterizedTest
  @CsvSource({
    "mobilenet_v1_025_224_float, false",
    "mobilenet_v2_100_224_uint8, true",
    "resnet8_cifar_float, false",
    "resnet8_cifar_int8, true",
    "kws_dscnn_int8, true",
    "ad01_autoencoder_float, false",
    "ad01_autoencoder_int8, true",
  })
  void computesAsTheEnginesDo(String name, boolean mustBeEqual) throws Exception {
    Optional<Path> models = ConformanceData.models();
    assumeTrue(models.isPresent(), "there are no public models here");
    ModelDirectory directory = ModelDirectory.read(models.get().resolve(name));
    computesAsTheEnginesDo(directory, mustBeEqual, WarmUp.Stage.ALWAYS_WARM);
    computesAsTheEnginesDo(directory, mustBeEqual, WarmUp.Stage.ALWAYS_COLD);
  }

  private static void computesAsTheEnginesDo(
      ModelDirectory directory, boolean mustBeEqual, WarmUp.Stage stage) throws Exception {
    try (SimdDevice device = Twins.device("models", stage);
        SharedMemory file = SharedMemory.map(directory.model())) {
      Model model = new TfliteReader().read(file).model();
      assertEquals(
          model.main().operations().size(), device.supportedOperations(model).cardinality());
      try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
        for (ModelCase one : directory.cases()) {
          byte[][] inputs = new byte[one.inputs().size()][];
          for (int i = 0; i < inputs.length; i++) {
            inputs[i] = one.inputs().get(i).tensor().read();
          }
          List<byte[]> outputs = TestGraph.run(prepared, model.main(), inputs);
          for (int i = 0; i < outputs.size(); i++) {
            Difference difference =
                one.outputs().get(i).compare(0, MemorySegment.ofArray(outputs.get(i)));
            assertTrue(
                mustBeEqual ? difference.isEqual() : difference.isAccepted(),
                () -> directory.name() + " " + one.name() + " " + stage + ": " + difference.text());
          }
        }
      }
    }
  }
}
