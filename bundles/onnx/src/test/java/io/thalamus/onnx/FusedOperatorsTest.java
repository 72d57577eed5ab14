// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.Model;
import io.thalamus.tck.check.OutcomeException;
import io.thalamus.tck.check.TestGraph;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** ONNX Runtime's own operators, losses, and what is computed where the file states its shape. */
class FusedOperatorsTest {
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private void node(String type, List<String> inputs, OnnxFileBuilder.Message... settings) {
    file.node("com.microsoft." + type, inputs, "y", settings);
  }

  /** The sums are 3 and 5: their mean is 4, and each is one standard deviation from it. */
  @Test
  void aSumIsNormalized() throws Exception {
    file.input("x", FLOAT, 1, 2)
        .floats("skip", new long[] {1, 2}, 1, 2)
        .floats("gamma", new long[] {2}, 10, 100)
        .floats("beta", new long[] {2}, 0, 1);
    node("SkipLayerNormalization", List.of("x", "skip", "gamma", "beta"));
    file.output("y", FLOAT, 1, 2);
    assertArrayEquals(new float[] {-10, 101}, TestFiles.run(file, 2, 3), 1e-3f);
  }

  /** Two weights in each byte, the lower half first; 8 stands for 0. */
  @Test
  void weightsOfFourBitsHaveScalesByBlocks() throws Exception {
    int[] packed = new int[16];
    Arrays.fill(packed, 0x88);
    packed[0] = 0xA9;
    packed[8] = 0x78;
    file.input("x", FLOAT, 1, 16)
        .bytes("w", 2, new long[] {2, 1, 8}, packed)
        .floats("scales", new long[] {2}, 0.5f, 4);
    node(
        "MatMulNBits",
        List.of("x", "w", "scales"),
        integer("K", 16),
        integer("N", 2),
        integer("block_size", 16));
    file.output("y", FLOAT, 1, 2);
    float[] x = new float[16];
    x[0] = 3;
    x[1] = 10;
    assertArrayEquals(new float[] {0.5f * 23, -40}, TestFiles.run(file, x), 1e-5f);
  }

  /** A query of zeros sees all keys alike, and a mask leaves the first two of three. */
  @Test
  void attentionSeesWhatItsMaskShows() throws Exception {
    file.input("x", FLOAT, 1, 3, 1)
        .floats("w", new long[] {1, 3}, 0, 1, 1)
        .integers("mask", new long[] {1, 3}, 1, 1, 0);
    node("Attention", List.of("x", "w", "", "mask"), integer("num_heads", 1));
    file.output("y", FLOAT, 1, 3, 1);
    assertArrayEquals(new float[] {3, 3, 3}, TestFiles.run(file, 2, 4, 100), 1e-5f);
  }

  /** The second of two labels is ignored; the first weighs 3, which the mean divides out. */
  @Test
  void aLossLeavesOutWhatIsIgnored() throws Exception {
    file.input("x", FLOAT, 2, 3)
        .integers("labels", new long[] {2}, 1, 2)
        .floats("weights", new long[] {3}, 1, 3, 1)
        .node(
            "NegativeLogLikelihoodLoss",
            List.of("x", "labels", "weights"),
            "y",
            integer("ignore_index", 2),
            text("reduction", "mean"))
        .output("y", FLOAT);
    assertArrayEquals(new float[] {-5}, TestFiles.run(file, 4, 5, 6, 7, 8, 9), 1e-5f);
  }

  /** The file states that the second axis is summed up: others are no result of its shape. */
  @Test
  void axesOtherThanTheFileStatesAreRefused() throws Exception {
    file.input("x", FLOAT, 2, 3)
        .input("axes", INT64, 1)
        .node("ReduceSum", List.of("x", "axes"), "y")
        .output("y", FLOAT, 2, 1);
    Model model = TestFiles.read(file.build());
    CpuDevice device = new CpuDevice("1.0.0");
    byte[] data = TestGraph.bytes(1f, 2, 3, 4, 5, 6);
    assertArrayEquals(
        new float[] {6, 15}, TestGraph.floats(TestGraph.run(device, model, data, wide(-1))));
    assertThrows(OutcomeException.class, () -> TestGraph.run(device, model, data, wide(0)));
  }

  /** The file states that two elements are left. */
  @Test
  void slicesOfOtherLengthsThanTheFileStatesAreRefused() throws Exception {
    file.input("x", FLOAT, 4)
        .input("start", INT64, 1)
        .integers("end", new long[] {1}, 4)
        .node("Slice", List.of("x", "start", "end"), "y")
        .output("y", FLOAT, 2);
    Model model = TestFiles.read(file.build());
    CpuDevice device = new CpuDevice("1.0.0");
    byte[] data = TestGraph.bytes(1f, 2, 3, 4);
    assertArrayEquals(
        new float[] {3, 4}, TestGraph.floats(TestGraph.run(device, model, data, wide(2))));
    assertThrows(OutcomeException.class, () -> TestGraph.run(device, model, data, wide(1)));
  }

  private static byte[] wide(long value) {
    return ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array();
  }

  /**
   * Weights that fill the file are read within the memory that a file of its size may take. All are
   * zero, so that the cell is half of tanh(1), and its output half of the tanh of that.
   */
  @Test
  void aLargeLayerOfBytesIsRead() throws Exception {
    int units = 512;
    int inputs = 2 * units;
    float[] bias = new float[2 * 8 * units];
    for (int direction = 0; direction < 2; direction++) {
      Arrays.fill(bias, (8 * direction + 3) * units, (8 * direction + 4) * units, 1);
    }
    long[] scales = {2};
    file.input("x", FLOAT, 1, 1, inputs)
        .bytes("w", 2, new long[] {2, inputs, 4 * units}, filled(2 * inputs * 4 * units))
        .bytes("r", 2, new long[] {2, units, 4 * units}, filled(2 * units * 4 * units))
        .bytes("zeros", 2, scales, filled(2))
        .floats("scales", scales, 0.5f, 0.25f)
        .floats("b", new long[] {2, 8 * units}, bias);
    node(
        "DynamicQuantizeLSTM",
        List.of("x", "w", "r", "b", "", "", "", "", "scales", "zeros", "scales", "zeros"),
        integer("hidden_size", units),
        text("direction", "bidirectional"));
    file.output("y", FLOAT, 1, 2, 1, units);
    float[] expected = new float[2 * units];
    Arrays.fill(expected, (float) (0.5 * Math.tanh(0.5 * Math.tanh(1))));
    float[] x = new float[inputs];
    Arrays.fill(x, 0.25f);
    assertArrayEquals(expected, TestFiles.run(file, x), 1e-5f);
  }

  private static int[] filled(int count) {
    int[] values = new int[count];
    Arrays.fill(values, 128);
    return values;
  }
}
