// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.tflite.TfliteReader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ZooTest {
  @TempDir Path directory;

  /**
   * Multiplications as published: 569 million and 4.2 million weights (MobileNets, table 8), 300
   * million and 3.4 million (MobileNetV2, table 4), 4.1 billion (torchvision, with the stride in
   * the 3x3 convolution) and 25.5 million. The exact numbers follow from the layer tables, with a
   * bias for each channel.
   */
  @ParameterizedTest
  @CsvSource({
    "mobilenet_v1, 568740352, 4221032, 30",
    "mobilenet_v2, 300774272, 3487816, 65",
    "resnet_50, 4089184256, 25530472, 73",
    "squeezenet_1_1, 387358720, 1235496, 39",
    "efficientnet_b0, 385814752, 5267540, 239"
  })
  void theLayerTablesAreThoseOfTheLiterature(
      String name, long multiplications, long weights, int layers) {
    Network network = Zoo.network(name);
    long all =
        network.layers().stream()
            .mapToLong(
                layer ->
                    layer instanceof Network.Weighted w ? w.weights().length + w.bias().length : 0)
            .sum();
    assertEquals(multiplications, network.multiplyAccumulates());
    assertEquals(weights, all);
    assertEquals(layers, network.layers().size());
    assertEquals(new Network.Size(1, 1, 1000), network.output());
  }

  @Test
  void theSameSeedGivesTheSameWeights() {
    Network.Weighted first = (Network.Weighted) Zoo.network("mobilenet_v2").layers().get(5);
    Network.Weighted second = (Network.Weighted) Zoo.network("mobilenet_v2").layers().get(5);
    assertArrayEquals(first.weights(), second.weights());
  }

  @Test
  void ourReaderReadsTheTfliteFile() throws Exception {
    Network network = Zoo.network("mobilenet_v1");
    Path file = directory.resolve("network.tflite");
    TfliteFile.write(network, file);
    try (SharedMemory memory = SharedMemory.map(file)) {
      Model model = new TfliteReader().read(memory).model();
      assertEquals(network.layers().size(), model.main().operations().size());
      assertArrayEquals(new int[] {1, 224, 224, 3}, model.main().input(0).shape().toArray());
      assertArrayEquals(new int[] {1, 1000}, model.main().output(0).shape().toArray());
    }
  }

  @Test
  void theOnnxFileHoldsTheSameWeightsInItsOwnOrder() throws Exception {
    Network network = Zoo.network("mobilenet_v2");
    Path file = directory.resolve("network.onnx");
    OnnxFile.write(network, file);
    ModelProto model = ModelProto.parseFrom(Files.readAllBytes(file));
    TensorProto first =
        model.getGraph().getInitializerList().stream()
            .filter(tensor -> tensor.getName().equals("weights_1"))
            .findFirst()
            .orElseThrow();
    assertArrayEquals(new Long[] {32L, 3L, 3L, 3L}, first.getDimsList().toArray(Long[]::new));
    Network.Weighted layer = (Network.Weighted) network.layers().getFirst();
    var floats = first.getRawData().asReadOnlyByteBuffer().order(java.nio.ByteOrder.LITTLE_ENDIAN);
    for (int o = 0; o < 32; o++) {
      for (int place = 0; place < 9; place++) {
        for (int c = 0; c < 3; c++) {
          assertEquals(
              layer.weights()[(o * 9 + place) * 3 + c],
              floats.getFloat(((o * 3 + c) * 9 + place) * Float.BYTES));
        }
      }
    }
  }
}
