// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryDesc.Direction;
import io.thalamus.api.MemoryInfo.State;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.runtime.fakes.DomainDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** AOSP's tests of memory descriptors, and of executions with their memories. */
class MemoryDescTest {
  private final TestRuntime runtime =
      TestRuntime.lenient(DomainDevice.of("npu", 0.1), LimitedDevice.cpu());
  private final Compilation twice = compile(Graphs.twice(1, 2));

  @AfterEach
  void close() {
    runtime.close();
  }

  private Compilation compile(Model model) {
    try {
      return runtime.networks().compile(model, CompilationOptions.DEFAULT);
    } catch (NeuralNetworksException e) {
      throw new AssertionError(e);
    }
  }

  private Memory make(MemoryDesc.Builder desc) throws NeuralNetworksException {
    return runtime.networks().createMemory(desc.build());
  }

  private void refused(MemoryDesc.Builder desc) {
    refused(ResultCode.BAD_DATA, () -> make(desc));
  }

  private static void refused(ResultCode code, Executable call) {
    NeuralNetworksException e = assertThrows(NeuralNetworksException.class, call);
    assertEquals(code, e.code(), e.getMessage());
    assertTrue(e.getMessage().contains("'m"), e.getMessage());
  }

  private static MemoryDesc.Builder m() {
    return MemoryDesc.builder("m");
  }

