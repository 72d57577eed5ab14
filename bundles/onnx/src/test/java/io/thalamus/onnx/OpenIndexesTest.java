// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static io.thalamus.onnx.OnnxFileBuilder.subgraph;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.Model;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Operators that move, sort and add what only an execution determines the size of; by hand. */
class OpenIndexesTest {
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private static float[] floats(String text) {
    String[] words = text == null ? new String[0] : text.split(" ");
    float[] numbers = new float[words.length];
    for (int i = 0; i < words.length; i++) {
      numbers[i] = Float.parseFloat(words[i]);
    }
    return numbers;
  }

  private void assertGives(String expected, String x) throws Exception {
    file.output("y", FLOAT, -1);
    assertArrayEquals(floats(expected), TestFiles.run(file, floats(x)), 1e-6f);
  }

  /** The positive elements of x as p, and where they stand as at. */
  private static void start(OnnxFileBuilder file, int count) {
    file.input("x", FLOAT, count)
        .floats("zero", new long[0], 0)
        .integers("first", new long[] {1}, 0)
        .node("Greater", List.of("x", "zero"), "is")
        .node("NonZero", List.of("is"), "places")
        .node("Squeeze", List.of("places", "first"), "at")
        .node("Gather", List.of("x", "at"), "p");
  }

