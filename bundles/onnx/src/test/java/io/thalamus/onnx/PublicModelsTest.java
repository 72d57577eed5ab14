// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.tck.junit.PublicModel;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.ModelCase;
import io.thalamus.vectors.ModelCase.Difference;
import io.thalamus.vectors.ModelDirectory;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Trained networks, compared with what independent engines computed. */
class PublicModelsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {"mnist8_onnx", "squeezenet_fp16_onnx", "vittrack_onnx", "yolox_nano_onnx"})
  void computesAsOtherEngines(String name) throws Exception {
    PublicModel.assertRight(new CpuDevice("1.0.0"), name, new OnnxReader(), false);
  }

  /** Images go through with channels last, and are turned around at the ends alone. */
  @ParameterizedTest
  @CsvSource({"squeezenet_fp16_onnx, 1", "yolox_nano_onnx, 8"})
  void transposesCancelEachOther(String name, int most) throws Exception {
    try (SharedMemory file = SharedMemory.map(folder(name).resolve("model.onnx"))) {
      Model model = new OnnxReader().read(file).model();
      long count =
          model.main().operations().stream()
              .filter(operation -> operation.type() == OperationCode.TRANSPOSE)
              .count();
      System.out.println(name + ": " + count + " transposes");
      assertTrue(count <= most, count + " transposes");
    }
  }

  private static Path folder(String name) {
    Optional<Path> models = ConformanceData.models();
    assumeTrue(models.isPresent(), "there are no public models here");
    return models.get().resolve(name);
  }

  @Test
  void networksWithStateOverAllTheirSteps() throws Exception {
    ModelDirectory directory = ModelDirectory.read(folder("dtln_1_onnx"));
    try (SharedMemory file = SharedMemory.map(directory.model())) {
      assertSteps(new OnnxReader().read(file).model(), directory);
    }
  }

  @Test
  void networksWithOpenDimensionsOverAllTheirSteps() throws Exception {
    ModelDirectory directory = ModelDirectory.read(folder("silero_vad_16k_onnx"));
    Map<String, Shape> shapes = Map.of("input", Shape.of(1, 576), "state", Shape.of(2, 1, 128));
    try (SharedMemory file = SharedMemory.map(directory.model())) {
      assertSteps(
          new OnnxReader().read(file, ReadOptions.DEFAULT.withShapes(shapes)).model(), directory);
    }
  }

  private static void assertSteps(Model model, ModelDirectory directory) throws Exception {
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      for (ModelCase one : directory.cases()) {
        byte[][] inputs = new byte[one.inputs().size()][];
        List<byte[]> outputs = List.of();
        for (int step = 0; step < one.steps(); step++) {
          for (int i = 0; i < inputs.length; i++) {
            ModelCase.Input input = one.inputs().get(i);
            boolean isCarried = step > 0 && input.stateOf().isPresent();
            inputs[i] =
                isCarried
                    ? outputs.get(input.stateOf().getAsInt())
                    : input
                        .tensor()
                        .read(
                            Math.min(
                                    input.tensor().steps(),
                                    input.stateOf().isPresent() ? 1 : step + 1)
                                - 1);
          }
          outputs = TestGraph.run(prepared, model.main(), inputs);
          for (int i = 0; i < outputs.size(); i++) {
            Difference difference =
                one.outputs().get(i).compare(step, MemorySegment.ofArray(outputs.get(i)));
            assertTrue(difference.isAccepted(), difference.text());
          }
        }
        assertEquals(model.main().outputIndexes().size(), outputs.size());
        System.out.println(directory.name() + " " + one.name() + ": " + one.steps() + " steps");
      }
    }
  }
}
