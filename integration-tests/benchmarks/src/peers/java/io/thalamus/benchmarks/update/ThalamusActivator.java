// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.update;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.simd.SimdDevice;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

/** A bundle that adds two tensors with Thalamus's fastest device when it starts. */
public final class ThalamusActivator implements BundleActivator {
  private static final int ELEMENTS = 3;
  private static final int BYTES = ELEMENTS * Float.BYTES;

  @Override
  public void start(BundleContext context) throws DeviceException {
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 2 * BYTES);
        SimdDevice device = new SimdDevice(context.getBundle().getVersion().toString(), 1);
        PreparedModel prepared = device.prepare(twice(), PrepareConfig.DEFAULT)) {
      memory.segment().setAtIndex(ValueLayout.JAVA_FLOAT, 2, 3);
      Request request =
          new Request(
              List.of(new Request.Location(0, 0, BYTES, Shape.NONE)),
              List.of(new Request.Location(0, BYTES, BYTES, Shape.NONE)),
              List.of(new MemoryPool.Shared(memory)));
      ExecutionResult result = prepared.execute(request, ExecutionConfig.DEFAULT);
      float sum = memory.segment().getAtIndex(ValueLayout.JAVA_FLOAT, ELEMENTS + 2);
      if (!(result instanceof ExecutionResult.Completed) || sum != 6) {
        throw new IllegalStateException("3 + 3 = " + sum + ", " + result);
      }
    }
  }

  /** x + x. */
  private static Model twice() {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(ELEMENTS);
    int x = graph.input("x", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int y = graph.output("y", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(OperationCode.ADD, List.of(x, x, graph.int32(0)), List.of(y));
    return Model.of(graph.build());
  }

  @Override
  public void stop(BundleContext context) {
    // All is closed already.
  }
}
