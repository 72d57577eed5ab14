// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.api.Answer;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.Network;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.api.Tensor;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceType;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Models out of memory, and one handle for a model and its compilation. */
class NetworkTest {
  private static final int FLOATS = 64;

  private final TestRuntime runtime = TestRuntime.of(LimitedDevice.cpu());

  @BeforeEach
  void addReader() {
    runtime.loader.addReader(new ModelLoaderTest.LetterReader());
  }

  @AfterEach
  void close() {
    runtime.close();
  }

  private Network open(byte[] bytes) throws Exception {
    LoadedModel model = runtime.networks().load("letter", new ByteArrayInputStream(bytes));
    assertEquals(Path.of("letter"), model.path());
    return Network.open(runtime.networks(), model, CompilationOptions.DEFAULT);
  }

  @Test
  void aModelOutOfMemoryIsACopy() throws Exception {
    byte[] bytes = ModelLoaderTest.letter(2);
    try (Network network = open(bytes)) {
      Arrays.fill(bytes, (byte) 0);
      assertEquals(2, network.run(new float[FLOATS]).output().real(FLOATS - 1));
      assertEquals("y", network.outputs().getFirst().name());
    }
  }

  @Test
  void damagedBytesAreOneLine() {
    assertRefused(ResultCode.BAD_DATA, "m is empty", () -> load(new byte[0]));
    assertRefused(
        ResultCode.BAD_DATA,
        "m is not a model of a known format (known: Letter)",
        () -> load(new byte[] {'X'}));
    assertRefused(ResultCode.BAD_DATA, "m: the letter stands alone", () -> load(new byte[] {'L'}));
  }

  private void load(byte[] bytes) throws NeuralNetworksException {
    runtime.networks().load("m", MemorySegment.ofArray(bytes));
  }

  @Test
  void theAnswerStaysWhenTheNetworkIsClosed() throws Exception {
    Network network = open(ModelLoaderTest.letter(2));
    float[] input = new float[FLOATS];
    input[1] = 7;
    Answer answer = network.run(Map.of("x", Tensor.of(network.inputs().getFirst(), input)));
    network.close();
    network.close();
    assertEquals(9, answer.output("y").real(1));
    assertEquals(List.of("cpu"), answer.devices());
    assertThrows(IllegalStateException.class, () -> network.run(input));
    MemorySegment constants = network.model().model().pools().getFirst().segment();
    assertFalse(constants.scope().isAlive());
  }

  @Test
  void argumentsThatDoNotFitAreOneLine() throws Exception {
    try (Network network = open(ModelLoaderTest.letter(2))) {
      Shape shape = network.inputs().getFirst().shape();
      String x = "x TENSOR_FLOAT32 " + shape;
      assertRefused(
          ResultCode.BAD_DATA, x + " takes 64 floats, not 3", () -> network.run(new float[3]));
      assertRefused(
          ResultCode.BAD_DATA,
          "the model has 1 input (" + x + "), 2 given",
          () -> network.run(new float[FLOATS], new float[1]));
      assertRefused(
          ResultCode.BAD_DATA,
          "the model has 1 input (" + x + "), 0 given",
          () -> network.run(new float[0][]));
      assertRefused(
          ResultCode.BAD_DATA,
          x + " takes no picture",
          () -> network.run(new BufferedImage(2, 2, BufferedImage.TYPE_INT_RGB)));
    }
  }

  @Test
  void argumentsThatAreNullAreNamed() throws Exception {
    try (Network network = open(ModelLoaderTest.letter(2))) {
      String line = "input x TENSOR_FLOAT32 " + network.inputs().getFirst().shape() + " is missing";
      Map<String, Tensor> named = new HashMap<>();
      named.put("x", null);
      for (Executable run :
          List.<Executable>of(
              () -> network.run((float[]) null),
              () -> network.run((Tensor) null),
              () -> network.run((BufferedImage) null),
              () -> network.run(named))) {
        assertRefused(ResultCode.BAD_DATA, line, run);
      }
      Answer answer = network.run(new float[FLOATS]);
      assertEquals(0, answer.top(0).size());
      assertEquals(
          "most must be at least 0, not -1",
          assertThrows(IllegalArgumentException.class, () -> answer.top(-1)).getMessage());
    }
  }

  @Test
  void aModelThatCannotBeCompiledIsClosed() throws Exception {
    LoadedModel model =
        runtime.networks().load("m", MemorySegment.ofArray(ModelLoaderTest.letter(1)));
    CompilationOptions nobody = CompilationOptions.DEFAULT.withDevices(List.of("nobody"));
    assertThrows(
        NeuralNetworksException.class, () -> Network.open(runtime.networks(), model, nobody));
    assertFalse(model.model().pools().getFirst().segment().scope().isAlive());
  }

