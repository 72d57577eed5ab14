// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The ends of a loop besides its condition; and loops that run beside each other. */
class ControlFlowRunTest {
  private static final OperandCode INT = OperandCode.TENSOR_INT32;
  private final CpuDevice device = new CpuDevice("1.0.0");

  private static int reference(SubgraphBuilder builder, int index) {
    return builder.operand(
        new Operand(
            OperandCode.SUBGRAPH, Shape.NONE, Quantization.NONE, new SubgraphReference(index), ""));
  }

  private static int input(SubgraphBuilder builder, int... dimensions) {
    return builder.input("", INT, Shape.of(dimensions), Quantization.NONE);
  }

  private static int output(SubgraphBuilder builder, int... dimensions) {
    return builder.output("", INT, Shape.of(dimensions), Quantization.NONE);
  }

  /** {@code value < limit}, of the first element of a vector. */
  private static Subgraph condition(int... dimensions) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int value = input(graph, dimensions);
    int limit = input(graph, 1);
    int first = graph.temporary("", INT, Shape.of(1), Quantization.NONE);
    int result = graph.output("", OperandCode.TENSOR_BOOL8, Shape.of(1), Quantization.NONE);
    graph.operation(
        OperationCode.SLICE,
        List.of(value, graph.int32Vector(0), graph.int32Vector(1)),
        List.of(first));
    graph.operation(OperationCode.LESS, List.of(first, limit), List.of(result));
    return graph.build();
  }

  /** {@code value + step}. */
  private static Subgraph body(OperationType type, int step, int... dimensions) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int value = input(graph, dimensions);
    input(graph, 1);
    int result = output(graph, dimensions);
    graph.operation(type, List.of(value, graph.int32Vector(step), graph.int32(0)), List.of(result));
    return graph.build();
  }

  /** {@code while (value < limit) value += step}. */
  private static Model loop(OperationType type, int step, int... dimensions) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int value = input(graph, dimensions);
    int limit = input(graph, 1);
    int result = output(graph, dimensions);
    graph.operation(
        OperationCode.WHILE,
        List.of(reference(graph, 0), reference(graph, 1), value, limit),
        List.of(result));
    return new Model(
        graph.build(), List.of(condition(dimensions), body(type, step, dimensions)), false);
  }

  /** The same loop within a branch of an IF. */
  private static Model nested(int step) {
    Model loop = loop(OperationCode.ADD, step, 1);
    SubgraphBuilder graph = new SubgraphBuilder();
    int condition =
        graph.constant(
            "",
            OperandCode.TENSOR_BOOL8,
            Shape.of(1),
            Quantization.NONE,
            new ConstantCopy(new byte[] {1}));
    int value = input(graph, 1);
    int limit = input(graph, 1);
    int result = output(graph, 1);
    graph.operation(
        OperationCode.IF,
        List.of(condition, reference(graph, 2), reference(graph, 2), value, limit),
        List.of(result));
    List<Subgraph> graphs = new ArrayList<>(loop.referenced());
    graphs.add(loop.main());
    return new Model(graph.build(), graphs, false);
  }

  private static ExecutionResult run(
      PreparedModel prepared, ExecutionConfig config, int[] value, int limit, int[] result) {
    int bytes = Integer.BYTES;
    try (SharedMemory memory =
        SharedMemory.allocate(MemoryKind.ASHMEM, (long) bytes * (2 * value.length + 1))) {
      for (int i = 0; i < value.length; i++) {
        memory.segment().setAtIndex(ValueLayout.JAVA_INT, i, value[i]);
      }
      memory.segment().setAtIndex(ValueLayout.JAVA_INT, value.length, limit);
      long size = (long) bytes * value.length;
      List<Argument> inputs =
          List.of(
              new Location(0, 0, size, Shape.of(value.length)),
              new Location(0, size, bytes, Shape.NONE));
      List<Argument> outputs = List.of(new Location(0, size + bytes, size, Shape.NONE));
      ExecutionResult answer =
          prepared.execute(
              new Request(inputs, outputs, List.of(new MemoryPool.Shared(memory))), config);
      for (int i = 0; i < result.length; i++) {
        result[i] = memory.segment().getAtIndex(ValueLayout.JAVA_INT, value.length + 1 + i);
      }
      return answer;
    }
  }

  private static Failed failure(PreparedModel prepared, ExecutionConfig config) {
    int[] result = new int[1];
    return assertInstanceOf(Failed.class, run(prepared, config, new int[] {0}, 1, result));
  }

  @Test
  void aLoopWithoutEndMissesItsDeadlineWhereverItIs() throws DeviceException {
    ExecutionConfig brief = ExecutionConfig.DEFAULT.withLoopTimeout(Duration.ofMillis(5));
    for (Model model : List.of(loop(OperationCode.ADD, 0, 1), nested(0))) {
      try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
        Failed failed = failure(prepared, brief);
        assertEquals(ErrorStatus.MISSED_DEADLINE_TRANSIENT, failed.status());
        assertTrue(failed.message().contains("WHILE still loops after 5 ms"), failed.message());
      }
    }
  }

  @Test
  void aConditionThatIsFalseEndsTheLoopHoweverLongItTook() throws DeviceException {
    ExecutionConfig none = ExecutionConfig.DEFAULT.withLoopTimeout(Duration.ZERO);
    try (PreparedModel prepared =
        device.prepare(loop(OperationCode.ADD, 1, 1), PrepareConfig.DEFAULT)) {
      int[] result = new int[1];
      ExecutionResult answer = run(prepared, none, new int[] {7}, 3, result);
      assertInstanceOf(Completed.class, answer);
      assertEquals(7, result[0]);
    }
  }

  @Test
  void cancellationIsSeenBetweenRounds() throws DeviceException {
    AtomicInteger asked = new AtomicInteger();
    ExecutionConfig cancelled =
        ExecutionConfig.DEFAULT.with(
            () -> asked.incrementAndGet() == 1000 ? Signal.CANCELLED : Signal.CONTINUE);
    try (PreparedModel prepared =
        device.prepare(loop(OperationCode.ADD, 0, 1), PrepareConfig.DEFAULT)) {
      Failed failed = failure(prepared, cancelled);
      assertEquals(ErrorStatus.GENERAL_FAILURE, failed.status());
      assertTrue(failed.message().contains("cancelled"), failed.message());
      assertEquals(1000, asked.get());
    }
  }

  @Test
  void theDeadlineOfTheExecutionEndsALoop() throws DeviceException {
    ExecutionConfig soon = ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofMillis(20)));
    try (PreparedModel prepared =
        device.prepare(loop(OperationCode.ADD, 0, 1), PrepareConfig.DEFAULT)) {
      Failed failed = failure(prepared, soon);
      assertEquals(ErrorStatus.MISSED_DEADLINE_TRANSIENT, failed.status());
      assertTrue(failed.message().contains("deadline"), failed.message());
    }
  }

  @Test
  void manyRoundsOverValuesOfUnknownSizeKeepOnlyTwoOfThem() throws DeviceException {
    // 4,000 rounds of 1 MB each: kept, they would take 4 GB.
    int length = 1 << 18;
    int[] value = new int[length];
    value[length - 1] = 41;
    int[] result = new int[length];
    try (PreparedModel prepared =
        device.prepare(loop(OperationCode.ADD, 1, 0), PrepareConfig.DEFAULT)) {
      ExecutionConfig patient = ExecutionConfig.DEFAULT.withLoopTimeout(Duration.ofSeconds(15));
      ExecutionResult answer = run(prepared, patient, value, 40, result);
      assertInstanceOf(Completed.class, answer, answer::toString);
      assertEquals(40, result[0]);
      assertEquals(81, result[length - 1]);
    }
  }

  @Test
  void executionsOfOneLoopDoNotDisturbEachOther() throws Exception {
    try (PreparedModel prepared = device.prepare(nested(3), PrepareConfig.DEFAULT);
        ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Callable<Integer>> calls = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        int start = i % 17;
        int limit = 50 + i;
        calls.add(
            () -> {
              int[] result = new int[1];
              run(prepared, ExecutionConfig.DEFAULT, new int[] {start}, limit, result);
              return result[0];
            });
      }
      List<Future<Integer>> answers = threads.invokeAll(calls);
      for (int i = 0; i < answers.size(); i++) {
        int start = i % 17;
        int rounds = Math.ceilDiv(50 + i - start, 3);
        assertEquals(start + 3 * rounds, answers.get(i).get(), "execution " + i);
      }
    }
  }

  @Test
  void aLoopIsSupportedOnlyWhereAllOfItsGraphsAre() throws DeviceException {
    assertEquals(1, device.supportedOperations(loop(OperationCode.ADD, 1, 1)).cardinality());
    OperationType foreign = new ExtensionOperationType("com.example", 0, "NUDGE");
    Model model = loop(foreign, 1, 1);
    assertEquals(0, device.supportedOperations(model).cardinality());
    DeviceException e =
        assertThrows(DeviceException.class, () -> device.prepare(model, PrepareConfig.DEFAULT));
    assertEquals(ErrorStatus.INVALID_ARGUMENT, e.status());
    assertTrue(e.getMessage().contains("WHILE"), e.getMessage());
  }
}
