// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;

/** Constants that stand behind all tables of a file. */
class OutlyingBuffersTest {
  private static byte[] file(long offset, long size) {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int x = file.floats("x", 6);
    int shape = file.elsewhere("shape", TensorType.INT32, offset, size, 2);
    int y = file.floats("y", 3, 2);
    return file.operator(BuiltinOperator.RESHAPE, new int[] {x, shape}, y)
        .graph(new int[] {x}, y)
        .build();
  }

  private static Model read(byte[] bytes) throws ModelFormatException {
    try (SharedMemory memory = TestFiles.memory(bytes)) {
      return new TfliteReader().read(memory).model();
    }
  }

  @Test
  void theyAreRead() throws Exception {
    int tables = file(1 << 20, 8).length;
    byte[] bytes = Arrays.copyOf(file(tables, 8), tables + 8);
    byte[] shape = TfliteFileBuilder.intBytes(3, 2);
    System.arraycopy(shape, 0, bytes, tables, shape.length);
    Model model = read(bytes);
    assertEquals(Shape.of(3, 2), model.main().output(0).shape());
  }

  @ParameterizedTest
  @CsvSource({"1048576, 8", "100, 9223372036854775807", "-1, 8", "100, -1"})
  void thoseOutsideOfTheFileAreRefused(long offset, long size) {
    String refusal =
        assertThrows(ModelFormatException.class, () -> read(file(offset, size))).getMessage();
    assertEquals("the file is damaged: buffer 1 points outside of the file", refusal);
  }
}
