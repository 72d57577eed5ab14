// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

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
  private static final int OPERATIONS = 4;

  /** Sums in a row. */
  private static Model model() {
    Shape shape = Shape.of(2);
    SubgraphBuilder graph = new SubgraphBuilder();
    int value = graph.input("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    for (int i = 1; i <= OPERATIONS; i++) {
      int next =
          i < OPERATIONS
              ? graph.temporary("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE)
              : graph.output("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
      graph.operation(OperationCode.ADD, List.of(value, value, graph.int32(0)), List.of(next));
      value = next;
    }
    return Model.of(graph.build());
  }

  @ParameterizedTest
  @CsvSource({"CANCELLED, GENERAL_FAILURE", "DEADLINE, MISSED_DEADLINE_TRANSIENT"})
  void aCompilationEndsBetweenOperations(Signal signal, ErrorStatus status) {
    AtomicInteger asked = new AtomicInteger();
    PrepareConfig config =
        PrepareConfig.DEFAULT.with(
            () -> asked.incrementAndGet() < OPERATIONS ? Signal.CONTINUE : signal);
    try (SimdDevice device = new SimdDevice("1.0.0", 1)) {
      Device any = device;
      DeviceException e = assertThrows(DeviceException.class, () -> any.prepare(model(), config));
      assertEquals(status, e.status(), e.getMessage());
    }
  }
}
