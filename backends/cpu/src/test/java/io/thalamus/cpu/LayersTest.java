// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.vectors.ConformanceData;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Runs each operator of public models alone, on the input that TensorFlow Lite's reference kernels
 * had there, and compares with what they computed: 8-bit results must be equal to the bit, real
 * ones within the rule of docs/internals/conformance-data.md.
 */
class LayersTest {
  private final CpuDevice device = new CpuDevice("1.0.0");

  @ParameterizedTest
  @CsvSource({
    "ad01_autoencoder_int8, 10",
    "kws_dscnn_int8, 13",
    "resnet8_cifar_int8, 16",
    "mobilenet_v2_100_224_uint8, 66",
    "mobilenet_v1_025_224_float, 31",
    "dtln_1_tflite, 43",
    "mnist_lstm_float, 4",
  })
  void computesAsTheReference(String name, int operators) throws Exception {
    Optional<Path> models = ConformanceData.models();
    assumeTrue(models.isPresent(), "there are no public models here");
    try (Layers layers = new Layers(models.get(), name)) {
      Map<String, Integer> counts = new TreeMap<>();
      List<String> wrong = new ArrayList<>();
      for (JsonNode operator : layers.operators()) {
        String place = operator.get("index") + " " + operator.get("op").asText();
        if (layers.isComputable(device, operator)) {
          counts.merge(operator.get("op").asText(), 1, Integer::sum);
          layers.run(device, operator).ifPresent(why -> wrong.add(place + ": " + why));
        } else {
          counts.merge("not yet: " + operator.get("op").asText(), 1, Integer::sum);
        }
      }
      System.out.println(name + ": " + counts + ", " + layers.compared + " elements");
      assertEquals(List.of(), wrong);
      assertEquals(operators, counts.values().stream().mapToInt(Integer::intValue).sum());
    }
  }

  /** A model with the stored tensors of one run. */
  private static final class Layers implements AutoCloseable {
    private final Path folder;
    private final JsonNode description;
    private final SharedMemory file;
    private final Model model;
    private final Map<String, JsonNode> stored = new HashMap<>();
    private long compared;

    Layers(Path models, String name) throws Exception {
      folder = models.resolve("layers").resolve(name);
      description = new JsonMapper().readTree(folder.resolve("layers.json").toFile());
      file = SharedMemory.map(models.resolve(name).resolve("model.tflite"));
      model = new TfliteReader().read(file).model();
      description.get("tensors").forEach(tensor -> stored.put(tensor.get("name").asText(), tensor));
    }

    JsonNode operators() {
      return description.get("operators");
    }

    boolean isComputable(CpuDevice device, JsonNode operator) throws DeviceException {
      Model part = part(operator);
      return device.supportedOperations(part).cardinality() == part.main().operations().size();
    }

    /** Returns the fault of the result, if any. */
    Optional<String> run(CpuDevice device, JsonNode operator) throws Exception {
      Model part = part(operator);
      Subgraph graph = part.main();
      List<SharedMemory> memories = new ArrayList<>();
      try (PreparedModel prepared = device.prepare(part, PrepareConfig.DEFAULT)) {
        for (int index : graph.inputIndexes()) {
          byte[] value = Files.readAllBytes(path(graph.operands().get(index)));
          SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, value.length);
          memory.segment().copyFrom(MemorySegment.ofArray(value));
          memories.add(memory);
        }
        for (int index : graph.outputIndexes()) {
          long size = graph.operands().get(index).byteSize();
          memories.add(SharedMemory.allocate(MemoryKind.ASHMEM, size));
        }
        int inputs = graph.inputIndexes().size();
        List<Request.Argument> arguments = new ArrayList<>();
        for (int i = 0; i < memories.size(); i++) {
          arguments.add(new Request.Location(i, 0, memories.get(i).size(), Shape.NONE));
        }
        Request request =
            new Request(
                arguments.subList(0, inputs),
                arguments.subList(inputs, arguments.size()),
                memories.stream().<MemoryPool>map(MemoryPool.Shared::new).toList());
        ExecutionResult result = prepared.execute(request, ExecutionConfig.DEFAULT);
        assertInstanceOf(ExecutionResult.Completed.class, result, result.toString());
        for (int i = 0; i < graph.outputIndexes().size(); i++) {
          Optional<String> wrong =
              compare(graph.output(i), memories.get(inputs + i).segment().asByteBuffer());
          if (wrong.isPresent()) {
            return wrong;
          }
        }
        return Optional.empty();
      } finally {
        memories.forEach(SharedMemory::close);
      }
    }

