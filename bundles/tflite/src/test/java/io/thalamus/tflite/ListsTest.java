// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.reader.ModelFormatException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;

/** Loops over TensorFlow's lists, as Keras exports recurrent layers with SELECT_TF_OPS. */
class ListsTest {
  private static final byte[] SETTINGS = {1};
  private static final int STEPS = 3;

  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private int list(String name) {
    return file.tensor(name, TensorType.VARIANT, null);
  }

  private int count(String name) {
    return file.tensor(name, TensorType.INT32, null);
  }

  private void flex(String name, int[] inputs, int output) {
    file.custom("FlexTensorList" + name, SETTINGS, inputs, output);
  }

  /** A loop over a counter, a list of steps, a list of results and a state of this shape. */
  private void loop(int reserved, int... shape) {
    int x = file.floats("x", rows(shape));
    int steps = list("steps");
    int all = list("all");
    flex("FromTensor", new int[] {x, file.ints("of", shape)}, steps);
    flex("Reserve", new int[] {file.ints("any", -1, -1), file.scalar("size", reserved)}, all);
    int m = count("m");
    int left = list("left");
    int results = list("results");
    int last = file.floats("last", shape);
    int first = file.zeros("first", TensorType.FLOAT32, null, shape);
    file.loop(1, 2, new int[] {file.scalar("start", 0), steps, all, first}, m, left, results, last);
    int y = file.floats("y", rows(shape));
    int length = count("length");
    flex("Stack", new int[] {results, file.ints("like", shape)}, y);
    flex("Length", new int[] {results}, length);
    file.graph(new int[] {x}, y, last, length);
  }

  private static int[] rows(int... shape) {
    int[] rows = new int[shape.length + 1];
    rows[0] = STEPS;
    System.arraycopy(shape, 0, rows, 1, shape.length);
    return rows;
  }

  private void condition(int limit, int... shape) {
    int n = count("n");
    int[] inputs = {n, list("steps"), list("all"), file.floats("s", shape)};
    int goesOn = file.tensor("goesOn", TensorType.BOOL, null);
    file.operator(BuiltinOperator.LESS, new int[] {n, file.scalar("limit", limit)}, goesOn)
        .graph(inputs, goesOn);
  }

  /** The state is the sum of the steps so far, and each is a result. */
  private void body(int... shape) {
    int n = count("n");
    int steps = list("steps");
    int all = list("all");
    int s = file.floats("s", shape);
    int next = count("next");
    int step = file.floats("step", shape);
    int sum = file.floats("sum", shape);
    int changed = list("changed");
    flex("GetItem", new int[] {steps, n, file.ints("like", shape)}, step);
    file.operator(BuiltinOperator.ADD, new int[] {s, step}, sum);
    flex("SetItem", new int[] {all, n, sum}, changed);
    file.operator(BuiltinOperator.ADD, new int[] {n, file.scalar("one", 1)}, next)
        .graph(new int[] {n, steps, all, s}, next, steps, changed, sum);
  }

  private String refusal() {
    return assertThrows(ModelFormatException.class, () -> TestFiles.read(file)).getMessage();
  }

  @Test
  void resultsOfAllStepsAreStacked() throws ModelFormatException {
    loop(STEPS, 1, 2);
    condition(STEPS, 1, 2);
    body(1, 2);
    List<double[]> outputs =
        GraphRun.outputs(TestFiles.read(file).model(), new double[] {1, 2, 30, 40, 500, 600});
    assertArrayEquals(new double[] {1, 2, 31, 42, 531, 642}, outputs.get(0));
    assertArrayEquals(new double[] {531, 642}, outputs.get(1));
    assertArrayEquals(new double[] {STEPS}, outputs.get(2));
  }

  @Test
  void elementsMayBeSingleNumbers() throws ModelFormatException {
    loop(STEPS);
    condition(STEPS);
    body();
    List<double[]> outputs =
        GraphRun.outputs(TestFiles.read(file).model(), new double[] {1, 20, 300});
    assertArrayEquals(new double[] {1, 21, 321}, outputs.getFirst());
  }

  @Test
  void anElementThatIsNeverSetIsRefused() {
    loop(STEPS + 1, 2);
    condition(STEPS, 2);
    body(2);
    String text = refusal();
    assertTrue(text.contains("it reads elements of a list which nothing has set"), text);
  }

  @Test
  void aPlaceBeyondTheListIsRefused() {
    loop(STEPS, 2);
    condition(STEPS + 1, 2);
    body(2);
    String text = refusal();
    assertTrue(text.contains("its list has 3 elements and no 3"), text);
  }

  @Test
  void aLoopWhoseRoundsCannotBeCountedIsRefused() {
    loop(STEPS, 1);
    int n = count("n");
    int s = file.floats("s", 1);
    int[] inputs = {n, list("steps"), list("all"), s};
    int goesOn = file.tensor("goesOn", TensorType.BOOL, null);
    file.operator(
            BuiltinOperator.LESS,
            new int[] {s, file.zeros("z", TensorType.FLOAT32, null, 1)},
            goesOn)
        .graph(inputs, goesOn);
    body(1);
    String text = refusal();
    assertTrue(text.contains("WHILE"), text);
    assertTrue(text.contains("whether it goes on is not known beforehand"), text);
  }
}
