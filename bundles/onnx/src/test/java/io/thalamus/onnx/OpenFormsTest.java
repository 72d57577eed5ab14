// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.onnx.OnnxFileBuilder.Message;
import io.thalamus.tck.check.TestGraph;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Operators on rows that an execution chooses beside the same on all rows, whose number is known:
 * each row has the result that it has among the others.
 */
class OpenFormsTest {
  private static final int ROWS = 6;

  /** An operator over {@code [rows, 4, 5, 5]}, or over rows of so many numbers. */
  private record Form(int width, String operator, List<String> inputs, Message... settings) {
    @Override
    public String toString() {
      return operator + inputs + " of " + width;
    }
  }

  static Stream<Form> forms() {
    Message two = ints("strides", 2, 2);
    return Stream.of(
        new Form(0, "Conv", List.of("depthwise", "bias"), integer("group", 4)),
        new Form(0, "Conv", List.of("grouped", "bias"), integer("group", 2), two),
        new Form(0, "Conv", List.of("grouped"), integer("group", 2), ints("dilations", 2, 2)),
        new Form(0, "ConvTranspose", List.of("full"), two, ints("output_padding", 1, 1)),
        new Form(0, "ConvTranspose", List.of("full", "bias"), two, ints("pads", 1, 0, 1, 1)),
        new Form(0, "ConvTranspose", List.of("full"), ints("strides", 2, 1)),
        new Form(0, "ConvTranspose", List.of("full"), ints("pads", 1, 1, 1, 1)),
        new Form(0, "ReduceL2", List.of(), ints("axes", 1, 3), integer("keepdims", 0)),
        new Form(0, "ReduceLogSumExp", List.of(), ints("axes", 2)),
        new Form(0, "MatMul", List.of("square")),
        new Form(0, "ArgMin", List.of(), integer("axis", 1), integer("select_last_index", 1)),
        new Form(0, "ArgMax", List.of(), integer("axis", 3), integer("keepdims", 0)),
        new Form(0, "LayerNormalization", List.of("scale"), integer("axis", -1)),
        new Form(0, "TopK", List.of("two"), integer("largest", 0)),
        new Form(0, "GatherND", List.of("places")),
        new Form(5, "Gemm", List.of("square", "row"), real("alpha", 0.5f), real("beta", 2)),
        new Form(5, "Gemm", List.of("square"), integer("transB", 1)),
        new Form(5, "MatMul", List.of("row")),
        new Form(5, "CumSum", List.of("one"), integer("exclusive", 1)));
  }

  private static Model model(Form form, float[] numbers, boolean isChosen) throws Exception {
    long[] shape = form.width() == 0 ? new long[] {ROWS, 4, 5, 5} : new long[] {ROWS, form.width()};
    OnnxFileBuilder file = new OnnxFileBuilder().opset(17);
    file.input("x", FLOAT, shape)
        .floats("depthwise", new long[] {4, 1, 3, 3}, Arrays.copyOf(numbers, 36))
        .floats("grouped", new long[] {4, 2, 2, 2}, Arrays.copyOf(numbers, 32))
        .floats("full", new long[] {4, 4, 3, 3}, Arrays.copyOf(numbers, 144))
        .floats("square", new long[] {5, 5}, Arrays.copyOf(numbers, 25))
        .floats("bias", new long[] {4}, Arrays.copyOf(numbers, 4))
        .floats("row", new long[] {5}, Arrays.copyOf(numbers, 5))
        .floats("scale", new long[] {5}, Arrays.copyOf(numbers, 5))
        .floats("limit", new long[0], 0)
        .integers("one", new long[0], 1)
        .integers("two", new long[] {1}, 2)
        .integers("places", new long[] {2, 1}, 0, -1)
        .node("Flatten", List.of("x"), "flat")
        .node("ReduceSum", List.of("flat", "axis"), "sum", integer("keepdims", 0))
        .integers("axis", new long[] {1}, 1)
        .node("Greater", List.of("sum", "limit"), "is")
        .node("Compress", List.of("x", "is"), "chosen", integer("axis", 0));
    List<String> inputs = new ArrayList<>(List.of(isChosen ? "chosen" : "x"));
    inputs.addAll(form.inputs());
    file.node(form.operator(), inputs, "y", form.settings());
    return TestFiles.read(file.output("y", isOfPlaces(form) ? INT64 : FLOAT, -1).build());
  }

  private static boolean isOfPlaces(Form form) {
    return form.operator().startsWith("Arg");
  }

  private static byte[] run(Model model, float[] x) throws Exception {
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      return TestGraph.run(prepared, model.main(), TestGraph.bytes(x)).getFirst();
    }
  }

  private static double[] numbers(Form form, byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    double[] numbers = new double[bytes.length / (isOfPlaces(form) ? Long.BYTES : Float.BYTES)];
    Arrays.setAll(numbers, _ -> isOfPlaces(form) ? buffer.getLong() : buffer.getFloat());
    return numbers;
  }

  @ParameterizedTest
  @MethodSource("forms")
  void chosenRowsHaveTheResultsOfAll(Form form) throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("OpenFormsTest seed " + seed);
    Random random = new Random(seed);
    int size = form.width() == 0 ? 100 : form.width();
    float[] x = new float[ROWS * size];
    float[] weights = new float[200];
    for (float[] values : List.of(x, weights)) {
      for (int i = 0; i < values.length; i++) {
        values[i] = random.nextInt(-8, 9) / 8f;
      }
    }
    double[] all = numbers(form, run(model(form, weights, false), x));
    double[] chosen = numbers(form, run(model(form, weights, true), x));
    boolean isPicked = form.operator().equals("GatherND");
    List<Integer> kept = new ArrayList<>();
    for (int row = 0; row < ROWS; row++) {
      double sum = 0;
      for (int i = 0; i < size; i++) {
        sum += x[row * size + i];
      }
      if (sum > 0) {
        kept.add(row);
      }
    }
    assertTrue(!kept.isEmpty() && kept.size() < ROWS, "seed " + seed + " chooses " + kept);
    List<Integer> rows = isPicked ? List.of(kept.getFirst(), kept.getLast()) : kept;
    double[] known = isPicked ? floats(x) : all;
    int each = known.length / ROWS;
    double[] expected = new double[rows.size() * each];
    for (int i = 0; i < rows.size(); i++) {
      System.arraycopy(known, rows.get(i) * each, expected, i * each, each);
    }
    assertArrayEquals(expected, chosen, 1e-5, form + ", seed " + seed);
  }

  private static double[] floats(float[] values) {
    double[] wide = new double[values.length];
    Arrays.setAll(wide, i -> values[i]);
    return wide;
  }
}