  /** A format of {@code y = x + x}, for any number of elements; {@code O} alone. */
  private static final class OpenReader implements ModelReader {
    final AtomicInteger reads = new AtomicInteger();

    @Override
    public String format() {
      return "Open";
    }

    @Override
    public boolean accepts(String fileName, MemorySegment head) {
      return head.get(ValueLayout.JAVA_BYTE, 0) == 'O';
    }

    @Override
    public ModelFile read(SharedMemory file) throws ModelFormatException {
      return read(file, ReadOptions.DEFAULT);
    }

    @Override
    public ModelFile read(SharedMemory file, ReadOptions options) throws ModelFormatException {
      reads.incrementAndGet();
      Shape shape = options.resolve(List.of("x"), List.of(Shape.of(0))).getFirst();
      Graphs.Builder g = new Graphs.Builder(Math.max(1, shape.dimension(0)));
      int x = g.input("x");
      g.op(OperationCode.ADD, x, x, g.output("y"));
      return ModelFile.of(g.model(), format()).withOpenInputs(Map.of(0, Shape.of(0)));
    }
  }

  /** A device whose models hold so many bytes each, beside what they share. */
  private static final class HoldingDevice extends LimitedDevice {
    private final long bytes;

    HoldingDevice(long bytes) {
      super(
          LimitedDevice.info("thalamus-cpu", DeviceType.CPU, 1).build(),
          (graph, operation) -> true);
      this.bytes = bytes;
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      return new DelegatingPreparedModel(this, super.prepare(model, config)) {
        @Override
        public long ownBytes() {
          return bytes;
        }
      };
    }
  }

  /** Twenty lengths, one after the other and twice. */
  @ParameterizedTest
  @CsvSource({"1, 20, 20", "10000000, 20, 20", "100000000, 40, 8"})
  void asManyLengthsStayAsTheirBytesAllow(long bytes, int reads, int open) throws Exception {
    HoldingDevice device = new HoldingDevice(bytes);
    try (TestRuntime own = TestRuntime.of(device)) {
      OpenReader reader = new OpenReader();
      own.loader.addReader(reader);
      LoadedModel model = own.networks().load("m", MemorySegment.ofArray(new byte[] {'O'}));
      try (Network network = Network.open(own.networks(), model, CompilationOptions.DEFAULT)) {
        for (int i = 0; i < 40; i++) {
          float[] input = new float[2 + i % 20];
          input[0] = i;
          assertEquals(2 * i, network.run(input).output().real(0));
        }
        assertEquals(1 + reads, reader.reads.get());
        assertEquals(1 + open, device.open());
      }
      assertEquals(0, device.open());
    }
  }

  @Test
  void inputsOfOtherDimensionsAreReadAndCompiledForOnce() throws Exception {
    OpenReader reader = new OpenReader();
    runtime.loader.addReader(reader);
    Network network = open(new byte[] {'O'});
    for (int size : new int[] {1, 3, 3, 5, 3}) {
      float[] input = new float[size];
      input[size - 1] = size;
      float[] expected = new float[size];
      expected[size - 1] = 2 * size;
      assertArrayEquals(expected, network.run(input).output().toFloats());
      Map<String, Tensor> byName = Map.of("x", Tensor.floats(input, size));
      assertArrayEquals(expected, network.run(byName).output().toFloats());
    }
    assertEquals(3, reader.reads.get());
    for (int size = 10; size < 30; size++) {
      assertEquals(size, network.run(new float[size]).output().count());
    }
    // All are small, and stay.
    assertEquals(3, network.run(new float[3]).output().count());
    assertEquals(23, reader.reads.get());
    network.close();
    assertThrows(IllegalStateException.class, () -> network.run(new float[3]));
  }

  /** A format of {@code y = x + past}, or {@code y = x + x} where past has no elements. */
  private static final class DecoderReader implements ModelReader {
    @Override
    public String format() {
      return "Decoder";
    }

    @Override
    public boolean accepts(String fileName, MemorySegment head) {
      return head.get(ValueLayout.JAVA_BYTE, 0) == 'D';
    }

    @Override
    public ModelFile read(SharedMemory file) throws ModelFormatException {
      return read(file, ReadOptions.DEFAULT);
    }

