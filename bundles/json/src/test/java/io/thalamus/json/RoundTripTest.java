// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.json.read.JsonReader;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.ModelDigest;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFile.Normalization;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.onnx.OnnxReader;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.ModelDirectory;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Models that are written and read again: the same to the last bit. */
class RoundTripTest {
  private static final int GRAPHS = 300;

  @TempDir Path folder;

  /** Reads a model with the files beside it, all of which are closed by the caller. */
  private ModelFile read(Path text, List<SharedMemory> opened) throws Exception {
    SharedMemory file = SharedMemory.map(text);
    opened.add(file);
    assertTrue(
        new JsonReader().accepts("any", file.segment().asSlice(0, Math.min(64, file.size()))));
    Companions companions =
        name -> {
          SharedMemory other = SharedMemory.map(text.resolveSibling(name));
          opened.add(other);
          return other;
        };
    return new JsonReader().read(file, ReadOptions.DEFAULT, companions);
  }

  private void assertSame(ModelFile model) throws Exception {
    Path text = folder.resolve("model.json");
    JsonModel.Written written = JsonModel.write(model, text);
    assertEquals(written.constants().isPresent(), Files.exists(JsonModel.constants(text)));
    List<SharedMemory> opened = new ArrayList<>();
    try {
      ModelFile again = read(text, opened);
      assertArrayEquals(digest(model.model()), digest(again.model()));
      assertEquals(names(model.model()), names(again.model()));
      assertEquals(model.description(), again.description());
      assertEquals(model.labels(), again.labels());
      assertEquals(model.normalizations(), again.normalizations());
      assertEquals(model.firstValues().keySet(), again.firstValues().keySet());
      for (int input : model.firstValues().keySet()) {
        assertEquals(
            -1,
            model
                .firstValue(input)
                .orElseThrow()
                .bytes()
                .mismatch(again.firstValue(input).orElseThrow().bytes()));
      }
      byte[] first = Files.readAllBytes(text);
      Path second = folder.resolve("second").resolve("model.json");
      Files.createDirectories(second.getParent());
      JsonModel.write(again, second);
      assertArrayEquals(first, Files.readAllBytes(second));
    } finally {
      opened.forEach(SharedMemory::close);
      try (Stream<Path> files = Files.walk(folder)) {
        for (Path file : files.filter(Files::isRegularFile).toList()) {
          Files.delete(file);
        }
      }
    }
  }

  /** A digest that does not tell a constant in the model from one in a pool. */
  private static byte[] digest(Model model) {
    return ModelDigest.of(
        new Model(
            copied(model.main()),
            model.referenced().stream().map(RoundTripTest::copied).toList(),
            model.relaxComputationFloat32toFloat16()));
  }

  private static Subgraph copied(Subgraph graph) {
    List<Operand> operands =
        graph.operands().stream()
            .map(
                operand ->
                    operand.lifetime() instanceof Lifetime.Constant constant
                        ? operand.with(
                            new ConstantCopy(constant.bytes().toArray(ValueLayout.JAVA_BYTE)))
                        : operand)
            .toList();
    return new Subgraph(operands, graph.operations(), graph.inputIndexes(), graph.outputIndexes());
  }

  private static List<List<String>> names(Model model) {
    return model
        .subgraphs()
        .map(graph -> graph.operands().stream().map(Operand::name).toList())
        .toList();
  }

  static Stream<String> models() throws Exception {
    Optional<Path> models = ConformanceData.models();
    return models.isEmpty()
        ? Stream.of("")
        : ModelDirectory.readAll(models.get()).stream().map(ModelDirectory::name);
  }

  @ParameterizedTest
  @MethodSource("models")
  void aPublicModel(String name) throws Exception {
    assumeTrue(!name.isEmpty(), "there are no public models here");
    ModelDirectory directory =
        ModelDirectory.read(ConformanceData.models().orElseThrow().resolve(name));
    ModelReader reader = directory.format().equals("onnx") ? new OnnxReader() : new TfliteReader();
    ReadOptions options = ReadOptions.DEFAULT;
    if (name.startsWith("silero")) {
      options = options.withShapes(Map.of("input", Shape.of(1, 576), "state", Shape.of(2, 1, 128)));
    }
    try (SharedMemory file = SharedMemory.map(directory.model())) {
      assertSame(reader.read(file, options));
    }
  }

