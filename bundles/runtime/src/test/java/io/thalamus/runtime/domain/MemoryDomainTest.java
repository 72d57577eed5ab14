// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.Device;
import io.thalamus.model.DeviceType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.runtime.fakes.DomainDevice;
import io.thalamus.runtime.fakes.DomainDevice.Allocation;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** AOSP's TestMemoryDomain: where a memory stands, as the devices answer and as they were named. */
class MemoryDomainTest {
  private static final float[] VALUE = {1, -2, 3, 4};

  /** Ten of a driver that can have buffers, and two of an older one. */
  static Stream<Arguments> parameters() {
    return Stream.of(true, false)
        .flatMap(
            named ->
                Stream.concat(
                    Stream.of(Allocation.values())
                        .map(allocation -> Arguments.of(allocation, named, FeatureLevel.V1_3)),
                    Stream.of(Arguments.of(Allocation.NOT_SUPPORTED, named, FeatureLevel.V1_2))));
  }

  private static Device device(
      String id, Allocation allocation, FeatureLevel level, OperationCode... operations) {
    return level == FeatureLevel.V1_3
        ? DomainDevice.of(id, 0.1, operations).with(allocation)
        : new LimitedDevice(
            LimitedDevice.info("test-" + id, DeviceType.ACCELERATOR, 0.1)
                .featureLevel(level)
                .build(),
            (graph, operation) ->
                operations.length == 0 || List.of(operations).contains(operation.type()));
  }

  private static CompilationOptions options(boolean isNamed, String... ids) {
    return isNamed
        ? CompilationOptions.DEFAULT.withDevices(List.of(ids))
        : CompilationOptions.DEFAULT;
  }

  private static String home(Memory memory) {
    return memory.describe().home();
  }

  /** Makes the memory, or says in which way that failed. */
  private static void expect(
      TestRuntime runtime, MemoryDesc desc, String home, ResultCode otherwise)
      throws NeuralNetworksException {
    if (otherwise == ResultCode.NO_ERROR) {
      try (Memory memory = runtime.networks().createMemory(desc)) {
        assertEquals(home, home(memory));
      }
    } else {
      NeuralNetworksException refused =
          assertThrows(NeuralNetworksException.class, () -> runtime.networks().createMemory(desc));
      assertEquals(otherwise, refused.code(), refused.getMessage());
    }
    assertEquals(List.of(), runtime.networks().memories());
  }