    @Override
    public ModelFile read(SharedMemory file, ReadOptions options) {
      int length = options.shapes().getOrDefault("past", Shape.of(1)).dimension(0);
      Graphs.Builder g = new Graphs.Builder(1);
      int x = g.input("x");
      int y = g.output("y");
      if (length == 0) {
        return ModelFile.of(g.op(OperationCode.ADD, x, x, y).model(), format());
      }
      int past = g.input("past");
      g.op(OperationCode.ADD, x, past, y);
      return ModelFile.of(g.model(), format()).withOpenInputs(Map.of(1, Shape.of(0)));
    }
  }

  /** As a decoder begins: without a past, which is the same network with one in the next step. */
  @Test
  void aValueWithoutElementsIsTakenByTheModelThatHasNone() throws Exception {
    runtime.loader.addReader(new DecoderReader());
    try (Network network = open(new byte[] {'D'})) {
      for (int step = 0; step < 2; step++) {
        assertEquals(6, network.run(new float[] {3}, new float[0]).output().real(0));
        assertEquals(8, network.run(new float[] {3}, new float[] {5}).output().real(0));
        Map<String, Tensor> first =
            Map.of("x", Tensor.floats(new float[] {3}, 1), "past", Tensor.floats(new float[0], 0));
        assertEquals(6, network.run(first).output().real(0));
      }
    }
  }

  /** A format of {@code y = x + s.next}, where {@code s.next = x + s} and s begins with 10. */
  private static final class StateReader implements ModelReader {
    @Override
    public String format() {
      return "State";
    }

    @Override
    public boolean accepts(String fileName, MemorySegment head) {
      return head.get(ValueLayout.JAVA_BYTE, 0) == 'S';
    }

    @Override
    public ModelFile read(SharedMemory file) {
      Graphs.Builder g = new Graphs.Builder(1);
      int x = g.input("x");
      int s = g.input("s");
      int y = g.output("y");
      int next = g.output("s.next");
      g.op(OperationCode.ADD, x, s, next).op(OperationCode.ADD, x, next, y);
      byte[] ten = new byte[4];
      MemorySegment.ofArray(ten).set(Graphs.FLOAT, 0, 10);
      return ModelFile.of(g.model(), format()).withFirstValues(Map.of(1, new ConstantCopy(ten)));
    }
  }

  @Test
  void aStateThatIsLeftOutBeginsWithTheValueOfTheFile() throws Exception {
    runtime.loader.addReader(new StateReader());
    try (Network network = open(new byte[] {'S'})) {
      Map<String, Tensor> inputs = new HashMap<>();
      float[] expected = {12, 15, 19}; // 1 + 11, 2 + 13, 3 + 16
      for (int step = 1; step <= expected.length; step++) {
        inputs.put("x", Tensor.floats(new float[] {step}, 1));
        Answer answer = network.run(inputs);
        assertEquals(expected[step - 1], answer.output("y").real(0));
        inputs.put("s", answer.output("s.next"));
      }
      assertEquals(12, network.run(new float[] {1}).output("y").real(0));
      assertEquals(2, network.run(new float[] {1}, new float[] {0}).output("y").real(0));
      String inputsOfTwo = "the model has 2 inputs (x TENSOR_FLOAT32 1, s TENSOR_FLOAT32 1), ";
      assertRefused(
          ResultCode.BAD_DATA, inputsOfTwo + "0 given", () -> network.run(new float[0][]));
    }
  }

  @Test
  void aCacheTokenStandsForTheChoicesToo() throws Exception {
    runtime.loader.addReader(new OpenReader());
    LoadedModel model = runtime.networks().load("m", MemorySegment.ofArray(new byte[] {'O'}));
    LoadedModel other = model.with(ReadOptions.DEFAULT.withShapes(Map.of("x", Shape.of(2))));
    assertNotEquals(model.token(), other.token());
    try (LoadedModel hybrid = model.with(other.options().withHybrid(true))) {
      assertNotEquals(other.token(), hybrid.token());
    }
    model.close();
    assertEquals(Shape.of(2), other.model().main().input(0).shape());
    LoadedModel again = other.with(ReadOptions.DEFAULT);
    assertEquals(Shape.of(1), again.model().main().input(0).shape());
    other.close();
    again.close();
    assertThrows(IllegalStateException.class, () -> other.with(ReadOptions.DEFAULT));
  }

  private static void assertRefused(ResultCode code, String line, Executable action) {
    NeuralNetworksException e = assertThrows(NeuralNetworksException.class, action);
    assertEquals(line, e.getMessage());
    assertEquals(code, e.code());
  }
}
