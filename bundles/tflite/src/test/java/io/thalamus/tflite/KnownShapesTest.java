// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.MulOptions;
import org.tensorflow.lite.schema.PackOptions;
import org.tensorflow.lite.schema.ResizeBilinearOptions;
import org.tensorflow.lite.schema.StridedSliceOptions;
import org.tensorflow.lite.schema.TensorType;

/** Shapes that are computed while the model is read, and moves that NNAPI does not have. */
class KnownShapesTest {
  private static final byte INT32 = TensorType.INT32;

  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private Model assertConverts(String expected) throws ModelFormatException {
    Model model = TestFiles.read(file).model();
    assertEquals(expected, ModelText.of(model));
    return model;
  }

  private int element(int vector, int index) {
    int begin = file.ints("begin", index);
    int end = file.ints("end", index + 1);
    int stride = file.ints("stride", 1);
    int element = file.tensor("element", INT32, null);
    file.operator(
        BuiltinOperator.STRIDED_SLICE,
        BuiltinOptions.StridedSliceOptions,
        flat -> StridedSliceOptions.createStridedSliceOptions(flat, 0, 0, 0, 0, 1, false),
        new int[] {vector, begin, end, stride},
        element);
    return element;
  }

  @Test
  void aShapeIsTakenApartAndPutTogether() throws ModelFormatException {
    int x = file.floats("x", 3, 2, 4);
    int shape = file.tensor("shape", INT32, null, 3);
    file.operator(BuiltinOperator.SHAPE, new int[] {x}, shape);
    int rows = element(shape, 0);
    int half = file.tensor("half", INT32, null);
    file.operator(
        BuiltinOperator.FLOOR_DIV, new int[] {element(shape, 2), file.scalar("two", 2)}, half);
    int packed = file.tensor("packed", INT32, null, 3);
    file.operator(
        BuiltinOperator.PACK,
        BuiltinOptions.PackOptions,
        flat -> PackOptions.createPackOptions(flat, 3, 0),
        new int[] {rows, half, file.scalar("rest", -1)},
        packed);
    int y = file.floats("y", 1, 1, 1); // left by a converter that did not know better
    file.operator(BuiltinOperator.RESHAPE, new int[] {x, packed}, y).graph(new int[] {x}, y);
    Model model = assertConverts("RESHAPE(x, [3, 2, -1]) -> y");
    assertEquals("3x2x4", model.main().output(0).shape().toString());
  }

  /** Files of early converters state no dimensions where they did not know them. */
  @Test
  void dimensionsThatTheFileDoesNotStateAreComputed() throws ModelFormatException {
    int x = file.floats("x", 3, 2, 4);
    int r = file.floats("r");
    int shape = file.tensor("shape", INT32, null);
    file.operator(BuiltinOperator.RELU, new int[] {x}, r)
        .operator(BuiltinOperator.SHAPE, new int[] {r}, shape);
    int packed = file.tensor("packed", INT32, null);
    file.operator(
        BuiltinOperator.PACK,
        BuiltinOptions.PackOptions,
        flat -> PackOptions.createPackOptions(flat, 2, 0),
        new int[] {element(shape, 2), file.scalar("rest", -1)},
        packed);
    int y = file.floats("y");
    file.operator(BuiltinOperator.RESHAPE, new int[] {r, packed}, y).graph(new int[] {x}, y);
    Model model =
        assertConverts(
            """
            RELU(x) -> r
            RESHAPE(r, [4, -1]) -> y\
            """);
    assertEquals("4x6", model.main().output(0).shape().toString());
  }

  /** Three quarters of the height and the width, rounded down. */
  @Test
  void sizesAreMultipliedByFactors() throws ModelFormatException {
    int x = file.floats("x", 1, 6, 9, 2);
    int shape = file.tensor("shape", INT32, null, 4);
    int sizes = file.tensor("sizes", INT32, null, 2);
    int reals = file.floats("reals", 2);
    int parts = file.floats("parts", 2);
    int whole = file.floats("whole", 2);
    int small = file.tensor("small", INT32, null, 2);
    int y = file.floats("y", 1, 4, 6, 2);
    int bits = Float.floatToIntBits(0.75f);
    int factor =
        file.constant("factor", TensorType.FLOAT32, null, TfliteFileBuilder.intBytes(bits));
    file.operator(BuiltinOperator.SHAPE, new int[] {x}, shape)
        .operator(
            BuiltinOperator.SLICE,
            new int[] {shape, file.ints("from", 1), file.ints("two", 2)},
            sizes)
        .operator(BuiltinOperator.CAST, new int[] {sizes}, reals)
        .operator(
            BuiltinOperator.MUL,
            BuiltinOptions.MulOptions,
            flat -> MulOptions.createMulOptions(flat, ActivationFunctionType.NONE),
            new int[] {reals, factor},
            parts)
        .operator(BuiltinOperator.FLOOR, new int[] {parts}, whole)
        .operator(BuiltinOperator.CAST, new int[] {whole}, small)
        .operator(
            BuiltinOperator.RESIZE_BILINEAR,
            BuiltinOptions.ResizeBilinearOptions,
            flat -> ResizeBilinearOptions.createResizeBilinearOptions(flat, false, false),
            new int[] {x, small},
            y)
        .graph(new int[] {x}, y);
    assertConverts("RESIZE_BILINEAR(x, 6, 4) -> y");
  }

