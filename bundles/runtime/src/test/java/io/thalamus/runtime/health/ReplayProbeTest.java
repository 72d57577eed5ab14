// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.health.ReplayProbe.Value;
import io.thalamus.runtime.registry.DeviceRegistry;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The record of a step that was computed wrongly. */
class ReplayProbeTest {
  private static final int ELEMENTS = 64;

  private static Model model(SharedMemory pool) {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(1, ELEMENTS);
    int in = graph.input("x", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int constant =
        graph.constant(
            "c",
            OperandCode.TENSOR_FLOAT32,
            shape,
            Quantization.NONE,
            new ConstantReference(pool, 0, 4 * ELEMENTS));
    int out = graph.output("y", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(OperationCode.SUB, List.of(in, constant, graph.int32(0)), List.of(out));
    return Model.of(graph.build());
  }

  private static Optional<ReplayProbe> replay(Model model, int bytes) {
    Value value = new Value(new byte[bytes], Shape.NONE, Shape.NONE);
    return ReplayProbe.of(
        "SUB", model, List.of(value), List.of(value), (index, is, expected) -> Optional.empty());
  }

  @Test
  void constantsStayMappedUntilItIsClosed() {
    SharedMemory pool = SharedMemory.allocate(MemoryKind.ASHMEM, 4 * ELEMENTS);
    ReplayProbe kept = replay(model(pool), 4 * ELEMENTS).orElseThrow();
    pool.close();
    assertTrue(pool.segment().scope().isAlive());
    kept.close();
    assertThrows(IllegalStateException.class, pool::lend);
  }

  @Test
  void constantsAreGivenBackWhenTheDeviceLeaves() {
    SharedMemory pool = SharedMemory.allocate(MemoryKind.ASHMEM, 4 * ELEMENTS);
    SteppedTime time = new SteppedTime();
    try (DeviceRegistry registry = new DeviceRegistry(TestRuntime.SETTINGS, time, new Health())) {
      LimitedDevice device = LimitedDevice.of("sub", 0.5, OperationCode.SUB);
      registry.addDevice(device, Map.of());
      RegisteredDevice registered = registry.devices().getFirst();
      registered.monitor().disagreed("it is wrong", replay(model(pool), 4 * ELEMENTS));
      // The second one is not kept: what brought it there is reason enough.
      registered.monitor().disagreed("it is wrong again", replay(model(pool), 4 * ELEMENTS));
      pool.close();
      assertTrue(pool.segment().scope().isAlive());
      registry.removeDevice(device);
      assertThrows(IllegalStateException.class, pool::lend);
      registered.monitor().disagreed("told late", Optional.empty());
    }
  }

  @Test
  void hugeValuesAreNotKept() {
    try (SharedMemory pool = SharedMemory.allocate(MemoryKind.ASHMEM, 4 * ELEMENTS)) {
      assertEquals(Optional.empty(), replay(model(pool), 17 << 20));
    }
  }
}