  private Compilation scalar() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int a = graph.input("a", OperandCode.TENSOR_FLOAT32, Shape.of(2), Quantization.NONE);
    int activation = graph.input("activation", OperandCode.INT32, Shape.NONE, Quantization.NONE);
    int out = graph.output("out", OperandCode.TENSOR_FLOAT32, Shape.of(2), Quantization.NONE);
    graph.operation(OperationCode.ADD, List.of(a, a, activation), List.of(out));
    return compile(Model.of(graph.build()));
  }

  private Compilation quantized(Quantization quantization) {
    SubgraphBuilder graph = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_QUANT8_ASYMM;
    int a = graph.input("a", type, Shape.of(1, 2), quantization);
    int out = graph.output("out", type, Shape.of(1, 2), quantization);
    graph.operation(OperationCode.ADD, List.of(a, a, graph.int32(0)), List.of(out));
    return compile(Model.of(graph.build()));
  }

  @Test
  void addRole() throws NeuralNetworksException {
    for (Direction direction : Direction.values()) {
      for (int index : new int[] {-1, 1, 999}) {
        refused(m().role(twice, direction, index, 1));
      }
      for (float frequency : new float[] {10, 0, -0.5f, Float.NaN}) {
        refused(m().role(twice, direction, 0, frequency));
      }
      refused(m().role(twice, direction, 0, 1).role(twice, direction, 0, 0.5f));
    }
    make(m().input(twice, 0).output(twice, 0)).close();
  }

  @Test
  void operandMetadata() {
    Quantization half = Quantization.of(0.5f, 0);
    refused(m().input(twice, 0).input(quantized(half), 0));
    refused(m().input(quantized(half), 0).input(quantized(Quantization.of(0.25f, 0)), 0));
    refused(m().input(quantized(half), 0).input(quantized(Quantization.of(0.5f, 1)), 0));
    refused(m().input(twice, 0).input(compile(Graphs.twice(2)), 0));
    refused(m().input(twice, 0).output(compile(Graphs.twice(1, 3)), 0));
  }

  @Test
  void setDimensions() throws NeuralNetworksException {
    refused(m().input(twice, 0).dimensions(Shape.of(1, 3)));
    refused(m().input(twice, 0).dimensions(Shape.of(2)));
    make(m().input(twice, 0).dimensions(Shape.of(1, 2))).close();
    make(m().input(twice, 0).dimensions(Shape.of(0, 2))).close();
  }

  @Test
  void scalarsHaveNoDimensions() throws NeuralNetworksException {
    Compilation scalar = scalar();
    refused(m().dimensions(Shape.of(2)).input(scalar, 1));
    make(m().input(scalar, 1)).close();
  }

  @Test
  void finishWantsARole() {
    refused(m());
  }

  @Test
  void createMemoryWantsOurCompilations() {
    refused(m().input(new Stranger(twice.model()), 0));
  }

  /** A compilation of somebody else. */
  private record Stranger(Model model) implements Compilation {
    @Override
    public Plan plan() {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<CacheOutcome> caching() {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean isReplanning() {
      return false;
    }

    @Override
    public Execution createExecution() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Burst createBurst(BurstOptions options) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      // Nothing is open.
    }
  }

  @Test
  void memoryCopying() throws NeuralNetworksException {
    float[] good = {5, 6};
    try (Memory one = make(m().input(twice, 0));
        Memory two = make(m().input(twice, 0));
        Memory otherRank = make(m().input(compile(Graphs.twice(2)), 0));
        Memory otherDimensions = make(m().input(compile(Graphs.twice(2, 1)), 0))) {
      // In: sizes.
      refused(ResultCode.BAD_DATA, () -> one.copyFrom(Graphs.floats(1)));
      refused(ResultCode.BAD_DATA, () -> one.copyFrom(Graphs.floats(1, 2, 3, 4)));
      refused(ResultCode.BAD_DATA, () -> one.copyFrom(Graphs.floats(good), Shape.of(2)));
      // Out: nothing there yet, sizes, nothing there any more.
      refused(ResultCode.BAD_DATA, () -> one.copyTo(Graphs.floats(good)));
      one.copyFrom(Graphs.floats(good));
      refused(ResultCode.BAD_DATA, () -> one.copyTo(Graphs.floats(0)));
      float[] result = new float[2];
      one.copyTo(Graphs.floats(result));
      assertArrayEquals(good, result);
      refused(ResultCode.BAD_DATA, () -> one.copyFrom(Graphs.floats(1)));
      refused(ResultCode.BAD_DATA, () -> one.copyTo(Graphs.floats(result)));
      // From memory to memory.
      one.copyFrom(Graphs.floats(good));
      refused(ResultCode.BAD_DATA, () -> one.copyFrom(two));
      assertEquals(State.UNINITIALIZED, one.describe().state());
      otherRank.copyFrom(Graphs.floats(good));
      refused(ResultCode.BAD_DATA, () -> one.copyFrom(otherRank));
      otherDimensions.copyFrom(Graphs.floats(good));
      refused(ResultCode.BAD_DATA, () -> one.copyFrom(otherDimensions));
      two.copyFrom(Graphs.floats(good));
      one.copyFrom(two);
      // To itself: nothing happens, holds it anything or not.
      one.copyFrom(one);
      one.copyTo(Graphs.floats(result));
      assertArrayEquals(good, result);
      refused(ResultCode.BAD_DATA, () -> two.copyFrom(Graphs.floats(1)));
      two.copyFrom(two);
      refused(ResultCode.BAD_DATA, () -> one.copyFrom(two));
    }
  }

  @Test
  void setInputFromMemory() throws NeuralNetworksException {
    float[] result = new float[2];
    Compilation other = compile(Graphs.twice(1, 2));
    try (Memory input = make(m().input(twice, 0));
        Memory output = make(m().output(twice, 0));
        Memory others = make(m().input(other, 0))) {
      // Roles are looked at first: of another compilation, of the other side.
      for (Memory wrong : List.of(others, output)) {
        wrong.copyFrom(Graphs.floats(1, 2));
        ExecutionReport report =
            twice
                .createExecution()
                .setInput(0, wrong)
                .setOutput(0, Graphs.floats(result))
                .compute();
        assertEquals(ResultCode.BAD_DATA, report.code());
        assertTrue(report.message().contains("'m'"), report.message());
      }
      // Then what it holds.
      assertEquals(
          ResultCode.OP_FAILED,
          twice
              .createExecution()
              .setInput(0, input)
              .setOutput(0, Graphs.floats(result))
              .compute()
              .code());
      input.copyFrom(Graphs.floats(1, 2));
      twice
          .createExecution()
          .setInput(0, input)
          .setOutput(0, Graphs.floats(result))
          .compute()
          .orThrow();
      assertArrayEquals(new float[] {2, 4}, result);
    }
  }

  @Test
  void closedMemory() throws NeuralNetworksException {
    Memory closed = make(m().input(twice, 0));
    closed.copyFrom(Graphs.floats(1, 2));
    closed.close();
    closed.close();
    assertEquals(
        ResultCode.BAD_DATA,
        twice
            .createExecution()
            .setInput(0, closed)
            .setOutput(0, Graphs.floats(0, 0))
            .compute()
            .code());
    refused(ResultCode.BAD_DATA, () -> closed.copyFrom(Graphs.floats(1, 2)));
  }

  @Test
  void setOutputFromMemory() throws NeuralNetworksException {
    try (Memory input = make(m().input(twice, 0));
        Memory both = make(m().input(twice, 0).output(twice, 0))) {
      assertEquals(
          ResultCode.BAD_DATA,
          twice
              .createExecution()
              .setInput(0, Graphs.floats(1, 2))
              .setOutput(0, input)
              .compute()
              .code());
      both.copyFrom(Graphs.floats(1, 2));
      ExecutionReport report =
          twice.createExecution().setInput(0, both).setOutput(0, both).compute();
      assertEquals(ResultCode.BAD_DATA, report.code(), report.message());
      float[] result = new float[2];
      both.copyTo(Graphs.floats(result));
      assertArrayEquals(new float[] {1, 2}, result, "a refused execution changes nothing");
      twice
          .createExecution()
          .setInput(0, Graphs.floats(3, 4))
          .setOutput(0, both)
          .compute()
          .orThrow();
      both.copyTo(Graphs.floats(result));
      assertArrayEquals(new float[] {6, 8}, result);
    }
  }

  @Test
  void inputDimensionsAreThoseOfTheContents() throws NeuralNetworksException {
    Compilation open = compile(Graphs.twice(0, 2));
    // One compilation leaves open what the other one knows.
    try (Memory memory = make(m().output(open, 0).input(open, 0))) {
      memory.copyFrom(Graphs.floats(1, 2, 3, 4), Shape.of(2, 2));
      float[] result = new float[4];
      open.createExecution()
          .setInput(0, memory)
          .setOutput(0, Graphs.floats(result), Shape.of(2, 2))
          .compute()
          .orThrow();
      assertArrayEquals(new float[] {2, 4, 6, 8}, result);
    }
    try (Memory memory = make(m().input(open, 0).dimensions(Shape.of(3, 2)))) {
      refused(
          ResultCode.BAD_DATA, () -> memory.copyFrom(Graphs.floats(1, 2, 3, 4), Shape.of(2, 2)));
    }
  }

  @Test
  void dependenciesWriteWhatIsRead() throws NeuralNetworksException {
    try (Memory one = make(m().input(twice, 0).output(twice, 0));
        Memory two = make(m().input(twice, 0).output(twice, 0))) {
      var first =
          twice.createExecution().setInput(0, Graphs.floats(1, 2)).setOutput(0, one).computeAsync();
      var second =
          twice
              .createExecution()
              .setInput(0, one)
              .setOutput(0, two)
              .startComputeWithDependencies(List.of(first));
      assertEquals(ResultCode.NO_ERROR, second.join().code(), second.join().message());
      float[] result = new float[2];
      two.copyTo(Graphs.floats(result));
      assertArrayEquals(new float[] {4, 8}, result);
    }
  }
}
