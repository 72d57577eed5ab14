// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.subgraph;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tck.check.OutcomeException;
import io.thalamus.tck.check.TestGraph;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Loops whose rounds only an execution counts. */
class ControlFlowTest {
  private static final int BOOL = 9;

  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private static byte[] number(long value) {
    return ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array();
  }

  private List<byte[]> run(byte[]... inputs) throws Exception {
    Model model = TestFiles.read(file.build());
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      return TestGraph.run(prepared, model.main(), inputs);
    }
  }

  /** The rounds of a body that adds the number of the round and a value of the graph around it. */
  private static OnnxFileBuilder adding() {
    return new OnnxFileBuilder()
        .input("i", INT64)
        .input("on", BOOL)
        .input("s", FLOAT, 2)
        .node("Cast", List.of("i"), "r", integer("to", FLOAT))
        .node("Mul", List.of("r", "step"), "m")
        .node("Add", List.of("s", "m"), "t")
        .node("Add", List.of("t", "x"), "u")
        .node("Identity", List.of("on"), "go")
        .output("go", BOOL)
        .output("u", FLOAT, 2);
  }

  /** As PyTorch writes {@code for i in range(n): s = s + i * 10 + x}. */
  @ParameterizedTest
  @CsvSource({"0, 0 0", "1, 1 -1", "4, 64 56"})
  void asManyRoundsAsAnInputSays(long rounds, String expected) throws Exception {
    file.input("n", INT64)
        .input("x", FLOAT, 2)
        .floats("step", new long[0], 10)
        .floats("zero", new long[] {2}, 0, 0)
        .bytes("yes", BOOL, new long[0], 1)
        .node("Loop", List.of("n", "yes", "zero"), "y", subgraph("body", adding()))
        .output("y", FLOAT, 2);
    float[] sums = TestGraph.floats(run(number(rounds), TestGraph.bytes(1f, -1f)).getFirst());
    String[] wanted = expected.split(" ");
    assertArrayEquals(new float[] {Float.parseFloat(wanted[0]), Float.parseFloat(wanted[1])}, sums);
  }

  /** Old exporters declare the number of a round as a list of one, and their bodies squeeze it. */
  @ParameterizedTest
  @ValueSource(strings = {"n", "four"})
  void theNumberOfARoundMayHaveAnAxis(String rounds) throws Exception {
    OnnxFileBuilder body =
        new OnnxFileBuilder()
            .input("i", INT64, 1)
            .input("on", BOOL, 1)
            .input("s", FLOAT, 2)
            .integers("axis", new long[] {1}, 0)
            .node("Squeeze", List.of("i", "axis"), "k")
            .node("Cast", List.of("k"), "r", integer("to", FLOAT))
            .node("Add", List.of("s", "r"), "t")
            .node("Squeeze", List.of("on", "axis"), "go")
            .output("go", BOOL)
            .output("t", FLOAT, 2);
    file.input("n", INT64)
        .input("x", FLOAT, 2)
        .integers("four", new long[0], 4)
        .node("Loop", List.of(rounds, "", "x"), "y", subgraph("body", body))
        .output("y", FLOAT, 2);
    List<byte[]> results = run(number(4), TestGraph.bytes(1f, -1f));
    assertArrayEquals(new float[] {7, 5}, TestGraph.floats(results.getFirst()));
  }

  /** As {@code while s < 100: s = 3 * s; rows += s}, for at most so many rounds. */
  private void tripling(String most) {
    OnnxFileBuilder body =
        new OnnxFileBuilder()
            .input("i", INT64)
            .input("on", BOOL)
            .input("s", FLOAT, 1)
            .node("Mul", List.of("s", "three"), "t")
            .node("Less", List.of("t", "end"), "less")
            .node("Squeeze", List.of("less"), "go")
            .node("Identity", List.of("t"), "row")
            .output("go", BOOL)
            .output("t", FLOAT, 1)
            .output("row", FLOAT, 1);
    file.input("x", FLOAT, 1)
        .floats("three", new long[0], 3)
        .floats("end", new long[0], 100)
        .integers("many", new long[0], Long.MAX_VALUE)
        .integers("two", new long[0], 2)
        .node("Less", List.of("x", "end"), "first")
        .node("Loop", List.of(most, "first", "x"), List.of("y", "rows"), subgraph("body", body))
        .output("y", FLOAT, 1)
        .output("rows", FLOAT, -1, 1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "many"})
  void asManyRoundsAsAConditionHolds(String most) throws Exception {
    tripling(most);
    List<byte[]> results = run(TestGraph.bytes(7f));
    assertArrayEquals(new float[] {189}, TestGraph.floats(results.get(0)));
    assertArrayEquals(new float[] {21, 63, 189}, TestGraph.floats(results.get(1)));
  }

  @Test
  void noMoreRoundsThanTheFileAllows() throws Exception {
    tripling("two");
    List<byte[]> results = run(TestGraph.bytes(7f));
    assertArrayEquals(new float[] {63}, TestGraph.floats(results.get(0)));
    assertArrayEquals(new float[] {21, 63}, TestGraph.floats(results.get(1)));
  }

  @Test
  void noRoundsGatherNothing() throws Exception {
    tripling("");
    List<byte[]> results = run(TestGraph.bytes(1000f));
    assertArrayEquals(new float[] {1000}, TestGraph.floats(results.get(0)));
    assertEquals(0, results.get(1).length);
  }

  /** {@code for i in range(n): for j in range(i + 1): s = s + x}: 1 + 2 + ... + n times. */
  @Test
  void loopsStandInLoops() throws Exception {
    OnnxFileBuilder inside =
        new OnnxFileBuilder()
            .input("j", INT64)
            .input("on2", BOOL)
            .input("p", FLOAT, 2)
            .node("Add", List.of("p", "x"), "q")
            .output("on2", BOOL)
            .output("q", FLOAT, 2);
    OnnxFileBuilder body =
        new OnnxFileBuilder()
            .input("i", INT64)
            .input("on", BOOL)
            .input("s", FLOAT, 2)
            .node("Add", List.of("i", "one"), "more")
            .node("Loop", List.of("more", "", "s"), "t", subgraph("body", inside))
            .output("on", BOOL)
            .output("t", FLOAT, 2);
    file.input("n", INT64)
        .input("x", FLOAT, 2)
        .integers("one", new long[0], 1)
        .floats("zero", new long[] {2}, 0, 0)
        .node("Loop", List.of("n", "", "zero"), "y", subgraph("body", body))
        .output("y", FLOAT, 2);
    float[] sums = TestGraph.floats(run(number(4), TestGraph.bytes(1f, -2f)).getFirst());
    assertArrayEquals(new float[] {10, -20}, sums);
  }

  /** Running sums of 1500 steps from behind. */
  @Test
  void sequencesThatAreTooLongToBeWrittenOut() throws Exception {
    OnnxFileBuilder body =
        new OnnxFileBuilder()
            .input("s", FLOAT, 1)
            .input("e", FLOAT, 1)
            .node("Add", List.of("s", "e"), "t")
            .node("Identity", List.of("t"), "row")
            .output("t", FLOAT, 1)
            .output("row", FLOAT, 1);
    file.input("x", FLOAT, 1, 1500)
        .floats("zero", new long[] {1}, 0)
        .node(
            "Scan",
            List.of("zero", "x"),
            List.of("sum", "y"),
            subgraph("body", body),
            integer("num_scan_inputs", 1),
            OnnxFileBuilder.ints("scan_input_axes", 1),
            OnnxFileBuilder.ints("scan_input_directions", 1),
            OnnxFileBuilder.ints("scan_output_axes", 1),
            OnnxFileBuilder.ints("scan_output_directions", 1))
        .output("sum", FLOAT, 1)
        .output("y", FLOAT, 1, 1500);
    Model model = TestFiles.read(file.build());
    assertTrue(
        model.main().operations().stream().anyMatch(each -> each.type() == OperationCode.WHILE));
    float[] x = new float[1500];
    float[] expected = new float[1500];
    for (int i = 1499; i >= 0; i--) {
      x[i] = i % 7;
      expected[i] = x[i] + (i < 1499 ? expected[i + 1] : 0);
    }
    List<byte[]> results = run(TestGraph.bytes(x));
    assertArrayEquals(new float[] {expected[0]}, TestGraph.floats(results.get(0)));
    assertArrayEquals(expected, TestGraph.floats(results.get(1)));
  }

  /** As torchvision writes it: nothing where there is nothing, else what is above a half. */
  @ParameterizedTest
  @CsvSource({"1 0.25 2, 1 2", "-1 -2 -3, ", "0.25 0 0, "})
  void branchesMayGiveDifferentSizes(String x, String expected) throws Exception {
    OnnxFileBuilder nothing =
        new OnnxFileBuilder()
            .floats("none", new long[] {0})
            .node("Identity", List.of("none"), "a")
            .output("a", FLOAT, 0);
    OnnxFileBuilder some =
        new OnnxFileBuilder()
            .node("Greater", List.of("p", "half"), "large")
            .node("Compress", List.of("p", "large"), "b")
            .output("b", FLOAT, -1);
    file.input("x", FLOAT, 3)
        .floats("zero", new long[0], 0)
        .floats("half", new long[0], 0.5f)
        .integers("nought", new long[0], 0)
        .node("Greater", List.of("x", "zero"), "is")
        .node("Compress", List.of("x", "is"), "p")
        .node("Size", List.of("p"), "size")
        .node("Equal", List.of("size", "nought"), "isNone")
        .node(
            "If",
            List.of("isNone"),
            "y",
            subgraph("then_branch", nothing),
            subgraph("else_branch", some))
        .output("y", FLOAT, -1);
    String[] numbers = x.split(" ");
    float[] given = new float[3];
    for (int i = 0; i < 3; i++) {
      given[i] = Float.parseFloat(numbers[i]);
    }
    String[] wanted = expected == null ? new String[0] : expected.split(" ");
    float[] floats = new float[wanted.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = Float.parseFloat(wanted[i]);
    }
    assertArrayEquals(floats, TestGraph.floats(run(TestGraph.bytes(given)).getFirst()));
  }

  private static OnnxFileBuilder branch(String operator, String weights) {
    return new OnnxFileBuilder()
        .node(operator, List.of("x", weights), operator + weights)
        .output(operator + weights, FLOAT, -1, 2);
  }

  private void chosen(OnnxFileBuilder then, OnnxFileBuilder otherwise) {
    file.input("n", INT64)
        .input("x", FLOAT, 1, 2)
        .floats("fits", new long[] {2, 2}, 1, 2, 3, 4)
        .floats("doesNot", new long[] {3, 2}, 1, 2, 3, 4, 5, 6)
        .integers("rate", new long[0], 16000)
        .node("Equal", List.of("n", "rate"), "is")
        .node(
            "If",
            List.of("is"),
            "y",
            subgraph("then_branch", then),
            subgraph("else_branch", otherwise))
        .output("y", FLOAT, 1, 2);
  }

  /** As in a file with a network for each of two rates, of which an input's size fits one. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aBranchThatFitsIsExecutedWhereTheOtherDoesNot(boolean isFirst) throws Exception {
    OnnxFileBuilder fits = branch("MatMul", "fits");
    OnnxFileBuilder doesNot = branch("MatMul", "doesNot");
    chosen(isFirst ? fits : doesNot, isFirst ? doesNot : fits);
    byte[] x = TestGraph.bytes(10f, 1f);
    byte[] taken = number(isFirst ? 16000 : 8000);
    assertArrayEquals(new float[] {13, 24}, TestGraph.floats(run(taken, x).getFirst()));
    byte[] other = number(isFirst ? 8000 : 16000);
    OutcomeException e = assertThrows(OutcomeException.class, () -> run(other, x));
    assertTrue(e.getMessage().contains("GENERAL_FAILURE"), e.getMessage());
  }

  /** An operator that is not known is named all the same, and what fits nowhere. */
  @Test
  void aBranchThatIsNotKnownIsRefused() {
    chosen(branch("MatMul", "fits"), branch("MatMulOfTomorrow", "fits"));
    assertTrue(refusal().contains("MatMulOfTomorrow"), refusal());
  }

  @Test
  void branchesOfWhichNoneFitsAreRefused() {
    chosen(branch("MatMul", "doesNot"), branch("MatMul", "doesNot"));
    assertTrue(refusal().contains("MatMul"), refusal());
  }

  private String refusal() {
    return assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()))
        .getMessage();
  }

  private static OnnxFileBuilder body() {
    return new OnnxFileBuilder().input("i", INT64).input("on", BOOL);
  }

  /** Two elements are joined to what there is in each of 3 rounds. */
  @Test
  void statesMayGrowRoundByRound() throws Exception {
    OnnxFileBuilder body =
        body()
            .input("s", FLOAT, 2)
            .node("Concat", List.of("s", "x"), "t", integer("axis", 0))
            .output("on", BOOL)
            .output("t", FLOAT, -1);
    file.input("n", INT64)
        .input("x", FLOAT, 2)
        .node("Loop", List.of("n", "", "x"), "y", subgraph("body", body))
        .output("y", FLOAT, -1);
    float[] grown = TestGraph.floats(run(number(3), TestGraph.bytes(1f, -2f)).getFirst());
    assertArrayEquals(new float[] {1, -2, 1, -2, 1, -2, 1, -2}, grown);
  }

  /** A list that is empty at first; its values side by side, one below the other, and counted. */
  @ParameterizedTest
  @CsvSource({"0, 0, '0 0 1 -2 2 -4'", "0, 1, '0 0 1 -2 2 -4'", "1, 1, '0 1 2 0 -2 -4'"})
  void listsMayGrowRoundByRound(int axis, int isNew, String expected) throws Exception {
    OnnxFileBuilder body =
        body()
            .input("s", FLOAT)
            .node("Cast", List.of("i"), "f", integer("to", FLOAT))
            .node("Mul", List.of("f", "x"), "v")
            .node("SequenceInsert", List.of("s", "v"), "t")
            .output("on", BOOL)
            .output("t", FLOAT);
    file.input("n", INT64)
        .input("x", FLOAT, 2)
        .integers("last", new long[0], -1)
        .node("SequenceEmpty", List.of(), "none")
        .node("Loop", List.of("n", "", "none"), "all", subgraph("body", body))
        .node(
            "ConcatFromSequence",
            List.of("all"),
            "y",
            integer("axis", axis),
            integer("new_axis", isNew))
        .node("SequenceLength", List.of("all"), "count")
        .node("SequenceAt", List.of("all", "last"), "end")
        .output("y", FLOAT, -1)
        .output("count", INT64)
        .output("end", FLOAT, 2);
    List<byte[]> results = run(number(3), TestGraph.bytes(1f, -2f));
    String[] words = expected.split(" ");
    float[] wanted = new float[words.length];
    for (int i = 0; i < words.length; i++) {
      wanted[i] = Float.parseFloat(words[i]);
    }
    assertArrayEquals(wanted, TestGraph.floats(results.get(0)), 0f);
    assertEquals(3, results.get(1)[0]);
    assertArrayEquals(new float[] {2, -4}, TestGraph.floats(results.get(2)));
  }

  @Test
  void anotherNumberOfDimensionsRoundByRoundIsNamed() {
    OnnxFileBuilder body =
        body()
            .input("s", FLOAT, 2)
            .node("Unsqueeze", List.of("s", "zero"), "t")
            .output("on", BOOL)
            .output("t", FLOAT, -1);
    file.input("n", INT64)
        .input("x", FLOAT, 2)
        .integers("zero", new long[] {1}, 0)
        .node("Loop", List.of("n", "", "x"), "y", subgraph("body", body))
        .output("y", FLOAT, -1);
    ModelFormatException e =
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()));
    assertEquals(
        "node 0 Loop 'the Loop': round by round FLOAT 2 becomes FLOAT 1x2", e.getMessage());
  }

  /**
   * The first round of the outer loop is tried, with the inner one in it; the model has neither.
   */
  @Test
  void whatWasOnlyTriedIsNotInTheModel() throws Exception {
    OnnxFileBuilder inner =
        body()
            .input("a", FLOAT, 2)
            .node("Add", List.of("a", "a"), "b")
            .output("on", BOOL)
            .output("b", FLOAT, 2);
    OnnxFileBuilder outer =
        body()
            .input("s", FLOAT, 2)
            .node("Loop", List.of("n", "", "s"), "t", subgraph("body", inner))
            .node("ReduceMax", List.of("t"), "most", integer("keepdims", 0))
            .node("Less", List.of("most", "limit"), "goesOn")
            .output("goesOn", BOOL)
            .output("t", FLOAT, 2);
    file.input("n", INT64)
        .input("x", FLOAT, 2)
        .floats("limit", new long[0], 100)
        .integers("rounds", new long[0], 50)
        .node("Loop", List.of("rounds", "", "x"), "y", subgraph("body", outer))
        .output("y", FLOAT, 2);
    Model model = TestFiles.read(file.build());
    assertEquals(4, model.referenced().size());
    for (Subgraph graph : model.subgraphs().toList()) {
      Set<Integer> read = new HashSet<>(graph.outputIndexes());
      graph.operations().forEach(operation -> read.addAll(operation.inputs()));
      graph
          .operations()
          .forEach(each -> assertTrue(each.outputs().stream().anyMatch(read::contains)));
    }
    float[] doubled = TestGraph.floats(run(number(2), TestGraph.bytes(1f, 3f)).getFirst());
    assertArrayEquals(new float[] {64, 192}, doubled);
  }

  /** The rows of no rounds are none, but they have the shape of a round's. */
  @Test
  void noRoundsGiveNoRows() throws Exception {
    file.input("x", FLOAT, 2)
        .integers("never", new long[0], 0)
        .floats("step", new long[0], 10)
        .integers("first", new long[] {1}, 0)
        .node(
            "Loop",
            List.of("never", "", "x"),
            List.of("same", "rows"),
            subgraph("body", adding().node("Identity", List.of("t"), "r2").output("r2", FLOAT, 2)))
        .node("Unsqueeze", List.of("same", "first"), "row")
        .node("Concat", List.of("rows", "row"), "y", integer("axis", 0))
        .output("y", FLOAT, 1, 2);
    assertArrayEquals(
        new float[] {3, 4}, TestGraph.floats(run(TestGraph.bytes(3f, 4f)).getFirst()));
  }
}
