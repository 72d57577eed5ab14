// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.Model;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tck.check.TestGraph;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Results whose sizes only an execution determines. */
class SearchTest {
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private long[] run(float... input) throws Exception {
    Model model = TestFiles.read(file.build());
    byte[] bytes = TestGraph.run(new CpuDevice("1.0.0"), model, TestGraph.bytes(input));
    long[] result = new long[bytes.length / Long.BYTES];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(result);
    return result;
  }

  /** ONNX has all rows, then all columns. */
  @Test
  void placesOfWhatIsNotZeroComeAxisByAxis() throws Exception {
    file.input("x", FLOAT, 2, 2).node("NonZero", List.of("x"), "y").output("y", INT64, 2, -1);
    assertArrayEquals(new long[] {0, 1, 1, 1, 0, 1}, run(0, 5, -1, 2));
  }

  @Test
  void theyMayBeTurned() throws Exception {
    file.input("x", FLOAT, 2, 2)
        .node("NonZero", List.of("x"), "places")
        .node("Transpose", List.of("places"), "y", ints("perm", 1, 0))
        .output("y", INT64, -1, 2);
    assertArrayEquals(new long[] {0, 1, 1, 0}, run(0, 5, -1, 0));
  }

  /** An execution alone tells how many are compared. */
  @Test
  void whatIsFoundIsComparedWithEachOther() throws Exception {
    file.input("x", FLOAT, 2, 3)
        .node("NonZero", List.of("x"), "places")
        .node("Unique", List.of("places"), "y")
        .output("y", INT64, -1);
    assertArrayEquals(new long[] {0, 1, 2}, run(0, 5, 0, 1, 0, 2));
  }

  /** The second column differs from the first in its last element only, the third is the first. */
  @Test
  void slicesAlongAnAxisAreOrderedByTheirFirstDifference() throws Exception {
    file.input("x", FLOAT, 2, 4)
        .node("Unique", List.of("x"), "y", integer("axis", 1))
        .output("y", FLOAT, 2, -1);
    assertArrayEquals(new float[] {0, 1, 1, 9, 2, 3}, TestFiles.run(file, 1, 1, 1, 0, 3, 2, 3, 9));
  }

  @Test
  void placesInAConstantAreKnownBefore() throws Exception {
    file.input("x", FLOAT, 3)
        .floats("c", new long[] {3}, 1, 0, 2)
        .node("NonZero", List.of("c"), "places")
        .node("Gather", List.of("x", "places"), "y")
        .output("y", FLOAT, 1, 2);
    assertArrayEquals(new float[] {7, 9}, TestFiles.run(file, 7, 8, 9));
  }

  /** The second box lies within the first, and is worse; PyTorch writes the largest number. */
  @ParameterizedTest
  @ValueSource(longs = {3, Long.MAX_VALUE})
  void boxesThatOverlapBetterOnesAreLeftOut(long most) throws Exception {
    file.input("boxes", FLOAT, 1, 3, 4)
        .floats("scores", new long[] {1, 1, 3}, 3, 2, 1)
        .integers("most", new long[] {1}, most)
        .floats("overlap", new long[] {1}, 0.5f)
        .node("NonMaxSuppression", List.of("boxes", "scores", "most", "overlap"), "y")
        .output("y", INT64, -1, 3);
    assertArrayEquals(new long[] {0, 0, 0, 0, 0, 2}, run(0, 0, 4, 4, 0, 0, 4, 3, 4, 4, 5, 5));
  }

  @Test
  void whatComputesWithThemIsNamed() {
    file.input("x", FLOAT, 2, 2)
        .node("NonZero", List.of("x"), "places")
        .node("Tile", List.of("places", "places"), "y")
        .output("y", INT64, 2, -1);
    assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()));
  }
}
