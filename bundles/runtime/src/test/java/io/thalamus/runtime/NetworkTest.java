// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.api.Answer;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.Network;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.api.Tensor;
import io.thalamus.model.Shape;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

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
  void aModelThatCannotBeCompiledIsClosed() throws Exception {
    LoadedModel model =
        runtime.networks().load("m", MemorySegment.ofArray(ModelLoaderTest.letter(1)));
    CompilationOptions nobody = CompilationOptions.DEFAULT.withDevices(List.of("nobody"));
    assertThrows(
        NeuralNetworksException.class, () -> Network.open(runtime.networks(), model, nobody));
    assertFalse(model.model().pools().getFirst().segment().scope().isAlive());
  }

  private static void assertRefused(ResultCode code, String line, Executable action) {
    NeuralNetworksException e = assertThrows(NeuralNetworksException.class, action);
    assertEquals(line, e.getMessage());
    assertEquals(code, e.code());
  }
}