  @Test
  void integersAndFifthDimensionsMoveByStrides() throws ModelFormatException {
    int x = file.tensor("x", INT32, null, 2, 3);
    int y = file.tensor("y", INT32, null, 6);
    int order = file.ints("order", 1, 0);
    int z = file.tensor("z", INT32, null, 3, 2);
    int f = file.floats("f", 1, 2, 3, 4, 5);
    int g = file.floats("g", 6, 20);
    file.operator(BuiltinOperator.RESHAPE, new int[] {x}, y)
        .operator(BuiltinOperator.TRANSPOSE, new int[] {x, order}, z)
        .operator(BuiltinOperator.RESHAPE, new int[] {f}, g)
        .graph(new int[] {x, f}, y, z, g);
    assertConverts(
        """
        io.thalamus/AS_STRIDED(x, [6], [1], 0) -> y
        io.thalamus/AS_STRIDED(x, [3, 2], [1, 3], 0) -> z
        io.thalamus/AS_STRIDED(f, [6, 20], [20, 1], 0) -> g\
        """);
  }

  @Test
  void fiveDimensionsAreJoinedWhereInputsAgree() throws ModelFormatException {
    int x = file.floats("x", 2, 3, 4, 5, 6);
    int k = file.zeros("k", TensorType.FLOAT32, null, 4, 1, 1);
    int y = file.floats("y", 2, 3, 4, 5, 6);
    file.operator(BuiltinOperator.MUL, new int[] {x, k}, y).graph(new int[] {x}, y);
    assertConverts(
        """
        io.thalamus/AS_STRIDED(x, [6, 4, 30], [120, 30, 1], 0) -> %0:6x4x30
        RESHAPE(k, [1, 4, 1]) -> %1:1x4x1
        MUL(%0:6x4x30, %1:1x4x1, 0) -> %2:6x4x30
        io.thalamus/AS_STRIDED(%2:6x4x30, [2, 3, 4, 5, 6], [360, 120, 30, 6, 1], 0) -> y\
        """);
  }

  /** Comparisons take any number of dimensions: they are joined for devices that take four. */
  @Test
  void dimensionsThatCannotBeJoinedStayWhereTheOperationTakesThem() throws ModelFormatException {
    int x = file.floats("x", 2, 3, 2, 3, 2);
    int joined = file.tensor("joined", TensorType.BOOL, null, 2, 3, 2, 3, 2);
    int apart = file.tensor("apart", TensorType.BOOL, null, 2, 3, 2, 3, 2);
    int same = file.zeros("same", TensorType.FLOAT32, null, 2, 3, 2, 3, 2);
    int repeated = file.zeros("repeated", TensorType.FLOAT32, null, 2, 1, 2, 1, 2);
    file.operator(BuiltinOperator.LESS, new int[] {x, same}, joined)
        .operator(BuiltinOperator.LESS, new int[] {x, repeated}, apart)
        .graph(new int[] {x}, joined, apart);
    assertConverts(
        """
        io.thalamus/AS_STRIDED(x, [72], [1], 0) -> %0:72
        io.thalamus/AS_STRIDED(same, [72], [1], 0) -> %1:72
        LESS(%0:72, %1:72) -> %2:72
        io.thalamus/AS_STRIDED(%2:72, [2, 3, 2, 3, 2], [36, 12, 6, 2, 1], 0) -> joined
        LESS(x, repeated) -> apart\
        """);
  }

