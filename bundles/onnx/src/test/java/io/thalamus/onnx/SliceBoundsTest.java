// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tck.check.TestGraph;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Slices of 1 to 5 with starts and ends that a caller gives, also beyond 32 bits. */
class SliceBoundsTest {
  private final OnnxFileBuilder file =
      new OnnxFileBuilder()
          .floats("x", new long[] {5}, 1, 2, 3, 4, 5)
          .integers("axis", new long[] {1}, 0);

  private static byte[] bytes(long number) {
    return ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(number).array();
  }

  private void assertGives(String expected, byte[]... given) throws Exception {
    byte[] result = TestGraph.run(new CpuDevice("1.0.0"), TestFiles.read(file.build()), given);
    String[] words = expected == null ? new String[0] : expected.split(" ");
    float[] numbers = new float[words.length];
    for (int i = 0; i < words.length; i++) {
      numbers[i] = Float.parseFloat(words[i]);
    }
    assertArrayEquals(numbers, TestGraph.floats(result));
  }

  /** The largest end stands for the beginning where steps go backwards, as ONNX Runtime has it. */
  @ParameterizedTest
  @CsvSource({
    "1, 9223372036854775807, 1, 2 3 4 5",
    "-1099511627776, 1099511627776, 2, 1 3 5",
    "-2, -9223372036854775808, -1, 4 3 2 1",
    "3, 9223372036854775807, -1, 4 3 2 1",
    "3, 2147483647, -2, 4 2",
    "-9, 2, 1, 1 2",
    "9, 3, 1, "
  })
  void startsAndEndsOfTheCaller(long start, long end, int step, String expected) throws Exception {
    file.input("from", INT64, 1)
        .input("to", INT64, 1)
        .integers("step", new long[] {1}, step)
        .node("Slice", List.of("x", "from", "to", "axis", "step"), "y")
        .output("y", FLOAT, -1);
    assertGives(expected, bytes(start), bytes(end));
  }

  /** As TensorFlow's slices are exported: the ends of all axes joined, of which some are known. */
  @Test
  void endsThatAreJoined() throws Exception {
    file.input("n", INT64, 1)
        .floats("m", new long[] {2, 3}, 1, 2, 3, 4, 5, 6)
        .integers("all", new long[] {1}, Long.MAX_VALUE)
        .integers("from", new long[] {2}, 0, 1)
        .node("Concat", List.of("n", "all"), "to", integer("axis", 0))
        .node("Slice", List.of("m", "from", "to"), "y")
        .output("y", FLOAT, -1, 2);
    assertGives("2 3", bytes(1));
  }

  /** What is read otherwise too is no bound alone, and is not changed. */
  @Test
  void numbersThatAreResultsTooStay() {
    file.input("n", INT64, 1)
        .integers("all", new long[] {1}, Long.MAX_VALUE)
        .integers("from", new long[] {2}, 0, 1)
        .floats("m", new long[] {2, 3}, 1, 2, 3, 4, 5, 6)
        .node("Concat", List.of("n", "all"), "to", integer("axis", 0))
        .node("Slice", List.of("m", "from", "to"), "y")
        .output("y", FLOAT, -1, 2)
        .output("to", INT64, 2);
    assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()));
  }
}
