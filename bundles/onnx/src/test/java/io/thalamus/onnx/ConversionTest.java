// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.WideTypes;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Small files from bytes to results, and what is said of those that cannot be read. */
class ConversionTest {
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private String refusal() {
    return assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()))
        .getMessage();
  }

  @Test
  void filesAreKnownByContentOrName() {
    byte[] bytes = file.input("x", FLOAT, 1).output("x", FLOAT, 1).build();
    OnnxReader reader = new OnnxReader();
    assertTrue(reader.accepts("model.bin", MemorySegment.ofArray(bytes)));
    assertTrue(reader.accepts("Model.ONNX", MemorySegment.ofArray(new byte[2])));
    assertFalse(reader.accepts("model.tflite", MemorySegment.ofArray(new byte[64])));
    assertFalse(reader.accepts("a.txt", MemorySegment.ofArray("Some words of a text.".getBytes())));
  }

  /** One channel becomes two; the windows of 2x2 add up by hand. */
  @Test
  void convolutionWithChannelsFirst() throws Exception {
    file.input("x", FLOAT, 1, 1, 3, 3)
        .floats("w", new long[] {2, 1, 2, 2}, 1, 1, 1, 1, 1, 0, 0, -1)
        .floats("b", new long[] {2}, 0, 100)
        .node("Conv", List.of("x", "w", "b"), "c")
        .node("Relu", List.of("c"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    assertArrayEquals(
        new float[] {12, 16, 24, 28, 96, 96, 96, 96},
        TestFiles.run(file, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  }

  /** The windows by their formula; the settings differ along each dimension. */
  @ParameterizedTest
  @CsvSource({"1, 1, 1", "2, 1, 1", "1, 2, 1", "2, 3, 2"})
  void convolutionInSpace(int stride, int dilation, int pad) throws Exception {
    int[] size = {6, 5, 4};
    int[] kernel = {2, 3, 2};
    int[] strides = {stride, 1, 2};
    int[] dilations = {dilation, 1, 1};
    int[] before = {pad, 1, 0};
    int[] after = {0, 1, 1};
    int[] output = new int[3];
    for (int i = 0; i < 3; i++) {
      int room = size[i] + before[i] + after[i] - (kernel[i] - 1) * dilations[i] - 1;
      output[i] = room / strides[i] + 1;
    }
    Random random = new Random(1);
    float[] x = small(random, 2 * 2 * 6 * 5 * 4);
    float[] w = small(random, 3 * 2 * 2 * 3 * 2);
    float[] expected = new float[2 * 3 * output[0] * output[1] * output[2]];
    for (int i = 0; i < expected.length; i++) {
      int[] at = {
        i / (output[1] * output[2]) % output[0], i / output[2] % output[1], i % output[2]
      };
      int unit = i / (output[0] * output[1] * output[2]) % 3;
      int image = i / (output[0] * output[1] * output[2]) / 3;
      expected[i] = 10 * unit;
      for (int cell = 0; cell < 2 * 12; cell++) {
        int[] within = {cell / 6 % 2, cell / 2 % 3, cell % 2};
        int place = image * 2 + cell / 12;
        boolean isInside = true;
        for (int k = 0; k < 3; k++) {
          int index = at[k] * strides[k] + within[k] * dilations[k] - before[k];
          isInside &= index >= 0 && index < size[k];
          place = place * size[k] + index;
        }
        expected[i] += isInside ? x[place] * w[unit * 24 + cell] : 0;
      }
    }
    file.input("x", FLOAT, 2, 2, 6, 5, 4)
        .floats("w", new long[] {3, 2, 2, 3, 2}, w)
        .floats("b", new long[] {3}, 0, 10, 20)
        .node(
            "Conv",
            List.of("x", "w", "b"),
            "y",
            ints("strides", stride, 1, 2),
            ints("dilations", dilation, 1, 1),
            ints("pads", pad, 1, 0, 0, 1, 1))
        .output("y", FLOAT, 2, 3, output[0], output[1], output[2]);
    assertArrayEquals(expected, TestFiles.run(file, x));
  }

  /** All windows of such a volume together have more elements than can be counted. */
  @Test
  void convolutionsOfLargeVolumesAreRead() throws Exception {
    file.input("x", FLOAT, 1, 5, 256, 256, 256)
        .floats("w", new long[] {1, 5, 3, 3, 3}, new float[135])
        .node("Conv", List.of("x", "w"), "y", ints("pads", 1, 1, 1, 1, 1, 1))
        .output("y", FLOAT, 1, 1, 256, 256, 256);
    assertEquals(
        Shape.of(1, 1, 256, 256, 256), TestFiles.read(file.build()).main().output(0).shape());
  }

  /** Shape arithmetic as exporters write it: it leaves nothing but the product behind. */
  @Test
  void shapesAreComputedWhileReading() throws Exception {
    file.input("x", FLOAT, 2, 3, 2)
        .integers("zero", new long[] {}, 0)
        .integers("rest", new long[] {1}, -1)
        .integers("first", new long[] {1}, 0)
        .node("Shape", List.of("x"), "s")
        .node("Gather", List.of("s", "zero"), "n")
        .node("Unsqueeze", List.of("n", "first"), "n1")
        .node("Concat", List.of("n1", "rest"), "shape", integer("axis", 0))
        .node("Reshape", List.of("x", "shape"), "y")
        .output("y", FLOAT, 2, 6);
    Model model = TestFiles.read(file.build());
    assertEquals(1, model.main().operations().size());
    assertEquals("2x6", model.main().output(0).shape().toString());
  }

  @Test
  void knownBranchesTakeThePlaceOfConditions() throws Exception {
    OnnxFileBuilder doubled = new OnnxFileBuilder();
    doubled.node("Add", List.of("x", "x"), "d").output("d", FLOAT, 2);
    OnnxFileBuilder same = new OnnxFileBuilder();
    same.node("Identity", List.of("x"), "i").output("i", FLOAT, 2);
    file.input("x", FLOAT, 2)
        .integers("a", new long[] {}, 3)
        .node("Equal", List.of("a", "a"), "is")
        .node(
            "If",
            List.of("is"),
            "y",
            OnnxFileBuilder.subgraph("then_branch", doubled),
            OnnxFileBuilder.subgraph("else_branch", same))
        .output("y", FLOAT, 2);
    assertArrayEquals(new float[] {2, 6}, TestFiles.run(file, 1, 3));
  }

  @Test
  void integersOf64BitsAreThoseOfTheCallerAlone() throws Exception {
    file.input("x", INT64, 2).node("Neg", List.of("x"), "y").output("y", INT64, 2);
    Model model = TestFiles.read(file.build());
    assertEquals(WideTypes.TENSOR_INT64, model.main().input(0).type());
    assertEquals(WideTypes.TENSOR_INT64, model.main().output(0).type());
  }

  @Test
  void allThatCannotBeExpressedIsNamedAtOnce() {
    file.input("x", FLOAT, 1, 2)
        .node("Foo", List.of("x"), "a")
        .node("Relu", List.of("a"), "b")
        .node("Transpose", List.of("x"), "c", ints("perm", 0, 0))
        .node("Bar", List.of("b"), "y")
        .output("y", FLOAT, 1, 2);
    assertEquals(
        "3 operators cannot be expressed: "
            + "node 0 Foo 'the Foo': nothing that is known here computes it; "
            + "node 2 Transpose 'the Transpose': its perm [0, 0] does not order 2 dimensions; "
            + "node 3 Bar 'the Bar': nothing that is known here computes it",
        refusal());
  }

  @Test
  void openDimensionsAreTheSmallestThatTheOperatorsAllow() throws Exception {
    file.input("x", FLOAT, -1, 1, -1, 64)
        .node("MaxPool", List.of("x"), "y", ints("kernel_shape", 3, 3), ints("strides", 2, 2))
        .output("y", FLOAT, -1, 1, -1, 31);
    ModelFile read = TestFiles.readFile(file.build(), Map.of());
    assertEquals(Shape.of(1, 1, 64, 64), read.model().main().input(0).shape());
    assertEquals(Shape.of(0, 1, 0, 64), read.input(0).shape());
  }

  /** Exporters write down sizes, here 11, that they should have left open. */
  @Test
  void openDimensionsAreThoseThatTheFileHasInItsShapes() throws Exception {
    file.input("x", FLOAT, -1, -1, 8)
        .integers("shape", new long[] {3}, 11, -1, 4)
        .node("Transpose", List.of("x"), "t", ints("perm", 1, 0, 2))
        .node("Reshape", List.of("t", "shape"), "r")
        .node("MatMul", List.of("r", "w"), "m")
        .floats("w", new long[] {11, 4, 3}, new float[132])
        .node("Slice", List.of("m", "from", "to"), "y")
        .integers("from", new long[] {1}, 10)
        .integers("to", new long[] {1}, 11)
        .output("y", FLOAT, 1, -1, 3);
    ModelFile read = TestFiles.readFile(file.opset(11).build(), Map.of());
    assertEquals(Shape.of(1, 11, 8), read.model().main().input(0).shape());
    assertEquals(Shape.of(0, 0, 8), read.input(0).shape());
  }

  /** A state has a line for each sound of the batch, and a sound as many samples as a window. */
  @Test
  void dimensionsThatAreNamedAsTheBatchStay1() throws Exception {
    file.input("sound", FLOAT, -2, -3)
        .input("state", FLOAT, 2, -2, 8)
        .floats("window", new long[] {8, 1, 100}, new float[800])
        .node("Unsqueeze", List.of("sound"), "x", ints("axes", 1))
        .node("Conv", List.of("x", "window"), "c", ints("strides", 100))
        .node("ReduceMax", List.of("c"), "m", ints("axes", 2), integer("keepdims", 0))
        .node("Add", List.of("state", "m"), "y")
        .output("y", FLOAT, 2, -2, 8);
    ModelFile read = TestFiles.readFile(file.opset(11).build(), Map.of());
    assertEquals(Shape.of(1, 224), read.model().main().input(0).shape());
    assertEquals(Shape.of(2, 1, 8), read.model().main().input(1).shape());
    assertEquals(Shape.of(2, 0, 8), read.input(1).shape());
  }

  @Test
  void aDimensionThatIsOpenAloneIsTakenForTheBatch() throws Exception {
    file.input("sound", FLOAT, -1, -1)
        .input("state", FLOAT, 2, -1, 8)
        .floats("window", new long[] {8, 1, 100}, new float[800])
        .node("Unsqueeze", List.of("sound"), "x", ints("axes", 1))
        .node("Conv", List.of("x", "window"), "c", ints("strides", 100))
        .node("ReduceMax", List.of("c"), "m", ints("axes", 2), integer("keepdims", 0))
        .node("Concat", List.of("state", "state"), "s", integer("axis", 2))
        .node("Reshape", List.of("s", "shape"), "r")
        .integers("shape", new long[] {3}, 2, 1, 16)
        .node("ReduceSum", List.of("r"), "y")
        .output("m", FLOAT, -1, 8)
        .output("y", FLOAT, 1, 1, 1);
    ModelFile read = TestFiles.readFile(file.opset(11).build(), Map.of());
    assertEquals(Shape.of(1, 224), read.model().main().input(0).shape());
    assertEquals(Shape.of(2, 1, 8), read.model().main().input(1).shape());
  }

  /** In speech recognition a file may begin with the time. */
  @Test
  void aLeadingDimensionIsNoBatchWhereTheOperatorsAllowNone() throws Exception {
    file.input("x", FLOAT, -1, 3)
        .floats("window", new long[] {4, 3, 5}, new float[60])
        .node("Transpose", List.of("x"), "t", ints("perm", 1, 0))
        .node("Unsqueeze", List.of("t"), "u", ints("axes", 0))
        .node("Conv", List.of("u", "window"), "y")
        .output("y", FLOAT, 1, 4, -1);
    ModelFile read = TestFiles.readFile(file.opset(11).build(), Map.of());
    assertEquals(Shape.of(64, 3), read.model().main().input(0).shape());
  }

  @Test
  void openDimensionsAreFixedWhileReading() throws Exception {
    file.input("x", FLOAT, -1, 3).node("Relu", List.of("x"), "y").output("y", FLOAT, -1, 3);
    Model model = TestFiles.read(file.build(), Map.of("x", Shape.of(2, 3)));
    assertEquals(Shape.of(2, 3), model.main().output(0).shape());
    Model numbered = TestFiles.read(file.build(), Map.of("0", Shape.of(4, 3)));
    assertEquals(Shape.of(4, 3), numbered.main().output(0).shape());
    ModelFile open = TestFiles.readFile(file.build(), Map.of());
    Map<String, Shape> none = open.shapesForValues(List.of(Shape.of(0, 3)));
    assertEquals(Map.of("x", Shape.of(0, 3)), none);
    assertEquals(Map.of(), open.shapesFor(List.of(Shape.of(0, 3))));
    assertEquals(List.of(), TestFiles.read(file.build(), none).main().inputIndexes());
    String wrong =
        assertThrows(
                ModelFormatException.class,
                () -> TestFiles.read(file.build(), Map.of("x", Shape.of(2, 4))))
            .getMessage();
    assertEquals("input 'x' has the shape ?x3, which 2x4 does not fit", wrong);
    String unknown =
        assertThrows(
                ModelFormatException.class,
                () -> TestFiles.read(file.build(), Map.of("z", Shape.of(2))))
            .getMessage();
    assertEquals("there is no input 'z'; there are x", unknown);
  }

  /** Two convolutions with a sum in between: the image is turned around twice, not six times. */
  @Test
  void transposesAreLeftOutBetweenConvolutions() throws Exception {
    file.input("x", FLOAT, 1, 2, 2, 2)
        .floats("w", new long[] {2, 2, 1, 1}, 1, 0, 0, 2)
        .floats("b", new long[] {2}, 0, -5)
        .floats("s", new long[] {2, 1, 1}, 10, 20)
        .node("Conv", List.of("x", "w", "b"), "c")
        .node("Relu", List.of("c"), "r")
        .node("Add", List.of("r", "s"), "a")
        .node("Conv", List.of("a", "w"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    Model model = TestFiles.read(file.build());
    assertEquals(
        List.of("TRANSPOSE", "CONV_2D", "ADD", "CONV_2D", "TRANSPOSE"),
        model.main().operations().stream().map(operation -> operation.type().text()).toList());
    assertArrayEquals(
        new float[] {11, 12, 13, 14, 50, 54, 58, 62}, TestFiles.run(file, 1, 2, 3, 4, 5, 6, 7, 8));
  }

  /** NNAPI cannot transpose the truth values that a comparison gives. */
  @Test
  void comparisonsNeedNoTransposeBetweenConvolutions() throws Exception {
    file.input("x", FLOAT, 1, 2, 2, 2)
        .floats("w", new long[] {2, 2, 1, 1}, 1, 0, 0, 2)
        .floats("limits", new long[] {2, 1, 1}, 3, 11)
        .node("Conv", List.of("x", "w"), "c")
        .node("Less", List.of("c", "limits"), "m")
        .node("Neg", List.of("c"), "n")
        .node("Where", List.of("m", "c", "n"), "a")
        .node("Conv", List.of("a", "w"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    assertEquals(
        List.of("TRANSPOSE", "CONV_2D", "LESS", "NEG", "SELECT", "CONV_2D", "TRANSPOSE"),
        TestFiles.read(file.build()).main().operations().stream()
            .map(operation -> operation.type().text())
            .toList());
    assertArrayEquals(
        new float[] {1, 2, -3, -4, 20, -24, -28, -32}, TestFiles.run(file, 1, 2, 3, 4, 5, 6, 7, 8));
  }

  @ParameterizedTest
  @ValueSource(strings = {"MaxPool", "AveragePool"})
  void oneDimensionNeedsNoTransposeBetweenConvolutions(String pool) throws Exception {
    file.input("x", FLOAT, 2, 2, 4)
        .floats("w", new long[] {2, 2, 1}, 1, 0, 0, 2)
        .floats("factors", new long[] {2, 1}, 1, -1)
        .node("Conv", List.of("x", "w"), "c")
        .node("Mul", List.of("c", "factors"), "m")
        .node(pool, List.of("m"), "p", ints("kernel_shape", 2), ints("strides", 2))
        .node("Conv", List.of("p", "w"), "y")
        .output("y", FLOAT, 2, 2, 2);
    List<String> operations =
        TestFiles.read(file.build()).main().operations().stream()
            .map(operation -> operation.type().text())
            .toList();
    assertEquals(2, Collections.frequency(operations, "TRANSPOSE"), operations::toString);
    assertTrue(
        operations.contains(pool.equals("MaxPool") ? "MAX_POOL_2D" : "AVERAGE_POOL_2D"),
        operations::toString);
    float[] expected =
        pool.equals("MaxPool")
            ? new float[] {2, 4, -20, -28, 10, 12, -52, -60}
            : new float[] {1.5f, 3.5f, -22, -30, 9.5f, 11.5f, -54, -62};
    assertArrayEquals(
        expected, TestFiles.run(file, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
  }

  /** It has its axis, which is the last one between convolutions. */
  @Test
  void aLocalResponseNeedsNoTransposeBetweenConvolutions() throws Exception {
    file.input("x", FLOAT, 1, 2, 2, 2)
        .floats("w", new long[] {2, 2, 1, 1}, 1, 0, 0, 2)
        .node("Conv", List.of("x", "w"), "c")
        .node(
            "LRN",
            List.of("c"),
            "n",
            integer("size", 3),
            real("alpha", 3),
            real("beta", 1),
            real("bias", 1))
        .node("Conv", List.of("n", "w"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    assertEquals(
        List.of("TRANSPOSE", "CONV_2D", "LOCAL_RESPONSE_NORMALIZATION", "CONV_2D", "TRANSPOSE"),
        TestFiles.read(file.build()).main().operations().stream()
            .map(operation -> operation.type().text())
            .toList());
    // 1 and 2 divided by 1 + 1 + 4; 2 alone, divided by 1 + 4; the last result again twice.
    assertArrayEquals(
        new float[] {1 / 6f, 0.4f, 0, 0, 4 / 6f, 0, 0, 0},
        TestFiles.run(file, 1, 2, 0, 0, 1, 0, 0, 0),
        1e-6f);
  }

  /** One of two selections meets values that no convolution turned around. */
  @Test
  void comparisonsAreRepeatedForReadersInTheOrderOfTheFile() throws Exception {
    file.input("x", FLOAT, 1, 2, 2, 2)
        .floats("w", new long[] {2, 2, 1, 1}, 1, 0, 0, 2)
        .floats("limits", new long[] {2, 1, 1}, 3, 11)
        .node("Conv", List.of("x", "w"), "c")
        .node("Less", List.of("c", "limits"), "less")
        .node("Not", List.of("less"), "m")
        .node("Neg", List.of("x"), "n")
        .node("Where", List.of("m", "x", "n"), "a")
        .node("Where", List.of("m", "c", "w0"), "b")
        .floats("w0", new long[] {}, 0)
        .node("Add", List.of("a", "b"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    assertArrayEquals(
        new float[] {-1, -2, 6, 8, -5, 18, 21, 24}, TestFiles.run(file, 1, 2, 3, 4, 5, 6, 7, 8));
  }

  @Test
  void constantsThatTakeMoreThanTheFileCanMeanAreRefused() {
    file.input("x", FLOAT, 1)
        .integers("shape", new long[] {2}, 1 << 20, 1 << 10)
        .node("ConstantOfShape", List.of("shape"), "c")
        .node("Add", List.of("x", "c"), "y")
        .output("y", FLOAT, 1 << 20, 1 << 10);
    assertTrue(refusal().contains("too many for a file of its size"), refusal());
  }

  @Test
  void nestingWithoutEndIsRefused() {
    OnnxFileBuilder inner = new OnnxFileBuilder();
    for (int i = 0; i < 200; i++) {
      OnnxFileBuilder outer = new OnnxFileBuilder();
      outer.node("If", List.of("x"), "y", OnnxFileBuilder.subgraph("then_branch", inner));
      inner = outer;
    }
    byte[] bytes = inner.build();
    String message =
        assertThrows(ModelFormatException.class, () -> TestFiles.read(bytes)).getMessage();
    assertTrue(message.toLowerCase(Locale.ROOT).contains("nested"), message);
  }

  /** The file's own operator is computed with its caller's setting, within another of its own. */
  @Test
  void functionsOfTheFile() throws Exception {
    OnnxFileBuilder inner =
        new OnnxFileBuilder()
            .node("LeakyRelu", List.of("a"), "b", OnnxFileBuilder.reference("alpha", "slope", 1));
    OnnxFileBuilder outer =
        new OnnxFileBuilder()
            .node("own.Inner", List.of("p"), "q", OnnxFileBuilder.reference("slope", "steep", 1))
            .node("Add", List.of("p", "q"), "r");
    OnnxFileBuilder file =
        new OnnxFileBuilder()
            .function("Inner", List.of("a"), List.of("b"), inner)
            .function("Outer", List.of("p"), List.of("r"), outer)
            .input("x", FLOAT, 2)
            .node("own.Outer", List.of("x"), "y", OnnxFileBuilder.real("steep", 0.5f))
            .output("y", FLOAT, 2);
    assertArrayEquals(new float[] {-6, 8}, TestFiles.run(file, -4, 4));
  }

  @Test
  void functionsThatCallThemselvesAreRefused() {
    OnnxFileBuilder body = new OnnxFileBuilder().node("own.Deep", List.of("a"), "b");
    byte[] file =
        new OnnxFileBuilder()
            .function("Deep", List.of("a"), List.of("b"), body)
            .input("x", FLOAT, 2)
            .node("own.Deep", List.of("x"), "y")
            .output("y", FLOAT, 2)
            .build();
    ModelFormatException e = assertThrows(ModelFormatException.class, () -> TestFiles.read(file));
    assertTrue(e.getMessage().contains("deep"), e.getMessage());
  }

  /** What is needed on the way to a constant does not count when it is gone. */
  @Test
  void longComputationsOfConstantsAreNotTooMany() throws Exception {
    int size = 1 << 20;
    file.input("x", FLOAT, 1).bytes("w0", FLOAT, new long[] {size}, new int[4 * size]);
    for (int i = 0; i < 12; i++) {
      file.node("Add", List.of("w" + i, "one"), "w" + (i + 1));
    }
    file.floats("one", new long[0], 1)
        .node("ReduceMax", List.of("w12"), "most")
        .node("Add", List.of("x", "most"), "y")
        .output("y", FLOAT, 1);
    assertArrayEquals(new float[] {13}, TestFiles.run(file, 1));
  }

  /** A mask is as long as what is stored and what is new together. */
  @Test
  void aDimensionMayBeTheSumOfTwoOthers() throws Exception {
    file.input("x", FLOAT, -2, -3)
        .input("mask", FLOAT, -2, -5)
        .input("stored", FLOAT, -2, -4)
        .integers("one", new long[0], 1)
        .node("Concat", List.of("stored", "x"), "all", integer("axis", 1))
        .node("Shape", List.of("all"), "shape")
        .node("Gather", List.of("shape", "one"), "count", integer("axis", 0))
        .node("Sub", List.of("count", "one"), "last")
        .node("Gather", List.of("mask", "last"), "y", integer("axis", 1))
        .output("y", FLOAT, -2);
    ModelFile read = TestFiles.readFile(file.build(), Map.of());
    assertEquals(Shape.of(1, 2), read.model().main().input(1).shape());
    assertEquals(Shape.of(0, 0), read.input(1).shape());
  }

  private static float[] small(Random random, int count) {
    float[] numbers = new float[count];
    for (int i = 0; i < count; i++) {
      numbers[i] = random.nextInt(9) - 4;
    }
    return numbers;
  }
}
