// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
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
import org.junit.jupiter.api.Test;

/** Elements written to, or taken from, places that only an execution determines. */
class ScatteredPlacesTest {
  /** ONNX's number of the type. */
  private static final int INT8 = 3;

  private final OnnxFileBuilder file = new OnnxFileBuilder();
  private final Random random = new Random(seed());

  private static long seed() {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("ScatteredPlacesTest seed " + seed);
    return seed;
  }

  private float[] floats(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextFloat() * 4 - 2;
    }
    return values;
  }

  private static byte[] longs(long... values) {
    ByteBuffer bytes =
        ByteBuffer.allocate(values.length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asLongBuffer().put(values);
    return bytes.array();
  }

  private float[] run(byte[]... inputs) throws Exception {
    Model model = TestFiles.read(file.build());
    return TestGraph.floats(TestGraph.run(new CpuDevice("1.0.0"), model, inputs));
  }

  /** So many that a search of each row for its updates would not end. */
  @Test
  void thousandsOfRowsAreAddedUpAtTheirPlaces() throws Exception {
    int rows = 20_000;
    int updates = 12_000;
    file.input("x", FLOAT, rows, 4)
        .input("at", INT64, updates, 1)
        .input("new", FLOAT, updates, 4)
        .node("ScatterND", List.of("x", "at", "new"), "y", text("reduction", "add"))
        .output("y", FLOAT, rows, 4);
    float[] x = floats(rows * 4);
    float[] added = floats(updates * 4);
    long[] at = random.longs(updates, -rows, rows).toArray();
    double[] sums = new double[x.length];
    for (int i = 0; i < x.length; i++) {
      sums[i] = x[i];
    }
    for (int i = 0; i < added.length; i++) {
      sums[(int) ((at[i / 4] + rows) % rows) * 4 + i % 4] += added[i];
    }
    float[] y = run(TestGraph.bytes(x), longs(at), TestGraph.bytes(added));
    for (int i = 0; i < y.length; i++) {
      assertEquals(sums[i], y[i], 1e-5, "element " + i);
    }
  }

  /** Bytes are added with their low bits, and the larger one is found among signed ones. */
  @Test
  void bytesAreJoinedAsBytes() throws Exception {
    for (String how : List.of("add", "max")) {
      OnnxFileBuilder bytes =
          new OnnxFileBuilder()
              .input("x", INT8, 3)
              .input("at", INT64, 2)
              .input("new", INT8, 2)
              .node("ScatterElements", List.of("x", "at", "new"), "y", text("reduction", how))
              .output("y", INT8, 3);
      Model model = TestFiles.read(bytes.build());
      byte[] result =
          TestGraph.run(
              new CpuDevice("1.0.0"),
              model,
              new byte[] {100, -100, 5},
              longs(0, -2),
              new byte[] {100, -100});
      byte[] wanted = how.equals("add") ? new byte[] {-56, 56, 5} : new byte[] {100, -100, 5};
      assertArrayEquals(wanted, result, how);
    }
  }

  /** MaxPool's places, back through MaxUnpool: each largest element stands where it was. */
  @Test
  void theLargestGoBackToTheirPlaces() throws Exception {
    file.input("x", FLOAT, 1, 2, 4, 4)
        .node(
            "MaxPool",
            List.of("x"),
            List.of("m", "at"),
            ints("kernel_shape", 2, 2),
            ints("strides", 2, 2))
        .node(
            "MaxUnpool", List.of("m", "at"), "y", ints("kernel_shape", 2, 2), ints("strides", 2, 2))
        .output("y", FLOAT, 1, 2, 4, 4);
    float[] x = floats(32);
    float[] wanted = new float[32];
    for (int block = 0; block < 8; block++) {
      int first = block / 4 * 16 + block / 2 % 2 * 8 + block % 2 * 2;
      int best = first;
      for (int at : new int[] {first + 1, first + 4, first + 5}) {
        best = x[at] > x[best] ? at : best;
      }
      wanted[best] = x[best];
    }
    assertArrayEquals(wanted, run(TestGraph.bytes(x)));
  }

  /** ONNX's own example: what windows cover is 4 by 4, and the stated shape has zeros behind it. */
  @Test
  void aStatedShapeHasZerosBehind() throws Exception {
    file.input("x", FLOAT, 1, 1, 2, 2)
        .integers("at", new long[] {1, 1, 2, 2}, 5, 7, 13, 15)
        .integers("shape", new long[] {4}, 1, 1, 5, 5)
        .node(
            "MaxUnpool",
            List.of("x", "at", "shape"),
            "y",
            ints("kernel_shape", 2, 2),
            ints("strides", 2, 2))
        .output("y", FLOAT, 1, 1, 5, 5);
    float[] wanted = new float[25];
    wanted[6] = 5;
    wanted[8] = 6;
    wanted[16] = 7;
    wanted[18] = 8;
    assertArrayEquals(wanted, run(TestGraph.bytes(new float[] {5, 6, 7, 8})));
  }

  /** Against the definition: groups of channels and of offsets, a mask, and places outside. */
  @Test
  void windowsTakeTheirElementsFromMovedPlaces() throws Exception {
    int[] x = {2, 4, 5, 6};
    int[] w = {6, 2, 3, 2};
    int[] offset = {2, 2 * 6 * 2, 3, 4};
    int[] mask = {2, 2 * 6, 3, 4};
    float[] values = floats(2 * 4 * 5 * 6);
    float[] weights = floats(6 * 2 * 3 * 2);
    float[] moves = floats(2 * 24 * 3 * 4);
    float[] factors = floats(2 * 12 * 3 * 4);
    float[] bias = floats(6);
    file.opset(19)
        .input("x", FLOAT, 2, 4, 5, 6)
        .floats("w", new long[] {6, 2, 3, 2}, weights)
        .input("o", FLOAT, 2, 24, 3, 4)
        .floats("b", new long[] {6}, bias)
        .input("m", FLOAT, 2, 12, 3, 4)
        .node(
            "DeformConv",
            List.of("x", "w", "o", "b", "m"),
            "y",
            integer("group", 2),
            integer("offset_group", 2),
            ints("strides", 2, 2),
            ints("dilations", 1, 2),
            ints("pads", 1, 2, 1, 1))
        .output("y", FLOAT, 2, 6, 3, 4);
    float[] y = run(TestGraph.bytes(values), TestGraph.bytes(moves), TestGraph.bytes(factors));
    int next = 0;
    for (int n = 0; n < 2; n++) {
      for (int unit = 0; unit < 6; unit++) {
        for (int row = 0; row < 3; row++) {
          for (int column = 0; column < 4; column++) {
            double sum = bias[unit];
            for (int i = 0; i < 2; i++) {
              int channel = unit / 3 * 2 + i;
              for (int cell = 0; cell < 6; cell++) {
                int stack = channel / 2 * 6 + cell;
                double top = at(moves, offset, n, stack * 2, row, column);
                double left = at(moves, offset, n, stack * 2 + 1, row, column);
                double down = row * 2 - 1 + cell / 2 + top;
                double right = column * 2 - 2 + cell % 2 * 2 + left;
                sum +=
                    between(values, x, n, channel, down, right)
                        * at(weights, w, unit, i, cell / 2, cell % 2)
                        * at(factors, mask, n, stack, row, column);
              }
            }
            assertEquals(sum, y[next], 1e-4, "element " + next);
            next++;
          }
        }
      }
    }
  }

  private static double at(float[] values, int[] shape, int a, int b, int c, int d) {
    boolean isInside = c >= 0 && c < shape[2] && d >= 0 && d < shape[3];
    return isInside ? values[((a * shape[1] + b) * shape[2] + c) * shape[3] + d] : 0;
  }

  private static double between(float[] values, int[] shape, int n, int c, double y, double x) {
    int top = (int) Math.floor(y);
    int left = (int) Math.floor(x);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
      int row = top + i / 2;
      int column = left + i % 2;
      double weight = (1 - Math.abs(y - row)) * (1 - Math.abs(x - column));
      sum += weight * at(values, shape, n, c, row, column);
    }
    return sum;
  }

  /** A small file may fill more than its own size many times over. */
  @Test
  void smallFilesFillMegabytes() throws Exception {
    file.input("x", FLOAT, 1)
        .integers("shape", new long[] {2}, 5 << 10, 1 << 10)
        .node("ConstantOfShape", List.of("shape"), "c")
        .node("Add", List.of("x", "c"), "y")
        .output("y", FLOAT, 5 << 10, 1 << 10);
    assertEquals(5 << 20, run(TestGraph.bytes(new float[] {1})).length);
  }
}