  @ParameterizedTest
  @MethodSource("parameters")
  void singlePartition(Allocation allocation, boolean isNamed, FeatureLevel level)
      throws NeuralNetworksException {
    try (TestRuntime runtime =
        TestRuntime.of(device("npu", allocation, level), LimitedDevice.cpu())) {
      Compilation twice = runtime.networks().compile(Graphs.twice(2, 2), options(isNamed, "npu"));
      boolean isOnDevice = allocation == Allocation.OK;
      MemoryDesc both = MemoryDesc.builder("both").input(twice, 0).output(twice, 0).build();
      expect(
          runtime,
          both,
          isOnDevice ? "npu" : MemoryInfo.SHARED,
          isOnDevice || !isNamed ? ResultCode.NO_ERROR : ResultCode.OP_FAILED);
      if (isOnDevice || !isNamed) {
        try (Memory input = runtime.networks().createMemory(both);
            Memory output = runtime.networks().createMemory(both)) {
          input.copyFrom(Graphs.floats(VALUE));
          twice.createExecution().setInput(0, input).setOutput(0, output).compute().orThrow();
          twice.createExecution().setInput(0, output).setOutput(0, input).compute().orThrow();
          float[] result = new float[4];
          input.copyTo(Graphs.floats(result));
          assertArrayEquals(new float[] {4, -8, 12, 16}, result);
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("parameters")
  void multiplePartitions(Allocation allocation, boolean isNamed, FeatureLevel level)
      throws NeuralNetworksException {
    Graphs.Builder graph = new Graphs.Builder(2, 2);
    int a = graph.input("a");
    int b = graph.input("b");
    int sum = graph.output("sum");
    int product = graph.output("product");
    graph.op(OperationCode.ADD, a, a, sum);
    graph.op(OperationCode.MUL, sum, b, product);
    Model model = graph.model();
    try (TestRuntime runtime =
        TestRuntime.of(
            device("adder", allocation, level, OperationCode.ADD),
            device("multiplier", allocation, level, OperationCode.MUL),
            LimitedDevice.cpu())) {
      Compilation compilation =
          runtime.networks().compile(model, options(isNamed, "adder", "multiplier"));
      boolean isOnDevice = allocation == Allocation.OK;
      ResultCode otherwise = isOnDevice || !isNamed ? ResultCode.NO_ERROR : ResultCode.OP_FAILED;
      String shared = MemoryInfo.SHARED;
      expect(
          runtime,
          MemoryDesc.builder("a").input(compilation, 0).build(),
          isOnDevice ? "adder" : shared,
          otherwise);
      expect(
          runtime,
          MemoryDesc.builder("b").input(compilation, 1).build(),
          isOnDevice ? "multiplier" : shared,
          otherwise);
      expect(
          runtime,
          MemoryDesc.builder("product").output(compilation, 1).build(),
          isOnDevice ? "multiplier" : shared,
          otherwise);
      // One device writes it, the other one reads it.
      expect(
          runtime,
          MemoryDesc.builder("sum").output(compilation, 0).build(),
          shared,
          isNamed ? ResultCode.OP_FAILED : ResultCode.NO_ERROR);
      // Roles that lead to two devices.
      expect(
          runtime,
          MemoryDesc.builder("both").input(compilation, 0).input(compilation, 1).build(),
          shared,
          isNamed ? ResultCode.OP_FAILED : ResultCode.NO_ERROR);
    }
  }

  @ParameterizedTest
  @MethodSource("parameters")
  void dynamicShape(Allocation allocation, boolean isNamed, FeatureLevel level)
      throws NeuralNetworksException {
    try (TestRuntime runtime =
        TestRuntime.of(device("npu", allocation, level), LimitedDevice.cpu())) {
      Compilation twice = runtime.networks().compile(Graphs.twice(0, 2), options(isNamed, "npu"));
      boolean isOnDevice = allocation == Allocation.OK;
      MemoryDesc open = MemoryDesc.builder("open").input(twice, 0).output(twice, 0).build();
      // Without a device, nobody knows how much room it needs.
      expect(runtime, open, "npu", isOnDevice ? ResultCode.NO_ERROR : ResultCode.OP_FAILED);
      expect(
          runtime,
          MemoryDesc.builder("known").input(twice, 0).dimensions(Shape.of(2, 2)).build(),
          isOnDevice ? "npu" : MemoryInfo.SHARED,
          isOnDevice || !isNamed ? ResultCode.NO_ERROR : ResultCode.OP_FAILED);
      if (isOnDevice) {
        try (Memory input = runtime.networks().createMemory(open);
            Memory output = runtime.networks().createMemory(open)) {
          for (int rows = 1; rows <= 3; rows++) {
            float[] value = new float[rows * 2];
            value[0] = rows;
            input.copyFrom(Graphs.floats(value), Shape.of(rows, 2));
            twice.createExecution().setInput(0, input).setOutput(0, output).compute().orThrow();
            assertEquals(Shape.of(rows, 2), output.describe().shape());
            float[] result = new float[rows * 2];
            output.copyTo(Graphs.floats(result));
            assertEquals(2f * rows, result[0]);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("parameters")
  void memoryCopy(Allocation allocation, boolean isNamed, FeatureLevel level)
      throws NeuralNetworksException {
    boolean isOnDevice = allocation == Allocation.OK;
    if (isNamed && !isOnDevice) {
      return; // nothing to copy: singlePartition says so
    }
    try (TestRuntime runtime =
        TestRuntime.of(device("npu", allocation, level), LimitedDevice.cpu())) {
      Compilation twice = runtime.networks().compile(Graphs.twice(2, 2), options(isNamed, "npu"));
      MemoryDesc desc = MemoryDesc.builder("m").input(twice, 0).output(twice, 0).build();
      try (Memory from = runtime.networks().createMemory(desc);
          Memory to = runtime.networks().createMemory(desc)) {
        from.copyFrom(Graphs.floats(VALUE));
        to.copyFrom(from);
        to.copyFrom(to);
        float[] result = new float[4];
        to.copyTo(Graphs.floats(result));
        assertArrayEquals(VALUE, result);
        // From where an execution has left it.
        twice.createExecution().setInput(0, from).setOutput(0, to).compute().orThrow();
        from.copyFrom(to);
        from.copyTo(Graphs.floats(result));
        assertArrayEquals(new float[] {2, -4, 6, 8}, result);
      }
    }
  }
}
