// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.PackOptions;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.StridedSliceOptions;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.TransposeConvOptions;

/** Dimensions that a file leaves open, and its named entry points. */
class ReadOptionsTest {
  /** RELU, and a Flatten as Keras writes it: the batch is asked for while the model runs. */
  private static byte[] flatten() {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int x = file.open("x", TensorType.FLOAT32, -1, 2, 3);
    int relu = file.open("relu", TensorType.FLOAT32, -1, 2, 3);
    int shape = file.tensor("shape", TensorType.INT32, null, 3);
    int batch = file.tensor("batch", TensorType.INT32, null);
    int packed = file.tensor("packed", TensorType.INT32, null, 2);
    int y = file.open("y", TensorType.FLOAT32, -1, 6);
    int[] slice = {shape, file.ints("b", 0), file.ints("e", 1), file.ints("s", 1)};
    return file.operator(BuiltinOperator.RELU, new int[] {x}, relu)
        .operator(BuiltinOperator.SHAPE, new int[] {relu}, shape)
        .operator(
            BuiltinOperator.STRIDED_SLICE,
            BuiltinOptions.StridedSliceOptions,
            flat -> StridedSliceOptions.createStridedSliceOptions(flat, 0, 0, 0, 0, 1, false),
            slice,
            batch)
        .operator(
            BuiltinOperator.PACK,
            BuiltinOptions.PackOptions,
            flat -> PackOptions.createPackOptions(flat, 2, 0),
            new int[] {batch, file.scalar("six", 6)},
            packed)
        .operator(BuiltinOperator.RESHAPE, new int[] {relu, packed}, y)
        .graph(new int[] {x}, y)
        .build();
  }

  private static ModelFile read(byte[] file, ReadOptions options) throws ModelFormatException {
    return new TfliteReader().read(TestFiles.memory(file), options);
  }

  @Test
  void shapesAreComputedAnew() throws Exception {
    ModelFile usual = read(flatten(), ReadOptions.DEFAULT);
    assertEquals(Shape.of(1, 2, 3), usual.model().main().input(0).shape());
    assertEquals(Shape.of(0, 2, 3), usual.input(0).shape());
    assertEquals(Map.of(), usual.shapesFor(List.of(Shape.of(1, 2, 3))));
    assertEquals(Map.of(), usual.shapesFor(List.of(Shape.of(7, 2, 4))));

    Map<String, Shape> shapes = usual.shapesFor(List.of(Shape.of(7, 2, 3)));
    assertEquals(Map.of("x", Shape.of(7, 2, 3)), shapes);
    Model model = read(flatten(), ReadOptions.DEFAULT.withShapes(shapes)).model();
    assertEquals(Shape.of(7, 2, 3), model.main().input(0).shape());
    assertEquals(Shape.of(7, 6), model.main().output(0).shape());
    Map<String, Shape> byNumber = Map.of("0", Shape.of(4, 2, 3));
    model = read(flatten(), ReadOptions.DEFAULT.withShapes(byNumber)).model();
    assertEquals(Shape.of(4, 6), model.main().output(0).shape());
  }

  @Test
  void choicesThatContradictTheFileAreRefused() {
    assertEquals(
        "input 'x' has shape ?x2x3, which 7x2x4 does not fit",
        refusal(Map.of("x", Shape.of(7, 2, 4)), ""));
    assertEquals(
        "there is no input 'z'; there are 'x'", refusal(Map.of("z", Shape.of(7, 2, 3)), ""));
    assertEquals("there is no signature 'other'; the file has none", refusal(Map.of(), "other"));
  }

  private static String refusal(Map<String, Shape> shapes, String signature) {
    return assertThrows(
            ModelFormatException.class,
            () -> read(flatten(), new ReadOptions(shapes, signature, false)))
        .getMessage();
  }

  /** A convolution turned back over three dimensions. */
  @Test
  void hybridLayersWantTheirRank() {
    TfliteFileBuilder file = new TfliteFileBuilder();
    Quantized steps = new Quantized(new float[] {1}, new long[] {0}, 0);
    int x = file.floats("x", 1, 2, 3);
    int w = file.zeros("w", TensorType.INT8, steps, 2, 1, 1, 3);
    int y = file.floats("y", 1, 1, 2, 2);
    file.operator(
            BuiltinOperator.TRANSPOSE_CONV,
            BuiltinOptions.TransposeConvOptions,
            flat ->
                TransposeConvOptions.createTransposeConvOptions(
                    flat, Padding.VALID, 1, 1, (byte) 0),
            new int[] {file.ints("shape", 1, 1, 2, 2), w, x},
            y)
        .graph(new int[] {x}, y);
    ReadOptions hybrid = ReadOptions.DEFAULT.withHybrid(true);
    assertThrows(ModelFormatException.class, () -> read(file.build(), hybrid));
  }

  @Test
  void eachEntryPointIsAModel() throws Exception {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.operator(BuiltinOperator.RELU, new int[] {x}, y).graph(new int[] {x}, y);
    int a = file.floats("a", 3);
    int b = file.floats("b", 3);
    file.operator(BuiltinOperator.TANH, new int[] {a}, b).graph(new int[] {a}, b);
    byte[] bytes = file.signature("first", 0, x, y).signature("second", 1, a, b).build();

    ModelFile usual = read(bytes, ReadOptions.DEFAULT);
    assertEquals(List.of("first", "second"), usual.signatures());
    assertEquals("x", usual.model().main().input(0).name());
    Model second = read(bytes, ReadOptions.DEFAULT.withSignature("second")).model();
    assertEquals("in_second", second.main().input(0).name());
    assertEquals("out_second", second.main().output(0).name());
    assertEquals("TANH", second.main().operations().getFirst().type().text());
  }

  /** Of one number there are no two largest; the leading dimension stays as it was written. */
  @Test
  void openDimensionIsLargerWhereTheOperatorsWantIt() throws ModelFormatException {
    TfliteFileBuilder open = new TfliteFileBuilder();
    int x = open.open("x", TensorType.FLOAT32, -1, -1);
    int y = open.open("y", TensorType.FLOAT32, -1, 2);
    int places = open.open("places", TensorType.INT32, -1, 2);
    open.operator(BuiltinOperator.TOPK_V2, new int[] {x, open.scalar("k", 2)}, y, places)
        .graph(new int[] {x}, y, places);
    assertEquals(Shape.of(1, 64), TestFiles.read(open).model().main().input(0).shape());
  }
}
