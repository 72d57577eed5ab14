// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.tflite.TfliteReader;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
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
   * bias for each channel. A block of BERT-mini multiplies 128 rows by 12 squares of 256.
   */
  @ParameterizedTest
  @CsvSource({
    "mobilenet_v1, 568740352, 4221032, 30, 1000",
    "mobilenet_v2, 300774272, 3487816, 65, 1000",
    "resnet_50, 4089184256, 25530472, 73, 1000",
    "squeezenet_1_1, 387358720, 1235496, 39, 1000",
    "efficientnet_b0, 385814752, 5267540, 239, 1000",
    "dense_stack, 8388608, 8396800, 9, 1024",
    "bert_mini, 402653184, 3154944, 48, 32768"
  })
  void theLayerTablesAreThoseOfTheLiterature(
      String name, long multiplications, long weights, int layers, int outputs) {
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
    assertEquals(outputs, network.output().elements());
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

  /** Logits over other noise than the scales are from: a wrong scale is off by far more. */
  @Test
  void eightBitsComputeWhatFloatsDo() throws Exception {
    Network quantized = Zoo.network("ds_cnn").quantized();
    Network real = new Network("real", false, quantized.input(), quantized.layers());
    float[] expected = logits(real);
    float[] actual = logits(quantized);
    float largest = 0;
    float difference = 0;
    for (int i = 0; i < expected.length; i++) {
      largest = Math.max(largest, Math.abs(expected[i]));
      difference = Math.max(difference, Math.abs(expected[i] - actual[i]));
    }
    assertTrue(difference > 0 && difference < 0.05 * largest, difference + " of " + largest);
  }

  private float[] logits(Network network) throws Exception {
    Path file = directory.resolve(network.name() + ".tflite");
    TfliteFile.write(network, file);
    SplittableRandom random = new SplittableRandom(1);
    try (SharedMemory model = SharedMemory.map(file);
        SharedMemory input = floats(network.input().elements());
        SharedMemory output = floats(network.output().elements());
        PreparedModel prepared =
            new CpuDevice("1.0.0")
                .prepare(new TfliteReader().read(model).model(), PrepareConfig.DEFAULT)) {
      for (int i = 0; i < network.input().elements(); i++) {
        input
            .segment()
            .setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, (float) random.nextDouble(-1, 1));
      }
      Request request =
          new Request(
              List.of(new Request.Location(0, 0, input.size(), Shape.NONE)),
              List.of(new Request.Location(1, 0, output.size(), Shape.NONE)),
              List.of(new MemoryPool.Shared(input), new MemoryPool.Shared(output)));
      assertInstanceOf(
          ExecutionResult.Completed.class, prepared.execute(request, ExecutionConfig.DEFAULT));
      return output.segment().toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
    }
  }

  private static SharedMemory floats(int count) {
    return SharedMemory.allocate(MemoryKind.ASHMEM, (long) count * Float.BYTES);
  }

  /** The tool of ONNX Runtime writes a pair for each value, and drops activations in a range. */
  @Test
  void theQuantizedOnnxFileRoundsEachValueAndEachConstant() throws Exception {
    Network network = Zoo.network("ds_cnn").quantized();
    Path file = directory.resolve("network.onnx");
    OnnxFile.write(network, file);
    Map<String, Long> nodes =
        ModelProto.parseFrom(Files.readAllBytes(file)).getGraph().getNodeList().stream()
            .collect(Collectors.groupingBy(node -> node.getOpType(), Collectors.counting()));
    // Nine convolutions, a mean and a dense layer, which has its input flattened; and the input.
    assertEquals(
        Map.of(
            "Conv", 9L,
            "GlobalAveragePool", 1L,
            "Flatten", 1L,
            "Gemm", 1L,
            "QuantizeLinear", 13L,
            "DequantizeLinear", 13L + 2 * 10),
        nodes);
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
