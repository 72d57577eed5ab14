// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.Model;
import io.thalamus.tck.check.TestGraph;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Regions of images, and parts of tensors at one place. */
class RegionsTest {
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  /** An image of 5 by 5 that grows by 1 from left to right and by 10 downwards. */
  private static float[] image() {
    float[] image = new float[25];
    for (int i = 0; i < image.length; i++) {
      image[i] = i / 5 * 10 + i % 5;
    }
    return image;
  }

  /**
   * A cell's mean is the value at its middle, which for the region from (1, 1) to (3, 3) less half
   * a pixel are (1, 1) and (2, 2).
   */
  @Test
  void aRegionsCellsAreTheMeansOfTheirSamples() throws Exception {
    file.input("x", FLOAT, 1, 1, 5, 5)
        .floats("boxes", new long[] {1, 4}, 1, 1, 3, 3)
        .integers("batch", new long[] {1}, 0)
        .node(
            "RoiAlign",
            List.of("x", "boxes", "batch"),
            "y",
            integer("output_height", 2),
            integer("output_width", 2),
            integer("sampling_ratio", 2))
        .output("y", FLOAT, 1, 1, 2, 2);
    assertArrayEquals(new float[] {11, 12, 21, 22}, TestFiles.run(file, image()), 1e-5f);
  }

  /**
   * Of the region from (0, 0) to (4, 4) each cell has four pixels, the middle of which is at (1, 1)
   * or (3, 3): as many samples are taken as no setting says.
   */
  @Test
  void samplesAreAsManyAsPixels() throws Exception {
    file.opset(11)
        .input("x", FLOAT, 1, 1, 5, 5)
        .floats("boxes", new long[] {1, 4}, 0, 0, 8, 8)
        .integers("batch", new long[] {1}, 0)
        .node(
            "RoiAlign",
            List.of("x", "boxes", "batch"),
            "y",
            integer("output_height", 2),
            integer("output_width", 2),
            real("spatial_scale", 0.5f))
        .output("y", FLOAT, 1, 1, 2, 2);
    assertArrayEquals(new float[] {11, 13, 31, 33}, TestFiles.run(file, image()), 1e-5f);
  }

  /**
   * The region from (-3.5, 0.5) to (2.5, 2.5) has a sample at each whole number: of x -3 and -2 lie
   * outside, and -1 is as far as the edge reaches.
   */
  @Test
  void aRegionMayReachBeyondTheImage() throws Exception {
    assertArrayEquals(new float[] {126 / 12f}, beyond("avg"), 1e-5f);
    assertArrayEquals(new float[] {22}, beyond("max"), 1e-5f);
  }

  private static float[] beyond(String mode) throws Exception {
    OnnxFileBuilder file = new OnnxFileBuilder();
    file.input("x", FLOAT, 1, 1, 5, 5)
        .floats("boxes", new long[] {1, 4}, -3, 1, 3, 3)
        .integers("batch", new long[] {1}, 0)
        .node("RoiAlign", List.of("x", "boxes", "batch"), "y", text("mode", mode))
        .output("y", FLOAT, 1, 1, 1, 1);
    return TestFiles.run(file, image());
  }

  /** A box that is farther off than floats count pixels ends the execution, and nothing else. */
  @Test
  void aBoxThatIsTooFarOffIsRefused() throws Exception {
    file.input("x", FLOAT, 1, 1, 5, 5)
        .floats("boxes", new long[] {1, 4}, -1e30f, 0, 1e30f, 4)
        .integers("batch", new long[] {1}, 0)
        .node("RoiAlign", List.of("x", "boxes", "batch"), "y")
        .output("y", FLOAT, 1, 1, 1, 1);
    Throwable refusal = assertThrows(Throwable.class, () -> TestFiles.run(file, image()));
    assertTrue(refusal.getMessage().contains("box 0 lies farther off"), refusal::toString);
  }

  /**
   * Two regions of image 0, rounded to whole pixels at half the size: from (1, 1) to (3, 4), and
   * all of it, where two cells of five rows have the middle one in common.
   */
  @Test
  void theLargestOfEachCell() throws Exception {
    file.input("x", FLOAT, 1, 1, 5, 5)
        .floats("boxes", new long[] {2, 5}, 0, 1.6f, 2, 6, 8, 0, 0, 0, 8, 8)
        .node(
            "MaxRoiPool",
            List.of("x", "boxes"),
            "y",
            ints("pooled_shape", 2, 1),
            real("spatial_scale", 0.5f))
        .output("y", FLOAT, 2, 1, 2, 1);
    assertArrayEquals(new float[] {23, 43, 24, 44}, TestFiles.run(file, image()));
  }

  /** The axis of a single place is gone for what comes after, wherever it was. */
  @Test
  void onePlaceOfAnInnerAxisLeavesNoAxis() throws Exception {
    file.input("x", FLOAT, 2, 2, 2)
        .integers("place", new long[] {}, 1)
        .node("Gather", List.of("x", "place"), "part", integer("axis", 1))
        .node("Add", List.of("part", "part"), "y")
        .output("y", FLOAT, 2, 2);
    float[] sums = TestFiles.run(file, 0, 1, 2, 3, 4, 5, 6, 7);
    assertArrayEquals(new float[] {4, 6, 12, 14}, sums);
  }

  @Test
  void integersOf64BitsComeOutAsSuch() throws Exception {
    file.input("x", INT64, 2).node("Neg", List.of("x"), "y").output("y", INT64, 2);
    Model model = TestFiles.read(file.build());
    ByteBuffer in = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN).putLong(5).putLong(-7);
    byte[] out = TestGraph.run(new CpuDevice("1.0.0"), model, in.array());
    ByteBuffer read = ByteBuffer.wrap(out).order(ByteOrder.LITTLE_ENDIAN);
    assertArrayEquals(new long[] {-5, 7}, new long[] {read.getLong(), read.getLong()});
  }
}
