// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.reader.ModelFormatException;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Spectra and windows, what is drawn by lot, points that are moved, and lists of tensors. */
class SignalsTest {
  private static final float CLOSE = 1e-5f;

  private final OnnxFileBuilder file = new OnnxFileBuilder().opset(20);

  private float[] multiplied(String window, int periodic) throws Exception {
    file.integers("size", new long[0], 4)
        .node(window, List.of("size"), "w", integer("periodic", periodic))
        .input("x", FLOAT, 4)
        .node("Mul", List.of("x", "w"), "y")
        .output("y", FLOAT, 4);
    return TestFiles.run(file, 1, 1, 1, 1);
  }

  /** A period of 4 has its cosines at 1, 0, -1 and 0. */
  @Test
  void windowsRepeat() throws Exception {
    assertArrayEquals(new float[] {0, 0.5f, 1, 0.5f}, multiplied("HannWindow", 1), CLOSE);
  }

  /** The same shape over 3 steps, whose cosines are 1, -1/2, -1/2 and 1. */
  @Test
  void windowsMayBeSymmetric() throws Exception {
    assertArrayEquals(new float[] {0, 0.63f, 0.63f, 0}, multiplied("BlackmanWindow", 0), CLOSE);
  }

  @Test
  void hammingsWindowDoesNotReachZero() throws Exception {
    float edge = 4f / 46;
    float side = 25f / 46;
    assertArrayEquals(new float[] {edge, side, 1, side}, multiplied("HammingWindow", 1), CLOSE);
  }

  /** By hand: the powers of -i times 1, 2, 3 and 4. */
  @Test
  void realNumbersHaveHalfASpectrum() throws Exception {
    file.input("x", FLOAT, 1, 4, 1)
        .node("DFT", List.of("x"), "y", integer("onesided", 1))
        .output("y", FLOAT, 1, 3, 2);
    assertArrayEquals(new float[] {10, 0, -2, 2, -2, 0}, TestFiles.run(file, 1, 2, 3, 4), CLOSE);
  }

  @Test
  void aSpectrumBecomesWhatItIsOf() throws Exception {
    file.input("x", FLOAT, 1, 3, 2)
        .node("DFT", List.of("x"), "s")
        .node("DFT", List.of("s"), "y", integer("inverse", 1))
        .output("y", FLOAT, 1, 3, 2);
    float[] x = {1, -2, 0.5f, 3, -4, 0.25f};
    assertArrayEquals(x, TestFiles.run(file, x), CLOSE);
  }

  /** Two frames of 2 numbers, of which each has a sum and a difference. */
  @Test
  void framesHaveSpectraOfTheirOwn() throws Exception {
    file.input("x", FLOAT, 1, 3, 1)
        .integers("step", new long[0], 1)
        .floats("window", new long[] {2}, 1, 10)
        .node("STFT", List.of("x", "step", "window"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    assertArrayEquals(
        new float[] {21, 0, -19, 0, 32, 0, -28, 0}, TestFiles.run(file, 1, 2, 3), CLOSE);
  }

  @Test
  void framesLongerThanTheSignalAreRefused() {
    file.input("x", FLOAT, 1, 3, 1)
        .integers("step", new long[0], 1)
        .integers("length", new long[0], 4)
        .node("STFT", List.of("x", "step", "", "length"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    String message =
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build())).getMessage();
    assertTrue(message.contains("it takes 4 numbers in steps of 1 of FLOAT 1x3x1"), message);
  }

  /** The pixels' centers of a row of two, moved by 0.25 and turned round. */
  @Test
  void pointsAreMovedByAMatrix() throws Exception {
    file.input("x", FLOAT, 1, 2, 3)
        .integers("size", new long[] {4}, 1, 1, 1, 2)
        .node("AffineGrid", List.of("x", "size"), "y")
        .output("y", FLOAT, 1, 1, 2, 2);
    assertArrayEquals(
        new float[] {0.75f, -0.5f, -0.25f, 0.5f},
        TestFiles.run(file, -1, 0, 0.25f, 1, 0, 0),
        CLOSE);
  }

  /** By the function that ONNX states: a size of 1 begins at -1 and takes no step. */
  @Test
  void aSingleAlignedPointIsTheFirstCorner() throws Exception {
    file.input("x", FLOAT, 1, 2, 3)
        .integers("size", new long[] {4}, 1, 1, 2, 1)
        .node("AffineGrid", List.of("x", "size"), "y", integer("align_corners", 1))
        .output("y", FLOAT, 1, 2, 1, 2);
    assertArrayEquals(
        new float[] {-1.75f, -1.5f, -1.75f, 0.5f},
        TestFiles.run(file, 2, 0, 0.25f, 0, 1, -0.5f),
        CLOSE);
  }

  private float[] drawn(float seed) throws Exception {
    OnnxFileBuilder own =
        new OnnxFileBuilder()
            .node("RandomNormal", List.of(), "r", ints("shape", 1000), real("seed", seed))
            .input("x", FLOAT, 1000)
            .node("Add", List.of("x", "r"), "y")
            .output("y", FLOAT, 1000);
    return TestFiles.run(own, new float[1000]);
  }

  /** The mean of 1,000 such numbers is within four of its standard deviations of 0. */
  @Test
  void whatIsDrawnFollowsFromTheSeed() throws Exception {
    float[] first = drawn(1);
    assertArrayEquals(first, drawn(1));
    assertFalse(Arrays.equals(first, drawn(2)));
    double mean = 0;
    double square = 0;
    for (float number : first) {
      mean += number / 1000;
      square += number * number / 1000;
    }
    assertEquals(0, mean, 4 / Math.sqrt(1000));
    assertEquals(1, square, 4 * Math.sqrt(2.0 / 1000));
  }

  @Test
  void listsAreTakenApartWhileTheModelIsRead() throws Exception {
    file.input("x", FLOAT, 1, 5)
        .integers("two", new long[0], 2)
        .integers("last", new long[0], -1)
        .integers("first", new long[0], 0)
        .node("SplitToSequence", List.of("x", "two"), "parts", integer("axis", 1))
        .node("SequenceAt", List.of("parts", "last"), "rest")
        .node("SequenceErase", List.of("parts", "first"), "fewer")
        .node("SequenceInsert", List.of("fewer", "rest", "first"), "list")
        .node("ConcatFromSequence", List.of("list"), "y", integer("axis", 1))
        .output("y", FLOAT, 1, 4);
    assertArrayEquals(new float[] {5, 3, 4, 5}, TestFiles.run(file, 1, 2, 3, 4, 5));
  }

  @Test
  void aListIsNoResult() {
    file.input("x", FLOAT, 2).node("SequenceConstruct", List.of("x"), "y").output("y", FLOAT);
    assertEquals(
        "output 'y' is a sequence",
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build())).getMessage());
  }
}
