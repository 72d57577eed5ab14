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
import io.thalamus.model.WideTypes;
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
    super(
        facts(version), KernelTable.of(CpuDevice::addFamily), OperationCatalog.standard(), bursts);
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
    WideTypes.all().forEach(type -> performance.put(type, one));
    return DeviceInfo.builder("thalamus-cpu", version)
        .type(DeviceType.CPU)
        .capabilities(new Capabilities(one, one, performance, one, one))
        .extensions(Set.of(ThalamusExtension.NAME))
        .memoryDomain(true)
        .exactQuantized(true)
        .build();
  }

  /** Adds a family of operations, the usual ones first. */
  private static boolean addFamily(int number, KernelTable.Builder table) {
    switch (number) {
      case 0 -> Convolution.register(table);
      case 1 -> Pooling.register(table);
      case 2 -> Reshape.register(table);
      case 3 -> Rearrange.register(table);
      case 4 -> MatrixMultiply.register(table);
      case 5 -> Softmax.register(table);
      case 6 -> Elementwise.register(table);
      case 7 -> Activation.register(table);
      case 8 -> Reduction.register(table);
      case 9 -> Quantize.register(table);
      case 10 -> Normalization.register(table);
      case 11 -> Slice.register(table);
      case 12 -> Resize.register(table);
      case 13 -> Selection.register(table);
      case 14 -> UnaryMath.register(table);
      case 15 -> Comparison.register(table);
      case 16 -> ControlFlow.register(table);
      case 17 -> ExtensionKernels.register(table);
      case 18 -> Detection.register(table);
      case 19 -> Regions.register(table);
      case 20 -> Lstm.register(table);
      case 21 -> Recurrent.register(table);
      case 22 -> QuantizedLstm.register(table);
      case 23 -> LshProjection.register(table);
      case 24 -> RandomMultinomial.register(table);
      default -> {
        return false;
      }
    }
    return true;
  }
}
