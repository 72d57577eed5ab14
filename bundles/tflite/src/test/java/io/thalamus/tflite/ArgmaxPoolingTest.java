// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.Model;
import io.thalamus.model.reader.ModelFormatException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** MediaPipe's pooling with the places of the maxima, and its inverse. */
class ArgmaxPoolingTest {
  private static final int SAME = 1;
  private static final int VALID = 2;

  private final long seed = Long.getLong("thalamus.seed", 1);
  private final Random random = new Random(seed);
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  /** The settings as MediaPipe's exporter writes them: the last numbers are not set. */
  private static byte[] settings(int padding, int stride, int width, int height, int activation) {
    return TfliteFileBuilder.intBytes(padding, stride, height, width, height, activation, -1, -1);
  }

  private Model pooling(int padding, int stride, int width, int height, int[] shape, int[] pooled)
      throws ModelFormatException {
    int x = file.floats("x", shape);
    int most = file.floats("most", pooled);
    int places = file.floats("places", pooled);
    int back = file.floats("back", shape);
    byte[] settings = settings(padding, stride, width, height, 0);
    file.custom("MaxPoolingWithArgmax2D", settings, new int[] {x}, most, places)
        .custom("MaxUnpooling2D", settings, new int[] {most, places}, back)
        .graph(new int[] {x}, most, places, back);
    return TestFiles.read(file).model();
  }

  @ParameterizedTest
  @CsvSource({"1, 2, 2, 4, 6", "2, 2, 2, 4, 6", "2, 3, 2, 6, 9", "2, 1, 3, 6, 2", "2, 3, 2, 7, 11"})
  void maximaAndTheirPlacesAreFound(int padding, int width, int height, int rows, int columns)
      throws Exception {
    System.out.println("ArgmaxPoolingTest seed " + seed);
    int batch = 2;
    int depth = 3;
    int down = rows / height;
    int across = columns / width;
    int[] pooled = {batch, down, across, depth};
    Model model =
        pooling(padding, width, width, height, new int[] {batch, rows, columns, depth}, pooled);
    double[] input = new double[batch * rows * columns * depth];
    // Few different ones, so that a maximum often stands twice in a window.
    Arrays.setAll(input, i -> random.nextInt(-3, 2));
    double[] most = new double[batch * down * across * depth];
    double[] places = new double[most.length];
    double[] back = new double[most.length * width * height];
    for (int i = 0; i < most.length; i++) {
      int channel = i % depth;
      int x = i / depth % across * width;
      int y = i / depth / across % down * height;
      int image = i / depth / across / down;
      most[i] = Double.NEGATIVE_INFINITY;
      int at = 0;
      for (int k = 0; k < width * height; k++) {
        int row = image * rows + y + k / width;
        double value = input[(row * columns + x + k % width) * depth + channel];
        if (value > most[i]) {
          most[i] = value;
          at = k;
        }
      }
      places[i] = at + 0.1f;
      int row = image * down * height + y + at / width;
      back[(row * across * width + x + at % width) * depth + channel] = most[i];
    }
    List<double[]> outputs = GraphRun.outputs(model, input);
    assertArrayEquals(most, outputs.get(0));
    assertArrayEquals(places, outputs.get(1), 1e-6);
    assertArrayEquals(back, outputs.get(2));
  }

  private void assertRefused(String reason, int stride, int height, int activation, int rows) {
    int x = file.floats("x", 1, rows, 4, 1);
    int most = file.floats("most", 1, rows / height, 2, 1);
    int places = file.floats("places", 1, rows / height, 2, 1);
    byte[] settings = settings(SAME, stride, 2, height, activation);
    file.custom("MaxPoolingWithArgmax2D", settings, new int[] {x}, most, places)
        .graph(new int[] {x}, most, places);
    assertEquals(
        "operator 0 CUSTOM MaxPoolingWithArgmax2D (output 'most'): " + reason,
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file)).getMessage());
  }

  @Test
  void windowsThatOverlapAreRefused() {
    assertRefused(
        "its windows of 2x2 lie 2x1 apart; only those that lie side by side can be expressed",
        1,
        2,
        0,
        4);
  }

  @Test
  void windowsBeyondTheImageAreRefused() {
    assertRefused("its input has shape 1x5x4x1, where windows of 2x2 do not fit", 2, 2, 0, 5);
  }

  @Test
  void windowsOfManyElementsAreRefused() {
    assertRefused("its windows have more than 64 elements", 2, 33, 0, 66);
  }

  @Test
  void activationsAreRefused() {
    assertRefused("it has fused activation 1, which none of its models has", 2, 2, 1, 4);
  }
}
