// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that are no models, and how long a model's file stays mapped. */
class ModelLoaderTest {
  private static final int FLOATS = 64;

  @TempDir private Path directory;
  private final TestRuntime runtime = TestRuntime.of(LimitedDevice.cpu());

  @AfterEach
  void close() {
    runtime.close();
  }

  /** A format whose files are a letter, padding, and the constant of {@code y = x + constant}. */
  static final class LetterReader implements ModelReader {
    @Override
    public String format() {
      return "Letter";
    }

    @Override
    public boolean accepts(String fileName, MemorySegment head) {
      return head.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0) == 'L';
    }

    @Override
    public ModelFile read(SharedMemory file) throws ModelFormatException {
      if (file.size() == 1) {
        throw new ModelFormatException("the letter stands alone");
      }
      return ModelFile.of(model(file), format());
    }

    static Model model(SharedMemory file) {
      Graphs.Builder g = new Graphs.Builder(FLOATS);
      int x = g.input("x");
      // Runs out of the file where that is short.
      ConstantReference constant = new ConstantReference(file, 4, 4L * FLOATS);
      int c =
          g.raw()
              .constant(
                  "c", OperandCode.TENSOR_FLOAT32, Shape.of(FLOATS), Quantization.NONE, constant);
      g.op(OperationCode.ADD, x, c, g.output("y"));
      return g.model();
    }
  }

  private NeuralNetworksException refusal(Path path) {
    return assertThrows(NeuralNetworksException.class, () -> runtime.networks().load(path));
  }

  @Test
  void whatIsNoFileIsSaidSo() throws Exception {
    runtime.loader.addReader(new LetterReader());
    Path missing = directory.resolve("missing.tflite");
    assertEquals("there is no file " + missing, refusal(missing).getMessage());
    assertEquals(ResultCode.UNMAPPABLE, refusal(missing).code());
    assertEquals(directory + " is a directory, not a model file", refusal(directory).getMessage());
    Path empty = Files.createFile(directory.resolve("empty"));
    assertEquals(empty + " is empty", refusal(empty).getMessage());
    assertEquals(ResultCode.BAD_DATA, refusal(empty).code());
    Path device = Path.of("/dev/null");
    assumeTrue(Files.exists(device));
    assertEquals(
        device + " is a pipe or a device, not a model file; copy what comes out of it into one",
        refusal(device).getMessage());
  }

  /** A format that is known by the name of its files alone. */
  private static final class NameReader implements ModelReader {
    @Override
    public String format() {
      return "Name";
    }

    @Override
    public boolean accepts(String fileName, MemorySegment head) {
      return fileName.endsWith(".name");
    }

    @Override
    public ModelFile read(SharedMemory file) throws ModelFormatException {
      throw new ModelFormatException("read by its name");
    }
  }

  @Test
  void contentsDecideBeforeTheNameOfAFile() throws Exception {
    runtime.loader.addReader(new NameReader());
    runtime.loader.addReader(new LetterReader());
    Path letter = Files.writeString(directory.resolve("letter.name"), "L");
    assertEquals(letter + ": the letter stands alone", refusal(letter).getMessage());
    Path other = Files.writeString(directory.resolve("other.name"), "N");
    assertEquals(other + ": read by its name", refusal(other).getMessage());
  }

  @Test
  void whatNoReaderKnowsIsSaidSo() throws Exception {
    Path text = Files.writeString(directory.resolve("text.txt"), "hello");
    assertEquals(
        "no reader of model files is here: install one, for example tflite",
        refusal(text).getMessage());
    LetterReader reader = new LetterReader();
    runtime.loader.addReader(reader);
    assertEquals(
        text + " is not a model of a known format (known: Letter)", refusal(text).getMessage());
    Path alone = Files.writeString(directory.resolve("alone"), "L");
    assertEquals(alone + ": the letter stands alone", refusal(alone).getMessage());
    Path cut = Files.writeString(directory.resolve("cut"), "L...123");
    assertTrue(refusal(cut).getMessage().startsWith(cut + " is damaged"));
    runtime.loader.removeReader(reader);
    assertTrue(refusal(text).getMessage().startsWith("no reader"));
  }

  /** The letter C, and the name of a file beside it, in which the letter is. */
  private static final class CompanionReader implements ModelReader {
    private final LetterReader letters = new LetterReader();

    @Override
    public String format() {
      return "Companion";
    }

    @Override
    public boolean accepts(String fileName, MemorySegment head) {
      return head.get(ValueLayout.JAVA_BYTE, 0) == 'C';
    }

    @Override
    public ModelFile read(SharedMemory file) throws ModelFormatException {
      throw new ModelFormatException("it is not alone");
    }

    @Override
    public ModelFile read(SharedMemory file, ReadOptions options, Companions companions)
        throws ModelFormatException {
      String text = new String(file.segment().toArray(ValueLayout.JAVA_BYTE));
      SharedMemory other = companions.open(text.substring(1));
      if (companions.open(text.substring(1)) != other) {
        throw new ModelFormatException("the same name gives other memory");
      }
      return letters.read(other);
    }
  }

  @Test
  void aModelMayHavePartsInFilesBesideIt() throws Exception {
    runtime.loader.addReader(new CompanionReader());
    Path inner = Files.createDirectories(directory.resolve("inner/parts"));
    Files.write(inner.resolve("letter"), letter(1));
    Path file = Files.writeString(directory.resolve("inner/whole"), "Cparts/letter");
    LoadedModel model = runtime.networks().load(file);
    Compilation compilation = runtime.networks().compile(model.model(), CompilationOptions.DEFAULT);
    final CacheToken token = model.token();
    Files.write(inner.resolve("letter"), letter(2));
    try (LoadedModel again = runtime.networks().load(file)) {
      assertNotEquals(token, again.token());
    }
    model.close();
    assertEquals(1, compute(compilation));
    compilation.close();

    Files.write(directory.resolve("outside"), letter(3));
    Files.createSymbolicLink(inner.resolve("link"), directory.resolve("outside"));
    String what = ", which it needs beside it, ";
    for (String name : List.of("../outside", directory.resolve("outside").toString(), "")) {
      Files.writeString(file, "C" + name);
      assertEquals(
          file + ": the file '" + name + "'" + what + "would be outside of its folder",
          refusal(file).getMessage());
    }
    Files.writeString(file, "Cparts/link");
    assertEquals(
        file + ": the file 'parts/link'" + what + "is a link that leads out of its folder",
        refusal(file).getMessage());
    Files.writeString(file, "Cparts");
    assertEquals(file + ": the file 'parts'" + what + "is not there", refusal(file).getMessage());
    assertEquals(ResultCode.BAD_DATA, refusal(file).code());
    NeuralNetworksException alone =
        assertThrows(
            NeuralNetworksException.class,
            () ->
                runtime.networks().load("whole", MemorySegment.ofArray("Cparts/link".getBytes())));
    assertEquals(
        "whole: it needs the file 'parts/link' beside it, which a model in memory does not have",
        alone.getMessage());
  }

  @Test
  void aCompilationOutlivesTheFileOfItsModel() throws Exception {
    runtime.loader.addReader(new LetterReader());
    ByteBuffer bytes = ByteBuffer.allocate(4 + 4 * FLOATS).order(ByteOrder.LITTLE_ENDIAN);
    bytes.put((byte) 'L').position(4);
    for (int i = 0; i < FLOATS; i++) {
      bytes.putFloat(i);
    }
    LoadedModel model =
        runtime.networks().load(Files.write(directory.resolve("letter"), bytes.array()));
    Compilation compilation = runtime.networks().compile(model.model(), CompilationOptions.DEFAULT);
    model.close();
    model.close();
    float[] expected = new float[FLOATS];
    float[] result = new float[FLOATS];
    for (int i = 0; i < FLOATS; i++) {
      expected[i] = i + 1;
    }
    float[] ones = new float[FLOATS];
    java.util.Arrays.fill(ones, 1);
    assertTrue(
        compilation
            .createExecution()
            .setInput(0, Graphs.floats(ones))
            .setOutput(0, Graphs.floats(result))
            .compute()
            .isSuccess());
    assertArrayEquals(expected, result);
    compilation.close();
    MemorySegment mapped = model.model().pools().get(0).segment();
    assertThrows(IllegalStateException.class, () -> mapped.get(Graphs.FLOAT, 4));
  }

  /** A file whose constant is this number everywhere. */
  static byte[] letter(float constant) {
    ByteBuffer bytes = ByteBuffer.allocate(4 + 4 * FLOATS).order(ByteOrder.LITTLE_ENDIAN);
    bytes.put((byte) 'L').position(4);
    while (bytes.hasRemaining()) {
      bytes.putFloat(constant);
    }
    return bytes.array();
  }

  static float compute(Compilation compilation) {
    float[] result = new float[FLOATS];
    compilation
        .createExecution()
        .setInput(0, Graphs.floats(new float[FLOATS]))
        .setOutput(0, Graphs.floats(result))
        .compute();
    return result[FLOATS - 1];
  }

  @ParameterizedTest
  @ValueSource(strings = {"truncated", "overwritten", "deleted"})
  void aLoadedModelIsASnapshotOfItsFile(String change) throws Exception {
    runtime.loader.addReader(new LetterReader());
    Path file = Files.write(directory.resolve("letter"), letter(2));
    try (LoadedModel model = runtime.networks().load(file);
        Compilation early = runtime.networks().compile(model.model(), CompilationOptions.DEFAULT)) {
      switch (change) {
        case "truncated" -> Files.write(file, new byte[0]);
        case "overwritten" -> Files.write(file, letter(3));
        default -> Files.delete(file);
      }
      assertEquals(2, compute(early));
      try (Compilation late =
          runtime.networks().compile(model.model(), CompilationOptions.DEFAULT)) {
        assertEquals(2, compute(late));
      }
      assertEquals(
          CacheToken.of(Digests.sha256().digest(letter(2))),
          CacheToken.of(model.digest()),
          "the digest is that of the bytes that are computed with");
    }
    assertEquals(0, runtime.networks().devices().getFirst().health().failures());
  }

  @Test
  void whatABundleOpenedEndsWithIt() throws Exception {
    runtime.loader.addReader(new LetterReader());
    byte[] bytes = new byte[4 + 4 * FLOATS];
    bytes[0] = 'L';
    LoadedModel model = runtime.networks().load(Files.write(directory.resolve("letter"), bytes));
    Compilation compilation = runtime.networks().compile(model.model(), CompilationOptions.DEFAULT);
    runtime.networks().close();
    assertThrows(IllegalStateException.class, compilation::createExecution);
    MemorySegment mapped = model.model().pools().get(0).segment();
    assertThrows(IllegalStateException.class, () -> mapped.get(Graphs.FLOAT, 4));
  }
}