  @Test
  void constantsThatFillAreWrittenOut() throws ModelFormatException {
    int x = file.floats("x", 2, 2);
    int filled = file.floats("filled", 2, 2);
    byte[] half = TfliteFileBuilder.floatBytes(0.5f);
    int value = file.constant("value", TensorType.FLOAT32, null, half);
    int y = file.floats("y", 2, 2);
    file.operator(BuiltinOperator.FILL, new int[] {file.ints("dims", 2, 2), value}, filled)
        .operator(BuiltinOperator.ADD, new int[] {x, filled}, y)
        .graph(new int[] {x}, y);
    assertConverts("ADD(x, [0.5, 0.5, 0.5, 0.5], 0) -> y");
  }

  @Test
  void truthValuesChooseNumbers() throws ModelFormatException {
    int x = file.tensor("x", TensorType.BOOL, null, 2);
    int y = file.floats("y", 2);
    int z = file.tensor("z", TensorType.BOOL, null, 2);
    file.operator(BuiltinOperator.CAST, new int[] {x}, y)
        .operator(BuiltinOperator.CAST, new int[] {y}, z)
        .graph(new int[] {x}, y, z);
    assertConverts(
        """
        SELECT(x, [1.0, 1.0], [0.0, 0.0]) -> y
        NOT_EQUAL(y, [0.0]) -> z\
        """);
  }

