// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compilations end when their caller wants it. */
class StoppedPrepareTest {
  private static final Quantization SCALE = Quantization.of(0.5f, 120);
  private static final int OPERATIONS = 4;

  /** Sums in a row. */
  private static Model model() {
    Shape shape = Shape.of(1, 13, 13, 64);
    SubgraphBuilder graph = new SubgraphBuilder();
    int value = graph.input("", OperandCode.TENSOR_QUANT8_ASYMM, shape, SCALE);
    for (int i = 1; i <= OPERATIONS; i++) {
      int next =
          i < OPERATIONS
              ? graph.temporary("", OperandCode.TENSOR_QUANT8_ASYMM, shape, SCALE)
              : graph.output("", OperandCode.TENSOR_QUANT8_ASYMM, shape, SCALE);
      graph.operation(OperationCode.ADD, List.of(value, value, graph.int32(0)), List.of(next));
      value = next;
    }
    return Model.of(graph.build());
  }

  private static void assertStopped(
      int budget, int checkpoints, Signal signal, ErrorStatus status) {
    AtomicInteger asked = new AtomicInteger();
    PrepareConfig config =
        PrepareConfig.DEFAULT.with(
            () -> asked.incrementAndGet() < checkpoints ? Signal.CONTINUE : signal);
    NpuConfig settings = NpuConfig.DEFAULT.withSearch(budget, true, 1);
    try (NpuDevice device = new NpuDevice("1.0.0", settings)) {
      Device any = device;
      DeviceException e = assertThrows(DeviceException.class, () -> any.prepare(model(), config));
      assertEquals(status, e.status(), e.getMessage());
    }
  }

  @ParameterizedTest
  @CsvSource({"CANCELLED, GENERAL_FAILURE", "DEADLINE, MISSED_DEADLINE_TRANSIENT"})
  void aCompilationEndsBetweenOperations(Signal signal, ErrorStatus status) {
    assertStopped(0, OPERATIONS, signal, status);
  }

  @ParameterizedTest
  @CsvSource({"CANCELLED, GENERAL_FAILURE", "DEADLINE, MISSED_DEADLINE_TRANSIENT"})
  void aSearchThatIsWaitedForEndsBetweenTilings(Signal signal, ErrorStatus status) {
    assertStopped(1 << 10, OPERATIONS + 20, signal, status);
  }
}
