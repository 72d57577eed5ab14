// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static io.thalamus.onnx.OnnxFileBuilder.reals;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.OnnxFileBuilder.Message;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;

/** Operators that ONNX had on trial, by the formulas of its first specification. */
class ExperimentalTest {
  private static final float[] X = {-30, -2, -0.5f, 0, 0.25f, 1, 3, 40};

  private OnnxFileBuilder file = new OnnxFileBuilder();

  private void assertEach(String type, DoubleUnaryOperator formula, Message... settings)
      throws Exception {
    file = new OnnxFileBuilder();
    file.input("x", FLOAT, 2, 4).node(type, List.of("x"), "y", settings).output("y", FLOAT, 2, 4);
    float[] expected = new float[X.length];
    for (int i = 0; i < X.length; i++) {
      expected[i] = (float) formula.applyAsDouble(X[i]);
    }
    assertArrayEquals(expected, TestFiles.run(file, X), 1e-5f, type);
  }

  @Test
  void functionsOfSingleElements() throws Exception {
    assertEach("Affine", x -> 2 * x - 3, real("alpha", 2), real("beta", -3));
    assertEach("Affine", x -> x);
    assertEach("Scale", x -> x / 4, real("scale", 0.25f));
    assertEach("ScaledTanh", x -> 2 * Math.tanh(x / 2), real("alpha", 2), real("beta", 0.5f));
    assertEach(
        "ParametricSoftplus",
        x -> 0.5 * Math.log1p(Math.exp(2 * x)),
        real("alpha", 0.5f),
        real("beta", 2));
  }

  @Test
  void imagesAreScaledAndEachChannelIsMoved() throws Exception {
    file.input("x", FLOAT, 1, 2, 1, 2)
        .node("ImageScaler", List.of("x"), "y", real("scale", 0.5f), reals("bias", 10, -20))
        .output("y", FLOAT, 1, 2, 1, 2);
    assertArrayEquals(
        new float[] {10.5f, 11, -18.5f, -18}, TestFiles.run(file, new float[] {1, 2, 3, 4}));
  }

  /** An image of 4 rows and 5 columns, whose elements are their places. */
  private float[] cropped(int height, int width, Message... settings) throws Exception {
    file.input("x", FLOAT, 1, 1, 4, 5)
        .node("Crop", List.of("x"), "y", settings)
        .output("y", FLOAT, 1, 1, height, width);
    float[] image = new float[20];
    for (int i = 0; i < image.length; i++) {
      image[i] = i;
    }
    return TestFiles.run(file, image);
  }

  @Test
  void bordersAreLeftAndTopAndRightAndBottom() throws Exception {
    assertArrayEquals(new float[] {11, 12, 13}, cropped(1, 3, ints("border", 1, 2, 1, 1)));
  }

  @Test
  void scaleSaysTheSize() throws Exception {
    assertArrayEquals(
        new float[] {6, 7, 11, 12}, cropped(2, 2, ints("border", 1, 1, 0, 0), ints("scale", 2, 2)));
  }

  @Test
  void whatIsCutBesideTheImageIsRefused() {
    String text =
        assertThrows(
                ModelFormatException.class,
                () -> cropped(2, 2, ints("border", 4, 1, 0, 0), ints("scale", 2, 2)))
            .getMessage();
    assertTrue(text.contains("Crop") && text.contains("it cuts 2x2 out of"), text);
  }
}