  @Test
  void resizingKeepsWhatIsStored() throws ModelFormatException {
    int x = file.tensor("x", TensorType.UINT8, Quantized.of(0.5f, 3), 1, 2, 2, 1);
    int y = file.tensor("y", TensorType.UINT8, Quantized.of(0.25f, 3), 1, 4, 4, 1);
    file.operator(
            BuiltinOperator.RESIZE_BILINEAR,
            BuiltinOptions.ResizeBilinearOptions,
            flat -> ResizeBilinearOptions.createResizeBilinearOptions(flat, false, false),
            new int[] {x, file.ints("size", 4, 4)},
            y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        RESIZE_BILINEAR(x, 4, 4) -> %0:1x4x4x1
        CAST(%0:1x4x4x1) -> y\
        """);
  }

  @Test
  void linesMoveAsImagesOfWidthOne() throws ModelFormatException {
    int x = file.floats("x", 1, 5, 2);
    int block = file.ints("block", 2);
    byte[] margins = TfliteFileBuilder.intBytes(0, 1);
    int pads = file.constant("pads", INT32, null, margins, 1, 2);
    int y = file.floats("y", 2, 3, 2);
    int z = file.floats("z", 1, 5, 2);
    file.operator(BuiltinOperator.SPACE_TO_BATCH_ND, new int[] {x, block, pads}, y)
        .operator(BuiltinOperator.BATCH_TO_SPACE_ND, new int[] {y, block, pads}, z)
        .graph(new int[] {x}, z);
    assertConverts(
        """
        EXPAND_DIMS(x, 2) -> %0:1x5x1x2
        SPACE_TO_BATCH_ND(%0:1x5x1x2, [2, 1], [0, 1, 0, 0]) -> %1:2x3x1x2
        SQUEEZE(%1:2x3x1x2, [2]) -> y
        EXPAND_DIMS(y, 2) -> %2:2x3x1x2
        BATCH_TO_SPACE_ND(%2:2x3x1x2, [2, 1]) -> %3:1x6x1x2
        SLICE(%3:1x6x1x2, [0, 0, 0, 0], [1, 5, 1, 2]) -> %4:1x5x1x2
        SQUEEZE(%4:1x5x1x2, [2]) -> z\
        """);
  }

  @Test
  void zerosAreLeftOutOfTheFile() throws ModelFormatException {
    int x = file.floats("x", 3, 4);
    byte[] others = TfliteFileBuilder.floatBytes(1, 2, 3);
    int w = file.sparse("w", others, new int[] {0, 1, 1, 3}, new int[] {2, 0, 3}, 3, 4);
    int dense = file.floats("dense", 3, 4);
    int y = file.floats("y", 3, 4);
    file.operator(BuiltinOperator.DENSIFY, new int[] {w}, dense)
        .operator(BuiltinOperator.ADD, new int[] {x, dense}, y)
        .graph(new int[] {x}, y);
    Model model = assertConverts("ADD(x, w, 0) -> y");
    int weights = model.main().operations().getFirst().inputs().get(1);
    assertEquals(
        "[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0]",
        ModelText.floats(model.main().operands().get(weights)));
  }

  @Test
  void elementsOutsideOfASparseConstantAreDamage() {
    int x = file.floats("x", 1, 4);
    byte[] others = TfliteFileBuilder.floatBytes(1, 2);
    int w = file.sparse("w", others, new int[] {0, 2}, new int[] {2, 4}, 1, 4);
    int y = file.floats("y", 1, 4);
    file.operator(BuiltinOperator.ADD, new int[] {x, w}, y).graph(new int[] {x}, y);
    assertEquals(
        "operator 0 ADD (output 'y'): the file is damaged: the sparse tensor 1 'w' contradicts its"
            + " shape",
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file)).getMessage());
  }

  @Test
  void aSpectrumIsTwoProducts() throws ModelFormatException {
    int x = file.floats("x", 1, 4);
    int spectrum = file.tensor("spectrum", TensorType.COMPLEX64, null, 1, 3);
    int y = file.floats("y", 1, 3);
    file.operator(BuiltinOperator.RFFT2D, new int[] {x, file.ints("length", 1, 4)}, spectrum)
        .operator(BuiltinOperator.COMPLEX_ABS, new int[] {spectrum}, y)
        .graph(new int[] {x}, y);
    Model model = TestFiles.read(file).model();
    String[] lines = ModelText.of(model).split("\n");
    assertEquals(
        "FULLY_CONNECTED(x, [1.0, 1.0, 1.0, 1.0, 1.0, 6.123234E-17, -1.0, -1.8369701E-16, 1.0,"
            + " -1.0, 1.0, -1.0], [0.0, 0.0, 0.0], 0) -> %0:1x3",
        lines[0]);
    assertEquals("RESHAPE(%5:1x3, [1, 3]) -> y", lines[lines.length - 1]);
  }

  /** The file was written for one row; complex numbers have the rows of the input that is given. */
  @Test
  void aSpectrumHasTheShapeOfTheExecution() throws ModelFormatException {
    int x = file.open("x", TensorType.FLOAT32, -1, 1, 4);
    int spectrum = file.tensor("spectrum", TensorType.COMPLEX64, null, 1, 1, 3);
    int flat = file.tensor("flat", TensorType.COMPLEX64, null, 1, 3);
    int y = file.floats("y", 1, 3);
    file.operator(BuiltinOperator.RFFT2D, new int[] {x, file.ints("length", 1, 4)}, spectrum)
        .operator(BuiltinOperator.RESHAPE, new int[] {spectrum, file.ints("shape", -1, 3)}, flat)
        .operator(BuiltinOperator.REAL, new int[] {flat}, y)
        .graph(new int[] {x}, y);
    ReadOptions options = ReadOptions.DEFAULT.withShapes(Map.of("x", Shape.of(5, 1, 4)));
    Subgraph graph =
        new TfliteReader().read(TestFiles.memory(file.build()), options).model().main();
    assertEquals(Shape.of(5, 3), graph.operands().get(graph.outputIndexes().getFirst()).shape());
  }

  /**
   * As Keras writes attention over an open length: a dense layer over rows, and dimensions of which
   * the last two are joined by products of segments.
   */
  @Test
  void rowsOfAnOpenLengthStayRows() throws ModelFormatException {
    int x = file.open("x", TensorType.FLOAT32, -1, -1, 4);
    int w = file.zeros("w", TensorType.FLOAT32, null, 6, 4);
    int dense = file.open("dense", TensorType.FLOAT32, -1, -1, 6);
    int heads = file.open("heads", TensorType.FLOAT32, -1, -1, 2, 3);
    int shape = file.tensor("shape", INT32, null, 4);
    int joined = file.tensor("joined", INT32, null, 3);
    int y = file.open("y", TensorType.FLOAT32, -1, -1, 6);
    file.operator(
            BuiltinOperator.FULLY_CONNECTED,
            BuiltinOptions.FullyConnectedOptions,
            flat ->
                FullyConnectedOptions.createFullyConnectedOptions(
                    flat, (byte) 0, (byte) 0, true, false),
            new int[] {x, w, -1},
            dense)
        .operator(BuiltinOperator.RESHAPE, new int[] {dense, file.ints("split", 2, 5, 2, 3)}, heads)
        .operator(BuiltinOperator.SHAPE, new int[] {heads}, shape)
        .operator(
            BuiltinOperator.UNSORTED_SEGMENT_PROD,
            new int[] {shape, file.ints("segments", 0, 1, 2, 2), file.scalar("count", 3)},
            joined)
        .operator(BuiltinOperator.RESHAPE, new int[] {heads, joined}, y)
        .graph(new int[] {x}, y);
    ReadOptions options = ReadOptions.DEFAULT.withShapes(Map.of("x", Shape.of(2, 5, 4)));
    Subgraph graph =
        new TfliteReader().read(TestFiles.memory(file.build()), options).model().main();
    assertEquals(Shape.of(2, 5, 6), graph.operands().get(graph.outputIndexes().getFirst()).shape());
  }
}