  @ParameterizedTest
  @CsvSource({
    "1, '3 -1 5 5 2', 5 5 3 2, 1 2 0 3",
    "0, '3 -1 5 5 2', 2 3 5 5, 3 0 1 2",
    "1, '-1 -1 -1 -1 7', 7, 0",
    "1, '-1 -1 -1 -1 -1', , "
  })
  void allAreSorted(int isLargest, String x, String expected, String order) throws Exception {
    start(file, 5);
    file.node("Shape", List.of("p"), "size")
        .node("TopK", List.of("p", "size"), List.of("t", "i"), integer("largest", isLargest))
        .node("GatherElements", List.of("p", "i"), "y");
    assertGives(expected, x);
    OnnxFileBuilder other = new OnnxFileBuilder();
    start(other, 5);
    other
        .node("Shape", List.of("p"), "size")
        .node("TopK", List.of("p", "size"), List.of("t", "i"), integer("largest", isLargest))
        .node("Cast", List.of("i"), "y", integer("to", FLOAT))
        .output("y", FLOAT, -1);
    assertArrayEquals(floats(order), TestFiles.run(other, floats(x)));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0, '1 -1 2 3', 1 3 6",
    "1, 0, '1 -1 2 3', 0 1 3",
    "0, 1, '1 -1 2 3', 6 5 3",
    "1, 1, '1 -1 2 3', 5 3 0"
  })
  void runningSums(int exclusive, int reverse, String x, String expected) throws Exception {
    start(file, 4);
    file.integers("axis", new long[0], 0)
        .node(
            "CumSum",
            List.of("p", "axis"),
            "y",
            integer("exclusive", exclusive),
            integer("reverse", reverse));
    assertGives(expected, x);
  }

  /** Starts and ends are known or half of the size; steps go both ways. */
  @ParameterizedTest
  @CsvSource({
    "half, end, 1, 3 4",
    "first, half, 1, 1 2",
    "back, end, 1, 3 4",
    "first, end, 2, 1 3",
    "last, before, -1, 4 3 2 1",
    "last, first, -2, 4 2",
    "end, end, 1, ",
  })
  void partsFromComputedPlaces(String start, String end, int step, String expected)
      throws Exception {
    start(file, 6);
    file.node("Shape", List.of("p"), "size")
        .integers("two", new long[] {1}, 2)
        .node("Div", List.of("size", "two"), "half")
        .integers("end", new long[] {1}, Long.MAX_VALUE)
        .integers("before", new long[] {1}, Long.MIN_VALUE)
        .integers("back", new long[] {1}, -2)
        .integers("last", new long[] {1}, -1)
        .integers("step", new long[] {1}, step)
        .node("Slice", List.of("p", start, end, "first", "step"), "y");
    assertGives(expected, "1 -9 2 3 -9 4");
  }

  @Test
  void padsToACommonLength() throws Exception {
    start(file, 4);
    file.node("Shape", List.of("p"), "size")
        .integers("all", new long[] {1}, 4)
        .floats("minus", new long[0], -1)
        .node("Sub", List.of("all", "size"), "missing")
        .node("Concat", List.of("first", "missing"), "pads", integer("axis", 0))
        .node("Pad", List.of("p", "pads", "minus"), "y");
    assertGives("5 6 -1 -1", "-3 5 6 -2");
  }

  /** What is found goes back to where it was, or is added at one place. */
  @ParameterizedTest
  @CsvSource({"'-3 5 6 -2', 0 5 6 0", "'-3 -5 -6 -2', 0 0 0 0", "'1 2 3 4', 1 2 3 4"})
  void elementsGoToTheirPlaces(String x, String expected) throws Exception {
    start(file, 4);
    file.floats("none", new long[] {4}, 0, 0, 0, 0)
        .node("ScatterElements", List.of("none", "at", "p"), "y");
    assertGives(expected, x);
    OnnxFileBuilder other = new OnnxFileBuilder();
    start(other, 4);
    other
        .floats("none", new long[] {4}, 0, 0, 0, 0)
        .node("Transpose", List.of("places"), "tuples", ints("perm", 1, 0))
        .node("ScatterND", List.of("none", "tuples", "p"), "y")
        .output("y", FLOAT, 4);
    assertArrayEquals(floats(expected), TestFiles.run(other, floats(x)));
  }

  @Test
  void updatesOfOnePlaceAreAdded() throws Exception {
    start(file, 4);
    file.integers("two", new long[0], 2)
        .node("Mod", List.of("at", "two"), "place")
        .floats("ten", new long[] {2}, 10, 20)
        .node(
            "ScatterElements",
            List.of("ten", "place", "p"),
            "y",
            OnnxFileBuilder.text("reduction", "add"));
    assertGives("14 22", "1 2 3 -9");
  }

  @Test
  void eachPlaceIsOneOfSeveral() throws Exception {
    start(file, 3);
    file.integers("depth", new long[0], 3)
        .floats("values", new long[] {2}, 0, 1)
        .integers("flat", new long[] {1}, -1)
        .node("OneHot", List.of("at", "depth", "values"), "hot")
        .node("Reshape", List.of("hot", "flat"), "y");
    assertGives("1 0 0 0 0 1", "4 -1 5");
  }

  /** Rows are normalized: one apart from their mean, and back by the weights. */
  @Test
  void rowsAreNormalized() throws Exception {
    file.input("x", FLOAT, 3, 2)
        .floats("zero", new long[0], 0)
        .integers("one", new long[] {1}, 1)
        .floats("scale", new long[] {2}, 10, 100)
        .floats("shift", new long[] {2}, 0, 1)
        .integers("flat", new long[] {1}, -1)
        .integers("axis", new long[] {1}, 1)
        .integers("first", new long[] {1}, 0)
        .node("ReduceSum", List.of("x", "axis"), "sum", integer("keepdims", 0))
        .node("Greater", List.of("sum", "zero"), "is")
        .node("NonZero", List.of("is"), "places")
        .node("Squeeze", List.of("places", "first"), "at")
        .node("Gather", List.of("x", "at"), "rows", integer("axis", 0))
        .node("LayerNormalization", List.of("rows", "scale", "shift"), "n", real("epsilon", 0))
        .node("Reshape", List.of("n", "flat"), "y");
    assertGives("-10 101 10 -99", "1 3 -1 -2 9 5");
  }

  /** Boxes with a score: cells are the means of four samples, which lie on the plane x + 10 y. */
  @Test
  void regionsOfChosenBoxes() throws Exception {
    float[] image = new float[64];
    for (int i = 0; i < 64; i++) {
      image[i] = i % 8 + 10 * (i / 8);
    }
    file.input("x", FLOAT, 3)
        .floats("image", new long[] {1, 1, 8, 8}, image)
        .floats("boxes", new long[] {3, 4}, 1, 1, 5, 5, 0, 0, 7, 7, 2, 1, 4, 3)
        .floats("zero", new long[0], 0)
        .integers("first", new long[] {1}, 0)
        .integers("flat", new long[] {1}, -1)
        .node("Greater", List.of("x", "zero"), "is")
        .node("NonZero", List.of("is"), "places")
        .node("Squeeze", List.of("places", "first"), "at")
        .node("Gather", List.of("boxes", "at"), "chosen", integer("axis", 0))
        .node("Sub", List.of("at", "at"), "batch")
        .floats("w", new long[] {1, 1, 1, 1}, 2)
        .node(
            "RoiAlign",
            List.of("image", "chosen", "batch"),
            "r",
            integer("output_height", 2),
            integer("output_width", 2),
            integer("sampling_ratio", 2),
            OnnxFileBuilder.text("coordinate_transformation_mode", "output_half_pixel"))
        .node("Conv", List.of("r", "w"), "c")
        .node("Reshape", List.of("c", "flat"), "y");
    // centers of the cells: 2 and 4 of the first box, 2.5 and 3.5 across and 1.5 and 2.5 down
    assertGives("44 48 84 88 35 37 55 57", "1 -1 1");
  }

  @Test
  void integersAreAddedRowByRow() throws Exception {
    file.input("x", FLOAT, 2, 3)
        .floats("zero", new long[0], 0)
        .integers("axis", new long[] {1}, 1)
        .node("Greater", List.of("x", "zero"), "is")
        .node("NonZero", List.of("is"), "places")
        .node("ReduceSum", List.of("places", "axis"), "sums")
        .node("Cast", List.of("sums"), "wide", integer("to", FLOAT))
        .integers("flat", new long[] {1}, -1)
        .node("Reshape", List.of("wide", "flat"), "y");
    // at 0,1 and 1,0 and 1,2
    assertGives("2 3", "-1 1 -1 1 -1 1");
  }

  @Test
  void shapesMayBeGivenByTheCaller() throws Exception {
    file.input("x", FLOAT, 4)
        .input("shape", INT64, 2)
        .integers("axis", new long[] {1}, 1)
        .node("Reshape", List.of("x", "shape"), "m")
        .node("ReduceSum", List.of("m", "axis"), "y", integer("keepdims", 0))
        .output("y", FLOAT, -1);
    Model model = TestFiles.read(file.build());
    byte[] shape = new byte[16];
    shape[0] = 2;
    shape[8] = 2;
    byte[] sums =
        TestGraph.run(new CpuDevice("1.0.0"), model, TestGraph.bytes(1f, 2f, 3f, 4f), shape);
    assertArrayEquals(new float[] {3, 7}, TestGraph.floats(sums));
  }

  /**
   * Rows at places that are spread over them, as PyTorch writes {@code scatter} with {@code
   * expand}; of the places' shape the file says -1 where one stays, and it asks for a size that is
   * known.
   */
  @Test
  void rowsAtSpreadPlaces() throws Exception {
    start(file, 4);
    file.integers("column", new long[] {2}, -1, 1)
        .integers("two", new long[] {1}, 2)
        .integers("four", new long[] {1}, 4)
        .integers("none", new long[] {1}, -1)
        .integers("ones", new long[] {2}, 1, 1)
        .node("Reshape", List.of("at", "column"), "spreadable")
        .node("Shape", List.of("at"), "count")
        .node("Concat", List.of("count", "two"), "wanted", integer("axis", 0))
        .node("Equal", List.of("wanted", "none"), "isKept")
        .node("Where", List.of("isKept", "ones", "wanted"), "shape")
        .node("Expand", List.of("spreadable", "shape"), "spread")
        .node("Reshape", List.of("p", "column"), "rows")
        .node("Concat", List.of("rows", "rows"), "both", integer("axis", 1))
        .node("Concat", List.of("four", "two"), "all", integer("axis", 0))
        .node("Expand", List.of("zero", "all"), "zeros")
        .node("ScatterElements", List.of("zeros", "spread", "both"), "filled");
    OnnxFileBuilder then = new OnnxFileBuilder();
    then.node("Transpose", List.of("filled"), "turned").output("turned", FLOAT, 2, 4);
    OnnxFileBuilder otherwise = new OnnxFileBuilder();
    otherwise.node("Identity", List.of("zero"), "same").output("same", FLOAT);
    file.node("Shape", List.of("spread"), "sizes")
        .integers("last", new long[0], 1)
        .integers("second", new long[0], 2)
        .node("Gather", List.of("sizes", "last"), "width")
        .node("Equal", List.of("width", "second"), "isTwo")
        .node(
            "If",
            List.of("isTwo"),
            "y",
            subgraph("then_branch", then),
            subgraph("else_branch", otherwise))
        .output("y", FLOAT, 2, 4);
    assertArrayEquals(new float[] {0, 3, 0, 5, 0, 3, 0, 5}, TestFiles.run(file, -1, 3, -2, 5));
  }

  /** As the masks of detectors grow: a row for each box that is found, at twice its size. */
  @Test
  void imagesOfAnOpenNumberGrow() throws Exception {
    start(file, 4);
    file.integers("images", new long[] {4}, -1, 1, 1, 1)
        .floats("w", new long[] {1, 1, 1, 2}, 1, 10)
        .floats("scales", new long[] {4}, 1, 1, 2, 1)
        .floats("ones", new long[] {4, 1}, 1, 1, 1, 1)
        .integers("rest", new long[] {1}, -1)
        .node("Reshape", List.of("p", "images"), "small")
        .node("ConvTranspose", List.of("small", "w"), "wide", ints("strides", 1, 2))
        .node("Resize", List.of("wide", "", "scales"), "large")
        .node("Shape", List.of("at"), "count")
        .node("Concat", List.of("count", "rest"), "rows", integer("axis", 0))
        .node("Reshape", List.of("large", "rows"), "flat")
        .node("MatMul", List.of("flat", "ones"), "y")
        .output("y", FLOAT, -1, 1);
    assertArrayEquals(new float[] {44, 66}, TestFiles.run(file, -1, 2, 3, -4));
  }

  /** Before opset 13 the second axis is the one, where there are two. */
  @Test
  void oldSoftmaxOfOpenRows() throws Exception {
    file.opset(11)
        .input("x", FLOAT, 3)
        .floats("zero", new long[0], 0)
        .integers("pairs", new long[] {2}, -1, 1)
        .node("Greater", List.of("x", "zero"), "is")
        .node("NonZero", List.of("is"), "axes")
        .node("Transpose", List.of("axes"), "at")
        .node("GatherND", List.of("x", "at"), "p")
        .node("Reshape", List.of("p", "pairs"), "column")
        .node("Sub", List.of("column", "column"), "none")
        .node("Concat", List.of("column", "none"), "both", integer("axis", 1))
        .node("Softmax", List.of("both"), "y")
        .output("y", FLOAT, -1, 2);
    float part = (float) (1 / (1 + Math.exp(-2)));
    assertArrayEquals(new float[] {part, 1 - part}, TestFiles.run(file, -1, 2, -3), 1e-6f);
  }
}
