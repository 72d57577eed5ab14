// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Faults that only the values of an execution tell: bad indexes, shapes, and inputs that are left
 * out.
 */
class RunTimeTest {
  private static final int SLOT = 64;

  private final CpuDevice device = new CpuDevice("1.0.0");
  private SharedMemory memory;

  @BeforeEach
  void allocate() {
    memory = SharedMemory.allocate(MemoryKind.ASHMEM, 16 * SLOT);
  }

  @AfterEach
  void close() {
    memory.close();
  }

  private Location floats(int slot, float... values) {
    for (int i = 0; i < values.length; i++) {
      memory.segment().set(ValueLayout.JAVA_FLOAT_UNALIGNED, slot * SLOT + 4L * i, values[i]);
    }
    return room(slot, 4 * values.length);
  }

  private Location integers(int slot, int... values) {
    for (int i = 0; i < values.length; i++) {
      memory.segment().set(ValueLayout.JAVA_INT_UNALIGNED, slot * SLOT + 4L * i, values[i]);
    }
    return room(slot, 4 * values.length);
  }

  private static Location room(int slot, int bytes) {
    return new Location(0, slot * SLOT, bytes, Shape.NONE);
  }

  private float[] floatsAt(int slot, int count) {
    return memory
        .segment()
        .asSlice((long) slot * SLOT, 4L * count)
        .toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
  }

  private ExecutionResult run(
      PreparedModel prepared, List<Argument> inputs, List<Argument> outputs) {
    Request request = new Request(inputs, outputs, List.of(new MemoryPool.Shared(memory)));
    return prepared.execute(request, ExecutionConfig.DEFAULT);
  }

  private static int input(SubgraphBuilder graph, Shape shape) {
    return graph.input("", TENSOR_FLOAT32, shape, Quantization.NONE);
  }

  private static int output(SubgraphBuilder graph, Shape shape) {
    return graph.output("", TENSOR_FLOAT32, shape, Quantization.NONE);
  }

  private PreparedModel prepare(SubgraphBuilder graph) throws DeviceException {
    return device.prepare(Model.of(graph.build()), PrepareConfig.DEFAULT);
  }