    private Optional<String> compare(Operand operand, ByteBuffer actual) throws Exception {
      ByteBuffer expected = ByteBuffer.wrap(Files.readAllBytes(path(operand)));
      assertEquals(expected.remaining(), actual.remaining(), operand.name());
      if (operand.type() != OperandCode.TENSOR_FLOAT32) {
        int count = 0;
        for (int i = 0; i < expected.remaining(); i++) {
          count += expected.get(i) == actual.get(i) ? 0 : 1;
        }
        compared += expected.remaining();
        return count == 0
            ? Optional.empty()
            : Optional.of(count + " of " + expected.remaining() + " differ");
      }
      return compareFloats(expected, actual);
    }

    private Optional<String> compareFloats(ByteBuffer expectedBytes, ByteBuffer actualBytes) {
      float[] expected = floats(expectedBytes);
      float[] actual = floats(actualBytes);
      float largest = 0;
      float difference = 0;
      for (int i = 0; i < expected.length; i++) {
        largest = Math.max(largest, Math.abs(expected[i]));
        difference = Math.max(difference, Math.abs(expected[i] - actual[i]));
      }
      compared += expected.length;
      return difference <= 1e-4 * largest
          ? Optional.empty()
          : Optional.of("differs by " + difference + ", the largest value is " + largest);
    }

    private static float[] floats(ByteBuffer bytes) {
      float[] values = new float[bytes.remaining() / Float.BYTES];
      bytes.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(values);
      return values;
    }

    private Path path(Operand operand) {
      return folder.resolve(stored.get(operand.name()).get("file").asText());
    }

    /** The operations that compute an operator's outputs from stored values and constants. */
    private Model part(JsonNode operator) {
      Subgraph graph = model.main();
      Map<Integer, Operand> changed = new HashMap<>();
      List<Integer> outputs = new ArrayList<>();
      TreeSet<Integer> steps = new TreeSet<>();
      Deque<Integer> wanted = new ArrayDeque<>();
      for (JsonNode output : operator.get("outputs")) {
        JsonNode tensor = description.get("tensors").get(output.asText());
        if (tensor == null) {
          continue;
        }
        int index = operand(graph, tensor.get("name").asText());
        changed.put(index, graph.operands().get(index).with(Lifetime.SUBGRAPH_OUTPUT));
        outputs.add(index);
        wanted.add(index);
      }
      assertTrue(!outputs.isEmpty(), "no output of operator " + operator + " is stored");
      List<Integer> inputs = new ArrayList<>();
      while (!wanted.isEmpty()) {
        int step = producer(graph, wanted.remove());
        if (!steps.add(step)) {
          continue;
        }
        for (int input : graph.operations().get(step).inputs()) {
          Operand operand = graph.operands().get(input);
          if (operand.lifetime() instanceof Lifetime.Constant
              || operand.lifetime() instanceof Lifetime.NoValue) {
            continue;
          }
          if (!stored.containsKey(operand.name())) {
            wanted.add(input);
          } else if (changed.putIfAbsent(input, operand.with(Lifetime.SUBGRAPH_INPUT)) == null) {
            inputs.add(input);
          }
        }
      }
      return Model.of(compact(graph, changed, steps, inputs, outputs));
    }

    private static int operand(Subgraph graph, String name) {
      for (int i = 0; i < graph.operands().size(); i++) {
        Operand operand = graph.operands().get(i);
        if (operand.name().equals(name) && !(operand.lifetime() instanceof Lifetime.Constant)) {
          return i;
        }
      }
      throw new AssertionError("no operand is called " + name);
    }

    private static int producer(Subgraph graph, int operand) {
      for (int i = 0; i < graph.operations().size(); i++) {
        if (graph.operations().get(i).outputs().contains(operand)) {
          return i;
        }
      }
      throw new AssertionError("nothing writes " + graph.operands().get(operand));
    }

    /** A graph of only these steps and the operands that they use. */
    private static Subgraph compact(
        Subgraph graph,
        Map<Integer, Operand> changed,
        TreeSet<Integer> steps,
        List<Integer> inputs,
        List<Integer> outputs) {
      Map<Integer, Integer> places = new HashMap<>();
      List<Operand> operands = new ArrayList<>();
      List<Operation> operations = new ArrayList<>();
      for (int step : steps) {
        Operation operation = graph.operations().get(step);
        List<List<Integer>> lists = new ArrayList<>();
        for (List<Integer> old : List.of(operation.inputs(), operation.outputs())) {
          List<Integer> list = new ArrayList<>();
          for (int index : old) {
            if (!places.containsKey(index)) {
              places.put(index, operands.size());
              operands.add(changed.getOrDefault(index, graph.operands().get(index)));
            }
            list.add(places.get(index));
          }
          lists.add(list);
        }
        operations.add(new Operation(operation.type(), lists.get(0), lists.get(1)));
      }
      return new Subgraph(
          operands,
          operations,
          inputs.stream().map(places::get).toList(),
          outputs.stream().map(places::get).toList());
    }

    @Override
    public void close() {
      file.close();
    }
  }
}
