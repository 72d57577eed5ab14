// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Whole graphs run right: memory shared by values, shapes known late, outputs too small. */
class GraphExecutionTest {
  private static final Quantization NONE = Quantization.NONE;

  private static int tensor(SubgraphBuilder graph, Shape shape, Lifetime lifetime) {
    return graph.operand(new Operand(OperandCode.TENSOR_FLOAT32, shape, NONE, lifetime, ""));
  }

  private static Model model(SubgraphBuilder graph) {
    return Model.of(graph.build());
  }

  private static ExecutionResult execute(Model model, Floats arguments) throws DeviceException {
    try (PreparedModel prepared = new TestDevice().prepare(model, PrepareConfig.DEFAULT)) {
      return prepared.execute(arguments.request(), ExecutionConfig.DEFAULT);
    }
  }

  @Test
  void randomGraphsKeepTheirValuesApart() throws DeviceException {
    long seed = 51;
    System.out.println("random graphs: seed " + seed);
    Random random = new Random(seed);
    for (int round = 0; round < 300; round++) {
      SubgraphBuilder graph = new SubgraphBuilder();
      Shape shape = Shape.of(1 + random.nextInt(40));
      int count = shape.dimension(0);
      List<Integer> operands = new ArrayList<>();
      List<float[]> values = new ArrayList<>();
      try (Floats arguments = new Floats()) {
        for (int i = 0; i < 2; i++) {
          float[] value = new float[count];
          for (int j = 0; j < count; j++) {
            value[j] = random.nextInt(1000);
          }
          operands.add(graph.input("", OperandCode.TENSOR_FLOAT32, shape, NONE));
          values.add(value);
          arguments.input(Shape.NONE, value);
        }
        List<float[]> expected = new ArrayList<>();
        int activation = graph.int32(0);
        int operations = 1 + random.nextInt(30);
        for (int i = 0; i < operations; i++) {
          int a = random.nextInt(values.size());
          int b = random.nextInt(values.size());
          float[] sum = new float[count];
          for (int j = 0; j < count; j++) {
            sum[j] = values.get(a)[j] + values.get(b)[j];
          }
          boolean isOutput = i == operations - 1 || random.nextInt(5) == 0;
          int result =
              isOutput
                  ? graph.output("", OperandCode.TENSOR_FLOAT32, shape, NONE)
                  : graph.temporary("", OperandCode.TENSOR_FLOAT32, shape, NONE);
          graph.operation(
              OperationCode.ADD,
              List.of(operands.get(a), operands.get(b), activation),
              List.of(result));
          operands.add(result);
          values.add(sum);
          if (isOutput) {
            expected.add(sum);
            arguments.output(count);
          }
        }
        assertInstanceOf(Completed.class, execute(model(graph), arguments));
        for (int i = 0; i < expected.size(); i++) {
          assertArrayEquals(expected.get(i), arguments.result(i));
        }
      }
    }
  }

