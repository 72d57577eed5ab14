// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.kernel;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.OperandCode;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SingleOperationTest {
  private final CpuDevice device = new CpuDevice("1.0.0");

  @ParameterizedTest
  @EnumSource(Kernel.class)
  void everyKernelIsOneThatTheCpuHas(Kernel kernel) throws Exception {
    for (OperandCode type : List.of(OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_QUANT8_ASYMM)) {
      try (SingleOperation operation = new SingleOperation(kernel, type)) {
        assertTrue(device.supportedOperations(operation.model()).get(0), kernel + " " + type);
      }
    }
  }
}
