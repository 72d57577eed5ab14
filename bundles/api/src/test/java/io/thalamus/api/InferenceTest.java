// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.Timing;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Against a compilation that copies its first input to its output. */
class InferenceTest {
  private static final int ROWS = 40_000;
  private static final ExecutionReport FAILED =
      ExecutionReport.failed(
          ResultCode.MISSED_DEADLINE_TRANSIENT, "too late", Optional.of(Duration.ofMillis(3)));

  private int created;
  private int executions;
  private ExecutionReport failure;

  private final Model model = model();
  private final Compilation compilation = compilation();

  private static Model model() {
    SubgraphBuilder graph = new SubgraphBuilder();
    graph.input("a", OperandCode.TENSOR_FLOAT32, Shape.of(0, 2), Quantization.NONE);
    graph.input("b", OperandCode.TENSOR_QUANT8_ASYMM, Shape.of(3), Quantization.of(0.5f, 0));
    graph.output("out", OperandCode.TENSOR_FLOAT32, Shape.of(0, 2), Quantization.NONE);
    return Model.of(graph.build());
  }

  private Compilation compilation() {
    InvocationHandler handler =
        (proxy, method, arguments) ->
            switch (method.getName()) {
              case "model" -> model;
              case "createExecution" -> execution();
              default -> InvocationHandler.invokeDefault(proxy, method, arguments);
            };
    return proxy(Compilation.class, handler);
  }

  private Execution execution() {
    created++;
    MemorySegment[] segments = new MemorySegment[3];
    Shape[] shape = new Shape[1];
    InvocationHandler handler =
        (proxy, method, arguments) -> {
          switch (method.getName()) {
            case "setInput" -> {
              segments[(int) arguments[0]] = (MemorySegment) arguments[1];
              if ((int) arguments[0] == 0) {
                shape[0] = (Shape) arguments[2];
              } else {
                assertEquals(Shape.NONE, arguments[2]);
              }
            }
            case "setOutput" -> segments[2] = (MemorySegment) arguments[1];
            case "setReusable" -> assertEquals(true, arguments[0]);
            case "compute" -> {
              return compute(segments, shape[0]);
            }
            default -> throw new UnsupportedOperationException(method.getName());
          }
          return proxy;
        };
    return proxy(Execution.class, handler);
  }

