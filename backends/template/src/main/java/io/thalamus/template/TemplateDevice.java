// SPDX-License-Identifier: Apache-2.0
package io.thalamus.template;

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
@DeviceDriver(
    device = "template",
    type = "OTHER",
    modelCacheFiles = 0,
    dataCacheFiles = 0,
    memoryDomain = false,
    extensions = {},
    performance = {"RELAXED_TENSOR 1.5 1.5", "TENSOR_FLOAT32 1.5 1.5"})
public final class TemplateDevice extends KernelDevice {
  /** Called by the component runtime, each time that the bundle starts. */
  @Activate
  public TemplateDevice(BundleContext context) {
    this(context.getBundle().getVersion().toString());
  }

  /** For use without a framework. */
  public TemplateDevice(String version) {
    super(facts(version), kernels(), OperationCatalog.standard());
  }

  private static DeviceInfo facts(String version) {
    // A little more than the reference's 1: nobody prefers a template.
    PerformanceInfo slow = PerformanceInfo.of(1.5f);
    return DeviceInfo.builder("thalamus-template", version)
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
