// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.extension;

import static io.thalamus.model.LittleEndian.FLOAT;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelDevice;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ResolvedOperation;
import java.util.Map;
import java.util.Set;

/** Knows {@link ComplexExtension} and nothing else. Thread-safe. */
final class ComplexDevice extends KernelDevice {
  ComplexDevice() {
    super(facts(), kernels(), OperationCatalog.standard().with(new ComplexExtension()));
  }

  private static DeviceInfo facts() {
    PerformanceInfo one = PerformanceInfo.of(1);
    return DeviceInfo.builder("test-complex", "1")
        .type(DeviceType.ACCELERATOR)
        .capabilities(
            new Capabilities(
                PerformanceInfo.UNSUPPORTED,
                PerformanceInfo.UNSUPPORTED,
                Map.of(ComplexExtension.COMPLEX, one),
                PerformanceInfo.UNSUPPORTED,
                PerformanceInfo.UNSUPPORTED))
        .extensions(Set.of(ComplexExtension.NAME))
        .build();
  }

  private static KernelTable kernels() {
    return KernelTable.builder()
        .add(ComplexExtension.MAGNITUDE, ComplexDevice::magnitude, ComplexExtension.COMPLEX)
        .build();
  }

  private static Kernel magnitude(ResolvedOperation operation) {
    long count = operation.outputShape(0).elementCount();
    return (inputs, outputs, scratch, work) -> {
      for (long i = 0; i < count; i++) {
        work.done(2);
        float real = inputs[0].getAtIndex(FLOAT, 2 * i);
        float imaginary = inputs[0].getAtIndex(FLOAT, 2 * i + 1);
        outputs[0].setAtIndex(FLOAT, i, (float) Math.hypot(real, imaginary));
      }
    };
  }
}
