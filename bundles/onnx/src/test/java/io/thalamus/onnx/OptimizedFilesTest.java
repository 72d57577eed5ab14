// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.reader.ModelFormatException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Files that tools have gone over: unsorted, with few bits, or with channels last. */
class OptimizedFilesTest {
  private static final int UINT8 = 2;
  private static final int INT8 = 3;
  private static final int INT16 = 5;
  private static final int UINT4 = 21;
  private static final int INT4 = 22;

  private final OnnxFileBuilder file = new OnnxFileBuilder().opset(21);

  private String refusal() {
    return assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()))
        .getMessage();
  }

  /** Converters to float16 put casts at the end of the file. */
  @Test
  void nodesMayStandInAnyOrder() throws Exception {
    file.input("x", FLOAT, 2)
        .node("Add", List.of("doubled", "x"), "y")
        .node("Mul", List.of("x", "two"), "doubled")
        .node("Cast", List.of("whole"), "two", integer("to", FLOAT))
        .integers("whole", new long[0], 2)
        .output("y", FLOAT, 2);
    assertArrayEquals(new float[] {3, -6}, TestFiles.run(file, 1, -2));
  }

  /** Optimizers leave out outputs, which have the same empty name as inputs that are left out. */
  @Test
  void aNamelessInputIsNoNamelessOutput() throws Exception {
    file.input("x", FLOAT, 3)
        .floats("most", new long[0], 2)
        .node("Clip", List.of("x", "", "most"), "clipped")
        .integers("one", new long[] {1}, 1)
        .node("TopK", List.of("clipped", "one"), List.of("", "place"))
        .node("Cast", List.of("place"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 1);
    assertArrayEquals(new float[] {1}, TestFiles.run(file, -7, 1, 0));
  }

  @Test
  void aNamelessOutputThatFailsHidesNoOtherRefusal() {
    file.input("x", FLOAT, 3)
        .integers("nine", new long[] {1}, 9)
        .node("TopK", List.of("x", "nine"), List.of("", "place"))
        .node("Cast", List.of("place"), "y", integer("to", FLOAT))
        .node("Resize", List.of("x", "", ""), "z")
        .output("y", FLOAT, 1)
        .output("z", FLOAT, 3);
    String text = refusal();
    assertTrue(text.contains("TopK") && text.contains("Resize"), text);
  }

  @Test
  void nodesThatReadEachOtherAreRefused() {
    file.input("x", FLOAT, 2)
        .node("Add", List.of("x", "b"), "a")
        .node("Add", List.of("x", "a"), "b")
        .output("a", FLOAT, 2);
    assertEquals(
        "node 1 Add 'the Add': the file is damaged: 'a' is read before it is computed", refusal());
  }

  /** Bytes 0x1F and 0x08 hold -1, 1 and -8. */
  @Test
  void signedIntegersOf4BitsStandInHalvesOfBytes() throws Exception {
    file.input("x", FLOAT, 3)
        .bytes("w", INT4, new long[] {3}, 0x1F, 0x08)
        .floats("scale", new long[0], 0.5f)
        .node("DequantizeLinear", List.of("w", "scale"), "real")
        .node("Mul", List.of("x", "real"), "y")
        .output("y", FLOAT, 3);
    assertArrayEquals(new float[] {-0.5f, 0.5f, -4}, TestFiles.run(file, 1, 1, 1));
  }

  @Test
  void integersOf4BitsFillTheirBytes() {
    file.input("x", FLOAT, 3)
        .bytes("w", UINT4, new long[] {3}, 0x1F)
        .node("Cast", List.of("w"), "real", integer("to", FLOAT))
        .node("Mul", List.of("x", "real"), "y")
        .output("y", FLOAT, 3);
    assertEquals(
        "node 0 Cast 'the Cast': the file is damaged: 'w' of shape 3 has 1 pairs of elements",
        refusal());
  }

  @Test
  void nothingIsRoundedTo4Bits() {
    file.input("x", FLOAT, 3)
        .node("Cast", List.of("x"), "y", integer("to", INT4))
        .output("y", FLOAT, 3);
    assertEquals("node 0 Cast 'the Cast': it gives INT4", refusal());
  }

  /** In steps of a hundredth, 400 is beyond 16 bits. */
  @Test
  void activationsOf16BitsAreRounded() throws Exception {
    file.input("x", FLOAT, 3)
        .floats("scale", new long[0], 0.01f)
        .bytes("zero", INT16, new long[0], 0, 0)
        .node("com.microsoft.QuantizeLinear", List.of("x", "scale", "zero"), "stored")
        .node("com.microsoft.DequantizeLinear", List.of("stored", "scale", "zero"), "y")
        .output("y", FLOAT, 3);
    assertArrayEquals(
        new float[] {1.23f, -327.68f, 327.67f}, TestFiles.run(file, 1.234f, -400, 400), 1e-4f);
  }

  /** Rows of two blocks, whose halves of bytes are 8 above what they stand for. */
  @Test
  void rowsOf4BitsAreTakenFromATable() throws Exception {
    file.input("x", FLOAT, 4)
        .bytes("table", UINT8, new long[] {2, 2}, 0x88, 0x88, 0xA9, 0x67)
        .floats("scales", new long[] {2, 2}, 1, 1, 0.5f, 10)
        .integers("row", new long[] {1}, 1)
        .node(
            "com.microsoft.GatherBlockQuantized",
            List.of("table", "row", "scales"),
            "rows",
            integer("block_size", 2),
            integer("quantize_axis", 1))
        .node("Add", List.of("x", "rows"), "y")
        .output("y", FLOAT, 1, 4);
    assertArrayEquals(new float[] {0.5f, 1, -10, -20}, TestFiles.run(file, 0, 0, 0, 0));
  }

  /** Two channels of two pixels; the larger of each pair is taken. */
  @Test
  void channelsMayComeLast() throws Exception {
    file.input("x", FLOAT, 1, 1, 2, 2)
        .node("com.microsoft.NhwcMaxPool", List.of("x"), "y", ints("kernel_shape", 1, 2))
        .output("y", FLOAT, 1, 1, 1, 2);
    assertArrayEquals(new float[] {3, 20}, TestFiles.run(file, 3, 10, 2, 20));
  }

  @Test
  void layoutsOfOneProcessorAreRefusedWithAdvice() {
    file.input("x", FLOAT, 1, 8, 2, 2)
        .node("com.microsoft.nchwc.MaxPool", List.of("x"), "y", ints("kernel_shape", 1, 2))
        .output("y", FLOAT, 1, 8, 2, 1);
    assertEquals(
        "node 0 com.microsoft.nchwc.MaxPool 'the com.microsoft.nchwc.MaxPool': ONNX Runtime wrote"
            + " it for the processor that it ran on; save the model with the level"
            + " ORT_ENABLE_EXTENDED at most",
        refusal());
  }

  @Test
  void scalesOfATableMustFitItsBlocks() {
    file.input("x", INT64, 1)
        .bytes("table", INT8, new long[] {2, 4}, 1, 2, 3, 4, 5, 6, 7, 8)
        .floats("scales", new long[] {2, 1}, 1, 1)
        .node(
            "com.microsoft.GatherBlockQuantized",
            List.of("table", "x", "scales"),
            "y",
            integer("block_size", 2))
        .output("y", FLOAT, 1, 4);
    assertEquals(
        "node 0 com.microsoft.GatherBlockQuantized 'the com.microsoft.GatherBlockQuantized': FLOAT"
            + " 2x1 has no scale for each block of 2",
        refusal());
  }
}
