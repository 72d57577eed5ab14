// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.OperationCatalog;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Models that would take for ever, or more memory than there is. */
class LimitsTest {
  /** FLOOR never ends. */
  private static final class EndlessDevice extends KernelDevice {
    EndlessDevice() {
      super(
          facts(),
          KernelTable.builder()
              .add(
                  OperationCode.FLOOR,
                  operation ->
                      (inputs, outputs, scratch, work) -> {
                        while (true) {
                          work.done(1);
                        }
                      },
                  OperandCode.TENSOR_FLOAT32)
              .build(),
          OperationCatalog.standard());
    }

    private static DeviceInfo facts() {
      PerformanceInfo one = PerformanceInfo.of(1);
      return DeviceInfo.builder("test-endless", "1")
          .capabilities(new Capabilities(one, one, Map.of(), one, one))
          .build();
    }
  }

  /** As many values as are wanted, all of which are there at the same time. */
  private static Model model(int values, Shape shape) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    List<Integer> all = new ArrayList<>();
    for (int i = 0; i < values; i++) {
      all.add(graph.temporary("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE));
      graph.operation(OperationCode.FLOOR, List.of(input), List.of(all.getLast()));
    }
    for (int value : all) {
      int output = graph.output("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
      graph.operation(OperationCode.FLOOR, List.of(value), List.of(output));
    }
    return Model.of(graph.build());
  }

  @Test
  void aKernelThatTellsItsWorkIsStopped() throws Exception {
    Map<Signal, ErrorStatus> endings =
        Map.of(
            Signal.CANCELLED,
            ErrorStatus.GENERAL_FAILURE,
            Signal.DEADLINE,
            ErrorStatus.MISSED_DEADLINE_TRANSIENT);
    for (Map.Entry<Signal, ErrorStatus> ending : endings.entrySet()) {
      AtomicInteger asked = new AtomicInteger();
      ExecutionConfig config =
          ExecutionConfig.DEFAULT.with(
              () -> asked.incrementAndGet() <= 3 ? Signal.CONTINUE : ending.getKey());
      try (PreparedModel prepared =
              new EndlessDevice().prepare(model(1, Shape.of(2)), PrepareConfig.DEFAULT);
          Floats arguments = new Floats().input(Shape.NONE, 1.5f, -0.5f).output(2)) {
        ExecutionResult result = prepared.execute(arguments.request(), config);
        Failed failed = assertInstanceOf(Failed.class, result, result.toString());
        assertEquals(ending.getValue(), failed.status());
        assertEquals(4, asked.get());
      }
    }
  }

  @Test
  void moreMemoryThanThereIsIsRefusedBeforeItIsTaken() {
    Shape large = Shape.of(1 << 28);
    long bytes = large.elementCount() * Float.BYTES;
    int values = (int) (Runtime.getRuntime().maxMemory() / bytes) + 1;
    DeviceException e =
        assertThrows(
            DeviceException.class,
            () -> new TestDevice().prepare(model(values, large), PrepareConfig.DEFAULT));
    assertEquals(ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT, e.status());
    assertTrue(e.getMessage().contains("larger -Xmx"), e.getMessage());
  }
}
