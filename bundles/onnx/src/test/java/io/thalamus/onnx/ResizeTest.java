// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.Model;
import io.thalamus.tck.check.TestGraph;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Images of another size, against ONNX Runtime's order of its sums, to the last step. */
class ResizeTest {
  private static final int UINT8 = 2;
  private static final int INT8 = 3;
  private static final int BOOL = 9;
  private static final int SIDE = 4;

  private final OnnxFileBuilder file = new OnnxFileBuilder();
  private final long seed = Long.getLong("thalamus.seed", 1);

  /** A place between two pixels: both, and how far it is from the first one. */
  private record Place(int low, int high, float rest) {
    static Place of(int i, int input, int output) {
      float scale = (float) output / input;
      float place = Math.clamp((i + 0.5f) / scale - 0.5f, 0f, input - 1f);
      int low = (int) place;
      int high = Math.min(low + 1, input - 1);
      return new Place(low, high, low == high ? 0.5f : place - low);
    }

    float ofLow() {
      return low == high ? 0.5f : high - (low + rest);
    }
  }

  private byte[] run(byte... pixels) throws Exception {
    Model model = TestFiles.read(file.build());
    return TestGraph.run(new CpuDevice("1.0.0"), model, pixels);
  }

  private void resize(int type, long[] from, long... to) {
    file.opset(13)
        .input("x", type, from)
        .integers("sizes", new long[] {4}, to)
        .node("Resize", List.of("x", "", "", "sizes"), "y", text("mode", "linear"))
        .output("y", type, to);
  }

  /** Channels first: four products of floats, of whose sum the fraction is cut off. */
  @RepeatedTest(6)
  void bytesAreSummedInFloats(RepetitionInfo info) throws Exception {
    Random random = new Random(seed + info.getCurrentRepetition());
    int height = 1 + random.nextInt(12);
    int width = 1 + random.nextInt(12);
    int rows = 1 + random.nextInt(30);
    int columns = 1 + random.nextInt(30);
    byte[] x = new byte[height * width];
    random.nextBytes(x);
    resize(UINT8, new long[] {1, 1, height, width}, 1, 1, rows, columns);
    byte[] expected = new byte[rows * columns];
    for (int i = 0; i < expected.length; i++) {
      Place v = Place.of(i / columns, height, rows);
      Place h = Place.of(i % columns, width, columns);
      float sum = h.ofLow() * v.ofLow() * (x[v.low * width + h.low] & 255);
      sum += h.rest * v.ofLow() * (x[v.low * width + h.high] & 255);
      sum += h.ofLow() * v.rest * (x[v.high * width + h.low] & 255);
      sum += h.rest * v.rest * (x[v.high * width + h.high] & 255);
      expected[i] = (byte) (int) sum;
    }
    String text = "seed %d: %dx%d to %dx%d".formatted(seed, height, width, rows, columns);
    assertArrayEquals(expected, run(x), text);
  }

  /** Channels last: whole numbers of which 1,024 are one; what is left is cut off towards zero. */
  @RepeatedTest(4)
  void bytesWithChannelsLastAreSummedInIntegers(RepetitionInfo info) throws Exception {
    Random random = new Random(seed + info.getCurrentRepetition());
    int height = 2 + random.nextInt(9);
    int width = 2 + random.nextInt(9);
    int rows = height + 1 + random.nextInt(9);
    int columns = 1 + random.nextInt(20);
    byte[] x = new byte[height * width * 2];
    random.nextBytes(x);
    resize(INT8, new long[] {1, height, width, 2}, 1, rows, columns, 2);
    byte[] expected = new byte[rows * columns * 2];
    for (int i = 0; i < expected.length; i++) {
      int c = i % 2;
      Place v = Place.of(i / 2 / columns, height, rows);
      Place h = Place.of(i / 2 % columns, width, columns);
      int y = (int) (v.rest * 1024);
      int w = (int) (h.rest * 1024);
      int sum = (1024 - w) * (1024 - y) * x[(v.low * width + h.low) * 2 + c];
      sum += w * (1024 - y) * x[(v.low * width + h.high) * 2 + c];
      sum += (1024 - w) * y * x[(v.high * width + h.low) * 2 + c];
      sum += w * y * x[(v.high * width + h.high) * 2 + c];
      expected[i] = (byte) (sum / (1 << 20));
    }
    assertArrayEquals(expected, run(x), "seed " + seed);
  }