  /** Something for each input of which the size is known. */
  private static Map<Integer, Lifetime.Constant> firstValues(Subgraph main, Random random) {
    Map<Integer, Lifetime.Constant> values = new HashMap<>();
    for (int i = 0; i < main.inputIndexes().size(); i++) {
      if (main.input(i).isSizeKnown()) {
        byte[] bytes = new byte[(int) main.input(i).byteSize()];
        random.nextBytes(bytes);
        values.put(i, new Lifetime.ConstantCopy(bytes));
      }
    }
    return values;
  }

  @Test
  void randomGraphs() throws Exception {
    long seed = System.nanoTime();
    GraphGenerator generator = GraphGenerator.overAll();
    for (int i = 0; i < GRAPHS; i++) {
      Example example = generator.graph(seed + i);
      try (DecodedExample decoded = example.decode()) {
        assertSame(
            ModelFile.of(decoded.model(), "a test")
                .withFirstValues(firstValues(decoded.model().main(), new Random(seed + i))));
      } catch (AssertionError | Exception e) {
        throw new AssertionError("seed " + (seed + i), e);
      }
    }
  }

  /** Elements that a decimal number says badly, and what else a file may hold. */
  @Test
  void whatIsHardToWrite() throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    int x =
        graph.input(
            "x\n\"\u00e9\ud83d\ude00", OperandCode.TENSOR_FLOAT32, Shape.of(6), Quantization.NONE);
    ByteBuffer hard = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
    hard.putFloat(-0f).putFloat(Float.MIN_VALUE).putFloat(Float.NEGATIVE_INFINITY);
    hard.putFloat(Float.NaN).putFloat(0.1f).putFloat(16_777_217f);
    int constant = constant(graph, OperandCode.TENSOR_FLOAT32, Shape.of(6), hard.array());
    int sum = graph.output("sum", OperandCode.TENSOR_FLOAT32, Shape.of(6), Quantization.NONE);
    graph.operation(OperationCode.ADD, List.of(x, constant, graph.int32(0)), List.of(sum));
    byte[] odd = hard.array().clone();
    ByteBuffer.wrap(odd).order(ByteOrder.LITTLE_ENDIAN).putInt(12, 0x7FC0_0001);
    int other = constant(graph, OperandCode.TENSOR_FLOAT32, Shape.of(6), odd);
    int product = graph.output("", OperandCode.TENSOR_FLOAT32, Shape.of(6), Quantization.NONE);
    graph.operation(OperationCode.MUL, List.of(x, other, graph.int32(0)), List.of(product));
    constant(graph, OperandCode.TENSOR_BOOL8, Shape.of(3), new byte[] {0, 1, (byte) 255});
    constant(graph, OperandCode.UINT32, Shape.NONE, new byte[] {-1, -1, -1, -1});
    graph.noValue(OperandCode.TENSOR_INT32);
    byte[] large = new byte[4 * 40_000];
    large[5] = 3;
    constant(graph, OperandCode.TENSOR_INT32, Shape.of(40_000), large);
    Subgraph main = graph.build();
    ModelFile file =
        new ModelFile(
            new Model(main, List.of(), true),
            "a test",
            "two\nlines",
            Map.of(0, new Normalization(127.5f, 0.1f)),
            List.of("a", "", "\u0000"));
    Path text = folder.resolve("hard.json");
    JsonModel.write(file, text);
    List<SharedMemory> opened = new ArrayList<>();
    ModelFile again = read(text, opened);
    assertEquals(large.length, constants(again).getLast().length);
    for (int i = 0; i < constants(file).size(); i++) {
      assertArrayEquals(constants(file).get(i), constants(again).get(i));
    }
    assertTrue(again.model().relaxComputationFloat32toFloat16());
    assertEquals(file.normalizations(), again.normalizations());
    assertEquals(
        List.of(file.description(), file.labels(), names(file.model())),
        List.of(again.description(), again.labels(), names(again.model())));
    opened.forEach(SharedMemory::close);
  }

  private static int constant(SubgraphBuilder graph, OperandCode type, Shape shape, byte[] value) {
    return graph.constant("", type, shape, Quantization.NONE, new ConstantCopy(value));
  }

  private static List<byte[]> constants(ModelFile file) {
    return file.model().main().operands().stream()
        .map(Operand::lifetime)
        .filter(Lifetime.Constant.class::isInstance)
        .map(lifetime -> ((Lifetime.Constant) lifetime).bytes())
        .map(bytes -> bytes.toArray(ValueLayout.JAVA_BYTE))
        .toList();
  }
}
