// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFormatException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.ConcatenationOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.TensorType;

/** Loops and branches that the reader writes out, because it knows how they go. */
class LoopsTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private Model read() throws ModelFormatException {
    return TestFiles.read(file).model();
  }

  /** A loop in the main graph over a counter, a list of rows and a state. */
  private void loop(int rows) {
    int counter = file.scalar("start", 0);
    int list = file.zeros("zeros", TensorType.FLOAT32, null, rows, 2);
    int x = file.floats("x", 1, 2);
    int m = file.tensor("m", TensorType.INT32, null);
    int all = file.floats("all", rows, 2);
    int y = file.floats("y", 1, 2);
    file.loop(1, 2, new int[] {counter, list, x}, m, all, y).graph(new int[] {x}, all, y);
  }

  /** Rows of two numbers each; -1 where only an execution determines how many. */
  private int list(String name, int rows) {
    return rows < 0 ? file.open(name, TensorType.FLOAT32, -1, 2) : file.floats(name, rows, 2);
  }

  private void condition(int rows, int limit) {
    int n = file.tensor("n", TensorType.INT32, null);
    int list = list("list", rows);
    int x = file.floats("x", 1, 2);
    int goesOn = file.tensor("goesOn", TensorType.BOOL, null);
    file.operator(BuiltinOperator.LESS, new int[] {n, file.scalar("limit", limit)}, goesOn)
        .graph(new int[] {n, list, x}, goesOn);
  }

  /** The state doubles, and goes into a row by two slices and a concatenation. */
  private void body(int rows) {
    int n = file.tensor("n", TensorType.INT32, null);
    int list = list("list", rows);
    int x = file.floats("x", 1, 2);
    int one = file.scalar("one", 1);
    int next = file.tensor("next", TensorType.INT32, null);
    int twice = file.floats("twice", 1, 2);
    int row = file.tensor("row", TensorType.INT32, null, 1);
    int size = file.tensor("size", TensorType.INT32, null, 2);
    int place = file.tensor("place", TensorType.INT32, null, 1);
    int begin = file.tensor("begin", TensorType.INT32, null, 2);
    int head = file.open("head", TensorType.FLOAT32, -1, 2);
    int tail = file.open("tail", TensorType.FLOAT32, -1, 2);
    int written = list("written", rows);
    file.operator(BuiltinOperator.ADD, new int[] {n, one}, next)
        .operator(BuiltinOperator.ADD, new int[] {x, x}, twice)
        .operator(BuiltinOperator.RESHAPE, new int[] {n, file.ints("single", 1)}, row);
    concatenation(new int[] {row, file.ints("rest", -1)}, size);
    file.operator(BuiltinOperator.SLICE, new int[] {list, file.ints("zero", 0, 0), size}, head)
        .operator(BuiltinOperator.RESHAPE, new int[] {next, file.ints("single", 1)}, place);
    concatenation(new int[] {place, file.ints("first", 0)}, begin);
    file.operator(BuiltinOperator.SLICE, new int[] {list, begin, file.ints("to", -1, -1)}, tail);
    concatenation(new int[] {head, twice, tail}, written);
    file.graph(new int[] {n, list, x}, next, written, twice);
  }

  private void concatenation(int[] inputs, int output) {
    file.operator(
        BuiltinOperator.CONCATENATION,
        BuiltinOptions.ConcatenationOptions,
        flat -> ConcatenationOptions.createConcatenationOptions(flat, 0, (byte) 0),
        inputs,
        output);
  }

  @Test
  void roundsThatCanBeCountedAreWrittenOutAndTheirListIsJoinedOnce() throws ModelFormatException {
    loop(3);
    condition(3, 3);
    body(3);
    Model model = read();
    assertEquals(
        """
        ADD(x, x, 0) -> twice
        ADD(twice, twice, 0) -> twice
        ADD(twice, twice, 0) -> twice
        CONCATENATION(twice, twice, twice, 0) -> %0:3x2
        CAST(%0:3x2) -> %1:3x2
        CAST(twice) -> twice\
        """,
        ModelText.of(model));
    assertTrue(model.referenced().isEmpty());
  }

  @Test
  void rowsThatNoRoundWritesAreTheFirstOnes() throws ModelFormatException {
    loop(5);
    condition(5, 2);
    body(5);
    assertEquals(
        """
        ADD(x, x, 0) -> twice
        ADD(twice, twice, 0) -> twice
        io.thalamus/AS_STRIDED(zeros, [3, 2], [2, 1], 4) -> %0:3x2
        CONCATENATION(twice, twice, %0:3x2, 0) -> %1:5x2\
        """,
        ModelText.of(read()).lines().limit(4).collect(Collectors.joining("\n")));
  }

  @Test
  void loopOfTooManyRoundsStaysOne() throws ModelFormatException {
    loop(3);
    condition(3, Integer.MAX_VALUE);
    int n = file.tensor("n", TensorType.INT32, null);
    int list = file.floats("list", 3, 2);
    int x = file.floats("x", 1, 2);
    int twice = file.floats("twice", 1, 2);
    file.operator(BuiltinOperator.ADD, new int[] {x, x}, twice)
        .graph(new int[] {n, list, x}, n, list, twice);
    Model model = read();
    assertTrue(ModelText.of(model).startsWith("WHILE("), ModelText.of(model));
    assertEquals(2, model.referenced().size());
  }

  /** The zeros that stand for the bias would fill some MB if each round had its own. */
  @Test
  void layersWithoutBiasHaveTheSameZerosInAllRounds() throws ModelFormatException {
    int rounds = 1500;
    int units = 300;
    int x = file.floats("x", 1, units);
    int y = file.floats("y", 1, units);
    int m = file.tensor("m", TensorType.INT32, null);
    file.loop(1, 2, new int[] {file.scalar("start", 0), x}, m, y).graph(new int[] {x}, y);
    int[] tested = {file.tensor("n", TensorType.INT32, null), file.floats("s", 1, units)};
    int goesOn = file.tensor("goesOn", TensorType.BOOL, null);
    int limit = file.scalar("limit", rounds);
    file.operator(BuiltinOperator.LESS, new int[] {tested[0], limit}, goesOn).graph(tested, goesOn);
    int n = file.tensor("n", TensorType.INT32, null);
    int s = file.floats("s", 1, units);
    int next = file.tensor("next", TensorType.INT32, null);
    int first = file.floats("first", 1, 1);
    int layer = file.floats("layer", 1, units);
    int weights = file.zeros("weights", TensorType.FLOAT32, null, units, 1);
    file.operator(BuiltinOperator.ADD, new int[] {n, file.scalar("one", 1)}, next)
        .operator(
            BuiltinOperator.SLICE,
            new int[] {s, file.ints("begin", 0, 0), file.ints("size", 1, 1)},
            first)
        .operator(
            BuiltinOperator.FULLY_CONNECTED,
            BuiltinOptions.FullyConnectedOptions,
            flat ->
                FullyConnectedOptions.createFullyConnectedOptions(
                    flat, (byte) 0, (byte) 0, false, false),
            new int[] {first, weights, -1},
            layer)
        .graph(new int[] {n, s}, next, layer);
    Model model = read();
    assertTrue(model.referenced().isEmpty());
    assertEquals(
        1,
        model.main().operations().stream()
            .filter(operation -> operation.type() == OperationCode.FULLY_CONNECTED)
            .map(layers -> model.main().operands().get(layers.inputs().get(2)).lifetime())
            .map(bias -> System.identityHashCode(((ConstantCopy) bias).value()))
            .distinct()
            .count());
  }

  /** Writing the loop out ends within the branch; then what was written out does not count. */
  @Test
  void branchStandsAloneInALoopOfTooManyRounds() throws ModelFormatException {
    loop(3);
    condition(3, Integer.MAX_VALUE);
    int n = file.tensor("n", TensorType.INT32, null);
    int list = file.floats("list", 3, 2);
    int x = file.floats("x", 1, 2);
    int y = file.floats("y", 1, 2);
    int yes = file.constant("yes", TensorType.BOOL, null, new byte[] {1}, 1);
    file.branch(3, 3, new int[] {yes, x}, y).graph(new int[] {n, list, x}, n, list, y);
    int in = file.floats("in", 1, 2);
    int last = in;
    for (int i = 0; i < 20; i++) {
      int next = file.floats("next", 1, 2);
      file.operator(BuiltinOperator.SIN, new int[] {last}, next);
      last = next;
    }
    file.graph(new int[] {in}, last);
    Model model = read();
    assertTrue(ModelText.of(model).startsWith("WHILE("), ModelText.of(model));
    String body = ModelText.of(model.referenced().getLast());
    assertTrue(body.startsWith("SIN("), body);
    assertTrue(model.referenced().stream().noneMatch(graph -> ModelText.of(graph).contains("IF(")));
  }

  @Test
  void branchThatIsKnownStandsAlone() throws ModelFormatException {
    int yes = file.constant("yes", TensorType.BOOL, null, new byte[] {1}, 1);
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.branch(1, 2, new int[] {yes, x}, y).graph(new int[] {x}, y);
    for (int operator : new int[] {BuiltinOperator.SIN, BuiltinOperator.COS}) {
      int in = file.floats("in", 2);
      int out = file.floats("out", 2);
      file.operator(operator, new int[] {in}, out).graph(new int[] {in}, out);
    }
    Model model = read();
    assertEquals("SIN(x) -> out\nCAST(out) -> out", ModelText.of(model));
    assertTrue(model.referenced().isEmpty());
  }

  @Test
  void branchWithAnotherNumberOfOutputsIsRefused() {
    int yes = file.constant("yes", TensorType.BOOL, null, new byte[] {1}, 1);
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    int z = file.floats("z", 2);
    file.branch(1, 1, new int[] {yes, x}, y, z).graph(new int[] {x}, y, z);
    int in = file.floats("in", 2);
    file.graph(new int[] {in}, in);
    assertEquals(
        "operator 0 IF (output 'y'): its graph has 1 outputs, and it has 2",
        assertThrows(ModelFormatException.class, this::read).getMessage());
  }

  /** As many rows as a caller says, of which each round writes one. */
  private void openLoop() {
    int counter = file.scalar("start", 0);
    int rows = file.tensor("count", TensorType.INT32, null, 2);
    int zero = file.constant("zero", TensorType.FLOAT32, null, new byte[4]);
    int list = file.open("zeros", TensorType.FLOAT32, -1, 2);
    int x = file.floats("x", 1, 2);
    int m = file.tensor("m", TensorType.INT32, null);
    int all = file.open("all", TensorType.FLOAT32, -1, 2);
    int y = file.floats("y", 1, 2);
    file.operator(BuiltinOperator.FILL, new int[] {rows, zero}, list)
        .loop(1, 2, new int[] {counter, list, x}, m, all, y)
        .graph(new int[] {rows, x}, all, y);
  }

  @Test
  void listOfComputedLengthHasNoLengthInItsLoop() throws ModelFormatException {
    openLoop();
    condition(-1, Integer.MAX_VALUE);
    body(-1);
    Model model = read();
    assertEquals(2, model.referenced().size());
    for (Subgraph graph : model.referenced()) {
      assertEquals(Shape.of(0, 2), graph.input(1).shape());
    }
    assertEquals(Shape.of(0, 2), model.main().output(0).shape());
    assertEquals(Shape.of(1, 2), model.main().output(1).shape());
  }

  /** The file says two rows, but each round adds two more. */
  @Test
  void stateThatGrowsHasNoSizeInItsLoop() throws ModelFormatException {
    loop(2);
    condition(2, Integer.MAX_VALUE);
    int n = file.tensor("n", TensorType.INT32, null);
    int list = file.floats("list", 2, 2);
    int x = file.floats("x", 1, 2);
    int longer = file.open("longer", TensorType.FLOAT32, -1, 2);
    concatenation(new int[] {list, list}, longer);
    file.graph(new int[] {n, list, x}, n, longer, x);
    Model model = read();
    assertEquals(Shape.of(0, 2), model.main().output(0).shape());
    assertEquals(2, model.referenced().size());
    assertEquals(Shape.of(0, 2), model.referenced().getLast().input(1).shape());
  }

  @Test
  void stateThatGetsAnotherRankIsRefused() {
    loop(2);
    condition(2, Integer.MAX_VALUE);
    int n = file.tensor("n", TensorType.INT32, null);
    int list = file.floats("list", 2, 2);
    int x = file.floats("x", 1, 2);
    int flat = file.floats("flat", 4);
    file.operator(BuiltinOperator.RESHAPE, new int[] {list, file.ints("four", 4)}, flat)
        .graph(new int[] {n, list, x}, n, flat, x);
    String message = assertThrows(ModelFormatException.class, this::read).getMessage();
    assertTrue(message.contains("WHILE") && message.contains("2x2 and 4"), message);
  }

  /** A size that goes round unchanged is known in each round, so that the sum keeps its shape. */
  @Test
  void constantThatGoesRoundIsKnown() throws ModelFormatException {
    int[] inputs = {file.tensor("n", TensorType.INT32, null, 1), 0, 0, 0};
    inputs[1] = file.floats("x", 4, 2);
    inputs[2] = file.tensor("at", TensorType.INT32, null, 2);
    inputs[3] = file.ints("size", 1, 2);
    int m = file.tensor("m", TensorType.INT32, null, 1);
    int y = file.open("y", TensorType.FLOAT32, -1, 2);
    int at = file.tensor("same at", TensorType.INT32, null, 2);
    int size = file.tensor("same size", TensorType.INT32, null, 2);
    file.loop(1, 2, inputs, m, y, at, size).graph(new int[] {inputs[0], inputs[1], inputs[2]}, y);
    int[] states = states();
    int goesOn = file.tensor("goesOn", TensorType.BOOL, null);
    file.operator(BuiltinOperator.LESS, new int[] {states[0], file.scalar("limit", 9)}, goesOn)
        .graph(states, goesOn);
    states = states();
    int part = file.open("part", TensorType.FLOAT32, -1, 2);
    int sum = file.open("sum", TensorType.FLOAT32, -1, 2);
    int next = file.tensor("next", TensorType.INT32, null, 1);
    file.operator(BuiltinOperator.SLICE, new int[] {states[1], states[2], states[3]}, part)
        .operator(BuiltinOperator.ADD, new int[] {states[1], part}, sum)
        .operator(BuiltinOperator.ADD, new int[] {states[0], file.scalar("one", 1)}, next)
        .graph(states, next, sum, states[2], states[3]);
    Model model = read();
    assertEquals(Shape.of(4, 2), model.main().output(0).shape());
    assertTrue(
        model.referenced().getLast().operations().stream()
            .anyMatch(operation -> operation.type().text().equals("GATHER")));
  }

  private int[] states() {
    return new int[] {
      file.tensor("n", TensorType.INT32, null, 1),
      file.open("x", TensorType.FLOAT32, -1, 2),
      file.tensor("at", TensorType.INT32, null, 2),
      file.tensor("size", TensorType.INT32, null, 2)
    };
  }
}