  @Test
  void anIndexOutsideFailsTheExecutionAndNoOther() throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    int values = input(graph, Shape.of(3));
    int indexes = graph.input("", TENSOR_INT32, Shape.of(2), Quantization.NONE);
    int result = output(graph, Shape.of(2));
    graph.operation(
        OperationCode.GATHER, List.of(values, graph.int32(0), indexes), List.of(result));
    try (PreparedModel prepared = prepare(graph)) {
      Location data = floats(0, 5, 6, 7);
      Failed failed =
          assertInstanceOf(
              Failed.class, run(prepared, List.of(data, integers(1, 2, 3)), List.of(room(2, 8))));
      assertEquals(ErrorStatus.GENERAL_FAILURE, failed.status());
      assertTrue(failed.message().contains("GATHER"), failed.message());
      assertTrue(failed.message().contains("index 1 is 3"), failed.message());
      ExecutionResult good = run(prepared, List.of(data, integers(1, 2, 0)), List.of(room(2, 8)));
      assertInstanceOf(Completed.class, good);
      assertEquals(List.of(7f, 5f), List.of(floatsAt(2, 2)[0], floatsAt(2, 2)[1]));
    }
  }

  @Test
  void anInputThatIsNeededMustNotBeLeftOut() throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    int values = input(graph, Shape.of(3));
    graph.operation(OperationCode.ABS, List.of(values), List.of(output(graph, Shape.of(3))));
    try (PreparedModel prepared = prepare(graph)) {
      Failed failed =
          assertInstanceOf(
              Failed.class, run(prepared, List.of(Argument.NO_VALUE), List.of(room(2, 12))));
      assertTrue(failed.message().contains("input 0 must not be left out"), failed.message());
      assertInstanceOf(
          Completed.class, run(prepared, List.of(floats(0, -1, 2, -3)), List.of(room(2, 12))));
    }
  }

  @Test
  void theSameModelRunsWithAndWithoutAnOptionalInput() throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    int values = input(graph, Shape.of(1, 2, 1));
    int axes = graph.input("", TENSOR_INT32, Shape.of(1), Quantization.NONE);
    int squeezed = graph.temporary("", TENSOR_FLOAT32, Shape.NONE, Quantization.NONE);
    int result = output(graph, Shape.NONE);
    graph.operation(OperationCode.SQUEEZE, List.of(values, axes), List.of(squeezed));
    graph.operation(OperationCode.NEG, List.of(squeezed), List.of(result));
    try (PreparedModel prepared = prepare(graph)) {
      List<Argument> outputs = List.of(room(2, 8));
      Location data = floats(0, 1, 2);
      assertEquals(
          List.of(new OutputShape(Shape.of(2), true)),
          assertInstanceOf(
                  Completed.class, run(prepared, List.of(data, Argument.NO_VALUE), outputs))
              .outputs());
      assertEquals(
          List.of(new OutputShape(Shape.of(1, 2), true)),
          assertInstanceOf(Completed.class, run(prepared, List.of(data, integers(1, 2)), outputs))
              .outputs());
      assertEquals(-2, floatsAt(2, 2)[1]);
    }
  }

  /** Boxes that are chosen by the first execution, and what follows them, have measured shapes. */
  @Test
  void shapesAreMeasuredAndPassedOn() throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    int scores = input(graph, Shape.of(3, 2));
    int boxes = input(graph, Shape.of(3, 8));
    int image = graph.int32Vector(0, 0, 0);
    int best = graph.temporary("", TENSOR_FLOAT32, Shape.of(0), Quantization.NONE);
    int chosen = output(graph, Shape.of(0, 4));
    int classes = graph.output("", TENSOR_INT32, Shape.of(0), Quantization.NONE);
    int images = graph.output("", TENSOR_INT32, Shape.of(0), Quantization.NONE);
    int negative = output(graph, Shape.of(0));
    graph.operation(
        OperationCode.BOX_WITH_NMS_LIMIT,
        List.of(
            scores,
            boxes,
            image,
            graph.float32(0.5f),
            graph.int32(-1),
            graph.int32(0),
            graph.float32(0.5f),
            graph.float32(1),
            graph.float32(0.1f)),
        List.of(best, chosen, classes, images));
    graph.operation(OperationCode.NEG, List.of(best), List.of(negative));
    memory.segment().fill((byte) 0);
    float[] corners = new float[24];
    for (int i = 0; i < 3; i++) {
      corners[8 * i + 4] = 10 * i;
      corners[8 * i + 6] = 10 * i + 5;
      corners[8 * i + 7] = 5;
    }
    Location boxData = floats(4, corners);
    try (PreparedModel prepared = prepare(graph)) {
      List<Argument> outputs = List.of(room(8, 48), room(9, 12), room(10, 12), room(11, 12));
      Location three = floats(0, 0, 0.6f, 0, 0.9f, 0, 0.7f);
      Completed all =
          assertInstanceOf(Completed.class, run(prepared, List.of(three, boxData), outputs));
      assertEquals(Shape.of(3, 4), all.outputs().get(0).shape());
      assertEquals(List.of(-0.9f, -0.7f, -0.6f), boxed(floatsAt(11, 3)));
      OutputInsufficientSize tooSmall =
          assertInstanceOf(
              OutputInsufficientSize.class,
              run(
                  prepared,
                  List.of(three, boxData),
                  List.of(room(8, 47), room(9, 12), room(10, 12), room(11, 12))));
      assertEquals(new OutputShape(Shape.of(3, 4), false), tooSmall.outputs().get(0));
      assertTrue(tooSmall.outputs().get(3).isSufficient());
      Completed none =
          assertInstanceOf(
              Completed.class,
              run(prepared, List.of(floats(0, 0, 0, 0, 0, 0, 0.5f), boxData), outputs));
      assertEquals(Shape.of(0, 4), none.outputs().get(0).shape());
      assertEquals(Shape.of(0), none.outputs().get(3).shape());
    }
  }

  private static List<Float> boxed(float[] values) {
    return List.of(values[0], values[1], values[2]);
  }

  /** Sizes that only the request tells must not overflow, nor be allocated beyond NNAPI's limit. */
  @Test
  void sizesThatNobodyCanCountAreRefused() throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    int shape = graph.input("", TENSOR_INT32, Shape.of(3), Quantization.NONE);
    int result = output(graph, Shape.NONE);
    graph.operation(OperationCode.FILL, List.of(shape, graph.float32(1)), List.of(result));
    try (PreparedModel prepared = prepare(graph)) {
      for (int[] sizes :
          new int[][] {
            {1 << 30, 1 << 30, 1 << 30}, {1 << 16, 1 << 14, 1}, {-1, 1, 1}, {1 << 30, 1, 1}
          }) {
        Failed failed =
            assertInstanceOf(
                Failed.class, run(prepared, List.of(integers(0, sizes)), List.of(room(2, 8))));
        assertEquals(ErrorStatus.GENERAL_FAILURE, failed.status());
      }
      assertInstanceOf(
          Completed.class, run(prepared, List.of(integers(0, 1, 2, 1)), List.of(room(2, 8))));
    }
  }

  @Test
  void paddingThatOverflowsIsRefused() throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    int values = input(graph, Shape.of(2));
    int paddings = graph.input("", TENSOR_INT32, Shape.of(1, 2), Quantization.NONE);
    int result = output(graph, Shape.NONE);
    graph.operation(OperationCode.PAD, List.of(values, paddings), List.of(result));
    try (PreparedModel prepared = prepare(graph)) {
      Location data = floats(0, 1, 2);
      Failed failed =
          assertInstanceOf(
              Failed.class,
              run(
                  prepared,
                  List.of(data, integers(1, Integer.MAX_VALUE, Integer.MAX_VALUE)),
                  List.of(room(2, 8))));
      assertTrue(failed.message().contains("PAD"), failed.message());
    }
  }
}