  private ExecutionReport compute(MemorySegment[] segments, Shape shape) {
    executions++;
    if (failure != null) {
      return failure;
    }
    long bytes = segments[0].byteSize();
    boolean isSufficient = segments[2].byteSize() >= bytes;
    if (isSufficient) {
      MemorySegment.copy(segments[0], 0, segments[2], 0, bytes);
    }
    return new ExecutionReport(
        isSufficient ? ResultCode.NO_ERROR : ResultCode.OUTPUT_INSUFFICIENT_SIZE,
        isSufficient ? "" : "too small",
        List.of(new OutputShape(shape, isSufficient)),
        Timing.NONE,
        List.of(
            new StepReport("npu", 1, Duration.ZERO, ResultCode.OP_FAILED),
            new StepReport("simd", 1, Duration.ZERO, ResultCode.NO_ERROR),
            new StepReport("cpu", 1, Duration.ZERO, ResultCode.NO_ERROR),
            new StepReport("simd", 1, Duration.ZERO, ResultCode.NO_ERROR)));
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private Tensor bytes() throws NeuralNetworksException {
    return Tensor.of(model.main().input(1), 0L, 1L, 2L);
  }

  @Test
  void outputsGetAsMuchRoomAsTheyNeed() throws Exception {
    float[] values = new float[2 * ROWS];
    values[2 * ROWS - 1] = 5;
    Inference inference = new Inference(compilation);
    List<Tensor> inputs = List.of(Tensor.floats(values, ROWS, 2), bytes());
    Answer answer = inference.run(inputs);
    assertEquals(Shape.of(ROWS, 2), answer.output().shape());
    assertArrayEquals(values, answer.output("out").toFloats());
    assertEquals(2, executions);
    // The larger buffer stays, and a smaller value uses its beginning.
    assertEquals(ROWS, inference.run(inputs).output(0).shape().dimension(0));
    Answer small = inference.run(List.of(Tensor.floats(new float[] {1, 2}, 1, 2), bytes()));
    assertArrayEquals(new float[] {1, 2}, small.output().toFloats());
    assertEquals(4, executions);
  }

  @Test
  void oneExecutionIsStartedAgainAndAgain() throws Exception {
    boolean[] isBroken = {false};
    Inference inference =
        new Inference(
            compilation,
            execution -> {
              if (isBroken[0]) {
                throw new IllegalStateException("no report");
              }
              return execution.compute();
            });
    List<Tensor> inputs = List.of(Tensor.floats(new float[] {1, 2}, 1, 2), bytes());
    failure = ExecutionReport.failed(ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, "too many wait");
    assertThrows(NeuralNetworksException.class, () -> inference.run(inputs));
    failure = FAILED;
    List<Tensor> others = List.of(Tensor.floats(new float[] {3, 4}, 1, 2), bytes());
    assertThrows(NeuralNetworksException.class, () -> inference.run(others));
    assertEquals(1, created);
    failure = null;
    assertArrayEquals(new float[] {3, 4}, inference.run(others).output().toFloats());
    List<Tensor> wrong = List.of(Tensor.floats(new float[3], 1, 3), bytes());
    assertThrows(NeuralNetworksException.class, () -> inference.run(wrong));
    assertArrayEquals(new float[] {3, 4}, inference.run(others).output().toFloats());
    assertArrayEquals(
        new float[] {1, 2},
        inference.run(List.of(inputs.getFirst(), others.get(1))).output().toFloats());
    assertEquals(1, created);
    // Whoever gives no report may still be executing.
    isBroken[0] = true;
    assertThrows(IllegalStateException.class, () -> inference.run(inputs));
    isBroken[0] = false;
    assertArrayEquals(new float[] {1, 2}, inference.run(inputs).output().toFloats());
    assertEquals(2, created);
  }

  @Test
  void answersOfACompilationAreTheCallers() throws Exception {
    Answer first = compilation.run(Tensor.floats(new float[] {1, 2}, 1, 2), bytes());
    compilation.run(Tensor.floats(new float[] {3, 4}, 1, 2), bytes());
    assertArrayEquals(new float[] {1, 2}, first.output().toFloats());
    assertEquals(List.of("simd", "cpu"), first.devices());
  }

  @Test
  void argumentsMayBeNamed() throws Exception {
    Tensor a = Tensor.floats(new float[] {1, 2}, 1, 2);
    assertEquals(2, compilation.run(Map.of("b", bytes(), "a", a)).output().real(1));
    assertRefused(
        "input b TENSOR_QUANT8_ASYMM 3 is missing", () -> compilation.run(Map.of("a", a)));
    assertRefused(
        "no input is named c; the model has a TENSOR_FLOAT32 ?x2, b TENSOR_QUANT8_ASYMM 3",
        () -> compilation.run(Map.of("a", a, "b", bytes(), "c", a)));
    assertRefused(
        "no input is named B; the model has a TENSOR_FLOAT32 ?x2, b TENSOR_QUANT8_ASYMM 3",
        () -> compilation.run(Map.of("a", a, "B", bytes())));
    assertRefused("no output is named x, but out", () -> compilation.run(a, bytes()).output("x"));
  }

  @Test
  void argumentsThatDoNotFitAreOneLineAndNothingRuns() throws Exception {
    Tensor a = Tensor.floats(new float[] {1, 2, 3}, 1, 3);
    assertRefused(
        "the model has 2 inputs (a TENSOR_FLOAT32 ?x2, b TENSOR_QUANT8_ASYMM 3), 1 given",
        () -> compilation.run(a));
    assertRefused(
        "input 0 is a TENSOR_FLOAT32 ?x2, not TENSOR_FLOAT32 1x3",
        () -> compilation.run(a, bytes()));
    assertRefused(
        "input 0 is a TENSOR_FLOAT32 ?x2, not TENSOR_INT32 1x2",
        () -> compilation.run(Tensor.ints(new int[2], 1, 2), bytes()));
    Operand other =
        new Operand(
            OperandCode.TENSOR_QUANT8_ASYMM,
            Shape.of(3),
            Quantization.of(1, 0),
            Lifetime.SUBGRAPH_INPUT,
            "");
    assertRefused(
        "input 1 is b TENSOR_QUANT8_ASYMM 3, not TENSOR_QUANT8_ASYMM 3 with another quantization",
        () -> compilation.run(Tensor.floats(new float[2], 1, 2), Tensor.of(other, 1L, 2L, 3L)));
    assertEquals(0, executions);
  }

  @Test
  void aFailureKeepsItsCodeAndWhenToTryAgain() {
    failure = FAILED;
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () -> compilation.run(Tensor.floats(new float[2], 1, 2), bytes()));
    assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, e.code());
    assertEquals(Optional.of(Duration.ofMillis(3)), e.retryAfter());
    assertEquals(1, executions);
  }

  @Test
  void theBestClassesComeFirstAndNaNLast() {
    Tensor scores = Tensor.floats(new float[] {0.25f, Float.NaN, 0.5f, 0.5f}, 1, 4);
    Answer answer =
        new Answer(
            List.of(scores),
            ExecutionReport.failed(ResultCode.NO_ERROR, ""),
            List.of("a", "b", "c"));
    assertEquals("[c 0.500, 3 0.500, a 0.250, b NaN]", answer.top(9).toString());
    assertEquals(1, answer.top(1).size());
    Tensor extremes =
        Tensor.floats(new float[] {Float.NaN, Float.NEGATIVE_INFINITY, -1, Float.NaN}, 1, 4);
    assertEquals(
        List.of(2, 1, 0, 3),
        Answer.top(extremes, List.of(), 4).stream().map(Answer.Scored::index).toList());
  }

  @ParameterizedTest
  @CsvSource({
    "0.9996, 1.000",
    "0.0625, 0.063",
    "-0.0625, -0.063",
    "-0.0004, 0.000",
    "12.05, 12.050",
    "-1234567.8901, -1234567.890",
    "1e300, 1000",
    "Infinity, Infinity"
  })
  void scoresHaveThreePlaces(double score, String text) {
    String line = new Answer.Scored(7, "", score).toString();
    assertTrue(line.startsWith("7 " + text), line);
    assertTrue(score > 1e9 || line.length() == 2 + text.length(), line);
  }

  private static void assertRefused(String line, Executable action) {
    NeuralNetworksException e = assertThrows(NeuralNetworksException.class, action);
    assertEquals(line, e.getMessage());
    assertEquals(ResultCode.BAD_DATA, e.code());
  }
}
