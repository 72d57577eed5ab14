// SPDX-License-Identifier: Apache-2.0
package com.example.template;

import io.thalamus.driver.BurstSource;
import io.thalamus.driver.KernelDevice;
import io.thalamus.driver.KernelTable;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.OperandCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.operations.OperationCatalog;
import java.util.Map;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/** The device: its facts and the kernels that it has. Thread-safe. */
@Component(service = Device.class)
@DeviceDriver(device = "template", type = "OTHER")
public final class TemplateDevice extends KernelDevice {
  /** Called by the component runtime, each time that the bundle starts. */
  @Activate
  public TemplateDevice(BundleContext context) {
    this(context.getBundle().getVersion().toString(), BurstSource.of(context));
  }

  /** For use without a framework. */
  public TemplateDevice(String version) {
    this(version, BurstSource.NONE);
  }

  private TemplateDevice(String version, BurstSource bursts) {
    super(facts(version), kernels(), OperationCatalog.standard(), bursts);
  }

  private static DeviceInfo facts(String version) {
    // A little more than the reference's 1: what both take goes to the reference.
    PerformanceInfo slow = PerformanceInfo.of(1.5f);
    return DeviceInfo.builder("example-template", version)
        .type(DeviceType.OTHER)
        .capabilities(
            new Capabilities(
                PerformanceInfo.UNSUPPORTED,
                slow,
                Map.of(OperandCode.TENSOR_FLOAT32, slow),
                PerformanceInfo.UNSUPPORTED,
                PerformanceInfo.UNSUPPORTED))
        .build();
  }

  private static KernelTable kernels() {
    KernelTable.Builder table = KernelTable.builder();
    Activation.register(table);
    Elementwise.register(table);
    return table.build();
  }
}
