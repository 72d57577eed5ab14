// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Model;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.tck.check.TestGraph;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Constants in a file beside the model. */
class ExternalDataTest {
  private static final int COUNT = 64;

  /** The number of each place. */
  private final SharedMemory data = SharedMemory.allocate(MemoryKind.ASHMEM, 8 * COUNT);

  private final Companions companions =
      name -> {
        if (name.equals("weights.bin")) {
          return data;
        }
        throw new ModelFormatException("there is no file " + name);
      };

  ExternalDataTest() {
    ByteBuffer bytes = data.segment().asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 2 * COUNT; i++) {
      bytes.putFloat(i);
    }
  }

  @AfterEach
  void close() {
    data.close();
  }

  private static byte[] sum(String... entries) {
    return new OnnxFileBuilder()
        .input("x", FLOAT, COUNT)
        .outside("w", new long[] {COUNT}, entries)
        .node("Add", List.of("x", "w"), "y")
        .output("y", FLOAT, COUNT)
        .build();
  }

  private Model read(byte[] bytes, Companions beside) throws ModelFormatException {
    SharedMemory file = SharedMemory.allocate(MemoryKind.ASHMEM, bytes.length);
    file.segment().copyFrom(MemorySegment.ofArray(bytes));
    return new OnnxReader().read(file, ReadOptions.DEFAULT, beside).model();
  }

  @ParameterizedTest
  @CsvSource({"0", "128", "256"})
  void constantsReferToTheOtherFile(int offset) throws Exception {
    byte[] file = sum("location", "weights.bin", "offset", "" + offset, "length", "" + 4 * COUNT);
    Model model = read(file, companions);
    assertEquals(
        List.of(new ConstantReference(data, offset, 4 * COUNT)),
        model.main().operands().stream()
            .map(operand -> operand.lifetime())
            .filter(ConstantReference.class::isInstance)
            .toList());
    byte[] result = TestGraph.run(new CpuDevice("1"), model, new byte[4 * COUNT]);
    float[] floats = new float[COUNT];
    ByteBuffer.wrap(result).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(floats);
    float[] expected = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      expected[i] = offset / 4f + i;
    }
    assertArrayEquals(expected, floats);
  }

  /** Without a length, it is all from the offset on. */
  @Test
  void theLengthMayBeLeftOut() throws Exception {
    read(sum("location", "weights.bin", "offset", "256"), companions);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "weights.bin | 257 | 256 | 'w' has 256 bytes at 257 of 'weights.bin', which has 512",
        "weights.bin | 9223372036854775807 | 256 | 'w' has 256 bytes at 9223372036854775807 of"
            + " 'weights.bin', which has 512",
        "weights.bin | -1 | 256 | 'w' stands at -1, which is negative",
        "weights.bin | 0 | some | 'w' stands at 'some', no number",
        "weights.bin | 0 | 9223372036854775807 | 'w' has 9223372036854775807 bytes at 0 of"
            + " 'weights.bin', which has 512",
        "../weights.bin | 0 | 256 | there is no file ../weights.bin",
      })
  void whatIsNotThereIsNamed(String location, String offset, String length, String message) {
    byte[] file = sum("location", location, "offset", offset, "length", length);
    assertEquals(message, refusal(file, companions));
  }

  @Test
  void aModelInMemoryHasNoOtherFiles() {
    assertEquals(
        "it needs the file 'weights.bin' beside it, which a model in memory does not have",
        refusal(sum("location", "weights.bin"), Companions.NONE));
  }

  private String refusal(byte[] file, Companions beside) {
    return assertThrows(ModelFormatException.class, () -> read(file, beside)).getMessage();
  }
}
