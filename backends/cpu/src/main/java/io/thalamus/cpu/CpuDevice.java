// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.cpu.extension.ExtensionKernels;
import io.thalamus.driver.BurstSource;
import io.thalamus.driver.KernelDevice;
import io.thalamus.driver.KernelTable;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;

/** The reference CPU. By definition all its costs are 1. */
@Component(service = Device.class)
@DeviceDriver(device = "cpu", type = "CPU")
public final class CpuDevice extends KernelDevice implements AutoCloseable {
  @Activate
  public CpuDevice(BundleContext context) {
    this(context.getBundle().getVersion().toString(), BurstSource.of(context));
  }

  /** A device for use without a framework, which leaves bursts to others. */
  public CpuDevice(String version) {
    this(version, BurstSource.NONE);
  }

  /** A device for use without a framework. */
  public CpuDevice(String version, BurstSource bursts) {
    super(facts(version), kernels(), OperationCatalog.standard(), bursts);
  }

  /** Ends the buffers; those that an execution uses end with it. */
  @Override
  @Deactivate
  public void close() {
    buffers().close();
  }

  private static DeviceInfo facts(String version) {
    PerformanceInfo one = PerformanceInfo.of(1);
    Map<OperandType, PerformanceInfo> performance = new HashMap<>();
    for (OperandCode type : OperandCode.values()) {
      if (type != OperandCode.SUBGRAPH) {
        performance.put(type, one);
      }
    }
    return DeviceInfo.builder("thalamus-cpu", version)
        .type(DeviceType.CPU)
        .capabilities(new Capabilities(one, one, performance, one, one))
        .extensions(Set.of(ThalamusExtension.NAME))
        .memoryDomain(true)
        .exactQuantized(true)
        .build();
  }

  private static KernelTable kernels() {
    KernelTable.Builder table = KernelTable.builder();
    Activation.register(table);
    Comparison.register(table);
    ControlFlow.register(table);
    Convolution.register(table);
    Detection.register(table);
    Elementwise.register(table);
    ExtensionKernels.register(table);
    LshProjection.register(table);
    Lstm.register(table);
    MatrixMultiply.register(table);
    Normalization.register(table);
    Pooling.register(table);
    Quantize.register(table);
    QuantizedLstm.register(table);
    RandomMultinomial.register(table);
    Rearrange.register(table);
    Recurrent.register(table);
    Reduction.register(table);
    Regions.register(table);
    Reshape.register(table);
    Resize.register(table);
    Selection.register(table);
    Slice.register(table);
    Softmax.register(table);
    UnaryMath.register(table);
    return table.build();
  }
}
