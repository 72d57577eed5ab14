// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Operators that ONNX's own tests do not reach, against numbers from their definitions. */
class OperatorsTest {
  private static final int UINT8 = 2;

  private final OnnxFileBuilder file = new OnnxFileBuilder();

  /** {@code 1 * tanh(log(1 + e)) = 0.86509839}, {@code mish(0) = 0}. */
  @Test
  void mish() throws Exception {
    file.input("x", FLOAT, 2).node("Mish", List.of("x"), "y").output("y", FLOAT, 2);
    assertArrayEquals(new float[] {0.86509839f, 0}, TestFiles.run(file, 1, 0), 1e-6f);
  }

  @Test
  void upsampleRepeatsNeighbours() throws Exception {
    file.opset(9)
        .input("x", FLOAT, 1, 1, 1, 2)
        .floats("scales", new long[] {4}, 1, 1, 2, 2)
        .node("Upsample", List.of("x", "scales"), "y")
        .output("y", FLOAT, 1, 1, 2, 4);
    assertArrayEquals(new float[] {3, 3, 4, 4, 3, 3, 4, 4}, TestFiles.run(file, 3, 4));
  }

  /** {@code sqrt(3 * 3 + 4 * 4) = 5}. */
  @Test
  void globalLpPool() throws Exception {
    file.input("x", FLOAT, 1, 1, 1, 2)
        .node("GlobalLpPool", List.of("x"), "y")
        .output("y", FLOAT, 1, 1, 1, 1);
    assertArrayEquals(new float[] {5}, TestFiles.run(file, 3, -4), 1e-6f);
  }

  @Test
  void eyeLike() throws Exception {
    file.input("x", FLOAT, 2, 3)
        .node("EyeLike", List.of("x"), "e", integer("k", 1))
        .node("Add", List.of("x", "e"), "y")
        .output("y", FLOAT, 2, 3);
    assertArrayEquals(new float[] {1, 3, 3, 4, 5, 7}, TestFiles.run(file, 1, 2, 3, 4, 5, 6));
  }

  @Test
  void whatIsNoNumberIsReplaced() throws Exception {
    file.input("x", FLOAT, 2)
        .floats("zero", new long[] {1}, 0)
        .node("IsNaN", List.of("x"), "n")
        .node("Where", List.of("n", "zero", "x"), "y")
        .output("y", FLOAT, 2);
    assertArrayEquals(new float[] {0, 7}, TestFiles.run(file, Float.NaN, 7));
  }

  /** Twice 1 and 3 in steps of 4: 0.5 and 1.5 are rounded to the even 0 and 2. */
  @Test
  void quantizedConvolutionRoundsToEven() throws Exception {
    file.input("x", FLOAT, 1, 1, 1, 2)
        .floats("xs", new long[] {}, 0.5f)
        .bytes("xz", UINT8, new long[] {}, 10)
        .bytes("w", UINT8, new long[] {1, 1, 1, 1}, 10)
        .floats("ws", new long[] {}, 0.25f)
        .bytes("wz", UINT8, new long[] {}, 2)
        .floats("ys", new long[] {}, 4)
        .bytes("yz", UINT8, new long[] {}, 1)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q")
        .node("QLinearConv", List.of("q", "xs", "xz", "w", "ws", "wz", "ys", "yz"), "c")
        .node("DequantizeLinear", List.of("c", "ys", "yz"), "y")
        .output("y", FLOAT, 1, 1, 1, 2);
    assertArrayEquals(new float[] {0, 8}, TestFiles.run(file, 1, 3));
  }

  /** Indexes from the end, and steps backwards. */
  @Test
  void sliceBackwards() throws Exception {
    file.input("x", FLOAT, 5)
        .integers("from", new long[] {1}, -1)
        .integers("to", new long[] {1}, Long.MIN_VALUE)
        .integers("axis", new long[] {1}, 0)
        .integers("step", new long[] {1}, -2)
        .node("Slice", List.of("x", "from", "to", "axis", "step"), "y")
        .output("y", FLOAT, 3);
    assertArrayEquals(new float[] {5, 3, 1}, TestFiles.run(file, 1, 2, 3, 4, 5));
  }

  /** Of places that are computed, the last update counts. */
  @Test
  void scatteredUpdates() throws Exception {
    file.input("x", FLOAT, 3)
        .integers("at", new long[] {2}, 2, -3)
        .floats("new", new long[] {2}, 8, 9)
        .node("ScatterElements", List.of("x", "at", "new"), "y")
        .output("y", FLOAT, 3);
    assertArrayEquals(new float[] {9, 2, 8}, TestFiles.run(file, 1, 2, 3));
  }
}
