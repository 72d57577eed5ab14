// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BucketizeOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.RandomOptions;
import org.tensorflow.lite.schema.SVDFOptions;
import org.tensorflow.lite.schema.TensorType;

/** Results whose sizes are inputs, what is drawn by lot, steps with a state, and odd elements. */
class SizesAndStatesTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private Model read() throws ModelFormatException {
    return TestFiles.read(file).model();
  }

  private void assertConverts(String expected) throws ModelFormatException {
    assertEquals(expected, ModelText.of(read()));
  }

  private int integers(String name, int... shape) {
    return file.tensor(name, TensorType.INT32, null, shape);
  }

  private static float[] constant(Model model, Shape shape) {
    return model.main().operands().stream()
        .filter(operand -> operand.shape().equals(shape))
        .map(Operand::lifetime)
        .filter(Lifetime.Constant.class::isInstance)
        .map(lifetime -> ((Lifetime.Constant) lifetime).bytes())
        .map(bytes -> bytes.toArray(ValueLayout.JAVA_FLOAT_UNALIGNED))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void numbersAreAsManyAsTheLimitAsks() throws ModelFormatException {
    int limit = integers("n");
    int y = file.open("y", TensorType.INT32, -1);
    file.operator(
            BuiltinOperator.RANGE, new int[] {file.scalar("a", 1), limit, file.scalar("b", 2)}, y)
        .graph(new int[] {limit}, y);
    assertConverts(
        """
        SUB(a, n, 0) -> %0:1
        io.thalamus/FLOOR_DIV(%0:1, b) -> %1:1
        SUB([0], %1:1, 0) -> %2:1
        MAXIMUM(%2:1, [0]) -> %3:1
        FILL(%3:1, 1) -> %4:?
        io.thalamus/NON_ZERO(%4:?, true) -> %5:1x?
        io.thalamus/GATHER_ND(%5:1x?, [0]) -> %6:?
        MUL(%6:?, b, 0) -> %7:?
        ADD(%7:?, a, 0) -> y\
        """);
  }

  @Test
  void realNumbersThatAreKnownAreAConstant() throws ModelFormatException {
    int start = file.constant("a", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(1));
    int limit = file.constant("b", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(2.1f));
    int step = file.constant("c", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(0.5f));
    int y = file.floats("y", 3);
    file.operator(BuiltinOperator.RANGE, new int[] {start, limit, step}, y).graph(new int[0], y);
    assertConverts("CAST([1.0, 1.5, 2.0]) -> %0:3");
  }

  @Test
  void shapesBroadcastFromTheirLastSizes() throws ModelFormatException {
    int a = integers("a", 3);
    int b = integers("b", 2);
    int y = integers("y", 3);
    file.operator(BuiltinOperator.BROADCAST_ARGS, new int[] {a, b}, y).graph(new int[] {a, b}, y);
    assertConverts(
        """
        io.thalamus/AS_STRIDED([1], [1], [0], 0) -> %0:1
        io.thalamus/CONCATENATION(%0:1, b, 0) -> %1:3
        EQUAL(a, [1]) -> %2:3
        SELECT(%2:3, %1:3, a) -> y\
        """);
  }

  @Test
  void aComputedShapeIsFilledWithMultiplesOfOne() throws ModelFormatException {
    int sizes = integers("sizes", 2);
    int value = file.floats("value");
    int y = file.open("y", TensorType.FLOAT32, -1, -1);
    file.operator(BuiltinOperator.FILL, new int[] {sizes, value}, y)
        .graph(new int[] {sizes, value}, y);
    assertConverts(
        """
        FILL(sizes, 1.0) -> %0:?x?
        MUL(%0:?x?, value, 0) -> y\
        """);
  }

  private String drawn(int operator) throws ModelFormatException {
    int y = file.floats("y", 6);
    file.operator(
            operator,
            BuiltinOptions.RandomOptions,
            flat -> RandomOptions.createRandomOptions(flat, 5, 7 + (1L << 33)),
            new int[] {file.ints("sizes", 6)},
            y)
        .graph(new int[0], y);
    return ModelText.of(read());
  }

  /** What TensorFlow Lite 2.21 draws in its first call by these seeds. */
  @Test
  void evenNumbersAreThoseOfTensorFlowLite() throws ModelFormatException {
    assertEquals(
        "CAST([0.44746375, 0.620757, 0.25906932, 0.30077982, 0.20554817, 0.5832572]) -> %0:6",
        drawn(BuiltinOperator.RANDOM_UNIFORM));
  }

  @Test
  void normalNumbersAreThoseOfTensorFlowLite() throws ModelFormatException {
    assertEquals(
        "CAST([-0.87252676, -0.920335, 1.5606196, -0.51554364, -0.888666, -1.5409162]) -> %0:6",
        drawn(BuiltinOperator.RANDOM_STANDARD_NORMAL));
  }

  @Test
  void placesAmongBoundariesAreCounted() throws ModelFormatException {
    int x = file.floats("x", 2);
    int y = integers("y", 2);
    file.operator(
            BuiltinOperator.BUCKETIZE,
            BuiltinOptions.BucketizeOptions,
            flat ->
                BucketizeOptions.createBucketizeOptions(
                    flat, BucketizeOptions.createBoundariesVector(flat, new float[] {0, 10, 20})),
            new int[] {x},
            y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        RESHAPE(x, [2, 1]) -> %0:2x1
        GREATER_EQUAL(%0:2x1, [0.0, 10.0, 20.0]) -> %1:2x3
        io.thalamus/AS_STRIDED([1.0], [2, 3], [0, 0], 0) -> %2:2x3
        io.thalamus/AS_STRIDED([0.0], [2, 3], [0, 0], 0) -> %3:2x3
        SELECT(%1:2x3, %2:2x3, %3:2x3) -> %4:2x3
        REDUCE_SUM(%4:2x3, [1], false) -> %5:2
        CAST(%5:2) -> %6:2
        io.thalamus/AS_STRIDED(%6:2, [2], [1], 0) -> y\
        """);
  }

  @Test
  void numbersStandOnADiagonal() throws ModelFormatException {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2, 2);
    file.operator(BuiltinOperator.MATRIX_DIAG, new int[] {x}, y).graph(new int[] {x}, y);
    assertConverts(
        """
        RESHAPE(x, [2, 1]) -> %0:2x1
        io.thalamus/AS_STRIDED([0.0], [2, 2], [0, 0], 0) -> %1:2x2
        io.thalamus/CONCATENATION(%0:2x1, %1:2x2, 1) -> %2:2x3
        io.thalamus/AS_STRIDED(%2:2x3, [1, 2, 2], [6, 2, 1], 0) -> %3:1x2x2
        RESHAPE(%3:1x2x2, [2, 2]) -> y\
        """);
  }

  /** Suppressed boxes leave zeros behind those that are found. */
  @Test
  void boxesAreFoundInAsManyPlacesAsThereMayBe() throws ModelFormatException {
    int boxes = file.floats("boxes", 3, 4);
    int scores = file.floats("scores", 3);
    int overlap = file.constant("o", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(0.5f));
    int least = file.constant("l", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(0));
    int found = integers("found", 2);
    int count = integers("count");
    file.operator(
            BuiltinOperator.NON_MAX_SUPPRESSION_V4,
            new int[] {boxes, scores, file.scalar("most", 2), overlap, least},
            found,
            count)
        .graph(new int[] {boxes, scores}, found, count);
    assertConverts(
        """
        RESHAPE(boxes, [1, 3, 4]) -> %0:1x3x4
        RESHAPE(scores, [1, 1, 3]) -> %1:1x1x3
        io.thalamus/NON_MAX_SUPPRESSION(%0:1x3x4, %1:1x1x3, [2], [0.49999997], l, false) -> %2:?x3
        GATHER(%2:?x3, 1, [2]) -> %3:?x1
        ADD(%3:?x1, [1], 0) -> %4:?x1
        io.thalamus/AS_STRIDED([0], [2, 1], [0, 0], 0) -> %5:2x1
        io.thalamus/CONCATENATION(%4:?x1, %5:2x1, 0) -> %6:?x1
        SLICE(%6:?x1, [0, 0], [2, 1]) -> %7:2x1
        io.thalamus/AS_STRIDED(%7:2x1, [2], [1], 0) -> %8:2
        GREATER(%8:2, [0]) -> %9:2
        io.thalamus/AS_STRIDED([1.0], [2], [0], 0) -> %10:2
        io.thalamus/AS_STRIDED([0.0], [2], [0], 0) -> %11:2
        SELECT(%9:2, %10:2, %11:2) -> %12:2
        SUB(%8:2, [1], 0) -> %13:2
        MAXIMUM(%13:2, [0]) -> %14:2
        CAST(%12:2) -> %15:2
        MUL(%14:2, %15:2, 0) -> found
        REDUCE_SUM(%12:2, [0], true) -> %16:1
        CAST(%16:1) -> count\
        """);
  }

  @Test
  void theStateOfAFilterIsAnInputAndAnOutput() throws ModelFormatException {
    int x = file.floats("x", 1, 3);
    int features = file.zeros("features", TensorType.FLOAT32, null, 2, 3);
    int times = file.zeros("times", TensorType.FLOAT32, null, 2, 4);
    int state = file.variable("memory", TensorType.FLOAT32, 1, 8);
    int y = file.floats("y", 1, 2);
    file.operator(
            BuiltinOperator.SVDF,
            BuiltinOptions.SVDFOptions,
            flat -> SVDFOptions.createSVDFOptions(flat, 1, (byte) 1, false),
            new int[] {x, features, times, -1, state},
            y)
        .graph(new int[] {x}, y);
    assertConverts("SVDF(x, features, times, -, memory, 1, 1) -> memory.next, y");
    assertEquals("memory", read().main().input(1).name());
    Lifetime.Constant first = TestFiles.read(file).firstValue(1).orElseThrow();
    assertArrayEquals(new byte[32], first.bytes().toArray(ValueLayout.JAVA_BYTE));
  }

  @Test
  void integersOf4BitsAreReadTwoToAByte() throws ModelFormatException {
    int x = file.floats("x", 1, 3);
    int weights =
        file.constant(
            "w",
            TensorType.INT4,
            new Quantized(new float[] {0.5f}, new long[] {0}, 0),
            new byte[] {(byte) 0xF1, 0x28, 0x07},
            1,
            5);
    int y = file.floats("y", 1, 5);
    file.operator(BuiltinOperator.DEQUANTIZE, new int[] {weights}, y).graph(new int[0], y);
    assertArrayEquals(new float[] {0.5f, -0.5f, -4, 1, 3.5f}, constant(read(), Shape.of(1, 5)));
  }

  @Test
  void integersAreRaisedByProducts() throws ModelFormatException {
    int x = integers("x", 2);
    int y = integers("y", 2);
    file.operator(BuiltinOperator.POW, new int[] {x, file.scalar("five", 5)}, y)
        .graph(new int[] {x}, y);
    assertConverts(
        """
        MUL(x, x, 0) -> %0:2
        MUL(%0:2, %0:2, 0) -> %1:2
        MUL(%1:2, x, 0) -> %2:2
        CAST(%2:2) -> %3:2\
        """);
  }

  /** Exporters take shapes apart to put others together. */
  @Test
  void knownVectorsAreTakenApart() throws ModelFormatException {
    int x = file.floats("x", 6);
    int front = integers("front", 1);
    int none = integers("none", 0);
    int back = integers("back", 2);
    int shape = integers("shape", 3);
    int y = file.floats("y", 2, 3, 1);
    file.operator(
            BuiltinOperator.SPLIT_V,
            new int[] {
              file.ints("sizes", 1, 2, 3), file.ints("parts", 1, 0, 2), file.scalar("axis", 0)
            },
            front,
            none,
            back)
        .operator(BuiltinOperator.CONCATENATION, new int[] {back, none, front}, shape)
        .operator(BuiltinOperator.RESHAPE, new int[] {x, shape}, y)
        .graph(new int[] {x}, y);
    assertConverts("RESHAPE(x, [2, 3, 1]) -> y");
  }
}