  /** FLOOR of a RESHAPE of the input to dimensions that are an input as well. */
  private static Model reshaping(Shape input, Shape output) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int data = graph.input("", OperandCode.TENSOR_FLOAT32, input, NONE);
    int target = graph.input("", OperandCode.TENSOR_INT32, Shape.of(2), NONE);
    int shaped = graph.temporary("", OperandCode.TENSOR_FLOAT32, Shape.NONE, NONE);
    int result = graph.output("", OperandCode.TENSOR_FLOAT32, output, NONE);
    graph.operation(OperationCode.RESHAPE, List.of(data, target), List.of(shaped));
    graph.operation(OperationCode.FLOOR, List.of(shaped), List.of(result));
    return model(graph);
  }

  private static Floats reshapingArguments(int rows, int columns, int room) {
    Floats arguments = new Floats();
    arguments.input(Shape.of(6), 0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f);
    arguments.input(Shape.NONE, Float.intBitsToFloat(rows), Float.intBitsToFloat(columns));
    return arguments.output(room);
  }

  @Test
  void shapesMayDependOnValues() throws DeviceException {
    for (Shape declared : List.of(Shape.NONE, Shape.of(0, 0), Shape.of(2, 0), Shape.of(2, 3))) {
      try (Floats arguments = reshapingArguments(2, -1, 6)) {
        ExecutionResult result = execute(reshaping(Shape.of(0), declared), arguments);
        Completed completed = assertInstanceOf(Completed.class, result, result.toString());
        assertEquals(Shape.of(2, 3), completed.outputs().get(0).shape());
        assertArrayEquals(new float[] {0, 1, 2, 3, 4, 5}, arguments.result(0));
      }
    }
  }

  @Test
  void oneProgramTakesManyShapes() throws DeviceException {
    Model model = reshaping(Shape.NONE, Shape.NONE);
    try (PreparedModel prepared = new TestDevice().prepare(model, PrepareConfig.DEFAULT)) {
      for (int rows : List.of(1, 6, 3, 2)) {
        try (Floats arguments = reshapingArguments(rows, 6 / rows, 6)) {
          Completed completed =
              assertInstanceOf(
                  Completed.class, prepared.execute(arguments.request(), ExecutionConfig.DEFAULT));
          assertEquals(Shape.of(rows, 6 / rows), completed.outputs().get(0).shape());
        }
      }
    }
  }

  @Test
  void shapesThatContradictTheModelFail() throws DeviceException {
    try (Floats arguments = reshapingArguments(3, 2, 6)) {
      Failed failed =
          assertInstanceOf(
              Failed.class, execute(reshaping(Shape.of(0), Shape.of(2, 3)), arguments));
      assertEquals(ErrorStatus.GENERAL_FAILURE, failed.status());
      assertTrue(failed.message().contains("2x3"), failed.message());
    }
    try (Floats arguments = reshapingArguments(4, 2, 6)) {
      Failed failed =
          assertInstanceOf(Failed.class, execute(reshaping(Shape.of(0), Shape.NONE), arguments));
      assertEquals(ErrorStatus.GENERAL_FAILURE, failed.status());
      assertTrue(failed.message().contains("operation 0 RESHAPE"), failed.message());
    }
  }

  @Test
  void outputsTooSmallAreToldWithTheirShapes() throws DeviceException {
    try (Floats arguments = reshapingArguments(2, 3, 5)) {
      OutputInsufficientSize tooSmall =
          assertInstanceOf(
              OutputInsufficientSize.class, execute(reshaping(Shape.of(0), Shape.NONE), arguments));
      assertEquals(Shape.of(2, 3), tooSmall.outputs().get(0).shape());
      assertTrue(!tooSmall.outputs().get(0).isSufficient());
      assertTrue(arguments.isUntouched(0));
    }
  }

  @Test
  void staticProgramsDoNotStartWithOutputsTooSmall() throws DeviceException {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, Shape.of(3), NONE);
    int first = graph.output("", OperandCode.TENSOR_FLOAT32, Shape.of(3), NONE);
    int second = graph.output("", OperandCode.TENSOR_FLOAT32, Shape.of(3), NONE);
    int none = graph.int32(0);
    graph.operation(OperationCode.ADD, List.of(input, input, none), List.of(first));
    graph.operation(OperationCode.ADD, List.of(first, input, none), List.of(second));
    try (Floats arguments = new Floats()) {
      arguments.input(Shape.NONE, 1, 2, 3).output(3).output(2);
      OutputInsufficientSize tooSmall =
          assertInstanceOf(OutputInsufficientSize.class, execute(model(graph), arguments));
      assertTrue(tooSmall.outputs().get(0).isSufficient());
      assertTrue(!tooSmall.outputs().get(1).isSufficient());
      assertEquals(Shape.of(3), tooSmall.outputs().get(1).shape());
      assertTrue(arguments.isUntouched(0) && arguments.isUntouched(1));
    }
  }

  @Test
  void moreRoomThanNeededIsLeftAlone() throws DeviceException {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, Shape.of(2), NONE);
    int output = graph.output("", OperandCode.TENSOR_FLOAT32, Shape.of(2), NONE);
    graph.operation(OperationCode.FLOOR, List.of(input), List.of(output));
    try (Floats arguments = new Floats()) {
      arguments.input(Shape.NONE, 1.5f, -1.5f).output(4);
      assertInstanceOf(Completed.class, execute(model(graph), arguments));
      float[] result = arguments.result(0);
      assertArrayEquals(new float[] {1, -2}, Arrays.copyOf(result, 2));
      assertTrue(Float.isNaN(result[2]) && Float.isNaN(result[3]));
    }
  }

  @Test
  void outputsMayBeReadByLaterOperationsAndConstantsStay() throws DeviceException {
    SubgraphBuilder graph = new SubgraphBuilder();
    int constant =
        tensor(
            graph,
            Shape.of(1),
            new Lifetime.ConstantCopy(new byte[] {0, 0, (byte) 0x80, 0x3F})); // 1.0
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, Shape.of(1), NONE);
    int first = graph.output("", OperandCode.TENSOR_FLOAT32, Shape.of(1), NONE);
    int second = graph.output("", OperandCode.TENSOR_FLOAT32, Shape.of(1), NONE);
    int none = graph.int32(0);
    graph.operation(OperationCode.ADD, List.of(input, constant, none), List.of(first));
    graph.operation(OperationCode.ADD, List.of(first, constant, none), List.of(second));
    Model model = model(graph);
    try (PreparedModel prepared = new TestDevice().prepare(model, PrepareConfig.DEFAULT)) {
      for (int i = 0; i < 3; i++) {
        try (Floats arguments = new Floats()) {
          arguments.input(Shape.NONE, i).output(1).output(1);
          prepared.execute(arguments.request(), ExecutionConfig.DEFAULT);
          assertArrayEquals(new float[] {i + 1}, arguments.result(0));
          assertArrayEquals(new float[] {i + 2}, arguments.result(1));
        }
      }
    }
  }

  @Test
  void modelsWhoseShapesCannotFitAreNotPrepared() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, Shape.of(2), NONE);
    int shaped = graph.temporary("", OperandCode.TENSOR_FLOAT32, Shape.of(3), NONE);
    int output = graph.output("", OperandCode.TENSOR_FLOAT32, Shape.of(3), NONE);
    graph.operation(OperationCode.RESHAPE, List.of(input, graph.int32Vector(3)), List.of(shaped));
    graph.operation(OperationCode.FLOOR, List.of(shaped), List.of(output));
    DeviceException refused =
        assertThrows(
            DeviceException.class,
            () -> new TestDevice().prepare(model(graph), PrepareConfig.DEFAULT));
    assertEquals(ErrorStatus.INVALID_ARGUMENT, refused.status());
    assertTrue(refused.getMessage().contains("RESHAPE"), refused.getMessage());
  }
}