  /** Halves of pairs are rounded, not cut off: 1 and 2 make 2. */
  @Test
  void smoothedBytesAreRounded() throws Exception {
    file.opset(18)
        .input("x", UINT8, 1, 1, 1, 4)
        .integers("sizes", new long[] {4}, 1, 1, 1, 2)
        .node(
            "Resize",
            List.of("x", "", "", "sizes"),
            "y",
            text("mode", "linear"),
            integer("antialias", 1),
            text("coordinate_transformation_mode", "half_pixel"),
            integer("exclude_outside", 1))
        .output("y", UINT8, 1, 1, 1, 2);
    // Places 0.5 and 2.5 with weights 3, 3, 1 of 7.
    int first = Math.round((3 * 1 + 3 * 2 + 9) / 7f);
    int second = Math.round((2 + 3 * 9 + 3 * 250) / 7f);
    assertArrayEquals(
        new byte[] {(byte) first, (byte) second}, run((byte) 1, (byte) 2, (byte) 9, (byte) 250));
  }

  /** 10 times the float nearest to 0.7 is 7 in floats, and less in doubles. */
  @Test
  void sizesAreProductsOfFloats() throws Exception {
    file.opset(13)
        .input("x", FLOAT, 1, 1, 1, 10)
        .floats("scales", new long[] {4}, 1, 1, 1, 0.7f)
        .node(
            "Resize",
            List.of("x", "", "scales"),
            "y",
            text("coordinate_transformation_mode", "asymmetric"),
            text("nearest_mode", "floor"))
        .output("y", FLOAT, 1, 1, 1, 7);
    float[] y = TestFiles.run(file, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    assertArrayEquals(new float[] {0, 1, 2, 4, 5, 7, 8}, y);
  }

  /** Before opset 11 a smaller image takes the next pixel, a larger one the one before. */
  @ParameterizedTest
  @CsvSource({"0.5, 3, 0 2 4", "0.4, 2, 0 3", "1.5, 9, 0 0 1 2 2 3 4 4 5"})
  void oldNearestNeighbours(float scale, int size, String expected) throws Exception {
    file.opset(10)
        .input("x", FLOAT, 1, 1, 1, 6)
        .floats("scales", new long[] {4}, 1, 1, 1, scale)
        .node("Resize", List.of("x", "scales"), "y", text("mode", "nearest"))
        .output("y", FLOAT, 1, 1, 1, size);
    String[] words = expected.split(" ");
    float[] numbers = new float[words.length];
    for (int i = 0; i < words.length; i++) {
      numbers[i] = Float.parseFloat(words[i]);
    }
    assertArrayEquals(numbers, TestFiles.run(file, 0, 1, 2, 3, 4, 5));
  }

  /** {@code 4.5 / 0.6 - 0.5} is 7 in doubles, and less in floats. */
  @Test
  void placesAreQuotientsOfFloats() throws Exception {
    file.opset(13)
        .input("x", FLOAT, 1, 1, 1, 10)
        .integers("sizes", new long[] {4}, 1, 1, 1, 6)
        .node("Resize", List.of("x", "", "", "sizes"), "y", text("nearest_mode", "floor"))
        .output("y", FLOAT, 1, 1, 1, 6);
    float[] y = TestFiles.run(file, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    assertArrayEquals(new float[] {0, 2, 3, 5, 6, 8}, y);
  }

  private static float pixel(float[] x, int i, int k, int rows, int columns) {
    Place v = Place.of(i, SIDE, rows);
    Place h = Place.of(k, SIDE, columns);
    float above = h.ofLow() * x[v.low * SIDE + h.low] + h.rest * x[v.low * SIDE + h.high];
    float below = h.ofLow() * x[v.high * SIDE + h.low] + h.rest * x[v.high * SIDE + h.high];
    return v.ofLow() * above + v.rest * below;
  }

  private static float[] pixels(float[] x, int rows, int columns) {
    float[] pixels = new float[rows * columns];
    for (int i = 0; i < pixels.length; i++) {
      pixels[i] = pixel(x, i / columns, i % columns, rows, columns);
    }
    return pixels;
  }

  private static byte[] longs(long... values) {
    ByteBuffer bytes = ByteBuffer.allocate(8 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (long value : values) {
      bytes.putLong(value);
    }
    return bytes.array();
  }

  private float[] image() {
    Random random = new Random(seed);
    float[] x = new float[SIDE * SIDE];
    for (int i = 0; i < x.length; i++) {
      x[i] = random.nextFloat();
    }
    return x;
  }

  /** One compiled model gives an image of each size that it is told. */
  @Test
  void sizesMayBeToldByAnExecution() throws Exception {
    file.opset(13)
        .input("x", FLOAT, 1, 1, SIDE, SIDE)
        .input("size", INT64, 2)
        .integers("ones", new long[] {2}, 1, 1)
        .node("Concat", List.of("ones", "size"), "sizes", integer("axis", 0))
        .node("Resize", List.of("x", "", "", "sizes"), "y", text("mode", "linear"))
        .output("y", FLOAT, 1, 1, -1, -1);
    Model model = TestFiles.read(file.build());
    float[] x = image();
    for (int[] size : new int[][] {{7, 9}, {2, 3}, {4, 4}, {1, 5}}) {
      byte[] y =
          TestGraph.run(new CpuDevice("1.0.0"), model, TestGraph.bytes(x), longs(size[0], size[1]));
      float[] expected = pixels(x, size[0], size[1]);
      assertArrayEquals(expected, TestGraph.floats(y), 1e-5f, "seed " + seed);
    }
  }

  /** A size that is computed while the file is read is the one that an execution determines. */
  @ParameterizedTest
  @CsvSource({
    "nearest, asymmetric, floor, 0",
    "nearest, half_pixel, round_prefer_floor, 0",
    "nearest, half_pixel, round_prefer_ceil, 0",
    "nearest, align_corners, ceil, 0",
    "linear, align_corners, floor, 0",
    "linear, pytorch_half_pixel, floor, 0",
    "linear, asymmetric, floor, 0",
    "linear, half_pixel_symmetric, floor, 0",
    "linear, half_pixel, floor, 1",
    "cubic, half_pixel, floor, 0",
    "cubic, half_pixel, floor, 1"
  })
  void toldSizesAreAsKnownOnes(
      String mode, String transformation, String nearest, int excludesOutside) throws Exception {
    float[] x = image();
    for (int[] size : new int[][] {{6, 1}, {3, 8}, {1, 1}}) {
      OnnxFileBuilder known = new OnnxFileBuilder().opset(19);
      OnnxFileBuilder told = new OnnxFileBuilder().opset(19);
      known.integers("size", new long[] {2}, size[0], size[1]);
      known.input("x", FLOAT, 1, SIDE, SIDE);
      told.input("x", FLOAT, 1, SIDE, SIDE).input("size", INT64, 2);
      for (OnnxFileBuilder each : List.of(known, told)) {
        each.node(
                "Resize",
                List.of("x", "", "", "size"),
                "y",
                text("mode", mode),
                text("coordinate_transformation_mode", transformation),
                text("nearest_mode", nearest),
                integer("exclude_outside", excludesOutside),
                OnnxFileBuilder.ints("axes", 1, 2))
            .output("y", FLOAT, 1, -1, -1);
      }
      CpuDevice cpu = new CpuDevice("1.0.0");
      byte[] expected = TestGraph.run(cpu, TestFiles.read(known.build()), TestGraph.bytes(x));
      byte[] found =
          TestGraph.run(
              cpu, TestFiles.read(told.build()), TestGraph.bytes(x), longs(size[0], size[1]));
      assertArrayEquals(TestGraph.floats(expected), TestGraph.floats(found), 1e-5f, "seed " + seed);
    }
  }

  /** Scales that only an execution determines: 4 times 2.5 and 0.5 are 10 and 2. */
  @Test
  void scalesMayBeToldByAnExecution() throws Exception {
    file.opset(13)
        .input("x", FLOAT, SIDE, SIDE)
        .input("scales", FLOAT, 2)
        .node("Resize", List.of("x", "", "scales"), "y", text("mode", "linear"))
        .output("y", FLOAT, -1, -1);
    Model model = TestFiles.read(file.build());
    float[] x = image();
    byte[] y =
        TestGraph.run(
            new CpuDevice("1.0.0"), model, TestGraph.bytes(x), TestGraph.bytes(2.5f, 0.5f));
    assertArrayEquals(pixels(x, 10, 2), TestGraph.floats(y), 1e-5f, "seed " + seed);
  }

  /** As masks are pasted: each round of a loop makes an image of its own size. */
  @Test
  void eachRoundOfALoopMayHaveItsOwnSize() throws Exception {
    OnnxFileBuilder body =
        new OnnxFileBuilder()
            .input("i", INT64)
            .input("on", BOOL)
            .integers("ones", new long[] {2}, 1, 1)
            .integers("first", new long[0], 0)
            .node("Gather", List.of("all", "i"), "size", integer("axis", 0))
            .node("Concat", List.of("ones", "size"), "sizes", integer("axis", 0))
            .node("Resize", List.of("x", "", "", "sizes"), "large", text("mode", "linear"))
            .node("Gather", List.of("large", "first"), "image", integer("axis", 0))
            .node("Gather", List.of("image", "first"), "rows", integer("axis", 0))
            .node("ReduceMax", List.of("rows"), "most", integer("keepdims", 0))
            .node("Identity", List.of("on"), "next")
            .output("next", BOOL)
            .output("most", FLOAT);
    file.opset(13)
        .input("x", FLOAT, 1, 1, SIDE, SIDE)
        .input("all", INT64, 3, 2)
        .input("rounds", INT64)
        .node("Loop", List.of("rounds", ""), "y", OnnxFileBuilder.subgraph("body", body))
        .output("y", FLOAT, -1);
    Model model = TestFiles.read(file.build());
    float[] x = image();
    byte[] sizes = longs(7, 9, 2, 3, 1, 5);
    byte[] y = TestGraph.run(new CpuDevice("1.0.0"), model, TestGraph.bytes(x), sizes, longs(3));
    float[] expected = {most(pixels(x, 7, 9)), most(pixels(x, 2, 3)), most(pixels(x, 1, 5))};
    assertArrayEquals(expected, TestGraph.floats(y), 1e-5f, "seed " + seed);
  }

  private static float most(float... values) {
    float most = values[0];
    for (float value : values) {
      most = Math.max(most, value);
    }
    return most;
  }

  /** A file of some hundred bytes may make a large image. */
  @Test
  void smallFilesMayMakeLargeImages() throws Exception {
    resize(UINT8, new long[] {1, 1, 2, 3}, 1, 1, 1080, 1921);
    byte[] y = run((byte) 1, (byte) 2, (byte) 30, (byte) 4, (byte) 5, (byte) 60);
    assertEquals(1080 * 1921, y.length);
    assertEquals(60, y[y.length - 1], 1);
  }
}
