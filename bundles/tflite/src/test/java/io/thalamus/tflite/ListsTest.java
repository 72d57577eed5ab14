// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Model;
import io.thalamus.model.reader.ModelFormatException;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;

/** Loops over TensorFlow's lists, as Keras exports recurrent layers with SELECT_TF_OPS. */
class ListsTest {
  private static final byte[] SETTINGS = {1};
  private static final int STEPS = 3;

  private final TfliteFileBuilder file = new TfliteFileBuilder();
  private int steps = STEPS;

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
    int given = list("steps");
    int all = list("all");
    flex("FromTensor", new int[] {x, file.ints("of", shape)}, given);
    flex("Reserve", new int[] {file.ints("any", -1, -1), file.scalar("size", reserved)}, all);
    int m = count("m");
    int left = list("left");
    int results = list("results");
    int last = file.floats("last", shape);
    int first = file.zeros("first", TensorType.FLOAT32, null, shape);
    file.loop(1, 2, new int[] {file.scalar("start", 0), given, all, first}, m, left, results, last);
    int y = file.floats("y", rows(shape));
    int length = count("length");
    flex("Stack", new int[] {results, file.ints("like", shape)}, y);
    flex("Length", new int[] {results}, length);
    file.graph(new int[] {x}, y, last, length);
  }

  private int[] rows(int... shape) {
    int[] rows = new int[shape.length + 1];
    rows[0] = steps;
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
    int all = list("all");
    int given = list("steps");
    int s = file.floats("s", shape);
    int next = count("next");
    int step = file.floats("step", shape);
    int sum = file.floats("sum", shape);
    int changed = list("changed");
    flex("GetItem", new int[] {given, n, file.ints("like", shape)}, step);
    file.operator(BuiltinOperator.ADD, new int[] {s, step}, sum);
    flex("SetItem", new int[] {all, n, sum}, changed);
    file.operator(BuiltinOperator.ADD, new int[] {n, file.scalar("one", 1)}, next)
        .graph(new int[] {n, given, all, s}, next, given, changed, sum);
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
  void anElementThatIsNeverSetIsZero() throws ModelFormatException {
    loop(STEPS + 1, 2);
    condition(STEPS, 2);
    body(2);
    List<double[]> outputs =
        GraphRun.outputs(TestFiles.read(file).model(), new double[] {1, 2, 30, 40, 500, 600});
    assertArrayEquals(new double[] {1, 2, 31, 42, 531, 642, 0, 0}, outputs.getFirst());
  }

  @Test
  void aPlaceBeyondTheListIsRefused() {
    int x = file.floats("x", rows(2));
    int given = list("given");
    int row = file.floats("row", 2);
    flex("FromTensor", new int[] {x, file.ints("of", 2)}, given);
    flex("GetItem", new int[] {given, file.scalar("place", STEPS), file.ints("like", 2)}, row);
    file.graph(new int[] {x}, row);
    String text = refusal();
    assertTrue(text.contains("its list has 3 elements and no 3"), text);
  }

  /** Goes on while the state is below a limit, which only an execution knows. */
  private void openCondition(int limit, int... shape) {
    int s = file.floats("s", shape);
    int[] inputs = {count("n"), list("steps"), list("all"), s};
    int number = file.tensor("number", TensorType.FLOAT32, null);
    int goesOn = file.tensor("goesOn", TensorType.BOOL, null);
    int floats =
        file.constant("limit", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(limit));
    file.operator(BuiltinOperator.RESHAPE, new int[] {s, file.ints("none")}, number)
        .operator(BuiltinOperator.LESS, new int[] {number, floats}, goesOn)
        .graph(inputs, goesOn);
  }

  @Test
  void roundsMayDependOnTheData() throws ModelFormatException {
    loop(STEPS, 1);
    openCondition(20, 1);
    body(1);
    Model model = TestFiles.read(file).model();
    List<double[]> all = GraphRun.outputs(model, new double[] {1, 2, 300});
    assertArrayEquals(new double[] {1, 3, 303}, all.getFirst());
    List<double[]> two = GraphRun.outputs(model, new double[] {1, 20, 300});
    assertArrayEquals(new double[] {1, 21, 0}, two.getFirst());
    assertArrayEquals(new double[] {21}, two.get(1));
  }

  @Test
  void singleNumbersMayBeSetWhereTheDataSays() throws ModelFormatException {
    loop(STEPS);
    openCondition(20);
    body();
    List<double[]> outputs =
        GraphRun.outputs(TestFiles.read(file).model(), new double[] {1, 20, 300});
    assertArrayEquals(new double[] {1, 21, 0}, outputs.getFirst());
  }

  @Test
  void thereMayBeMoreRoundsThanAreWrittenOut() throws ModelFormatException {
    steps = 3000;
    loop(steps, 1, 2);
    condition(steps, 1, 2);
    body(1, 2);
    double[] x = new double[2 * steps];
    Arrays.setAll(x, i -> i % 2 + 1);
    double[] sums = new double[x.length];
    Arrays.setAll(sums, i -> (i % 2 + 1) * (i / 2 + 1));
    List<double[]> outputs = GraphRun.outputs(TestFiles.read(file).model(), x);
    assertArrayEquals(sums, outputs.getFirst());
    assertArrayEquals(new double[] {steps, 2 * steps}, outputs.get(1));
  }

  @Test
  void aListThatNoRoundSetsIsRefused() {
    loop(STEPS, 1);
    openCondition(20, 1);
    int[] inputs = {count("n"), list("steps"), list("all"), file.floats("s", 1)};
    file.graph(inputs, inputs);
    String text = refusal();
    assertTrue(text.contains("WHILE"), text);
    assertTrue(text.contains("it reads elements of a list which nothing has set"), text);
  }

  @Test
  void elementsOfTwoShapesAreRefused() {
    loop(STEPS, 1);
    openCondition(20, 1);
    int n = count("n");
    int given = list("steps");
    int[] inputs = {n, given, list("all"), file.floats("s", 1)};
    int changed = list("changed");
    int other = file.zeros("other", TensorType.FLOAT32, null, 2);
    flex("SetItem", new int[] {given, n, other}, changed);
    file.graph(inputs, n, changed, given, inputs[3]);
    String text = refusal();
    assertTrue(text.contains("the elements of its list differ in type or shape"), text);
  }
}
