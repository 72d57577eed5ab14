// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.tensor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.api.Tensor;
import io.thalamus.console.CommandException;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.WideTypes;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FilesTest {
  /** Written by numpy.save of NumPy 2.4.6; the comment is what was saved. */
  private static final class NumPy {

    // numpy.arange(6, dtype=float32).reshape(2, 3) / 4
    static final String FLOAT =
        "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIs"
            + "IDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg"
            + "IAoAAAAAAACAPgAAAD8AAEA/AACAPwAAoD8=";
    // numpy.array([-128, 0, 127], dtype=int8)
    static final String INT8 =
        "k05VTVBZAQB2AHsnZGVzY3InOiAnfGkxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDMs"
            + "KSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg"
            + "IAqAAH8=";
    // numpy.array(7, dtype=int32)
    static final String SCALAR =
        "k05VTVBZAQB2AHsnZGVzY3InOiAnPGk0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKCks"
            + "IH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg"
            + "IAoHAAAA";
    // numpy.asfortranarray(numpy.arange(6, dtype=float32).reshape(2, 3))
    static final String FORTRAN =
        "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBUcnVlLCAnc2hhcGUnOiAoMiwg"
            + "MyksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg"
            + "IAoAAAAAAABAQAAAgD8AAIBAAAAAQAAAoEA=";
    // numpy.arange(3).astype('>f4')
    static final String BIG_ENDIAN =
        "k05VTVBZAQB2AHsnZGVzY3InOiAnPmY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDMs"
            + "KSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg"
            + "IAoAAAAAP4AAAEAAAAA=";
    // numpy.array([0.5, 1.5])
    static final String DOUBLE =
        "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIs"
            + "KSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg"
            + "IAoAAAAAAADgPwAAAAAAAPg/";

    static byte[] bytes(String base64) {
      return Base64.getDecoder().decode(base64);
    }
  }

  @TempDir Path folder;

  private static Operand operand(OperandType type, Quantization quantization, int... shape) {
    return new Operand(type, Shape.of(shape), quantization, Lifetime.SUBGRAPH_INPUT, "x");
  }

  private static Operand floats(int... shape) {
    return operand(OperandCode.TENSOR_FLOAT32, Quantization.NONE, shape);
  }

  private static Operand int8(int... shape) {
    return operand(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED, Quantization.of(0.5f, -1), shape);
  }

  private Tensor read(String name, byte[] bytes, Operand input) throws Exception {
    return read(Files.write(folder.resolve(name), bytes), input);
  }

  private Tensor read(String name, String text, Operand input) throws Exception {
    return read(Files.writeString(folder.resolve(name), text), input);
  }

  private static double[] stored(Tensor tensor) {
    return LongStream.range(0, tensor.count()).mapToDouble(tensor::stored).toArray();
  }

  @Test
  void readsWhatNumPyWrote() throws Exception {
    Tensor matrix = read("a.npy", NumPy.bytes(NumPy.FLOAT), floats(2, 3));
    assertArrayEquals(new double[] {0, .25, .5, .75, 1, 1.25}, stored(matrix));
    assertEquals(Shape.of(2, 3), matrix.shape());
    assertArrayEquals(
        new double[] {-128, 0, 127}, stored(read("b.npy", NumPy.bytes(NumPy.INT8), int8(1, 3))));
    assertArrayEquals(
        new double[] {7},
        stored(
            read(
                "c.npy",
                NumPy.bytes(NumPy.SCALAR),
                operand(OperandCode.INT32, Quantization.NONE))));
    assertArrayEquals(
        new double[] {.5, 1.5}, stored(read("d.npy", NumPy.bytes(NumPy.DOUBLE), floats(2))));
  }

  @Test
  void floatsForAQuantizedInputAreRealNumbers() throws Exception {
    // real = 0.5 * (stored + 1): 0.5 is 0 and 1.5 is 2
    assertArrayEquals(
        new double[] {0, 2}, stored(read("d.npy", NumPy.bytes(NumPy.DOUBLE), int8(2))));
  }

  @Test
  void openDimensionsAreTakenFromTheFile() throws Exception {
    assertEquals(Shape.of(2, 3), read("a.npy", NumPy.bytes(NumPy.FLOAT), floats(0, 3)).shape());
    assertEquals(Shape.of(2, 3), read("a.npy", NumPy.bytes(NumPy.FLOAT), floats()).shape());
    assertEquals(Shape.of(2, 3), read("a.bin", new byte[24], floats(0, 3)).shape());
  }

  @Test
  void damagedNpyFilesAreOneLineEach() {
    byte[] good = NumPy.bytes(NumPy.FLOAT);
    assertLine("a.npy is not a .npy file: it does not begin as one", "a.npy", new byte[0]);
    assertLine(
        "a.npy is not a .npy file: it does not begin as one", "a.npy", "hello, world!!".getBytes());
    assertLine(
        "a.npy is damaged: it ends within its header", "a.npy", java.util.Arrays.copyOf(good, 60));
    assertLine(
        "a.npy is damaged: 23 bytes of elements instead of 24",
        "a.npy",
        java.util.Arrays.copyOf(good, good.length - 1));
    assertLine(
        "a.npy is in Fortran order; save it with numpy.ascontiguousarray",
        "a.npy",
        NumPy.bytes(NumPy.FORTRAN));
    assertLine(
        "a.npy holds elements of type >f4, which are not read here",
        "a.npy",
        NumPy.bytes(NumPy.BIG_ENDIAN));
    byte[] huge =
        new String(good, java.nio.charset.StandardCharsets.ISO_8859_1)
            .replace("(2, 3), }              ", "(2000000000, 2000000000)")
            .getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
    assertThrows(CommandException.class, () -> read("a.npy", huge, floats(2, 3)));
    assertLine(
        "a.npy has shape 3, which does not fit x TENSOR_FLOAT32 2x3",
        "a.npy",
        NumPy.bytes(NumPy.INT8));
  }

  @Test
  void jsonIsReadByItsNesting() throws Exception {
    assertArrayEquals(
        new double[] {1, 2.5, -3e-2f, 4},
        stored(read("a.json", "[[1, 2.5], [-3e-2, 4]]", floats(2, 2))));
    assertArrayEquals(new double[] {5}, stored(read("a.json", "5", floats(1))));
    assertArrayEquals(
        new double[] {1, 0},
        stored(
            read(
                "a.json",
                "[true, false]",
                operand(OperandCode.TENSOR_BOOL8, Quantization.NONE, 2))));
    assertArrayEquals(
        new double[] {Double.POSITIVE_INFINITY},
        stored(read("a.json", "[\"Infinity\"]", floats(1))));
  }

  @Test
  void badJsonIsOneLineEach() {
    assertLine("a.json: an array has 1 elements, others 2", "a.json", "[[1,2],[3]]".getBytes());
    assertLine("a.json: its arrays are not nested evenly", "a.json", "[[1,2],3]".getBytes());
    assertLine(
        "a.json: expected nested arrays of numbers, found {", "a.json", "{\"a\":1}".getBytes());
    assertLine("a.json: 'x' is not a number", "a.json", "[\"x\"]".getBytes());
    assertLine("a.json: something follows the numbers", "a.json", "[1,2] 3".getBytes());
    assertLine("a.json: its arrays are nested too deeply", "a.json", "[".repeat(100).getBytes());
    CommandException e =
        assertThrows(CommandException.class, () -> read("a.json", "[1", floats(2, 3)));
    assertEquals(
        "a.json is not JSON: Unexpected end-of-input: expected close marker for Array"
            + " (start marker at line: 1, column: 1)",
        e.getMessage());
    CommandException empty =
        assertThrows(CommandException.class, () -> read("a.json", "", floats(2, 3)));
    assertEquals("a.json is not JSON: it ends too early", empty.getMessage());
    CommandException range =
        assertThrows(CommandException.class, () -> read("a.json", "[1, 128]", int8(2)));
    assertEquals(
        "a.json: element 1 is 128.0, which no TENSOR_QUANT8_ASYMM_SIGNED can hold",
        range.getMessage());
  }

  @Test
  void aBinFileMustHaveTheVerySize() {
    assertLine("a.bin holds 23 bytes, but x TENSOR_FLOAT32 2x3 takes 24", "a.bin", new byte[23]);
    assertLine("a.bin holds 0 bytes, but x TENSOR_FLOAT32 2x3 takes 24", "a.bin", new byte[0]);
    CommandException open =
        assertThrows(CommandException.class, () -> read("a.bin", new byte[24], floats(1, 0, 0, 3)));
    assertEquals(
        "a.bin: the model leaves the dimensions of x TENSOR_FLOAT32 1x?x?x3 open; give it as .npy",
        open.getMessage());
  }

  @Test
  void filesThatAreNoneAreOneLineEach() throws IOException {
    Path missing = folder.resolve("no.bin");
    CommandException e = assertThrows(CommandException.class, () -> read(missing, floats(2)));
    assertEquals("cannot read " + missing + ": there is no such file", e.getMessage());
    Path directory = Files.createDirectory(folder.resolve("d.npy"));
    CommandException d = assertThrows(CommandException.class, () -> read(directory, floats(2)));
    assertEquals("cannot read " + directory + ": it is a directory", d.getMessage());
    Path picture = folder.resolve("no.png");
    CommandException p = assertThrows(CommandException.class, () -> InputFile.picture(picture));
    assertEquals("cannot read " + picture + ": there is no such file", p.getMessage());
    Path empty = Files.createFile(folder.resolve("empty.png"));
    CommandException none = assertThrows(CommandException.class, () -> InputFile.picture(empty));
    assertEquals("cannot read " + empty + ": the file is empty", none.getMessage());
    ExtensionOperandType foreign = new ExtensionOperandType("com.example", 1, "ODD", true, 3);
    CommandException f =
        assertThrows(
            CommandException.class, () -> read(missing, operand(foreign, Quantization.NONE, 2)));
    assertEquals("inputs of type com.example/ODD cannot be read from files", f.getMessage());
  }

  @Test
  void randomIsTheSameForTheSameSeedAndFillsTheRange() throws Exception {
    Tensor a = InputFile.random(1, floats(0, 1000));
    assertEquals(Shape.of(1, 1000), a.shape());
    assertArrayEquals(stored(a), stored(InputFile.random(1, floats(1, 1000))));
    assertNotEquals(stored(a)[0], InputFile.random(2, floats(1, 1000)).stored(0));
    double[] floats = stored(a);
    assertEquals(true, java.util.Arrays.stream(floats).allMatch(v -> v >= -1 && v <= 1));
    double[] bytes = stored(InputFile.random(3, int8(10_000)));
    assertEquals(-128, java.util.Arrays.stream(bytes).min().orElseThrow());
    assertEquals(127, java.util.Arrays.stream(bytes).max().orElseThrow());
  }

  @Test
  void randomTokensAreInEveryVocabulary() throws Exception {
    for (OperandType type : List.of(OperandCode.TENSOR_INT32, WideTypes.TENSOR_INT64)) {
      double[] tokens = stored(InputFile.random(1, operand(type, Quantization.NONE, 1, 100)));
      assertArrayEquals(
          new double[] {0, 1}, java.util.Arrays.stream(tokens).distinct().sorted().toArray());
    }
  }

  @Test
  void everyTypeComesBackFromEveryFormat() throws Exception {
    List<Operand> operands =
        List.of(
            floats(1, 4),
            int8(2, 2),
            operand(OperandCode.TENSOR_QUANT8_ASYMM, Quantization.of(1, 3), 4),
            operand(OperandCode.TENSOR_INT32, Quantization.NONE, 4),
            operand(OperandCode.TENSOR_FLOAT16, Quantization.NONE, 4),
            operand(OperandCode.TENSOR_BOOL8, Quantization.NONE, 4),
            operand(OperandCode.TENSOR_QUANT16_SYMM, Quantization.of(2, 0), 4),
            operand(OperandCode.TENSOR_QUANT16_ASYMM, Quantization.of(2, 9), 4),
            operand(OperandCode.FLOAT32, Quantization.NONE));
    for (Operand operand : operands) {
      Tensor tensor = InputFile.random(7, operand);
      for (String ending : List.of(".bin", ".npy", ".json")) {
        Path file = folder.resolve("value" + ending);
        OutputFile.write(file, tensor);
        Tensor back = read(file, operand);
        assertArrayEquals(
            tensor.segment().toArray(ValueLayout.JAVA_BYTE),
            back.segment().toArray(ValueLayout.JAVA_BYTE),
            operand.type() + ending);
        assertEquals(tensor.shape(), back.shape());
      }
    }
  }

  @Test
  void npyIsWrittenAsNumPyWritesIt() throws Exception {
    Tensor tensor = read("a.npy", NumPy.bytes(NumPy.FLOAT), floats(2, 3));
    byte[] written = Npy.write(tensor);
    assertEquals(0, (written.length - 24) % 64);
    Npy back = Npy.read(written, "a.npy");
    assertEquals(Shape.of(2, 3), back.shape());
    assertEquals(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,), }",
        new String(written, 10, 118, java.nio.charset.StandardCharsets.ISO_8859_1).strip());
  }

  @Test
  void aFailedWriteLeavesWhatWasThere() throws Exception {
    Tensor tensor = InputFile.random(7, floats(4));
    Path inNowhere = folder.resolve("no/such/x.bin");
    CommandException e =
        assertThrows(CommandException.class, () -> OutputFile.write(inNowhere, tensor));
    assertEquals("cannot write " + inNowhere + ": its directory does not exist", e.getMessage());
    Path file = Files.writeString(folder.resolve("x.bin"), "old");
    OutputFile.write(file, tensor);
    assertEquals(16, Files.size(file));
    try (var left = Files.list(folder)) {
      assertEquals(1, left.count());
    }
  }

  private void assertLine(String line, String name, byte[] bytes) {
    CommandException e =
        assertThrows(CommandException.class, () -> read(name, bytes, floats(2, 3)));
    assertEquals(line, e.getMessage());
    assertEquals(1, e.exitStatus());
  }

  private static Tensor read(Path file, Operand input) throws Exception {
    return InputFile.read(file, input, input);
  }

  @Test
  void aFileOfAnotherBatchThanTheModelIsReadWhereTheFileLeavesThatOpen() throws Exception {
    Path file = folder.resolve("batch.bin");
    Files.write(file, new byte[4 * 6]);
    Operand compiled =
        new Operand(
            OperandCode.TENSOR_FLOAT32,
            Shape.of(1, 2),
            Quantization.NONE,
            Lifetime.SUBGRAPH_INPUT,
            "x");
    assertEquals(
        Shape.of(3, 2), InputFile.read(file, compiled, compiled.with(Shape.of(0, 2))).shape());
    assertThrows(CommandException.class, () -> InputFile.read(file, compiled, compiled));
  }
}
